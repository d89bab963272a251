"""Walls: how `slide` ends along one axis, looked up for many avatars at once."""

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

_FREE: Final = np.array(np.iinfo(np.int64).min)
"""in the table of stops: nothing is hit"""


class _Ranks:
    """Which part of an axis a coordinate lies in: edges of walls cut the axis, and within a part all compare alike."""

    def __init__(self, spans: list[tuple[int, int]], limit: int) -> None:
        """`spans`: the (low, high) that walls take, ends excluded, 1/1024 unit; `limit`: how far out the floor goes."""
        starts = sorted({-limit, limit + 1} | {low + 1 for low, _ in spans} | {high for _, high in spans})
        self._low = np.array(starts[0] - 1)
        self._table = np.searchsorted(starts, np.arange(starts[0] - 1, starts[-1] + 1), side="right").astype(np.int64)
        self.first = [starts[0] - 1, *starts]
        """the lowest coordinate of each part; of the first part, which has none, its highest"""
        self.last = [*(start - 1 for start in starts), starts[-1]]
        """the highest coordinate of each part; of the last part, which has none, its lowest"""

    def look_up(self, at: Integers, out: Integers) -> None:
        np.subtract(at, self._low, out=out)
        self._table.take(out, out=out, mode="clip")


class Walls:
    """The walls of an arena along x. Along z they are the walls along x of the arena mirrored at its diagonal.

    How a step ends depends only on how start, end and the other axis' coordinate lie to the edges of the walls, so
    there is a finite number of cases, and a table holds what `slide` itself answers to each. The table has a number
    for each triple of edges: it suits arenas of a few dozen blocks.
    """

    def __init__(self, arena: Arena) -> None:
        radius = AVATAR_RADIUS
        self._along = _Ranks(
            [(block.left - radius, block.right + radius) for block in arena.blocks], arena.half_width - radius
        )
        self._across = _Ranks(
            [(block.top - radius, block.bottom + radius) for block in arena.blocks], arena.half_depth - radius
        )
        along, across = self._along, self._across
        # Start and end differ even within one part, unless it is one step wide: then there is no speed to lose.
        stops = [
            _stop(start, end, other, arena) for start, end, other in product(along.first, along.last, across.first)
        ]
        self._stops = np.array(stops, np.int64)
        self._start_stride = np.array(len(along.last) * len(across.first))
        self._end_stride = np.array(len(across.first))

    def stop(self, start: Integers, end: Integers, other: Integers, scratch: Integers) -> NDArray[np.bool_]:
        """Put the `end` of every step from `start` that hits a wall to that wall's face; say which ones do.

        All int64 [n], 1/1024 unit; `other` is the coordinate on the other axis; `scratch` [2, n] is overwritten.
        """
        case, part = scratch
        self._along.look_up(start, case)
        np.multiply(case, self._start_stride, out=case)
        self._along.look_up(end, part)
        np.multiply(part, self._end_stride, out=part)
        np.add(case, part, out=case)
        self._across.look_up(other, part)
        np.add(case, part, out=case)
        self._stops.take(case, out=case, mode="clip")
        hit: NDArray[np.bool_] = np.not_equal(case, _FREE)
        np.copyto(end, case, where=hit)
        return hit


def _stop(start: int, end: int, other: int, arena: Arena) -> int:
    """Where this step ends if it hits anything: a hit takes the speed along its axis."""
    x, _, speed, _ = slide(start, other, end - start, 0, arena)
    return int(_FREE) if x == end and speed == end - start else x


@lru_cache(maxsize=8)
def walls(arena: Arena) -> tuple[Walls, Walls]:
    """The walls of an arena along x and along z."""
    mirrored = Arena(
        arena.name,
        arena.half_depth,
        arena.half_width,
        tuple(Block(b.top, b.left, b.bottom, b.right, b.height) for b in arena.blocks),
        (),
    )
    return Walls(arena), Walls(mirrored)
