"""Match: what every session does alike: a connection through a simulated network, fixed steps, frames to draw."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar

import msgspec

from game.session.base import (
    AvatarFrame,
    Diagnostics,
    Frame,
    Link,
    Pilot,
    RemoteMotion,
    Role,
    SessionStatus,
    Techniques,
)
from game.session.emotes import Emotes
from game.session.ghost import RADIANS, Ghost, Pose, blend, pose_of
from game.sim.arena import CROSSFIRE, Arena
from game.sim.command import Command
from game.sim.constants import TICK_RATE, UNIT
from game.sim.movement import move_avatar
from game.sim.state import Avatar
from game.wire import EMOTE, Event, Person, emote_of
from net.clock import Clock
from net.envelope import Envelope
from net.store import Store
from net.sync.fixedstep import FixedStep
from net.sync.playback import Playback
from net.sync.snapshots import DELAY
from net.transport.base import ConnectionStatus, Transport, TransportState
from net.transport.conditioner import ConditionedTransport, Conditions
from net.transport.retry import REFUSALS


class Report(msgspec.Struct):
    """Sums over a session's life."""

    ticks: int = 0
    snapshots: int = 0
    pending_max: int = 0
    corrections: int = 0
    correction_max_units: float = 0.0
    rtt_ms: float = 0.0
    bytes_up: int = 0
    bytes_down: int = 0
    peers_seen: int = 0
    distance_units: float = 0.0


