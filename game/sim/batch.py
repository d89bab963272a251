"""Batch: many avatars as numpy columns, moved all at once, bit for bit as `game.sim.movement` moves each."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

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

FEW: Final = 24
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

# Zero-dimensional arrays, because numpy takes a Python number in twice the time.
_ZERO: Final = np.array(0, np.int64)
_ONE: Final = np.array(1, np.int64)
_TWO: Final = np.array(2, np.uint8)
_ONE_FLOAT: Final = np.array(1.0)
_GRAVITY: Final = np.array(GRAVITY, np.int64)
_JUMP_SPEED: Final = np.array(JUMP_SPEED, np.int64)
_RATES: Final = np.array([AIR_FRICTION, AIR_ACCELERATION, GROUND_FRICTION, GROUND_ACCELERATION], np.int64)
"""by 2 * on the ground + pushing somewhere"""
_RATES_SQUARED: Final = _RATES * _RATES
_DIRECTION: Final = np.array(DIRECTION, np.int64)
_WISH: Final = np.array([math.trunc(d * RUN_SPEED / DIRECTION) for d in range(-DIRECTION, DIRECTION + 1)], np.int64)
"""by DIRECTION + push: the speed that it wishes for"""


class Moves(NamedTuple):
    """One tick of many avatars, none twice: whose they are, and a command for each."""

    slots: NDArray[np.intp]
    """[n]"""
    columns: Integers
    """[5, n]: dx, dz, yaw, jump, dash as in Command. Pushes must lie on the wire's grid, -127 to 127"""


class Batch:
    """The avatars of one arena, in the order that the caller keeps: row i is the i-th one's.

    It computes what `move_tick` computes, each rule for all rows at once: squares and products stay below 2^52, so
    square roots and quotients of doubles, rounded down or towards zero, are those of the integers. What is rare (how a
    dash starts and ends) is done one by one by the same functions.
    """

    def __init__(self, arena: Arena, avatars: Sequence[Avatar]) -> None:
        self._arena = arena
        self._walls = walls(arena)
        rows = [msgspec.structs.astuple(avatar) for avatar in avatars]
        self._hold(np.array(rows, np.int64).reshape(len(rows), len(_FIELDS)).T)

    def _hold(self, state: Integers) -> None:
        """Take these columns, int64 [field, row], and the space to work on them."""
        self.state: Integers = np.ascontiguousarray(state)
        """int64 [field, row], fields as in Avatar"""
        self._own = np.zeros(state.shape[1], _OWN)

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

    def avatars(self) -> list[Avatar]:
        """All avatars, in order of rows."""
        return [_avatar(values) for values in self.state.T.tolist()]

    def read(self, fields: Sequence[str]) -> Integers:
        """[fields, rows] a copy of some fields of Avatar."""
        return self.state.take([_FIELDS.index(field) for field in fields], axis=0)

    def packed(self) -> list[bytes]:
        """Every avatar in bytes, in order of rows."""
        for field, column in zip(_FIELDS, self.state, strict=True):
            self._own[field] = column
        data, size = self._own.tobytes(), _OWN.itemsize
        return [data[start : start + size] for start in range(0, len(data), size)]

    # -- moving

    def move(self, rows: NDArray[np.intp], columns: Integers) -> None:
        """One tick of these rows, none twice, by a command each, as in `Moves`."""
        if len(rows) == len(self):
            ordered = np.empty_like(columns)
            ordered[:, rows] = columns
            self._move(self.state, ordered)
        else:
            self._move_some(rows, columns)

    def advance(self, given: Sequence[Sequence[Command]]) -> None:
        """Do each row's commands, one after the other. Pushes must lie on the wire's grid, -127 to 127."""
        commands = list(chain.from_iterable(given))
        ticks = [command.ticks for command in commands]
        if len(commands) < FEW:
            rows = [row for row, own in enumerate(given) for command in own for _ in range(command.ticks)]
            self._move_few(rows, [command for command in commands for _ in range(command.ticks)])
            return
        counts = list(map(len, given))
        columns = _columns(commands)
        if ticks.count(1) < len(ticks) or counts.count(1) < len(commands):
            self._move_in_rounds(commands, columns, ticks, counts)
        elif len(commands) == len(self):
            self._move(self.state, columns)
        else:
            self._move_some(np.flatnonzero(counts), columns)

    def _move_in_rounds(self, commands: list[Command], columns: Integers, ticks: list[int], counts: list[int]) -> None:
        """In round k everybody moves who has a k-th tick to do."""
        what = np.repeat(np.arange(len(commands)), ticks)
        who = np.repeat(np.repeat(np.arange(len(self)), counts), ticks)
        turn = np.arange(len(who)) - np.searchsorted(who, who)
        for number, movers in enumerate(np.bincount(turn).tolist()):
            if movers < FEW:
                rest = turn >= number
                self._move_few(who[rest].tolist(), [commands[index] for index in what[rest].tolist()])
                return
            chosen = turn == number
            self._move_some(who[chosen], columns[:, what[chosen]])

    def _move_few(self, rows: Sequence[int], commands: Sequence[Command]) -> None:
        """One tick of each command, of the avatar in the row beside it, one by one."""
        if not rows:
            return
        who = sorted(set(rows))
        moved = dict(zip(who, map(_avatar, self.state.take(who, axis=1).T.tolist()), strict=True))
        for row, command in zip(rows, commands, strict=True):
            moved[row] = move_tick(moved[row], command, self._arena)
        self.state[:, who] = np.array([msgspec.structs.astuple(moved[row]) for row in who], np.int64).T

    def _move_some(self, rows: NDArray[np.intp], columns: Integers) -> None:
        """One tick of these rows, by a command each; the others stand still."""
        state = self.state.take(rows, axis=1)
        self._move(state, columns)
        self.state[:, rows] = state

    def _move(self, state: Integers, columns: Integers) -> None:
        """One tick of all that `state` has, by a command each: `move_tick`, rule by rule."""
        _, y, _, _, vy, _, yaw, dash_ticks, cooldown, jump_held = state
        push, (turn, jump, dash) = columns[0:2], columns[2:]
        velocity = state[3:6:2]
        grounded = (y | vy) == _ZERO
        cooldown -= _ONE
        np.maximum(cooldown, _ZERO, out=cooldown)
        starts = dash > (dash_ticks | cooldown)
        if np.count_nonzero(starts):
            _start_dashes(np.flatnonzero(starts).tolist(), state, columns)

        dashing = dash_ticks > _ZERO
        step = _step(push, velocity, grounded)
        np.copyto(step, _ZERO, where=dashing)
        velocity += step

        jumps = jump > jump_held
        jumps &= grounded
        np.copyto(vy, _JUMP_SPEED, where=jumps)
        y += vy
        vy -= _GRAVITY
        np.copyto(state[1:5:3], _ZERO, where=y <= _ZERO)  # both y and vy; of those too who stood on the ground

        self._walls.slide(state[0:3:2], velocity)
        ends = dash_ticks == _ONE
        dash_ticks -= dashing
        if np.count_nonzero(ends):
            for row in np.flatnonzero(ends).tolist():
                vx, vz = velocity[:, row].tolist()
                velocity[:, row] = shorten(vx, vz, RUN_SPEED)
        yaw[:] = turn
        jump_held[:] = jump


