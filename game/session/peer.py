"""A match without an authority: everyone simulates himself, and presence shows the others."""

from __future__ import annotations

import zlib
from typing import ClassVar, Final

from game.session.base import Frame, Link, Pilot, Role
from game.session.ghost import RADIANS, Pose, pose_of
from game.session.match import Match
from game.sim.constants import UNIT
from game.sim.state import Avatar
from game.wire import DEFAULT_COLORS, EMOTE, Event, Person, clean_color, clean_name
from net.envelope import Envelope
from net.events import EventBus
from net.presence import FIRED, LEFT, LocalPresence, OneShot, PeerPresence, PresenceSync
from net.sync.playback import Playback
from net.sync.snapshots import DELAY

INTERVAL: Final = 0.05
"""seconds between two packets while we move: twice as often as the protocol's default, for smoother ghosts"""
BEYOND: Final = 5.0
"""units outside the arena to which a peer's position is believed"""


class PeerSession(Match):
    """`Session` over any transport that reaches other players: a relay's room, or a channel on this machine."""

    role: ClassVar[Role] = Role.PEER

    # -- the connection

    def _open_transport(self) -> None:
        self._avatar: Avatar | None = None
        self._sync: PresenceSync[LocalPresence, PeerPresence] | None = None
        super()._open_transport()

    def _begin(self) -> None:
        if self._avatar is None:
            seat = zlib.crc32(self.peer_id.encode()) % len(self.arena.spawns)
            x, z, yaw = self.arena.spawns[seat]
            self._avatar = Avatar(x=x, z=z, yaw=yaw)
            self._color = clean_color(self._color, DEFAULT_COLORS[seat % len(DEFAULT_COLORS)])
        self._set_link(Link.CONNECTED)
        if self._sync is None:  # a sync lives through a lost connection: to the others we were never away
            bus = EventBus()
            bus.on(FIRED, self._hear_shot)
            bus.on(LEFT, lambda peer: self._leave(peer.peer_id))
            self._sync = PresenceSync(
                self._transport, self._tell, self._clock, interval=INTERVAL, bus=bus, one_shots=(EMOTE,)
            )
            self._sync.store.subscribe(self._hear)
            self._sync.start()
        self._show_people()

    def _end(self) -> None:
        """The own avatar plays on: nobody else owns it."""

    def _say_goodbye(self) -> None:
        if self._sync is not None:
            self._sync.stop()

    def _receive(self, envelope: Envelope) -> None:
        """Presence listens for itself."""

    def _keep_in_touch(self, now: float) -> None:
        if self._sync is not None and self.status.get().link is Link.CONNECTED:
            self._sync.update()

    def set_away(self, away: bool) -> None:
        """Tell the others that nobody looks at this window, or somebody does again."""
        self._away = away
        self._show_people()

    def emote(self, index: int) -> None:
        """Say EMOTES[index] to everyone, once."""
        if self._sync is not None and self._emotes.say(self.peer_id, index, self._now):
            self._sync.fire(EMOTE, index)

    # -- presence, both ways

    def _tell(self) -> LocalPresence:
        avatar = self._avatar or Avatar()
        position = (avatar.x / UNIT, avatar.y / UNIT, avatar.z / UNIT)
        meta = {"name": self._name, "color": self._color, "away": self._away}
        return LocalPresence(position, round(avatar.yaw * RADIANS, 5), meta)

    def _hear(self, new: dict[str, PeerPresence], old: dict[str, PeerPresence]) -> None:
        anybody_new = new.keys() != old.keys()
        for peer_id, peer in new.items():
            before = old.get(peer_id)
            if peer is before:
                continue
            self._peers_seen.add(peer_id)
            self._ghost(peer_id).push(peer.last_seen, self._pose(peer))
            self._count_snapshot(peer.last_seen)
            anybody_new = anybody_new or before is None or before.meta != peer.meta
        if anybody_new:
            self._show_people()

    def _pose(self, peer: PeerPresence) -> Pose:
        """Where a peer says that it is, within reason."""
        x, y, z = peer.position
        across, along = self.arena.half_width / UNIT + BEYOND, self.arena.half_depth / UNIT + BEYOND
        yaw = peer.rotation_y if abs(peer.rotation_y) < 1e6 else 0.0
        return Pose(max(-across, min(across, x)), max(0.0, min(20.0, y)), max(-along, min(along, z)), yaw, False)

    def _hear_shot(self, shot: OneShot) -> None:
        self._hear_emote(shot.peer_id, Event(shot.name, shot.value))

    def _leave(self, peer_id: str) -> None:
        self._forget(peer_id)
        self._show_people()

    def _new_playback(self) -> Playback:
        """A constant delay: a packet tells nothing of when it was sent."""
        return Playback(DELAY)

    def _show_people(self) -> None:
        people = {self.peer_id: Person(self._name, self._color, away=self._away)}
        for seat, peer in enumerate(self._sync.peers() if self._sync is not None else ()):
            meta = peer.meta or {}
            name, color = meta.get("name"), meta.get("color")
            people[peer.peer_id] = Person(
                clean_name(name if isinstance(name, str) else peer.peer_id),
                clean_color(color if isinstance(color, str) else "", DEFAULT_COLORS[seat % len(DEFAULT_COLORS)]),
                away=meta.get("away") is True,
            )
        self.presence.set(people)

    # -- the own avatar, and drawing

    def _tick(self, pilot: Pilot) -> None:
        avatar = self._avatar
        if avatar is not None:
            self._avatar = self._move(avatar, pilot.command(avatar, self._report.ticks + 1))
            pilot.committed()
            self._count_tick(avatar, self._avatar)

    def _draw(self, now: float, dt: float, pilot: Pilot) -> Frame:
        if self._avatar is not None:
            self._show(self.peer_id, self._own_pose(self._avatar, now, pilot), pose_of(self._avatar))
        self._playback.hear(now, now)  # the ghosts' times are of our own clock, which is never late
        self._playback.advance(now)
        motion = self.techniques.get().remote_motion
        for peer_id, ghost in self._ghosts.items():
            pose, newest = ghost.pose(motion, now, dt), ghost.latest()
            if pose is not None and newest is not None:
                self._show(peer_id, pose, newest)
        return self._finish_frame(now)
