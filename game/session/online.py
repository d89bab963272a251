"""A match against an authority: predict our own avatar, reconcile it, and show the others as ghosts."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Iterable
from typing import Any, ClassVar, Final

import msgspec

from game.binary import PAUSE, SCHEMA, pack_command
from game.session.base import Frame, Link, Pilot, Role
from game.session.ghost import Pose, pose_of
from game.session.match import Match, Report
from game.session.mirrored import Mirrored
from game.sim.command import Command
from game.sim.constants import UNIT
from game.sim.state import Avatar
from game.wire import (
    DEFAULT_COLORS,
    PENDING_LIMIT,
    PROTOCOL,
    SERVER,
    Bye,
    ClockSample,
    Error,
    Event,
    Hello,
    Person,
    Profile,
    Resync,
    Roster,
    State,
    Welcome,
    WorldState,
    clean_color,
    clean_name,
    pack_input,
    parse,
    unpack_avatar,
)
from net.envelope import Envelope, WireError
from net.sync.playback import Playback
from net.sync.prediction import Predictor
from net.sync.smoothing import VisualOffset
from net.sync.timesync import TimeSync
from net.transport.base import Transport, require_reliable_ordered
from net.transport.conditioner import ConditionedTransport, Conditions, OrderedConditionedTransport

_log = logging.getLogger(__name__)

CLOCK_EVERY: Final = 0.25
"""seconds between two samples of the authority's clock"""
PROFILE_EVERY: Final = 1.0
RESYNC_EVERY: Final = 0.5
"""seconds"""
SILENCE: Final = 1.0
"""seconds without a state after which the player is told"""


