"""Batch: many avatars as numpy columns, moved all at once, bit for bit as `game.sim.movement` moves each."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import chain
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from game.sim.arena import Arena
from game.sim.command import Command
from game.sim.constants import (
    AIR_ACCELERATION,
    AIR_FRICTION,
    DASH_COOLDOWN,
    DASH_TICKS,
    DIRECTION,
    GRAVITY,
    GROUND_ACCELERATION,
    GROUND_FRICTION,
    JUMP_SPEED,
    RUN_SPEED,
)
from game.sim.movement import dash_velocity, move_tick, shorten
from game.sim.state import Avatar
from game.sim.walls import Integers, walls

FEW: Final = 8
"""fewer moves than this are made one by one: columns cost more than they save"""

_OWN: Final = np.dtype(
    [
        ("x", "<i4"),
        ("z", "<i4"),
        ("y", "<u2"),
        ("vx", "<i2"),
        ("vy", "<i2"),
        ("vz", "<i2"),
        ("yaw", "<u2"),
        ("dash_ticks", "u1"),
        ("cooldown", "u1"),
        ("jump_held", "u1"),
    ]
)
"""`game.sim.crowd.OWN` for a row of avatars"""

_FIELDS: Final = Avatar.__struct_fields__
_PARTS: Final = Command.__struct_fields__
_TICKS: Final = _PARTS.index("ticks")

# Zero-dimensional arrays, because numpy takes a Python number in twice the time.
_ZERO: Final = np.array(0, np.int64)
_ONE: Final = np.array(1, np.int64)
_TWO: Final = np.array(2, np.uint8)
_ONE_FLOAT: Final = np.array(1.0)
_GRAVITY: Final = np.array(GRAVITY, np.int64)
_JUMP_SPEED: Final = np.array(JUMP_SPEED, np.int64)
_RATES: Final = np.array([AIR_FRICTION, AIR_ACCELERATION, GROUND_FRICTION, GROUND_ACCELERATION], np.int64)
"""by 2 * on the ground + pushing somewhere"""
_WISH: Final = np.array(
    [math.trunc(d * RUN_SPEED / DIRECTION) for d in (*range(DIRECTION + 1), *range(-DIRECTION, 0))], np.int64
)
"""speed that a push of this size wishes for; a negative push counts from the end"""


class Batch:
    """The avatars of one arena, in the order that the caller keeps: row i is the i-th one's.

    It computes what `move_tick` computes, each rule for all rows at once: squares and products stay below 2^52, so
    square roots and quotients of doubles, rounded down or towards zero, are those of the integers. What is rare (how a
    dash starts and ends) is done one by one by the same functions.
    """

    def __init__(self, arena: Arena, avatars: Sequence[Avatar]) -> None:
        self._arena = arena
        self._walls_x, self._walls_z = walls(arena)
        rows = [msgspec.structs.astuple(avatar) for avatar in avatars]
        self._hold(np.array(rows, np.int64).reshape(len(rows), len(_FIELDS)).T)

    def _hold(self, state: Integers) -> None:
        """Take these columns, int64 [field, row], and the space to work on them."""
        self.state: Integers = np.ascontiguousarray(state)
        """int64 [field, row], fields as in Avatar"""
        count = state.shape[1]
        self._commands = np.zeros((len(_PARTS), count), np.int64)
        self._scratch = np.zeros((2, count), np.int64)
        self._own = np.zeros(count, _OWN)

    def __len__(self) -> int:
        return len(self.state[0])

    def insert(self, row: int, avatar: Avatar) -> None:
        """Put an avatar before that row."""
        self._hold(np.insert(self.state, row, msgspec.structs.astuple(avatar), axis=1))

    def delete(self, row: int) -> None:
        """Take that row's avatar out."""
        self._hold(np.delete(self.state, row, axis=1))

    def __getitem__(self, row: int) -> Avatar:
        return _avatar(self.state[:, row].tolist())

    def __setitem__(self, row: int, avatar: Avatar) -> None:
        self.state[:, row] = msgspec.structs.astuple(avatar)

    def avatars(self) -> list[Avatar]:
        """All avatars, in order of rows."""
        return [_avatar(values) for values in self.state.T.tolist()]

    def column(self, field: str) -> Integers:
        """A field of Avatar by row, int64; valid until the next change."""
        column: Integers = self.state[_FIELDS.index(field)]
        return column

    def packed(self) -> list[bytes]:
        """Every avatar in bytes, in order of rows."""
        for field, column in zip(_FIELDS, self.state, strict=True):
            self._own[field] = column
        data, size = self._own.tobytes(), _OWN.itemsize
        return [data[start : start + size] for start in range(0, len(data), size)]

    # -- moving

    def advance(self, given: Sequence[Sequence[Command]]) -> None:
        """Do each row's commands, one after the other. Pushes must lie on the wire's grid, -127 to 127."""
        flat = list(chain.from_iterable(given))
        if len(flat) < FEW:
            rows = [row for row, commands in enumerate(given) for command in commands for _ in range(command.ticks)]
            self._move_few(rows, [command for command in flat for _ in range(command.ticks)])
            return
        columns = _columns(flat)
        counts = list(map(len, given))
        singles = columns[_TICKS].tolist().count(1) == len(flat)
        if singles and len(flat) == len(given) == counts.count(1):
            np.copyto(self._commands, columns)
            self._move()
        elif singles and len(flat) == counts.count(1):
            self._move_some(np.flatnonzero(counts), columns)
        else:
            self._move_in_rounds(given, flat, columns, counts)

    def _move_in_rounds(
        self, given: Sequence[Sequence[Command]], flat: list[Command], columns: Integers, counts: list[int]
    ) -> None:
        """In round k everybody moves who has a k-th tick to do."""
        ticks = columns[_TICKS]
        what = np.repeat(np.arange(len(flat)), ticks)
        who = np.repeat(np.repeat(np.arange(len(given)), counts), ticks)
        turn = np.arange(len(who)) - np.searchsorted(who, who)
        for number, movers in enumerate(np.bincount(turn).tolist()):
            if movers < FEW:
                rest = turn >= number
                self._move_few(who[rest].tolist(), [flat[index] for index in what[rest].tolist()])
                return
            chosen = turn == number
            self._move_some(who[chosen], columns[:, what[chosen]])

    def _move_few(self, rows: Sequence[int], commands: Sequence[Command]) -> None:
        """One tick of each command, of the avatar in the row beside it, one by one."""
        moved: dict[int, Avatar] = {}
        for row, command in zip(rows, commands, strict=True):
            moved[row] = move_tick(moved[row] if row in moved else self[row], command, self._arena)
        for row, avatar in moved.items():
            self[row] = avatar

    def _move_some(self, rows: Integers, columns: Integers) -> None:
        """One tick of these rows, by a command each; the others stand still."""
        self._commands.fill(0)
        self._commands[:, rows] = columns
        still = np.ones(len(self), np.bool_)
        still[rows] = False
        before = self.state.copy()
        self._move()
        np.copyto(self.state, before, where=still)

    def _move(self) -> None:
        """One tick of all rows, by the commands in place: `move_tick`, rule by rule."""
        _, y, _, _, vy, _, yaw, dash_ticks, cooldown, jump_held = self.state
        push, turn, jump, dash = self._commands[0:2], self._commands[2], self._commands[3], self._commands[4]
        velocity = self.state[3:6:2]
        grounded = (y | vy) == _ZERO
        cooldown -= _ONE
        np.maximum(cooldown, _ZERO, out=cooldown)
        starts = dash > (dash_ticks | cooldown)
        if np.count_nonzero(starts):
            self._start_dashes(np.flatnonzero(starts).tolist())
        dashing = dash_ticks > _ZERO

        step = self._accelerate(push, velocity, grounded)
        np.copyto(step, _ZERO, where=dashing)
        velocity += step

        jumps = grounded & (jump > jump_held)
        np.copyto(vy, _JUMP_SPEED, where=jumps)
        y += vy
        vy -= _GRAVITY
        landed = y <= _ZERO  # as who stood on the ground, where all this ends in zeros too
        np.copyto(y, _ZERO, where=landed)
        np.copyto(vy, _ZERO, where=landed)

        self._slide(self.state[0:3:2], velocity)
        ends = dash_ticks == _ONE
        dash_ticks -= dashing
        if np.count_nonzero(ends):
            for row in np.flatnonzero(ends).tolist():
                vx, vz = velocity[:, row].tolist()
                velocity[:, row] = shorten(vx, vz, RUN_SPEED)
        yaw[:] = turn
        jump_held[:] = jump

    def _start_dashes(self, rows: list[int]) -> None:
        for row in rows:
            dx, dz, yaw = self._commands[:3, row].tolist()
            self.state[3:6:2, row] = dash_velocity(Command(dx, dz, yaw))
        self.state[7, rows] = DASH_TICKS
        self.state[8, rows] = DASH_COOLDOWN

    def _accelerate(self, push: Integers, velocity: Integers, grounded: NDArray[np.bool_]) -> Integers:
        """How much the velocity changes, [2, n], towards the wished one by at most a rate, in a straight line."""
        pushing = (push[0] | push[1]) != _ZERO
        kind = grounded.view(np.uint8) * _TWO + pushing.view(np.uint8)
        rate = _RATES.take(kind, mode="clip")
        gap = _WISH.take(push, mode="wrap") - velocity
        squares = gap * gap
        square = squares[0] + squares[1]
        length = np.sqrt(square)
        np.floor(length, out=length)
        length += _ONE_FLOAT
        step: Integers = (gap * rate / length).astype(np.int64)
        near = square <= rate * rate
        np.copyto(step, gap, where=near)
        stuck = (step[0] | step[1] | near) == _ZERO
        if np.count_nonzero(stuck):
            rows = np.flatnonzero(stuck)
            away = gap[:, rows]
            size = np.abs(away)
            along_x = size[0] >= size[1]
            step[:, rows] = np.sign(away) * (along_x, ~along_x)
        return step

    def _slide(self, place: Integers, velocity: Integers) -> None:
        x, z = place
        to = place + velocity
        to_x, to_z = to
        hits_x = self._walls_x.stop(x, to_x, z, self._scratch)
        hits_z = self._walls_z.stop(z, to_z, to_x, self._scratch)
        np.copyto(velocity[0], _ZERO, where=hits_x)
        np.copyto(velocity[1], _ZERO, where=hits_z)
        place[:] = to


def _avatar(values: list[int]) -> Avatar:
    x, y, z, vx, vy, vz, yaw, dash_ticks, cooldown, jump_held = values
    return Avatar(x, y, z, vx, vy, vz, yaw, dash_ticks, cooldown, bool(jump_held))


def _columns(commands: Sequence[Command]) -> Integers:
    """Commands as integers [part, command]: structs, one flat list and one `pack` are the shortest way there."""
    numbers = chain.from_iterable(map(msgspec.structs.astuple, commands))
    data = struct.pack(f"<{len(_PARTS) * len(commands)}i", *numbers)
    return np.frombuffer(data, "<i4").reshape(len(commands), len(_PARTS)).T
