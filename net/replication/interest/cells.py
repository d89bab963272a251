"""CellProvider: the nine-cell grid. Who is in an anchor's cell of the ground plane, or in one of the eight around it.

Coarser than a radius, and cheaper: nothing can change until somebody crosses the border of a cell.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from net.replication.interest.columns import ColumnIndex
from net.replication.interest.eyes import Eyes
from net.replication.interest.sample import Answer, Flags, Sample, Slots, moved_slots

BLOCK = 1024
"""slots that are tested against all eyes at once, so that what that needs stays in the cache"""


class CellProvider:
    """Square cells of `size` units, x and z; height doesn't count. What is seen is 1 to 2 `size` away at most.

    Cell numbers are floats: exact where they matter, and no position is too far. ValueError for a `size` that is not
    finite, or not more than 0.
    """

    def __init__(self, capacity: int, size: float) -> None:
        if not 0.0 < size < math.inf:
            raise ValueError(f"the size of a cell is a finite number of units, more than 0, not {size!r}")
        self._size = size
        self._capacity = capacity
        self._sample: Sample | None = None
        self._restart()

    def prepare(self, sample: Sample) -> None:
        """Take in a sample (see `InterestProvider`)."""
        slots = moved_slots(sample)
        if self._sample is None or sample.source is not self._sample.source:
            self._restart()
            slots = np.flatnonzero(sample.placed).astype(np.int32)
        # Without a position there is no cell, and nan differs from all cells: whoever gets one has crossed a border.
        self._cells[:, sample.despawned] = math.nan
        placed = sample.placed.take(slots)
        hidden, slots = slots[~placed], slots[placed]
        self._cells[:, hidden] = math.nan
        crossed = self._cross(slots, sample)
        x, y, z = self._cells
        sample = replace(sample, x=x, y=y, z=z)
        self._sample = sample
        moved = self._eyes.begin(sample)
        if len(hidden):
            self._eyes.hide(hidden)
        self._index.move(crossed, x, z)
        if len(self._eyes):
            for first in range(0, len(crossed), BLOCK):
                block = crossed[first : first + BLOCK]
                self._eyes.judge(block, self._sees(block[:, None], slice(None)))
        for eye in np.flatnonzero(moved).tolist():
            if self._eyes.jumped(eye, 1):
                # The old cells are not among those around the new one.
                self._look(self._eyes.seen.column(eye), eye)
            self._look(self._surroundings(sample, eye), eye)
        self._eyes.end()

    def query(self, connection: int, anchors: Slots) -> Answer:
        """What changed for a connection (see `InterestProvider`)."""
        sample = self._sample
        assert sample is not None, "prepare comes first"
        for eye in self._eyes.watch(connection, anchors, sample):
            self._look(self._surroundings(sample, eye), eye)
        return self._eyes.answer(connection)

    def forget(self, connection: int) -> None:
        """The connection has no eyes any more."""
        self._eyes.forget(connection)

    def dispose(self) -> None:
        """Let go of the sample and of all that was remembered."""
        self._sample = None
        self._restart()

    def _restart(self) -> None:
        self._cells = np.full((3, self._capacity), math.nan)
        self._eyes = Eyes(self._capacity)
        # In units of cells, so that the index and the eyes know no other ones.
        self._index = ColumnIndex(self._capacity, 1.0)

    def _cross(self, slots: Slots, sample: Sample) -> Slots:
        """Put placed slots into their cells; gives those that were in others."""
        x, z = (np.floor(axis.take(slots).astype(np.float64) / self._size) for axis in (sample.x, sample.z))
        crossed = np.flatnonzero((x != self._cells[0].take(slots)) | (z != self._cells[2].take(slots)))
        slots = slots[crossed]
        self._cells[0, slots], self._cells[1, slots], self._cells[2, slots] = x[crossed], 0.0, z[crossed]
        return slots

    def _look(self, slots: Slots, eye: int) -> None:
        self._eyes.judge_pairs(slots, eye, self._sees(slots, eye))

    def _surroundings(self, sample: Sample, eye: int) -> Slots:
        x, _, z = self._cells
        return self._index.near(*self._eyes.box(eye, 1), sample.placed, x, z)

    def _sees(self, slots: Slots, eyes: int | slice) -> Flags:
        """Whether slots are at most one cell from eyes along x and z; shapes are broadcast."""
        x, _, z = self._cells
        near_x = np.abs(x[slots] - self._eyes.at[0, eyes]) <= 1
        near_z = np.abs(z[slots] - self._eyes.at[2, eyes]) <= 1
        both: Flags = near_x & near_z
        return both
