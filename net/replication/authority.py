"""Authority: the world as it is, and frames that keep everybody's mirror of it true.

Transports that lose nothing and keep the order are taken for granted (`require_reliable_ordered` checks it): a frame
says what has changed since the one before it, and nothing is ever acknowledged or sent twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from net.replication.audience import Audience, Told, told_all
from net.replication.entities import Entities
from net.replication.frame import PRIVATE_LIMIT, Head
from net.replication.interest import InterestProvider, Policy, Position, TierPlan
from net.replication.packer import Packer
from net.replication.schema import IDENTITY, OWNER, Schema
from net.replication.survey import Survey
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
        "counter",
        "digest",
        "full_from",
        "private",
        "ready",
        "send",
        "told_acknowledged",
        "told_at",
        "told_private",
        "told_tick",
        "wants_full",
    )

    def __init__(self, send: Send) -> None:
        self.send = send
        self.ready = False
        self.wants_full = True
        self.full_from = 0
        """the sample from which on a full frame may be sent"""
        self.told_at = 0
        """the sample of the last frame"""
        self.counter = 0
        self.digest = 0
        """of the ids that it knows"""
        self.acknowledged = self.told_acknowledged = 0
        self.private = self.told_private = b""
        self.told_tick = 0


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
        if refusal is None and not receiver.ready:
            receiver.ready = True
            self._audience.connect(connection)
        return refusal

    def detach(self, connection: int) -> None:
        """Forget a connection. What it owns stays. Harmless for an unknown one."""
        if self._receivers.pop(connection, None) is not None:
            self._audience.disconnect(connection)

    @property
    def connections(self) -> list[int]:
        """Who is ready."""
        return [connection for connection, receiver in self._receivers.items() if receiver.ready]

    def resync(self, connection: int) -> None:
        """Tell a connection everything anew in the next sample, but no sooner than RESYNC samples after the last time.

        Harmless for an unknown one.
        """
        receiver = self._receivers.get(connection)
        if receiver is not None:
            receiver.wants_full = True

    def acknowledge(self, connection: int, seq: int) -> None:
        """Tell a connection with its next frame that `seq` is the newest of its commands that was dealt with."""
        receiver = self._receivers.get(connection)
        if receiver is not None:
            receiver.acknowledged = max(receiver.acknowledged, seq)

    def tell(self, connection: int, private: bytes) -> None:
        """Bytes for this connection alone, the state of its own avatar for example. They are sent when they change.

        ValueError above PRIVATE_LIMIT bytes.
        """
        if len(private) > PRIVATE_LIMIT:
            raise ValueError(f"{len(private)} bytes are more than a connection can be told in private")
        receiver = self._receivers.get(connection)
        if receiver is not None:
            receiver.private = private

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
        if tick < self._tick:
            raise ValueError(f"tick {tick} comes after {self._tick}")
        ready = {connection: receiver for connection, receiver in self._receivers.items() if receiver.ready}
        if not ready:
            return
        news = self._survey.take(self._top)
        self._tick = tick
        self._samples += 1
        everybody = told_all(news)
        told = self._audience.update(news) if self._audience.active else {}
        pack = Packer(self._survey.sent, news)
        frames: list[tuple[int, _Receiver, bytes]] = []
        for connection, receiver in ready.items():
            frame = self._frame(connection, receiver, told.get(connection, everybody), pack)
            if frame is not None:
                frames.append((connection, receiver, frame))
        for connection, receiver, frame in frames:
            if self._receivers.get(connection) is not receiver:
                continue
            try:
                receiver.send(frame)
            except Exception:
                _log.warning("connection %d cannot be sent to, and is detached", connection, exc_info=True)
                self.detach(connection)

    def _frame(self, connection: int, receiver: _Receiver, told: Told, pack: Packer) -> bytes | None:
        if receiver.wants_full and self._samples >= receiver.full_from:
            return self._full_frame(connection, receiver, pack)
        body, check, receiver.digest = pack.body(told, receiver.digest)
        private = None if receiver.private == receiver.told_private else receiver.private
        if not body and private is None and self._samples < receiver.told_at + self._heartbeat:
            return None
        tick, acknowledged = self._tick - receiver.told_tick, receiver.acknowledged - receiver.told_acknowledged
        frame = pack.frame(Head(False, receiver.counter, tick, 0, 0, acknowledged, private, bool(body)), body, check)
        self._told(receiver)
        return frame

    def _full_frame(self, connection: int, receiver: _Receiver, pack: Packer) -> bytes:
        known = self._audience.known(connection) if self._audience.active else None
        body, check, receiver.digest = pack.body(pack.full(known), 0)
        receiver.wants_full, receiver.full_from = False, self._samples + RESYNC
        # All who are told in every sample count alike, so that many of their heads are equal too.
        receiver.counter = self._samples & 255
        head = Head(True, receiver.counter, self._tick, connection, self._world.capacity, receiver.acknowledged)
        head.private, head.has_body = receiver.private, True
        self._told(receiver)
        return pack.frame(head, body, check)

    def _told(self, receiver: _Receiver) -> None:
        receiver.counter = (receiver.counter + 1) & 255
        receiver.told_at = self._samples
        receiver.told_tick, receiver.told_acknowledged = self._tick, receiver.acknowledged
        receiver.told_private = receiver.private
