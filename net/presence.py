"""PresenceSync: every remote peer's transform, mirrored into a store, for games without an authority."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from net.clock import Clock
from net.envelope import Envelope
from net.events import EventBus
from net.store import Store
from net.sync.angles import lerp_angle
from net.sync.snapshots import SnapshotBuffer
from net.transport.base import Transport, Unsubscribe

JOINED: Final = "presence.joined"
"""event: somebody is here; payload: the PeerPresence, already in the store"""
LEFT: Final = "presence.left"
"""event: somebody said good-bye or went silent; payload: the last PeerPresence, no longer in the store"""
PEER_LIMIT: Final = 256
"""peers that are kept: whoever invents more ids is not listened to"""

Position = tuple[float, float, float]
"""x, y, z in units"""


class LocalPresence(msgspec.Struct, frozen=True):
    """What this peer tells about itself."""

    position: Position
    rotation_y: float = 0.0
    """radians"""
    meta: dict[str, Any] | None = None
    """anything that JSON holds; left out if None"""


class PeerPresence(msgspec.Struct, frozen=True):
    """What another peer has told last."""

    peer_id: str
    last_seen: float
    """when, in seconds of the clock"""
    position: Position
    rotation_y: float = 0.0
    meta: dict[str, Any] | None = None


class Pose(NamedTuple):
    """Where to draw somebody."""

    position: Position
    rotation_y: float
    """radians, not wrapped"""


class PresenceSync:
    """Sends the local transform on beats, and keeps the peers that are heard.

    Runs while between `start` and `stop`, inside the owner's calls of `update` (once a frame) and of the transport's
    `poll`. A beat is due every `interval` seconds, counted from `start`; missed beats are made up for by one.
    """

    def __init__(
        self,
        transport: Transport,
        read_local: Callable[[], LocalPresence],
        clock: Clock,
        *,
        interval: float = 0.1,
        keepalive_every: int = 5,
        stale_after: float = 3.0,
        store: Store[dict[str, PeerPresence]] | None = None,
        bus: EventBus | None = None,
        interpolate: float | None = None,
    ) -> None:
        """`interval`, `stale_after`: seconds. `keepalive_every`: beats after which an unchanged transform is sent too.

        `interpolate`: how many seconds in the past `sample` looks; None for no sampling. Store and bus are made
        unless given. The store is replaced at each packet: {peerId: PeerPresence}, in the order of first packets.
        """
        self.store: Store[dict[str, PeerPresence]] = Store({}) if store is None else store
        self.bus = EventBus() if bus is None else bus
        self._transport = transport
        self._read_local = read_local
        self._clock = clock
        self._interval = interval
        self._keepalive_every = keepalive_every
        self._stale_after = stale_after
        self._delay = interpolate
        self._buffers: dict[str, SnapshotBuffer[Pose]] = {}
        self._unsubscribe: Unsubscribe | None = None
        self._started = 0.0
        self._beat = -1
        self._sent = b""

    def start(self) -> None:
        """Listen, and send the first packet now. Nothing if already started."""
        if self._unsubscribe is not None:
            return
        self._unsubscribe = self._transport.subscribe(self._heard)
        self._started = self._clock.now()
        self._beat = -1
        self._sent = b""
        self.update()

    def stop(self) -> None:
        """Listen no more and say good-bye. The store keeps what it has, without events. Nothing if not started."""
        if self._unsubscribe is None:
            return
        self._unsubscribe()
        self._unsubscribe = None
        self._transport.send({"t": "bye"})

    def update(self) -> None:
        """Do the beat that is due, if one is. Raises what `read_local` raises, and ValueError for what is not JSON."""
        if self._unsubscribe is None:
            return
        now = self._clock.now()
        beat = int((now - self._started) / self._interval + ROUNDING)
        if beat <= self._beat:
            return
        keepalive = beat // self._keepalive_every > self._beat // self._keepalive_every
        self._beat = beat
        self._sweep(now)
        self._send(keepalive)

    def peers(self) -> list[PeerPresence]:
        """Everyone, in the order in which they came."""
        return list(self.store.get().values())

    def sample(self, peer_id: str) -> Pose | None:
        """Where `peer_id` is to be drawn now. None if unknown, not yet known long enough, or nothing is sampled."""
        buffer = self._buffers.get(peer_id)
        return None if buffer is None else buffer.sample(self._clock.now())

    def _send(self, keepalive: bool) -> None:
        packet = _pack(self._read_local())
        encoded = msgspec.json.encode(packet)
        if keepalive or encoded != self._sent:
            self._transport.send(packet)
            self._sent = encoded

    def _sweep(self, now: float) -> None:
        for peer_id, peer in self.store.get().items():
            if now - peer.last_seen > self._stale_after:
                self._remove(peer_id)

    def _heard(self, envelope: Envelope) -> None:
        data, sender = envelope.data, envelope.sender
        if not isinstance(data, dict) or sender == self._transport.peer_id:
            return
        kind = data.get("t")
        if kind == "bye":
            self._remove(sender)
        elif kind == "presence":
            peer = _unpack(sender, self._clock.now(), data)
            if peer is not None:
                self._take(peer)

    def _take(self, peer: PeerPresence) -> None:
        peers = self.store.get()
        new = peer.peer_id not in peers
        if new and len(peers) >= PEER_LIMIT:
            return
        self.store.set({**peers, peer.peer_id: peer})
        if self._delay is not None:
            if peer.peer_id not in self._buffers:
                self._buffers[peer.peer_id] = SnapshotBuffer(_blend, delay=self._delay)
            self._buffers[peer.peer_id].push(peer.last_seen, Pose(peer.position, peer.rotation_y))
        if new:
            self.bus.emit(JOINED, peer)

    def _remove(self, peer_id: str) -> None:
        peers = self.store.get()
        if peer_id not in peers:
            return
        self.store.set({kept: peer for kept, peer in peers.items() if kept != peer_id})
        self._buffers.pop(peer_id, None)
        self.bus.emit(LEFT, peers[peer_id])


ROUNDING: Final = 1e-6
"""share of a beat by which one may be early: sums of floating-point steps fall short of the beat that they mean"""


def _blend(a: Pose, b: Pose, t: float) -> Pose:
    """Between two poses. Weighted, not `a + (b - a) * t`: a difference of two finite numbers may be infinite."""
    (ax, ay, az), (bx, by, bz) = a.position, b.position
    s = 1 - t
    return Pose((ax * s + bx * t, ay * s + by * t, az * s + bz * t), lerp_angle(a.rotation_y, b.rotation_y, t))


# The encoding: here and nowhere else.


def _pack(local: LocalPresence) -> dict[str, Any]:
    packet: dict[str, Any] = {"t": "presence", "position": local.position, "rotationY": local.rotation_y}
    if local.meta is not None:
        packet["meta"] = local.meta
    return packet


def _unpack(peer_id: str, now: float, data: dict[str, Any]) -> PeerPresence | None:
    """What a packet says, or None without a position of three finite numbers. What else is wrong doesn't count."""
    position = data.get("position")
    if not isinstance(position, list | tuple) or len(position) != 3:
        return None
    x, y, z = (_finite(value) for value in position)
    if x is None or y is None or z is None:
        return None
    meta = data.get("meta")
    return PeerPresence(
        peer_id, now, (x, y, z), _finite(data.get("rotationY")) or 0.0, meta if isinstance(meta, dict) else None
    )


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
