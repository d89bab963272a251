"""PresenceSync: every remote peer mirrored into a store, for games without an authority."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final, Generic, TypeVar, overload

from net.clock import Clock
from net.envelope import Envelope
from net.events import EventBus
from net.presence.codec import NAME_LIMIT, SHOTS_A_BEAT, Beat, Heard, P, PresenceCodec, Shot, is_shot_value
from net.presence.json import JsonCodec
from net.presence.record import FIRED, JOINED, LEFT, LocalPresence, OneShot, PeerPresence, Pose, ShotValue, blend
from net.store import Store
from net.sync.snapshots import SnapshotBuffer
from net.transport.base import Transport, Unsubscribe

L = TypeVar("L")

PEER_LIMIT: Final = 256
"""peers that are kept: whoever invents more ids is not listened to"""
ANSWER_GAP: Final = 0.1
"""seconds between two states sent for newcomers: whoever invents ids must not make everybody shout"""
STALEST: Final = 1.0
"""seconds that a message may have waited to be polled; a stamp that is older is of another clock"""
ROUNDING: Final = 1e-6
"""share of a beat by which one may be early: sums of floating-point steps fall short of the beat that they mean"""


class PresenceSync(Generic[L, P]):
    """Sends what this peer tells about itself on beats, and keeps the peers that are heard.

    Runs while between `start` and `stop`, inside the owner's calls of `update` (once a frame) and of the transport's
    `poll`. A beat is due every `interval` seconds, counted from `start`; missed beats are made up for by one.
    """

    @overload
    def __init__(
        self: PresenceSync[LocalPresence, PeerPresence],
        transport: Transport,
        read_local: Callable[[], LocalPresence],
        clock: Clock,
        codec: None = None,
        *,
        interval: float | None = None,
        keepalive_every: int | None = None,
        stale_after: float = 3.0,
        store: Store[dict[str, PeerPresence]] | None = None,
        bus: EventBus | None = None,
        interpolate: float | None = None,
        one_shots: Iterable[str] = (),
    ) -> None: ...

    @overload
    def __init__(
        self,
        transport: Transport,
        read_local: Callable[[], L],
        clock: Clock,
        codec: PresenceCodec[L, P],
        *,
        interval: float | None = None,
        keepalive_every: int | None = None,
        stale_after: float = 3.0,
        store: Store[dict[str, P]] | None = None,
        bus: EventBus | None = None,
        interpolate: float | None = None,
        one_shots: Iterable[str] = (),
    ) -> None: ...

    def __init__(
        self,
        transport: Transport,
        read_local: Callable[[], Any],
        clock: Clock,
        codec: PresenceCodec[Any, Any] | None = None,
        *,
        interval: float | None = None,
        keepalive_every: int | None = None,
        stale_after: float = 3.0,
        store: Store[dict[str, Any]] | None = None,
        bus: EventBus | None = None,
        interpolate: float | None = None,
        one_shots: Iterable[str] = (),
    ) -> None:
        """`codec`: a JsonCodec unless given. `interval` (seconds), `keepalive_every` (beats): the codec's own.

        `stale_after`: seconds of silence after which a peer has left. `interpolate`: how many seconds in the past
        `sample` looks; None for no sampling. Store and bus are made unless given. The store is replaced at each
        packet: {peerId: record}, in the order of first packets. `one_shots`: names that may be fired and are heard.
        """
        self.store: Store[dict[str, P]] = Store({}) if store is None else store
        self.bus = EventBus() if bus is None else bus
        self._transport = transport
        self._read_local = read_local
        self._clock = clock
        self._codec: PresenceCodec[L, P] = codec or JsonCodec()  # type: ignore[assignment]  # as the overloads say
        self._interval = self._codec.interval if interval is None else interval
        self._keepalive_every = self._codec.keepalive_every if keepalive_every is None else keepalive_every
        self._stale_after = stale_after
        self._delay = interpolate
        self._one_shots = frozenset(one_shots)
        for name in self._one_shots:
            if not 0 < len(name) <= NAME_LIMIT:
                raise ValueError(f"the name of a one-shot has 1 to {NAME_LIMIT} characters, not {len(name)}")
        self._buffers: dict[str, SnapshotBuffer[Pose]] = {}
        self._ends: tuple[Unsubscribe, ...] = ()
        self._fired: deque[Shot] = deque()
        self._started = 0.0
        self._beat = -1
        self._newcomer = False
        self._answered = 0.0

    def start(self) -> None:
        """Listen, and send the first packet now. Nothing if already started."""
        if self._ends:
            return
        self._ends = (self._transport.subscribe(self._heard), self._transport.subscribe_bytes(self._heard))
        self._started = self._answered = self._clock.now()
        self._beat = -1
        self._newcomer = False
        self._codec.restart(self._transport.peer_id)
        self.update()

    def stop(self) -> None:
        """Send what was fired, listen no more and say good-bye. Nothing if not started.

        The store keeps what it has, without events. Raises what `update` raises, and has stopped all the same.
        """
        if not self._ends:
            return
        for end in self._ends:
            end()
        self._ends = ()
        try:
            while self._fired:
                self._write(keepalive=False, newcomer=False)
        finally:
            self._fired.clear()
            for message in self._codec.farewell():
                self._send(message)

    def update(self) -> None:
        """Do the beat that is due, if one is.

        Raises what `read_local` raises, and TypeError or ValueError for what the codec cannot encode.
        """
        if not self._ends:
            return
        now = self._clock.now()
        beat = int((now - self._started) / self._interval + ROUNDING)
        if beat <= self._beat:
            return
        keepalive = beat // self._keepalive_every > self._beat // self._keepalive_every
        self._beat = beat
        self._sweep(now)
        newcomer = self._newcomer and (keepalive or now - self._answered >= ANSWER_GAP)
        if newcomer:
            self._newcomer = False
            self._answered = now
        self._write(keepalive, newcomer)

    def fire(self, name: str, value: ShotValue = None) -> None:
        """Let everybody who is here know once, with the next beat. Nothing if not started.

        Raises ValueError for a name that is not among `one_shots`, and for what is no scalar (see `is_shot_value`).
        """
        if name not in self._one_shots:
            raise ValueError(f"{name!r} is none of the one-shots {sorted(self._one_shots)}")
        if not is_shot_value(value):
            raise ValueError(f"a one-shot carries None, a bool, a number or a short string, not {value!r:.40}")
        if self._ends:
            self._fired.append((name, value))

    def peers(self) -> list[P]:
        """Everyone, in the order in which they came."""
        return list(self.store.get().values())

    def sample(self, peer_id: str) -> Pose | None:
        """Where `peer_id` is to be drawn now. None if unknown, not yet known long enough, or nothing is sampled."""
        buffer = self._buffers.get(peer_id)
        return None if buffer is None else buffer.sample(self._clock.now())

    def _write(self, keepalive: bool, newcomer: bool) -> None:
        shots = tuple(islice(self._fired, SHOTS_A_BEAT))
        messages = self._codec.write(self._read_local(), Beat(keepalive, newcomer, shots))
        for _ in shots:
            self._fired.popleft()
        for message in messages:
            self._send(message)

    def _send(self, message: bytes | dict[str, Any]) -> None:
        if isinstance(message, bytes):
            self._transport.send_bytes(message)
        else:
            self._transport.send(message)

    def _sweep(self, now: float) -> None:
        for peer_id, peer in self.store.get().items():
            if now - peer.last_seen > self._stale_after:
                self._remove(peer_id)

    def _heard(self, message: Envelope | bytes) -> None:
        heard = self._codec.read(message, self._arrival(message))
        if heard is None or heard.peer_id == self._transport.peer_id:
            return
        if heard.bye:
            self._remove(heard.peer_id)
        else:
            self._take(heard)

    def _arrival(self, message: Envelope | bytes) -> float:
        """When a message arrived: waiting for a frame must not shake what is drawn. Now, unless on this clock."""
        now = self._clock.now()
        at = message.at if isinstance(message, Envelope) else None
        return at if at is not None and 0.0 <= now - at <= STALEST else now

    def _take(self, heard: Heard[P]) -> None:
        peers, peer_id = self.store.get(), heard.peer_id
        new = peer_id not in peers
        self._newcomer |= new
        if heard.peer is not None:
            if new and len(peers) >= PEER_LIMIT:
                self._codec.forget(peer_id)
                return
            self._keep(heard.peer, peers)
            if new:
                self.bus.emit(JOINED, heard.peer)
        for name, value in heard.shots:
            if name in self._one_shots and peer_id in self.store.get():
                self.bus.emit(FIRED, OneShot(peer_id, name, value))

    def _keep(self, peer: P, peers: dict[str, P]) -> None:
        self.store.set({**peers, peer.peer_id: peer})
        pose = None if self._delay is None else self._codec.pose(peer)
        if self._delay is None or pose is None:
            return
        if peer.peer_id not in self._buffers:
            self._buffers[peer.peer_id] = SnapshotBuffer(blend, delay=self._delay)
        self._buffers[peer.peer_id].push(peer.last_seen, pose)

    def _remove(self, peer_id: str) -> None:
        self._codec.forget(peer_id)
        peers = self.store.get()
        if peer_id not in peers:
            return
        self.store.set({kept: peer for kept, peer in peers.items() if kept != peer_id})
        self._buffers.pop(peer_id, None)
        self.bus.emit(LEFT, peers[peer_id])
