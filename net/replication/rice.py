"""Rice codes for a block of numbers most of which are small (Rice, 1979), with an escape for those that are not.

A number is split in its lower k bits and the rest. All rests stand first, in unary; then all lower bits, k wide; then,
for each rest that is ESCAPE, the whole number, plainly. So both ends can work on arrays, although no two numbers need
be equally long. k is chosen for each block and stands before it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from net.envelope import WireError
from net.replication.bits import FEW, BitReader, BitWriter
from net.replication.shapes import Codes

ESCAPE: Final = 16
"""a rest of this much says that the number follows plainly"""


def plan(values: Codes, width: int) -> tuple[int, int]:
    """The best k for numbers of up to `width` bits, and how many bits the block takes with it."""
    count = len(values)
    if not count:
        return 0, 0
    if count < FEW:
        ordered = sorted(values.tolist())
        first, last = _candidates(ordered[count // 2], sum(ordered) // count, width)
        costs = []
        for k in range(first, last + 1):
            bits = count * (k + 1)
            for value in ordered:
                rest = value >> k
                bits += rest if rest < ESCAPE else ESCAPE + width
            costs.append(bits)
    else:
        middle = int(np.partition(values, count // 2)[count // 2])
        first, last = _candidates(middle, int(values.sum()) // count, width)
        costs = []
        largest = int(values.max())
        for k in range(first, last + 1):
            rests = values >> k
            bits = count * (k + 1)
            if largest >> k >= ESCAPE:
                bits += width * int(np.count_nonzero(rests >= ESCAPE))
                rests = np.minimum(rests, ESCAPE)
            costs.append(bits + int(rests.sum()))
    best = min(costs)
    return first + costs.index(best), best + width.bit_length()


def _candidates(median: int, mean: int, width: int) -> tuple[int, int]:
    low, high = sorted((median.bit_length(), mean.bit_length()))
    return max(0, low - 1), min(width, high)


def write_rice(writer: BitWriter, values: Codes, width: int, k: int | None = None) -> None:
    """A block of numbers from 0 to 2^width - 1; how many there are is not in it."""
    if not len(values):
        return
    if k is None:
        k, _ = plan(values, width)
    writer.number(k, width.bit_length())
    if len(values) < FEW:
        numbers = values.tolist()
        rests = [min(value >> k, ESCAPE) for value in numbers]
        writer.unary(rests)
        mask = (1 << k) - 1
        writer.numbers([value & mask for value in numbers], k)
        writer.numbers([value for value, rest in zip(numbers, rests, strict=True) if rest == ESCAPE], width)
    else:
        tops = np.minimum(values >> k, ESCAPE)
        writer.unary(tops)
        writer.numbers(values & ((1 << k) - 1), k)
        writer.numbers(values[tops == ESCAPE], width)


def read_rice(reader: BitReader, count: int, width: int) -> Codes:
    """The block again. Raises WireError for what cannot be one; numbers may be as large as the bits allow."""
    if not count:
        return np.zeros(0, np.int64)
    k = reader.number(width.bit_length())
    if k > width:
        raise WireError("a frame has a block that is wider than its numbers")
    values = reader.unary(count, ESCAPE)
    escaped = np.flatnonzero(values == ESCAPE)
    values = values << k | reader.numbers(count, k)
    if len(escaped):
        values[escaped] = reader.numbers(len(escaped), width)
    return values


def zigzag(values: Codes) -> Codes:
    """0, -1, 1, -2, 2 … as 0, 1, 2, 3, 4 …"""
    return (values << 1) ^ (values >> 63)


def unzigzag(values: Codes) -> Codes:
    """And back."""
    return (values >> 1) ^ -(values & 1)
