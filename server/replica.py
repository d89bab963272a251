"""Replica: a room's world for the players that take binary frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from game.binary import AVATAR, GHOST_STEP, GHOST_TURN, LINK, PAUSE, PLAYER, REACH, SCHEMA
from game.sim.constants import UNIT
from game.sim.crowd import Crowd
from game.wire import Person
from net.replication import Authority

_MIDDLE: Final = REACH * UNIT // GHOST_STEP
_HALF: Final = GHOST_STEP // 2


class Replica:
    """One entity for each player; its row is the player's slot."""

    def __init__(self, capacity: int, sample_rate: float) -> None:
        """`sample_rate`: how often a second `sample` will be called."""
        self._authority = Authority(SCHEMA, capacity, heartbeat=max(1, math.floor(PAUSE * sample_rate)))
        self._entities: dict[int, int] = {}
        columns = [self._authority.column(AVATAR, field) for field in ("x", "y", "z", "yaw", "dashing")]
        self._x, self._y, self._z, self._yaw, self._dashing = columns
        self._raw = np.zeros(capacity, np.int64)

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
        raw = self._raw
        for field, column in (("x", self._x), ("z", self._z)):
            crowd.read(field, raw)
            np.add(raw, _HALF, out=raw)
            np.floor_divide(raw, GHOST_STEP, out=raw)
            np.add(raw, _MIDDLE, out=column)
        crowd.read("y", raw)
        np.add(raw, _HALF, out=raw)
        np.floor_divide(raw, GHOST_STEP, out=self._y)
        crowd.read("yaw", raw)
        np.add(raw, GHOST_TURN // 2, out=raw)
        np.floor_divide(raw, GHOST_TURN, out=raw)
        np.bitwise_and(raw, 1023, out=self._yaw)
        crowd.read("dash_ticks", raw)
        np.greater(raw, 0, out=self._dashing, casting="unsafe")
        self._authority.sample(crowd.tick)
