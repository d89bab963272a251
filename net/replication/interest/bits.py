"""BitTable: packed bits, a row for each slot and a column for each observer: sets that change a little at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from net.replication.interest.sample import Flags, Slots

Packed = NDArray[np.uint8]
Index = NDArray[np.intp]
_NONE: Final[Index] = np.empty(0, np.intp)
_BIT: Final = (1 << np.arange(8)).astype(np.uint8)


class BitTable:
    """[rows, columns] bits. Memory: rows x columns / 8 bytes. Columns are taken and given back; the table only grows.

    A row is contiguous, so that what all observers see of a few hundred slots is a handful of cache lines each.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.words: Packed = np.zeros((rows, 1), np.uint8)
        self._free = list(range(8))

    @property
    def columns(self) -> int:
        """How many columns there is room for: a multiple of 8."""
        return 8 * int(self.words.shape[1])

    def widen(self, columns: int) -> None:
        """Make room for so many columns at least, doubling."""
        while self.columns < columns:
            self._free += range(self.columns, 2 * self.columns)
            self.words = np.concatenate([self.words, np.zeros_like(self.words)], axis=1)

    def take(self) -> int:
        """The lowest free column; makes room if there is none."""
        if not self._free:
            self.widen(self.columns + 1)
        column = min(self._free)
        self._free.remove(column)
        return column

    def give_back(self, column: int) -> None:
        """Clear a column and let it be taken again."""
        self.clear_column(column)
        self._free.append(column)

    def clear_column(self, column: int) -> None:
        """Set all bits of a column to 0."""
        self.words[:, column >> 3] &= ~_BIT[column & 7]

    def column(self, column: int) -> Slots:
        """The rows whose bit is set, ascending. Reads the whole column: for rare questions."""
        return np.flatnonzero(self.words[:, column >> 3] & _BIT[column & 7]).astype(np.int32)

    def of(self, rows: Slots) -> Packed:
        """A copy of these rows. (`take` is many times faster than an index, here and wherever rows are gathered.)"""
        return self.words.take(rows, axis=0)

    def test(self, rows: Slots, columns: Index | int) -> Flags:
        """The bit of each (row, column)."""
        found: Flags = (self.words.reshape(-1).take(self._bytes(rows, columns)) & _BIT.take(columns & 7)) != 0
        return found

    def set(self, rows: Slots, columns: Index | int) -> None:
        """Set the bit of each (row, column) to 1; pairs may share a byte."""
        np.bitwise_or.at(self.words.reshape(-1), self._bytes(rows, columns), _BIT[columns & 7])

    def unset(self, rows: Slots, columns: Index | int) -> None:
        """Set the bit of each (row, column) to 0; pairs may share a byte."""
        np.bitwise_and.at(self.words.reshape(-1), self._bytes(rows, columns), ~_BIT[columns & 7])

    def _bytes(self, rows: Slots, columns: Index | int) -> Index:
        flat = np.multiply(rows, self.words.shape[1], dtype=np.intp)
        flat += columns >> 3
        return flat

    def clear(self, rows: Slots | None = None) -> None:
        """Set all bits of these rows to 0, or of all."""
        if rows is None:
            self.words[:] = 0
        else:
            self.words[rows] = 0


def pack(flags: Flags) -> Packed:
    """[n, columns] flags as the bytes of a table; columns must be a multiple of 8."""
    return np.packbits(flags, axis=1, bitorder="little")


def unpack(words: Packed) -> Flags:
    """[n, columns / 8] bytes as [n, columns] flags."""
    return np.unpackbits(words, axis=1, bitorder="little").view(np.bool_)


def set_bits(words: Packed) -> tuple[Index, Index]:
    """Row and column of every set bit, by row. Costs next to nothing where most bytes are 0."""
    if not np.count_nonzero(words):
        return _NONE, _NONE
    flat = np.flatnonzero(words)
    row, word = np.divmod(flat, words.shape[1])
    which, bit = np.nonzero(unpack(words.reshape(-1)[flat][:, None]))
    return row[which], 8 * word[which] + bit
