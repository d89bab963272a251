"""ColumnIndex: slots by square column of the ground plane, for the few questions that can't do without.

A bounded table of cells, x and z taken modulo its side, so that any finite position fits: far positions share cells
with near ones, which only adds candidates. Slots are kept sorted by cell. Who changes his cell becomes a stray, looked
at in every question, until there are enough of them to sort again: a sort serves some hundred samples.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from net.replication.interest.sample import NO_SLOTS, Axis, Flags, Slots

SIDE: Final = 256
"""cells along x and along z; SIDE * SIDE cells fit uint16, which numpy sorts by radix"""
STRAYS: Final = 1024
"""strays that are tolerated at least"""


class ColumnIndex:
    """Which slots may be in a rectangle of the ground plane. `size` is the side of a cell, in units, more than 0."""

    def __init__(self, capacity: int, size: float) -> None:
        self._size = size
        self._cell = np.full(capacity, -1, np.int32)
        self._astray = np.zeros(capacity, np.bool_)
        self._strays = NO_SLOTS
        self._order = NO_SLOTS
        self._start = np.zeros(SIDE * SIDE + 1, np.intp)
        self._fresh = False

    def drop(self) -> None:
        """Nobody needs it for now; the next question builds it anew."""
        self._fresh = False

    def move(self, slots: Slots, x: Axis, z: Axis) -> None:
        """These slots have new positions, or are new."""
        if not self._fresh:
            return
        strays = slots[(self._cells(slots, x, z) != self._cell.take(slots)) & ~self._astray.take(slots)]
        if len(strays):
            self._astray[strays] = True
            self._strays = np.concatenate([self._strays, strays])
            self._fresh = len(self._strays) <= max(STRAYS, len(self._order) // 32)

    def near(self, low: tuple[float, float], high: tuple[float, float], placed: Flags, x: Axis, z: Axis) -> Slots:
        """Every placed slot with low <= (x, z) <= high, and others beside; each once, in no order."""
        if not self._fresh:
            self._build(placed, x, z)
        parts = []
        x_runs = _runs(low[0] / self._size, high[0] / self._size)
        for first, last in _runs(low[1] / self._size, high[1] / self._size):
            for row in range(first * SIDE, last * SIDE, SIDE):
                for left, right in x_runs:
                    parts.append(self._order[self._start[row + left] : self._start[row + right]])
        found = np.concatenate(parts)
        if len(self._strays):
            found = np.concatenate([found[~self._astray.take(found)], self._strays])
        return found[placed.take(found)]

    def _build(self, placed: Flags, x: Axis, z: Axis) -> None:
        slots = np.flatnonzero(placed).astype(np.int32)
        cells = self._cells(slots, x, z)
        self._astray[:] = False
        self._strays = NO_SLOTS
        # Whoever is not in the order has no cell, so that he becomes a stray wherever he appears.
        self._cell[:] = -1
        self._cell[slots] = cells
        self._order = slots[np.argsort(cells.astype(np.uint16), kind="stable")]
        self._start[1:] = np.cumsum(np.bincount(cells, minlength=SIDE * SIDE))
        self._fresh = True

    def _cells(self, slots: Slots, x: Axis, z: Axis) -> Slots:
        column = _wrapped(x.take(slots), self._size)
        column += SIDE * _wrapped(z.take(slots), self._size)
        return column.astype(np.int32)


def _wrapped(along: Axis, size: float) -> NDArray[np.float64]:
    """Cell numbers modulo SIDE, exact for any finite position: SIDE is a power of two, so only the floor rounds."""
    cell = np.floor(along.astype(np.float64) / size)
    cell -= SIDE * np.floor(cell / SIDE)
    return cell


def _runs(low: float, high: float) -> list[tuple[int, int]]:
    """The cells from low to high (in cells) as ranges [first, last) of the table: two where they pass its edge."""
    first = math.floor(low)
    count = math.floor(high) - first + 1
    if count >= SIDE:
        return [(0, SIDE)]
    first %= SIDE
    if first + count <= SIDE:
        return [(first, first + count)]
    return [(first, SIDE), (0, first + count - SIDE)]
