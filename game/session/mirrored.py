"""Mirrored: what an authority replicates, in the words of this game."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from game.binary import AVATAR, LINK, PLAYER, SCHEMA, unpack_own
from game.session.ghost import Pose
from game.sim.constants import TICK_RATE
from game.sim.state import Avatar
from game.wire import DEFAULT_COLORS, Person, clean_color, clean_name
from net.envelope import WireError
from net.replication import Archetype, Mirror, Update
from net.replication.world import NO_SLOTS, Slots

SLOTS: Final = 4096
"""entities that a room may have"""

_ARCHETYPES: Final[dict[str, Archetype]] = {AVATAR: lambda entity: {}}


@dataclass(slots=True)
class News:
    """What one frame says."""

    time: float
    """the room's, seconds"""
    quiet: bool
    """nothing has changed since the frame before: the next may take as long as PAUSE"""
    own: Avatar | None
    """our own avatar after our command `last_seq`; None where we have none yet"""
    last_seq: int
    gone: list[str] = field(default_factory=list)
    """who has left, by peerId"""


class Mirrored:
    """The entities of a room at one client. Frames in their order in, news out."""

    def __init__(self) -> None:
        self._mirror = Mirror(SCHEMA, _ARCHETYPES, slots=SLOTS)
        self._names: dict[int, str] = {}
        self._moved = NO_SLOTS
        self.people: dict[str, Person] = {}
        """who is here, by peerId; another object whenever anything in it changes"""

    @property
    def needs_resync(self) -> bool:
        """A frame could not be used: the authority has to tell us everything anew."""
        return self._mirror.needs_resync

    def take(self, frame: bytes) -> News | None:
        """Take in a binary message. None for one that says nothing, or cannot be right (see `needs_resync`)."""
        mirror = self._mirror
        update = mirror.apply(frame)
        if update is None:
            return None
        try:
            own = unpack_own(mirror.private)
        except WireError:
            own = None  # we have none yet, or the authority means something else by it
        quiet = not (update.full or update.despawned or update.spawned or update.changed or update.added)
        news = News(update.tick / TICK_RATE, quiet, own, mirror.acknowledged)
        news.gone = [self._names.pop(entity) for entity in update.despawned]
        for entity in update.spawned:
            self._names[entity] = self._name(entity)
        self._meet(update, news.gone)
        self._moved = _told(update, AVATAR)
        return news

    def _name(self, entity: int) -> str:
        """The peerId of an entity; for what nobody plays, a name that no peer can have."""
        return str(self._mirror.get(entity, PLAYER, "peer")) if self._mirror.has(entity, PLAYER) else f"\0{entity}"

    def _meet(self, update: Update, gone: list[str]) -> None:
        mirror = self._mirror
        slots = _told(update, PLAYER, LINK)
        if not (gone or len(slots)):
            return
        people = {name: person for name, person in self.people.items() if name not in gone}
        for entity in mirror.ids[np.unique(slots)].tolist():
            if mirror.has(entity, PLAYER):
                name, color, away = (mirror.get(entity, PLAYER, key) for key in ("name", "color", "away"))
                people[self._names[entity]] = Person(
                    clean_name(name),
                    clean_color(f"#{color:06x}", DEFAULT_COLORS[entity % len(DEFAULT_COLORS)]),
                    float(mirror.get(entity, LINK, "rtt")) if mirror.has(entity, LINK) else None,
                    away,
                )
        self.people = people

    def moved(self) -> dict[str, Pose]:
        """Who came, moved, or was told anew in the newest frame, and where they are."""
        mirror, slots, names = self._mirror, self._moved, self._names
        fields = [mirror.values(AVATAR, name, slots).tolist() for name in ("x", "y", "z", "yaw", "dashing")]
        peers = [names[entity] for entity in mirror.ids[slots].tolist()]
        return dict(zip(peers, map(Pose, *fields), strict=True))


def _told(update: Update, *components: str) -> Slots:
    """The slots of which one of the components came or changed, more than once if several did."""
    told = [news[name] for news in (update.added, update.changed) for name in components if name in news]
    return np.concatenate(told) if told else NO_SLOTS