class OnlineSession(Match):
    """`Session` over any transport that reaches an authority."""

    role: ClassVar[Role] = Role.CLIENT

    @property
    def predicted(self) -> Avatar:
        """The own avatar with every pending command applied."""
        return self._predictor.state

    def set_away(self, away: bool) -> None:
        """Tell the others that nobody looks at this window, or somebody does again."""
        if away != self._away:
            self._away = away
            if self._welcomed:
                self._send(Profile(away=away))

    def report(self) -> Report:
        """What this session has seen so far."""
        return msgspec.structs.replace(super().report(), rtt_ms=round(self._timesync.rtt * 1000, 2))

    # -- the connection

    def _open_transport(self) -> None:
        self._token = secrets.token_hex(8)
        self._reset()
        super()._open_transport()
        self._transport.subscribe_bytes(self._receive_frame)

    def _condition(self, inner: Transport, network: Conditions) -> ConditionedTransport:
        """Frames say what has changed since the one before: none may be lost, or overtake another."""
        ordered = require_reliable_ordered(inner)
        return OrderedConditionedTransport(ordered, self._clock, network, network, seed=self._seed)

    def _reset(self) -> None:
        """A new connection starts from nothing: a new avatar, a new numbering, a clock to be learnt."""
        self._welcomed = self._binary = False
        self._mirrored = Mirrored()
        self._interval = 0.0
        self._baseline: Avatar | None = None
        self._predictor: Predictor[Avatar, Command] = Predictor(
            Avatar(), self._move, on_correction=self._on_correction, limit=PENDING_LIMIT
        )
        self._offset = VisualOffset()
        self._correction = 0.0
        self._timesync = TimeSync()
        self._clock_id = 0
        self._clock_due = self._profile_due = self._resync_due = self._followed = -math.inf
        self._heard_at = self._now

    def _begin(self) -> None:
        self._reset()
        self._send(Hello(PROTOCOL, self._name, self._color, self._token, SCHEMA.greeting()))

    def _end(self) -> None:
        self._welcomed = False
        self._baseline = None

    def _say_goodbye(self) -> None:
        self._send(Bye())

    def _send(self, message: msgspec.Struct) -> None:
        self._transport.send(message)

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
        if now >= self._resync_due and self._mirrored.needs_resync:
            self._resync_due = now + RESYNC_EVERY
            self._send(Resync())
        silent = now - self._heard_at
        self._set_link(Link.CONNECTED, f"no answer for {silent:.0f} s" if silent > SILENCE else "")

    # -- what arrives

    def _receive(self, envelope: Envelope) -> None:
        try:
            message = parse(envelope.data)
            if envelope.sender == SERVER:
                self._take(message, envelope.at if envelope.at is not None else self._now)
            elif isinstance(message, Event):
                self._hear_emote(envelope.sender, message)
        except WireError:
            return  # an authority that speaks nonsense is as good as silent, and the silence is shown

    def _take(self, message: Any, at: float) -> None:
        match message:
            case State():
                self._take_state(message, at)
            case WorldState():
                self._take_world(message, at)
            case ClockSample(server_ms=float() as server_ms):
                self._timesync.add(message.client_ms / 1000, server_ms / 1000, at)
                self.diagnostics.rtt_ms.add(self._timesync.rtt * 1000)
                self.diagnostics.jitter_ms.add(self._timesync.jitter * 1000)
            case Roster():
                self._take_roster(message)
            case Welcome():
                self._welcomed, self._binary = True, message.binary
                self._interval = 1 / message.world_rate if message.world_rate >= 1 else 1.0
                self._playback = Playback(interval=self._interval)
                self._set_link(Link.CONNECTED)
                if self._away:
                    self._send(Profile(away=True))
            case Error():
                _log.warning("the server refuses: %s", ascii(message.message[:200]))

    def _receive_frame(self, data: bytes) -> None:
        """One frame of replication."""
        news = self._mirrored.take(data)
        if news is None:
            return
        at = self._transport.received_at
        at = self._now if at is None else at
        self._playback.hear(news.time, at, max(0.0, PAUSE - self._interval) if news.quiet else 0.0)
        for peer_id in news.gone:
            self._forget(peer_id)
        self._follow(news.time)
        if self._mirrored.people is not self.presence.get():
            self._peers_seen.update(self._mirrored.people.keys() - {self.peer_id})
            self.presence.set(self._mirrored.people)
        self._count_snapshot(at)
        if news.own is not None:
            self._take_own(news.own, news.last_seq, news.time, at)

    def _follow(self, time: float) -> None:
        """Take in where the others are; who was not spoken of is where he was."""
        if time - self._followed > 1.5 * self._interval:  # while nothing is sent, nobody moves
            self._hold(self._ghosts.keys(), time - self._interval)
        self._followed = time
        moved = self._mirrored.moved()
        moved.pop(self.peer_id, None)
        for peer_id, pose in moved.items():
            self._ghost(peer_id).push(time, pose)
        self._hold(self._ghosts.keys() - moved.keys(), time)

    def _hold(self, peers: Iterable[str], time: float) -> None:
        """These are at `time` where they were last; the own avatar speaks for itself."""
        for peer_id in peers:
            if peer_id != self.peer_id:
                self._ghosts[peer_id].hold(time)

    def _take_state(self, message: State, at: float) -> None:
        self._take_own(unpack_avatar(message.state), message.last_seq, message.time_ms / 1000, at)

    def _take_own(self, avatar: Avatar, last_seq: int, time: float, at: float) -> None:
        self._heard_at = at
        self._ghost(self.peer_id).push(time, pose_of(avatar))
        if self._baseline is None:
            self._baseline = avatar
            self._predictor.reset(avatar, renumber=True)
        else:
            self._predictor.acknowledge(avatar, last_seq, replay=self.techniques.get().reconciliation)

    def _take_world(self, message: WorldState, at: float) -> None:
        time = message.time_ms / 1000
        self._playback.hear(time, at)
        for peer_id, fields in message.players.items():
            if peer_id != self.peer_id:
                self._ghost(peer_id).push(time, pose_of(unpack_avatar(fields)))
                self._peers_seen.add(peer_id)
        for gone in self._ghosts.keys() - message.players.keys() - {self.peer_id}:
            self._forget(gone)
        self._count_snapshot(at)

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

    def _paced(self, now: float) -> float:
        """At the authority's pace: a clock that is fast would buy time there that does not exist."""
        return self._timesync.paced_time(now)

    def _tick(self, pilot: Pilot) -> None:
        if self._baseline is None or self._predictor.pending >= PENDING_LIMIT:
            return  # nobody to play with: the avatar's own time stands still, so nothing is lost
        before = self._predictor.state
        command = pilot.command(before, self._report.ticks + 1)
        seq = self._predictor.apply(command)
        if self._binary:
            self._transport.send_bytes(pack_command(seq, command))
        else:
            self._send(pack_input(seq, command))
        pilot.committed()
        self._count_tick(before, self._predictor.state)
        self._report.pending_max = max(self._report.pending_max, self._predictor.pending)

    def _on_correction(self, before: Avatar, after: Avatar) -> None:
        dx, dy, dz = ((a - b) / UNIT for a, b in ((before.x, after.x), (before.y, after.y), (before.z, after.z)))
        distance = math.hypot(dx, dy, dz)
        self._correction = max(self._correction, distance)
        self._report.corrections += 1
        self._report.correction_max_units = max(self._report.correction_max_units, distance)
        self._offset.add(dx, dy, dz)

    # -- drawing

    def _draw(self, now: float, dt: float, pilot: Pilot) -> Frame:
        techniques = self.techniques.get()
        motion = techniques.remote_motion
        arrival = self._timesync.arrival_time(now) if self._timesync.ready else math.inf
        self._playback.advance(now)
        self._offset.update(dt)
        for peer_id, ghost in self._ghosts.items():
            pose, newest = ghost.pose(motion, arrival, dt), ghost.latest()
            if peer_id == self.peer_id and self._baseline is not None and techniques.prediction:
                pose = self._predicted_pose(now, pilot)
            if pose is not None and newest is not None:
                self._show(peer_id, pose, newest)
        self.diagnostics.pending.add(self._predictor.pending)
        self.diagnostics.correction_units.add(self._correction)
        self._correction = 0.0
        return self._finish_frame(now)

    def _predicted_pose(self, now: float, pilot: Pilot) -> Pose:
        pose, offset = self._own_pose(self._predictor.state, now, pilot), self._offset
        return msgspec.structs.replace(pose, x=pose.x + offset.x, y=pose.y + offset.y, z=pose.z + offset.z)
