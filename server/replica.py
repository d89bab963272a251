"""Replica: a room's world for the players that take binary frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from game.binary import AVATAR, GHOST_STEP, GHOST_TURN, LINK, PAUSE, PLAYER, REACH, SCHEMA
from game.sim.constants import TURN, UNIT
from game.sim.crowd import Crowd
from game.wire import Person
from net.replication import Authority
from net.replication.shapes import Codes

_READ: Final = ("x", "y", "z", "yaw", "dash_ticks")
"""what becomes the fields of AVATAR, in order: half a step more, in whole steps (2 to some power), from the edge"""


def _column(*values: int) -> Codes:
    return np.array(values, np.int64)[:, None]


_HALVES: Final = _column(GHOST_STEP // 2, GHOST_STEP // 2, GHOST_STEP // 2, GHOST_TURN // 2, 0)
_SHIFTS: Final = _column(*(step.bit_length() - 1 for step in (GHOST_STEP, GHOST_STEP, GHOST_STEP, GHOST_TURN, 1)))
_EDGES: Final = _column(REACH * UNIT // GHOST_STEP, 0, REACH * UNIT // GHOST_STEP, 0, 0)
_MASKS: Final = _column(-1, -1, -1, TURN // GHOST_TURN - 1, -1)


class Replica:
    """One entity for each player; its row is the player's slot."""

    def __init__(self, capacity: int, sample_rate: float) -> None:
        """`sample_rate`: how often a second `sample` will be called."""
        self._authority = Authority(SCHEMA, capacity, heartbeat=max(1, math.floor(PAUSE * sample_rate)))
        self._entities: dict[int, int] = {}
        self._codes = self._authority.columns(AVATAR)

    @property
    def heard(self) -> bool:
        """Whether anybody takes binary frames."""
        return bool(self._authority.connections)

    def enter(self, peer_id: str, number: int) -> int:
        """A new player: the slot that is his, the lowest free one. `number` names his connection, 0 if he has none.

        RuntimeError where no slot is free.
        """
        entity = self._authority.spawn(AVATAR, owner=number, avatar={}, player={"peer": peer_id})
        slot = self._authority.slot(entity)
        self._entities[slot] = entity
        return slot

    def leave(self, slot: int) -> None:
        """A player has left."""
        entity = self._entities.pop(slot)
        self._authority.detach(self._authority.owner_of(entity))
        self._authority.despawn(entity)

    def introduce(self, slot: int, person: Person) -> None:
        """Who he is, now."""
        entity, authority = self._entities[slot], self._authority
        authority.set(entity, PLAYER, name=person.name, color=int(person.color[1:], 16), away=person.away)
        if person.rtt_ms is not None:
            put = authority.set if authority.has(entity, LINK) else authority.add
            put(entity, LINK, rtt=round(person.rtt_ms))

    def listen(self, number: int, send: Callable[[bytes], None]) -> None:
        """Send binary frames from now on. His greeting was found to be right."""
        self._authority.attach(number, send)
        self._authority.greet(number, SCHEMA.greeting())

    def resync(self, number: int) -> None:
        """Tell him everything anew."""
        self._authority.resync(number)

    def tell(self, news: Iterable[tuple[int, bytes, int]]) -> None:
        """What next frames say to one receiver alone: (number, his avatar as in `Crowd.packed`, his last command)."""
        self._authority.tell_all(news)

    def sample(self, crowd: Crowd) -> None:
        """Send what is new in the avatars, slot by slot."""
        codes = crowd.read(_READ)
        codes += _HALVES
        codes >>= _SHIFTS
        codes += _EDGES
        codes &= _MASKS
        np.minimum(codes[4], 1, out=codes[4])  # ticks of a dash: whether there is one
        self._codes[:, crowd.index] = codes
        self._authority.sample(crowd.tick)