def _start_dashes(rows: list[int], state: Integers, columns: Integers) -> None:
    for row in rows:
        dx, dz, yaw = columns[:3, row].tolist()
        state[3:6:2, row] = dash_velocity(Command(dx, dz, yaw))
        state[7:9, row] = DASH_TICKS, DASH_COOLDOWN


def _step(push: Integers, velocity: Integers, grounded: NDArray[np.bool_]) -> Integers:
    """How velocities change, [2, n]: towards the wished one by at most a rate, in a straight line."""
    pushing = (push[0] | push[1]) != _ZERO
    surface = grounded.view(np.uint8) * _TWO
    surface += pushing.view(np.uint8)
    gap = _WISH.take(push + _DIRECTION, mode="clip")
    gap -= velocity
    squares = gap * gap
    square = squares[0]
    square += squares[1]
    length = np.sqrt(square)
    np.floor(length, out=length)
    length += _ONE_FLOAT
    step: Integers = (gap * _RATES.take(surface, mode="clip") / length).astype(np.int64)
    near = square <= _RATES_SQUARED.take(surface, mode="clip")
    np.copyto(step, gap, where=near)
    stuck = (step[0] | step[1]) == _ZERO
    stuck &= ~near  # those have no way to go, and are many
    if np.count_nonzero(stuck):  # the shortest step that there is
        rows = np.flatnonzero(stuck)
        away = gap.take(rows, axis=1)
        size = np.abs(away)
        along_x = size[0] >= size[1]
        step[:, rows] = np.sign(away) * (along_x, ~along_x)
    return step


def _avatar(values: list[int]) -> Avatar:
    x, y, z, vx, vy, vz, yaw, dash_ticks, cooldown, jump_held = values
    return Avatar(x, y, z, vx, vy, vz, yaw, dash_ticks, cooldown, bool(jump_held))


def _columns(commands: list[Command]) -> Integers:
    """Commands as int64 [dx, dz, yaw, jump and dash; command]. One `pack` of all numbers is the shortest way there."""
    data = struct.pack(
        f"={5 * len(commands)}q",
        *[command.dx for command in commands],
        *[command.dz for command in commands],
        *[command.yaw for command in commands],
        *[command.jump for command in commands],
        *[command.dash for command in commands],
    )
    return np.frombuffer(data, np.int64).reshape(5, len(commands))
