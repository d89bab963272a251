"""A match against an authority: predict our own avatar, reconcile it, and show the others as ghosts."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec

from game.session.base import (
    AvatarFrame,
    Diagnostics,
    Frame,
    Link,
    Pilot,
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
from game.wire import (
    DEFAULT_COLORS,
    EMOTE,
    PROTOCOL,
    SERVER,
    Bye,
    ClockSample,
    Error,
    Event,
    Hello,
    Person,
    Profile,
    Roster,
    State,
    Welcome,
    WorldState,
    clean_color,
    clean_name,
    emote_of,
    pack_input,
    parse,
    unpack_avatar,
)
from net.clock import Clock
from net.envelope import Envelope, WireError
from net.store import Store
from net.sync.fixedstep import FixedStep
from net.sync.prediction import Predictor
from net.sync.smoothing import VisualOffset
from net.sync.timesync import TimeSync
from net.transport.base import ConnectionStatus, Transport, TransportState
from net.transport.conditioner import ConditionedTransport, Conditions

_log = logging.getLogger(__name__)

PENDING_LIMIT: Final = 128
CLOCK_EVERY: Final = 0.25
"""seconds between two samples of the authority's clock"""
PROFILE_EVERY: Final = 1.0
SILENCE: Final = 1.0
"""seconds without a state after which the player is told"""
REFUSALS: Final = range(4000, 5000)
"""close codes by which the authority says no"""


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