class Match(ABC):
    """The common half of a `Session`. `connect` is called once now and once a `retry`."""

    role: ClassVar[Role]

    def __init__(
        self,
        connect: Callable[[], Transport],
        clock: Clock,
        *,
        name: str,
        color: str = "",
        network: Conditions | None = None,
        seed: int = 0,
        where: str = "",
        arena: Arena = CROSSFIRE,
    ) -> None:
        self.arena = arena
        self.presence: Store[dict[str, Person]] = Store({})
        self.status: Store[SessionStatus] = Store(SessionStatus(where=where))
        self.techniques: Store[Techniques] = Store(Techniques())
        self.network: Store[Conditions] = Store(network or Conditions())
        self.diagnostics = Diagnostics()
        self._connect, self._clock, self._seed = connect, clock, seed
        self._name, self._color = name, color
        self._away = False
        self._emotes = Emotes()
        self._ghosts: dict[str, Ghost] = {}
        self._playback = self._new_playback()
        self._frames: dict[str, AvatarFrame] = {}
        self._peers_seen: set[str] = set()
        self._report = Report()
        self._snapshot_at = math.nan
        self._steps = FixedStep(TICK_RATE)
        self._now = self._last_update = clock.now()
        self.network.subscribe(lambda new, _: self._transport.set(up=new, down=new))
        self.presence.subscribe(lambda new, _: self._introduce(self._frames.values()))
        self._open_transport()

    # -- what a session adds

    @abstractmethod
    def _begin(self) -> None:
        """A connection is open: start from nothing."""

    @abstractmethod
    def _end(self) -> None:
        """The connection is gone: nobody is there to play with."""

    @abstractmethod
    def _say_goodbye(self) -> None:
        """Last words before the transport closes."""

    @abstractmethod
    def _receive(self, envelope: Envelope) -> None:
        """Take in one message."""

    @abstractmethod
    def _tick(self, pilot: Pilot) -> None:
        """Run one step of the own avatar."""

    @abstractmethod
    def _keep_in_touch(self, now: float) -> None:
        """Send what is due by the clock."""

    @abstractmethod
    def _draw(self, now: float, dt: float, pilot: Pilot) -> Frame:
        """Say what to draw, `dt` seconds after the last time."""

    @abstractmethod
    def set_away(self, away: bool) -> None:
        """Tell the others that nobody looks at this window, or somebody does again."""

    # -- the session's life

    def update(self, now: float, pilot: Pilot) -> Frame:
        """Take in what has arrived, run the ticks that are due at `now` (seconds), and say what to draw."""
        dt = max(0.0, now - self._last_update)
        self._now = self._last_update = now
        self._transport.poll()
        for _ in range(self._steps.due(self._paced(now))):
            self._tick(pilot)
        self._keep_in_touch(now)
        self._transport.poll()  # what the ticks made leaves now, not a frame later
        return self._draw(now, dt, pilot)

    def emote(self, index: int) -> None:
        """Say EMOTES[index] to everyone, once."""
        if self.status.get().link is Link.CONNECTED and self._emotes.say(self.peer_id, index, self._now):
            self._transport.send(Event(EMOTE, index))

    def retry(self) -> None:
        """Try to connect again after the session was lost or refused."""
        if self.status.get().link in (Link.LOST, Link.REFUSED):
            self._transport.close()
            self._report.bytes_up, self._report.bytes_down = self._bytes()
            self._open_transport()

    def close(self) -> None:
        """Leave the match. Safe to call twice."""
        if self.status.get().link is not Link.LEFT:
            self._set_link(Link.LEFT)
            self._say_goodbye()
            self._transport.close()

    def report(self) -> Report:
        """What this session has seen so far."""
        up, down = self._bytes()
        return msgspec.structs.replace(
            self._report,
            bytes_up=up,
            bytes_down=down,
            peers_seen=len(self._peers_seen),
            correction_max_units=round(self._report.correction_max_units, 4),
            distance_units=round(self._report.distance_units, 2),
        )

    # -- the connection

    def _open_transport(self) -> None:
        network = self.network.get()
        self._transport = self._condition(self._connect(), network)
        self.peer_id = self._transport.peer_id
        self._transport.subscribe(self._receive)
        self._transport.subscribe_status(self._on_status)
        self._on_status(self._transport.status)

    def _condition(self, inner: Transport, network: Conditions) -> ConditionedTransport:
        """Put the simulated network over a connection."""
        return ConditionedTransport(inner, self._clock, network, network, seed=self._seed)

    def _on_status(self, status: ConnectionStatus) -> None:
        if self.status.get().link is Link.LEFT:
            return
        if status.state is TransportState.OPEN:
            self._ghosts.clear()
            self._playback = self._new_playback()
            self._steps = FixedStep(TICK_RATE)
            self._frames.clear()
            self._snapshot_at = math.nan
            self._begin()
            return
        self._end()
        if status.state is TransportState.CONNECTING:
            link = Link.CONNECTING if status.attempt == 0 else Link.RECONNECTING
            self._set_link(link, status.reason, status.attempt, status.attempts)
        elif status.state is TransportState.CLOSED:
            refused = any(status.code in codes for codes in REFUSALS)
            self._set_link(Link.REFUSED if refused else Link.LOST, status.reason or "the connection is gone")

    def _set_link(self, link: Link, detail: str = "", attempt: int = 0, attempts: int = 0) -> None:
        status = self.status.get()
        if status.link is not Link.LEFT:
            self.status.set(SessionStatus(link, detail, attempt, attempts, status.where))

    def _bytes(self) -> tuple[int, int]:
        traffic = self._transport.traffic
        return self._report.bytes_up + traffic.bytes_up, self._report.bytes_down + traffic.bytes_down

    # -- others

    def _hear_emote(self, peer_id: str, message: Event) -> None:
        index = emote_of(message)
        if index is not None and peer_id in self._ghosts:
            self._emotes.say(peer_id, index, self._now)

    def _count_snapshot(self, at: float) -> None:
        self._report.snapshots += 1
        if not math.isnan(self._snapshot_at):
            self.diagnostics.snapshot_gap_ms.add((at - self._snapshot_at) * 1000)
        self._snapshot_at = at

    def _new_playback(self) -> Playback:
        """The clock of what comes over a new connection."""
        return Playback()

    def _ghost(self, peer_id: str) -> Ghost:
        """The ghost of that peer, new if it has just come."""
        ghost = self._ghosts.get(peer_id)
        if ghost is None:
            ghost = self._ghosts[peer_id] = Ghost(self._playback, extrapolate=self.role is not Role.PEER)
        return ghost

    def _forget(self, peer_id: str) -> None:
        """Somebody has left."""
        self._ghosts.pop(peer_id, None)
        self._frames.pop(peer_id, None)
        self._emotes.forget(peer_id)

    # -- the own avatar

    def _paced(self, now: float) -> float:
        """The time by which ticks are due."""
        return now

    def _move(self, avatar: Avatar, command: Command) -> Avatar:
        return move_avatar(avatar, command, self.arena)

    def _count_tick(self, before: Avatar, after: Avatar) -> None:
        self._report.ticks += 1
        self._report.distance_units += math.hypot(after.x - before.x, after.z - before.z) / UNIT

    def _own_pose(self, avatar: Avatar, now: float, pilot: Pilot) -> Pose:
        """Between the newest tick and the one that is being played, so that a key shows in the very next frame."""
        command = pilot.command(avatar, self._report.ticks + 1)
        pose = blend(pose_of(avatar), pose_of(self._move(avatar, command)), self._steps.alpha(self._paced(now)))
        return msgspec.structs.replace(pose, yaw=command.yaw * RADIANS)

    # -- drawing

    def _introduce(self, frames: Iterable[AvatarFrame]) -> None:
        """Fill in who they are, as far as that is known."""
        people = self.presence.get()
        for frame in frames:
            person = people.get(frame.peer_id)
            if person is not None:
                frame.name, frame.color, frame.away = person.name, person.color, person.away

    def _show(self, peer_id: str, pose: Pose, truth: Pose) -> None:
        """Fill in the avatar's frame, one object for as long as it is here; `truth` is where it was last heard of."""
        frame = self._frames.get(peer_id)
        if frame is None:
            frame = self._frames[peer_id] = AvatarFrame(peer_id, me=peer_id == self.peer_id)
            self._introduce([frame])
        frame.x, frame.y, frame.z, frame.yaw, frame.dashing = pose.x, pose.y, pose.z, pose.yaw, pose.dashing
        frame.truth = truth.x, truth.y, truth.z, truth.yaw

    def _count_delay(self) -> None:
        """How far behind the others are drawn, and how much is known beyond it."""
        playback, motion = self._playback, self.techniques.get().remote_motion
        delay = {RemoteMotion.INTERPOLATION: DELAY, RemoteMotion.ADAPTIVE: playback.delay}.get(motion, 0.0)
        self.diagnostics.render_delay_ms.add(delay * 1000)
        self.diagnostics.buffer_depth_ms.add((playback.depth - playback.delay + delay) * 1000)

    def _finish_frame(self, now: float) -> Frame:
        self._count_delay()
        for peer_id, text in self._emotes.texts(now).items():
            if peer_id in self._frames:
                self._frames[peer_id].emote = text
        me = self._frames.get(self.peer_id)
        avatars = list(self._frames.values())
        return Frame(now, self._report.ticks, avatars, me, self.diagnostics, self._transport.traffic)
