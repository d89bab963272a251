"""Grouped: pairs of (slot, column) by column, so that the changes of all observers are found at once and told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from net.replication.interest.bits import Index
from net.replication.interest.sample import NO_SLOTS, Slots


class Grouped:
    """The slots of each column, sorted. Built once from any number of pieces, then read column by column."""

    def __init__(self, pieces: Sequence[tuple[Slots, Index | int]], capacity: int, columns: int) -> None:
        # One number a pair sorts faster than two.
        keys = [np.multiply(column, capacity, dtype=np.int64) + slots for slots, column in pieces if len(slots)]
        self._ends: list[int] = []
        self._slots = NO_SLOTS
        if keys:
            key = np.sort(np.concatenate(keys))
            ends = np.searchsorted(key, np.arange(columns + 1, dtype=np.int64) * capacity)
            self._slots = (key % capacity).astype(np.int32)
            self._ends = ends.tolist()

    def columns(self) -> list[int]:
        """The columns that have any slots, ascending."""
        return np.flatnonzero(np.diff(self._ends)).tolist() if self._ends else []

    def of(self, column: int) -> Slots:
        """The slots of one column, ascending."""
        if column + 1 >= len(self._ends):
            return NO_SLOTS
        first, last = self._ends[column], self._ends[column + 1]
        return self._slots[first:last] if first < last else NO_SLOTS
