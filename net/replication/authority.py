"""Authority: the world as it is, and frames that keep everybody's mirror of it true.

Transports that lose nothing and keep the order are taken for granted (`require_reliable_ordered` checks it): a frame
says what has changed since the one before it, and nothing is ever acknowledged or sent twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from net.replication.audience import Audience
from net.replication.entities import Entities
from net.replication.frame import FRAME_LIMIT, NUMBER_LIMIT, PRIVATE_LIMIT
from net.replication.interest import InterestProvider, Policy, Position, TierPlan
from net.replication.packer import STRANGER, Letter, Moment, Packer
from net.replication.schema import IDENTITY, OWNER, Schema
from net.replication.survey import Survey
from net.replication.told import Told
from net.replication.world import Slots

HEARTBEAT: Final = 10
"""samples after which somebody is told the tick although nothing else is new"""
RESYNC: Final = 10
"""samples from one full frame for a connection to the next, however often it asks"""

Send = Callable[[bytes], object]

_log = logging.getLogger(__name__)


class _Receiver:
    """One connection."""

    __slots__ = (
        "acknowledged",
        "full_from",
        "private",
        "send",
        "standing",
        "told_acknowledged",
        "told_private",
        "wants_full",
    )

    def __init__(self, send: Send) -> None:
        self.send = send
        self.wants_full = True
        self.full_from = 0
        """the sample from which on a full frame may be sent"""
        self.standing = STRANGER
        self.acknowledged = self.told_acknowledged = 0
        self.private = self.told_private = b""


class Authority(Entities):
    """Entities, and the connections that mirror them. What changed is found by comparing, once a sample."""

    def __init__(
        self,
        schema: Schema,
        capacity: int = 1024,
        *,
        position: tuple[str, tuple[str, ...]] | None = None,
        heartbeat: int = HEARTBEAT,
    ) -> None:
        """`position`, which interest and tiers need: a component, and the fields of it that are x and z, or x, y, z.

        They are Fixed, and places in the world, whatever an entity's parent is. `heartbeat` is in samples.
        """
        super().__init__(schema, capacity)
        self._survey = Survey(self._world)
        self._audience = Audience(self._survey.sent, position)
        self._tick = 0
        self._samples = 0
        self._heartbeat = heartbeat
        self._receivers: dict[int, _Receiver] = {}
        self._ready: dict[int, _Receiver] = {}

    def attach(self, connection: int, send: Send) -> None:
        """A connection that gets frames through `send` once its greeting was found to be right.

        Numbers are the caller's choice, above 0, and best never used again. ValueError for one that is attached.
        """
        if connection <= 0 or connection in self._receivers:
            raise ValueError(f"connection {connection} is attached already, or no number for one")
        IDENTITY.shapes[OWNER].code(connection)
        self._receivers[connection] = _Receiver(send)

    def greet(self, connection: int, greeting: object) -> str | None:
        """Check what a connection said with `Schema.greeting`. None: it is ready; otherwise why it never will be."""
        receiver = self._receivers[connection]
        refusal = self.schema.refusal(greeting)
        if refusal is None and connection not in self._ready:
            self._ready[connection] = receiver
            self._audience.connect(connection)
        return refusal

    def detach(self, connection: int) -> None:
        """Forget a connection. What it owns stays. Harmless for an unknown one."""
        self._receivers.pop(connection, None)
        if self._ready.pop(connection, None) is not None:
            self._audience.disconnect(connection)

    @property
    def connections(self) -> list[int]:
        """Who is ready."""
        return list(self._ready)

    def resync(self, connection: int) -> None:
        """Tell a connection everything anew in the next sample, but no sooner than RESYNC samples after the last time.

        Harmless for an unknown one.
        """
        receiver = self._receivers.get(connection)
        if receiver is not None:
            receiver.wants_full = True

    def acknowledge(self, connection: int, seq: int) -> None:
        """Tell a connection with its next frame that `seq` is the newest of its commands that was dealt with.

        A lower one than before changes nothing. ValueError for NUMBER_LIMIT and above.
        """
        receiver = self._receivers.get(connection)
        self.tell_all(((connection, b"" if receiver is None else receiver.private, seq),))

    def tell(self, connection: int, private: bytes) -> None:
        """Bytes for this connection alone, the state of its own avatar for example. They are sent when they change.

        ValueError above PRIVATE_LIMIT bytes.
        """
        self.tell_all(((connection, private, 0),))

    def tell_all(self, news: Iterable[tuple[int, bytes, int]]) -> None:
        """`tell` and `acknowledge` for many: connection, private bytes, seq. Unknown connections are ignored."""
        receivers = self._receivers
        for connection, private, seq in news:
            if len(private) > PRIVATE_LIMIT:
                raise ValueError(f"{len(private)} bytes are more than a connection can be told in private")
            if seq >= NUMBER_LIMIT:
                raise ValueError(f"{seq} is more than a command's number can be")
            receiver = receivers.get(connection)
            if receiver is not None:
                receiver.private = private
                receiver.acknowledged = max(receiver.acknowledged, seq)

    def set_policy(self, policy: Policy | None) -> None:
        """From the next sample on, ask this function (connection, slot) who sees what; None: all see everything."""
        self._audience.set_policy(policy, self.connections)

    def set_provider(self, provider: InterestProvider | None) -> None:
        """The same with a provider, in place of any policy."""
        self._audience.set_provider(provider, self.connections)

    def set_tiers(self, plan: TierPlan | None) -> None:
        """From the next sample on, tell of what is far away less often; None: of everything in every sample."""
        self._audience.set_tiers(plan, self.connections)

    def anchors(self, connection: int) -> Slots:
        """What a connection owns that has a position, for policies; empty while neither interest nor tiers are set."""
        return self._audience.anchors(connection)

    def position(self, slot: int) -> Position | None:
        """Where a row was in the newest sample, for policies; None without interest, tiers or a position."""
        return self._audience.position(slot)

    def close(self) -> None:
        """Let everybody go, and dispose of the provider. Idempotent."""
        for connection in list(self._receivers):
            self.detach(connection)
        self._audience.close()

    def sample(self, tick: int) -> None:
        """Send each ready connection what is new for it, if anything is.

        ValueError for a tick that goes back, or a code in a column that its field cannot hold: nothing was sent then.
        """
        if not self._tick <= tick < NUMBER_LIMIT:
            raise ValueError(f"tick {tick} comes after {self._tick}")
        if not self._ready:
            return
        news = self._survey.take(self._top, self._stirred)
        self._stirred = False
        self._tick = tick
        self._samples += 1
        told = self._audience.update(news) if self._audience.active else {}
        pack = Packer(self._survey.sent, news, Moment(tick, self._samples, self._heartbeat))
        for connection, receiver, frame in self._frames(pack, told):
            if self._receivers.get(connection) is not receiver:
                continue
            if len(frame) > FRAME_LIMIT:
                _log.error("connection %d would get %d bytes at once, and is detached", connection, len(frame))
                self.detach(connection)
                continue
            try:
                receiver.send(frame)
            except Exception:
                _log.warning("connection %d cannot be sent to, and is detached", connection, exc_info=True)
                self.detach(connection)

    def _frames(self, pack: Packer, told: Mapping[int, Told]) -> list[tuple[int, _Receiver, bytes]]:
        """What is to be sent. All of it is made before any of it goes out, as sending may attach and detach."""
        frames: list[tuple[int, _Receiver, bytes]] = []
        letter: Letter | None = None
        news: Told | None = None
        standing = STRANGER
        for connection, receiver in self._ready.items():
            if receiver.wants_full and self._samples >= receiver.full_from:
                frames.append((connection, receiver, self._full_frame(connection, receiver, pack)))
            else:
                mine = told.get(connection)
                if letter is None or receiver.standing is not standing or mine is not news:
                    news, standing = mine, receiver.standing
                    letter = pack.letter(news, standing)
                private = None if receiver.private == receiver.told_private else receiver.private
                if private is None and not letter.due:
                    continue
                acknowledged = receiver.acknowledged - receiver.told_acknowledged
                frames.append((connection, receiver, letter.frame(acknowledged, private)))
                receiver.standing = letter.after
            receiver.told_acknowledged, receiver.told_private = receiver.acknowledged, receiver.private
        return frames

    def _full_frame(self, connection: int, receiver: _Receiver, pack: Packer) -> bytes:
        known = self._audience.known(connection) if self._audience.active else None
        receiver.wants_full, receiver.full_from = False, self._samples + RESYNC
        frame, receiver.standing = pack.full(
            known, connection, self._world.capacity, receiver.acknowledged, receiver.private
        )
        return frame
