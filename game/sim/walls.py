"""Walls: `slide` for many avatars at once, looked up in a table of all the ways in which a step can end."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from game.sim.arena import Arena, Block
from game.sim.constants import AVATAR_RADIUS
from game.sim.movement import slide

Integers = NDArray[np.int64]

SPEED_LIMIT: Final = 1024
"""velocities stay below this on either axis, 1/1024 unit per tick: three times the fastest dash"""

_FREE: Final = np.array(np.iinfo(np.int64).min, np.int64)
"""in a table of stops: nothing is hit"""
_ZERO: Final = np.array(0, np.int64)


class _Parts:
    """An axis cut at the edges of the walls: all coordinates of one part compare alike with every edge."""

    def __init__(self, spans: list[tuple[int, int]], limit: int) -> None:
        """`spans`: the (low, high) that walls take, ends excluded, 1/1024 unit; `limit`: how far out the floor goes."""
        starts = sorted({-limit, limit + 1} | {low + 1 for low, _ in spans} | {high for _, high in spans})
        self.first = [starts[0] - 1, *starts]
        """the lowest coordinate of each part; of the first part, which goes on for ever, its highest"""
        self.last = [*(start - 1 for start in starts), starts[-1]]
        """the highest coordinate of each part; of the last part, which goes on for ever, its lowest"""
        self.low = -limit - SPEED_LIMIT
        """the coordinate of numbers[0]: none that a step from the floor leads to lies below"""
        reached = np.arange(self.low, limit + SPEED_LIMIT + 1)
        self.numbers: Integers = np.searchsorted(starts, reached, side="right").astype(np.int64)
        """the part of each coordinate"""


class _Axis:
    """Steps along one axis. How one ends depends only on the parts that its start, its end and its other coordinate
    lie in, so `slide` itself is asked once for each three of them."""

    def __init__(self, arena: Arena, order: str) -> None:
        """Steps along x of the arena; `order` says in which order `stop` is given "start", "end" and "other"."""
        r = AVATAR_RADIUS
        along = _Parts([(b.left - r, b.right + r) for b in arena.blocks], arena.half_width - r)
        across = _Parts([(b.top - r, b.bottom + r) for b in arena.blocks], arena.half_depth - r)
        # Start and end differ even within one part, unless it is one step wide: then there is no speed to lose.
        ends = [_end(*case, arena) for case in product(along.first, along.last, across.first)]
        self._ends = np.array(ends, np.int64)
        counts = len(across.first)
        tables = {
            "start": (along, counts * len(along.last)),
            "end": (along, counts),
            "other": (across, 1),
        }
        begin, begins, numbers = 0, [], []
        for name in order.split():
            parts, stride = tables[name]
            begins.append([begin - parts.low])
            numbers.append(parts.numbers * stride)
            begin += len(parts.numbers)
        self._begins = np.array(begins, np.int64)
        self._numbers = np.concatenate(numbers)

    def stop(self, places: Integers, end: Integers) -> NDArray[np.bool_]:
        """Put each `end` whose step hits a wall to that wall's face; say which do. `places`: [3, n], as ordered."""
        cases = places + self._begins
        self._numbers.take(cases, out=cases, mode="clip")
        case = cases[0]
        case += cases[1]
        case += cases[2]
        self._ends.take(case, out=case, mode="clip")
        hit: NDArray[np.bool_] = case != _FREE
        np.copyto(end, case, where=hit)
        return hit


class Walls:
    """The walls of an arena. Its tables have a number for each three edges: they suit a few dozen blocks."""

    def __init__(self, arena: Arena) -> None:
        blocks = tuple(Block(b.top, b.left, b.bottom, b.right, b.height) for b in arena.blocks)
        mirrored = Arena(arena.name, arena.half_depth, arena.half_width, blocks, ())
        self._x = _Axis(arena, "start end other")
        self._z = _Axis(mirrored, "other start end")

    def slide(self, place: Integers, velocity: Integers) -> None:
        """`slide` for every column: `place` and `velocity` are [x and z, n] and change. All places are on the floor."""
        rows = np.empty((4, place.shape[1]), np.int64)  # x, x it leads to, z, z it leads to
        rows[0::2] = place
        np.add(place, velocity, out=rows[1::2])
        np.copyto(velocity[0], _ZERO, where=self._x.stop(rows[0:3], rows[1]))
        np.copyto(velocity[1], _ZERO, where=self._z.stop(rows[1:4], rows[3]))
        place[:] = rows[1::2]


def _end(start: int, end: int, other: int, arena: Arena) -> int:
    """Where this step ends if it hits anything: a hit takes the speed along its axis."""
    x, _, speed, _ = slide(start, other, end - start, 0, arena)
    return int(_FREE) if x == end and speed == end - start else x


@lru_cache(maxsize=8)
def walls(arena: Arena) -> Walls:
    """The walls of an arena, made once."""
    return Walls(arena)