class OnlineSession:
    """`Session` over any transport that reaches an authority. `connect` is called once now and once a `retry`."""

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
        self._token = secrets.token_hex(8)
        self._away = False
        self._report = Report()
        self._peers_seen: set[str] = set()
        self._steps = FixedStep(TICK_RATE)
        self._offset = VisualOffset()
        self._correction = 0.0
        self._now = self._last_update = clock.now()
        self.network.subscribe(lambda new, _: self._transport.set(up=new, down=new))
        self._open_transport()

    # -- the session's life

    @property
    def peer_id(self) -> str:
        """This player's name on the wire."""
        return self._transport.peer_id

    @property
    def predicted(self) -> Avatar:
        """The own avatar with every pending command applied."""
        return self._predictor.state

    def update(self, now: float, pilot: Pilot) -> Frame:
        """Take in what has arrived, run the ticks that are due at `now` (seconds), and say what to draw."""
        dt = max(0.0, now - self._last_update)
        self._now = self._last_update = now
        self._correction = 0.0
        self._transport.poll()
        self._run_ticks(now, pilot)
        self._keep_in_touch(now)
        self._transport.poll()  # what the ticks made leaves now, not a frame later
        self._offset.update(dt)
        return self._draw(now, dt, pilot)

    def emote(self, index: int) -> None:
        """Say EMOTES[index] to everyone, once."""
        if self._welcomed and self._emotes.say(self.peer_id, index, self._now):
            self._send(Event(EMOTE, index))

    def set_away(self, away: bool) -> None:
        """Tell the others that nobody looks at this window, or somebody does again."""
        if away != self._away:
            self._away = away
            if self._welcomed:
                self._send(Profile(away=away))

    def retry(self) -> None:
        """Try to connect again after the session was lost or refused."""
        if self.status.get().link in (Link.LOST, Link.REFUSED):
            self._transport.close()
            self._report.bytes_up, self._report.bytes_down = self._bytes()
            self._open_transport()

    def close(self) -> None:
        """Leave the match. Safe to call twice."""
        if self.status.get().link is Link.LEFT:
            return
        self._set_link(Link.LEFT)
        self._send(Bye())
        self._transport.close()

    def report(self) -> Report:
        """What this session has seen so far."""
        up, down = self._bytes()
        return msgspec.structs.replace(
            self._report,
            bytes_up=up,
            bytes_down=down,
            rtt_ms=round(self._timesync.rtt * 1000, 2),
            peers_seen=len(self._peers_seen),
            correction_max_units=round(self._report.correction_max_units, 4),
            distance_units=round(self._report.distance_units, 2),
        )

    # -- the connection

    def _open_transport(self) -> None:
        network = self.network.get()
        self._transport = ConditionedTransport(self._connect(), self._clock, network, network, seed=self._seed)
        self._transport.subscribe(self._on_envelope)
        self._transport.subscribe_status(self._on_status)
        self._forget_match()
        self._on_status(self._transport.status)

    def _forget_match(self) -> None:
        """A new connection starts from nothing: a new avatar, a new numbering, a clock to be learnt."""
        self._welcomed = False
        self._baseline: Avatar | None = None
        self._predictor: Predictor[Avatar, Command] = Predictor(
            Avatar(), self._move, on_correction=self._on_correction, limit=PENDING_LIMIT
        )
        self._ghosts: dict[str, Ghost] = {}
        self._frames: dict[str, AvatarFrame] = {}
        self._emotes = Emotes()
        self._timesync = TimeSync()
        self._clock_id = 0
        self._clock_due = self._profile_due = -math.inf
        self._heard_at = self._snapshot_at = math.nan
        self._offset.clear()

    def _on_status(self, status: ConnectionStatus) -> None:
        if self.status.get().link is Link.LEFT:
            return
        if status.state is TransportState.OPEN:
            self._forget_match()
            self._heard_at = self._now
            self._send(Hello(PROTOCOL, self._name, self._color, self._token))
        elif status.state is TransportState.CONNECTING:
            link = Link.CONNECTING if status.attempt == 0 else Link.RECONNECTING
            self._set_link(link, status.reason, status.attempt, status.attempts)
        elif status.state is TransportState.CLOSED:
            refused = status.code is not None and (status.code in REFUSALS or status.code == 1008)
            self._set_link(Link.REFUSED if refused else Link.LOST, status.reason or "the server is gone")
        if status.state is not TransportState.OPEN:
            self._welcomed = False
            self._baseline = None

    def _set_link(self, link: Link, detail: str = "", attempt: int = 0, attempts: int = 0) -> None:
        where = self.status.get().where
        self.status.set(SessionStatus(link, detail, attempt, attempts, where))

    def _send(self, message: msgspec.Struct) -> None:
        self._transport.send(message)

    def _bytes(self) -> tuple[int, int]:
        traffic = self._transport.traffic
        return self._report.bytes_up + traffic.bytes_up, self._report.bytes_down + traffic.bytes_down

    def _keep_in_touch(self, now: float) -> None:
        if not self._welcomed:
            return
        if now >= self._clock_due:
            self._clock_due = now + CLOCK_EVERY
            self._clock_id += 1
            self._send(ClockSample(id=self._clock_id, client_ms=self._clock.now() * 1000))
        if now >= self._profile_due and self._timesync.ready:
            self._profile_due = now + PROFILE_EVERY
            self._send(Profile(rtt_ms=round(self._timesync.rtt * 1000, 1)))
        silent = now - self._heard_at
        self._set_link(Link.CONNECTED, f"no answer for {silent:.0f} s" if silent > SILENCE else "")

    # -- what arrives

    def _on_envelope(self, envelope: Envelope) -> None:
        try:
            message = parse(envelope.data)
            if envelope.sender != SERVER:
                if isinstance(message, Event) and envelope.sender in self._ghosts:
                    self._hear(envelope.sender, message)
                return
            self._take(message, envelope.at if envelope.at is not None else self._now)
        except WireError:
            return  # an authority that speaks nonsense is as good as silent, and the silence is shown

    def _take(self, message: Any, at: float) -> None:
        match message:
            case State():
                self._heard_at = at
                self._take_state(message)
            case WorldState():
                self._take_world(message, at)
            case ClockSample(server_ms=float() as server_ms):
                self._timesync.add(message.client_ms / 1000, server_ms / 1000, at)
                self.diagnostics.rtt_ms.add(self._timesync.rtt * 1000)
                self.diagnostics.jitter_ms.add(self._timesync.jitter * 1000)
            case Roster():
                self._take_roster(message)
            case Welcome():
                self._welcomed = True
                self._set_link(Link.CONNECTED)
                if self._away:
                    self._send(Profile(away=True))
            case Error():
                _log.warning("the server refuses: %s", ascii(message.message[:200]))

    def _hear(self, peer_id: str, message: Event) -> None:
        index = emote_of(message)
        if index is not None:
            self._emotes.say(peer_id, index, self._now)

    def _take_state(self, message: State) -> None:
        avatar = unpack_avatar(message.state)
        ghost = self._ghosts.setdefault(self.peer_id, Ghost())
        ghost.push(message.time_ms / 1000, avatar)
        if self._baseline is None:
            self._baseline = avatar
            self._predictor.reset(avatar, renumber=True)
            return
        self._predictor.acknowledge(avatar, message.last_seq, replay=self.techniques.get().reconciliation)

    def _take_world(self, message: WorldState, at: float) -> None:
        time = message.time_ms / 1000
        for peer_id, fields in message.players.items():
            if peer_id != self.peer_id:
                self._ghosts.setdefault(peer_id, Ghost()).push(time, unpack_avatar(fields))
                self._peers_seen.add(peer_id)
        for gone in self._ghosts.keys() - message.players.keys() - {self.peer_id}:
            del self._ghosts[gone]
            self._frames.pop(gone, None)
            self._emotes.forget(gone)
        self._report.snapshots += 1
        self.diagnostics.snapshots += 1
        if not math.isnan(self._snapshot_at):
            self.diagnostics.snapshot_gap_ms.add((at - self._snapshot_at) * 1000)
        self._snapshot_at = at

    def _take_roster(self, message: Roster) -> None:
        self.presence.set(
            {
                peer_id: Person(
                    clean_name(person.name),
                    clean_color(person.color, DEFAULT_COLORS[0]),
                    person.rtt_ms,
                    person.away,
                )
                for peer_id, person in message.players.items()
            }
        )

    # -- prediction

    def _move(self, avatar: Avatar, command: Command) -> Avatar:
        return move_avatar(avatar, command, self.arena)

    def _run_ticks(self, now: float, pilot: Pilot) -> None:
        for _ in range(self._steps.due(now)):
            if self._baseline is None or self._predictor.pending >= PENDING_LIMIT:
                continue  # nobody to play with: the avatar's own time stands still, so nothing is lost
            before = self._predictor.state
            self._report.ticks += 1
            command = pilot.command(before, self._report.ticks)
            seq = self._predictor.apply(command)
            self._send(pack_input(seq, command))
            pilot.committed()
            after = self._predictor.state
            self._report.distance_units += math.hypot(after.x - before.x, after.z - before.z) / UNIT
        self._report.pending_max = max(self._report.pending_max, self._predictor.pending)

    def _on_correction(self, before: Avatar, after: Avatar) -> None:
        dx, dy, dz = ((a - b) / UNIT for a, b in ((before.x, after.x), (before.y, after.y), (before.z, after.z)))
        distance = math.hypot(dx, dy, dz)
        self._correction = max(self._correction, distance)
        self._report.corrections += 1
        self.diagnostics.corrections += 1
        self._report.correction_max_units = max(self._report.correction_max_units, distance)
        self._offset.add(dx, dy, dz)

    # -- drawing

    def _draw(self, now: float, dt: float, pilot: Pilot) -> Frame:
        motion = self.techniques.get().remote_motion
        arrival = self._timesync.arrival_time(now) if self._timesync.ready else math.inf
        people = self.presence.get()
        me = None
        for peer_id, ghost in self._ghosts.items():
            pose = ghost.pose(motion, arrival, dt)
            own = peer_id == self.peer_id
            if own and self._baseline is not None and self.techniques.get().prediction:
                pose = self._predicted_pose(now, pilot)
            newest = ghost.newest
            if pose is None or newest is None:
                continue
            frame = self._frames.get(peer_id)
            if frame is None:
                frame = self._frames[peer_id] = AvatarFrame(peer_id, me=own)
            frame.x, frame.y, frame.z, frame.yaw, frame.dashing = pose
            frame.truth = newest[:4]
            frame.emote = self._emotes.text(peer_id, now)
            person = people.get(peer_id)
            if person is not None:
                frame.name, frame.color, frame.away = person.name, person.color, person.away
            if own:
                me = frame
        self.diagnostics.pending.add(self._predictor.pending)
        self.diagnostics.correction_units.add(self._correction)
        return Frame(
            now, self._report.ticks, list(self._frames.values()), me, self.diagnostics, self._transport.traffic
        )

    def _predicted_pose(self, now: float, pilot: Pilot) -> Pose:
        """Between the newest tick and the one that is being played, so that a key shows in the very next frame."""
        avatar = self._predictor.state
        command = pilot.command(avatar, self._report.ticks + 1)
        pose = blend(pose_of(avatar), pose_of(self._move(avatar, command)), self._steps.alpha(now))
        offset = self._offset
        return Pose(pose.x + offset.x, pose.y + offset.y, pose.z + offset.z, command.yaw * RADIANS, pose.dashing)
