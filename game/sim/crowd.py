"""Crowd: a room's avatars by slot, held in the form that is fastest for so many, and the same to its caller."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Final

import numpy as np

from game.sim.arena import Arena
from game.sim.batch import Batch, Moves
from game.sim.command import Command
from game.sim.movement import move_avatar
from game.sim.state import Avatar, World
from game.sim.walls import Integers, walls

BATCH_FROM: Final = 64
"""from about this many avatars on columns are faster, if most commands come as `Moves` (benchmarks/movement.py)"""

OWN: Final = struct.Struct("<iiHhhhHBBB")
"""an avatar in bytes, all of it: x, z, y, vx, vy, vz, yaw, dash_ticks, cooldown, jump_held"""


class Crowd:
    """The avatars of a room and its tick, as `game.sim.step` runs them, bit for bit, but for the events.

    Few avatars are objects that `move_avatar` moves; many are rows of a `Batch`. A crowd that shrinks goes back at
    three quarters of the size at which it changes, so that somebody who comes and goes doesn't change it each time.
    """

    def __init__(self, arena: Arena, capacity: int, *, batch_from: int = BATCH_FROM) -> None:
        """Nobody yet, at tick 0. Slots are 0 to capacity - 1; from `batch_from` avatars on they are held as columns."""
        self.arena = arena
        self.capacity = capacity
        self.tick = 0
        self.slots: tuple[int, ...] = ()
        """who is here, rising"""
        self._batch_from = batch_from
        self._avatars: dict[int, Avatar] = {}
        self._batch: Batch | None = None
        self.index = np.array((), np.intp)
        """the same"""
        if batch_from <= capacity:
            walls(arena)  # takes a moment, and a match that has begun has none

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def batched(self) -> bool:
        """Whether the avatars are columns now."""
        return self._batch is not None

    def avatar(self, slot: int) -> Avatar:
        """The avatar in a slot. Raises KeyError where there is none."""
        if self._batch is None:
            return self._avatars[slot]
        row = bisect_left(self.slots, slot)
        if self.slots[row : row + 1] != (slot,):
            raise KeyError(slot)
        return self._batch[row]

    def world(self) -> World:
        """All that is known, as a value: for checksums and for comparing."""
        avatars = self._all()
        return World(self.tick, dict(zip(self.slots, avatars, strict=True)))

    def _all(self) -> list[Avatar]:
        return [self._avatars[slot] for slot in self.slots] if self._batch is None else self._batch.avatars()

    # -- coming and going

    def spawn(self, slot: int) -> None:
        """A new avatar at that slot's place, whoever was in the slot. Raises ValueError for what is no slot."""
        x, z, yaw = self.arena.spawns[slot % len(self.arena.spawns)]
        self.place(slot, Avatar(x=x, z=z, yaw=yaw))

    def place(self, slot: int, avatar: Avatar) -> None:
        """Put this avatar into a slot, whoever was in it. Raises ValueError for what is no slot."""
        if not 0 <= slot < self.capacity:
            raise ValueError(f"slots are 0 to {self.capacity - 1}, not {slot}")
        self.remove(slot)
        row = bisect_left(self.slots, slot)
        self._hold((*self.slots[:row], slot, *self.slots[row:]))
        if self._batch is not None:
            self._batch.insert(row, avatar)
            return
        self._avatars[slot] = avatar
        if len(self) >= self._batch_from:
            self._batch = Batch(self.arena, self._all())
            self._avatars = {}

    def remove(self, slot: int) -> None:
        """Take the avatar out of a slot. Nothing where there is none."""
        row = bisect_left(self.slots, slot)
        if self.slots[row : row + 1] != (slot,):
            return
        self._hold((*self.slots[:row], *self.slots[row + 1 :]))
        if self._batch is None:
            del self._avatars[slot]
            return
        self._batch.delete(row)
        if len(self) < self._batch_from * 3 // 4:
            self._avatars = dict(zip(self.slots, self._batch.avatars(), strict=True))
            self._batch = None

    def _hold(self, slots: tuple[int, ...]) -> None:
        self.slots = slots
        self.index = np.array(slots, np.intp)

    # -- time

    def advance(self, commands: Mapping[int, Sequence[Command]], moves: Moves | None = None) -> None:
        """One tick. `commands` says by slot what its avatar does in it, as `step` takes it; other slots are ignored.

        While `batched`, avatars that `commands` says nothing about may make `moves`.
        """
        self.tick += 1
        if self._batch is not None:
            if moves is not None:
                self._batch.move(self.index.searchsorted(moves.slots), moves.columns)
            if commands:
                self._batch.advance(list(map(commands.get, self.slots, repeat(()))))
            return
        avatars, arena = self._avatars, self.arena
        for slot, given in commands.items():
            if given and slot in avatars:
                avatar = avatars[slot]
                for command in given:
                    avatar = move_avatar(avatar, command, arena)
                avatars[slot] = avatar

    # -- all at once, in the order of `slots`

    def read(self, fields: Sequence[str]) -> Integers:
        """[fields, len(self)] some fields of every avatar, by names of Avatar."""
        if self._batch is not None:
            return self._batch.read(fields)
        values = list(map(attrgetter(*fields), self._all()))
        return np.array(values, np.int64).reshape(len(values), len(fields)).T

    def packed(self) -> list[bytes]:
        """Every avatar in bytes, as OWN lays them out, in the order of `slots`."""
        if self._batch is not None:
            return self._batch.packed()
        return [
            OWN.pack(a.x, a.z, a.y, a.vx, a.vy, a.vz, a.yaw, a.dash_ticks, a.cooldown, a.jump_held) for a in self._all()
        ]
