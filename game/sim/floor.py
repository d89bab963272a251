"""Floor: where an avatar's centre can be, and which walls it can meet there, found by cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

CELL: Final = 9
"""a cell is 2^CELL wide and deep: half a unit"""
MARGIN: Final = 1024
"""how far beyond the border the cells go, 1/1024 unit: three times the fastest step"""

_SIZE: Final = 1 << CELL

Wall = tuple[int, int, int, int]
"""left, top, right, bottom: a block grown by the avatar's radius, edges excluded, so that the avatar is a point"""


class Floor(msgspec.Struct, frozen=True):
    """An arena as the centre of an avatar meets it, 1/1024 unit, made to be read often: small, and in few objects."""

    half_width: int
    """how far out a centre can be on x; negative where an avatar has no room"""
    half_depth: int
    walls: tuple[Wall, ...]
    """in the order of the arena's blocks, as all lists of them"""
    lists: tuple[tuple[Wall, ...], ...]
    """the walls near a cell: each list that some cell has, the empty one first"""
    columns: tuple[bytes, ...]
    """[x >> CELL][z >> CELL]: the number of a cell's list, so 0 where there is no wall. Cells below 0 are at the end,
    where Python looks for them."""

    def near(self, x: int, z: int) -> tuple[Wall, ...]:
        """The walls that can stop a step to this place, and maybe others."""
        width, depth = self.half_width + MARGIN, self.half_depth + MARGIN
        if -width <= x <= width and -depth <= z <= depth:
            return self.lists[self.columns[x >> CELL][z >> CELL]]
        return self.walls


def floor(half_width: int, half_depth: int, walls: tuple[Wall, ...]) -> Floor:
    """The floor between these limits, ends included, with these walls on it."""
    numbers: dict[tuple[Wall, ...], int] = {(): 0}
    numbers.setdefault(walls, 1)
    shared: dict[bytes, bytes] = {}
    columns = []
    for x in _cells(half_width + MARGIN):
        beside = tuple(wall for wall in walls if wall[0] < x + _SIZE and x < wall[2])
        column = bytearray()
        for z in _cells(half_depth + MARGIN):
            found = _reachable(x, z, beside, walls)
            if found not in numbers and len(numbers) == 256:  # a byte counts no further
                found = walls
            column.append(numbers.setdefault(found, len(numbers)))
        columns.append(shared.setdefault(bytes(column), bytes(column)))
    return Floor(half_width, half_depth, walls, tuple(numbers), tuple(columns))


def _cells(limit: int) -> Iterable[int]:
    """Where the cells from -limit to limit begin, those from 0 on first."""
    return (cell << CELL for cell in (*range((limit >> CELL) + 1), *range(-limit >> CELL, 0)))


def _reachable(x: int, z: int, beside: tuple[Wall, ...], walls: tuple[Wall, ...]) -> tuple[Wall, ...]:
    """The walls in the cell that begins at (x, z), and those that a step which meets one of them can meet after it.

    Who meets a wall is put to a face of it: so nobody leaves the box around the cell and all walls found so far.
    """
    box = (x, z, x + _SIZE - 1, z + _SIZE - 1)
    found: tuple[Wall, ...] = ()
    more = _meeting(box, beside)
    while len(more) > len(found):
        found = more
        lefts, tops, rights, bottoms = zip(box, *found, strict=True)
        box = (min(lefts), min(tops), max(rights), max(bottoms))
        more = _meeting(box, walls)
    return found


def _meeting(box: Wall, walls: tuple[Wall, ...]) -> tuple[Wall, ...]:
    """The walls that have a place in common with the box, whose ends are included."""
    if not walls:
        return ()
    left, top, right, bottom = box
    return tuple([w for w in walls if w[0] < right and left < w[2] and w[1] < bottom and top < w[3]])
