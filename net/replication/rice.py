"""Rice codes for a block of numbers most of which are small (Rice, 1979), with an escape for those that are not.

A number is split in its lower k bits and the rest. All rests stand first, in unary; then all lower bits, k wide; then,
for each rest that is ESCAPE, the whole number, plainly. So both ends can work on arrays, although no two numbers need
be equally long. k is chosen for each block and stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from net.envelope import WireError
from net.replication.bits import FEW, BitReader, BitWriter
from net.replication.shapes import Codes

ESCAPE: Final = 16
"""a rest of this much says that the number follows plainly"""
MANY: Final = 256
"""numbers from which on numpy finds k faster than a loop, when a tick begins and caches are cold"""
_NONE: Final[Codes] = np.zeros(0, np.int64)


def plan(values: Sequence[int] | Codes, width: int) -> tuple[int, int]:
    """The best k for numbers of up to `width` bits, and how many bits the block takes with it."""
    count = len(values)
    if not count:
        return 0, 0
    if count >= MANY:
        return _plan_many(np.asarray(values, np.int64), width)
    given = values.tolist() if isinstance(values, np.ndarray) else values
    largest, total = max(given), sum(given)
    if total <= count and largest < ESCAPE:
        return 0, count + total + width.bit_length()
    ordered = sorted(given)
    first, last = _candidates(ordered[count // 2], total // count, width)
    costs = []
    for k in range(first, last + 1):
        bits = count * (k + 1) + sum([value >> k for value in ordered])
        far = count if largest >> k >= ESCAPE else 0
        while far and (rest := ordered[far - 1] >> k) >= ESCAPE:
            bits += ESCAPE + width - rest
            far -= 1
        costs.append(bits)
    best = min(costs)
    return first + costs.index(best), best + width.bit_length()


def _plan_many(values: Codes, width: int) -> tuple[int, int]:
    count, largest, total = len(values), int(values.max()), int(np.add.reduce(values))
    if total <= count and largest < ESCAPE:
        return 0, count + total + width.bit_length()
    first, last = _candidates(int(np.partition(values, count // 2)[count // 2]), total // count, width)
    ks = np.arange(first, last + 1)
    # Half as wide is twice as fast.
    rests = (values.astype(np.int32) if largest < 1 << 31 else values) >> ks[:, None].astype(np.int32)
    costs = count * (ks + 1)
    if largest >> first >= ESCAPE:
        costs += np.add.reduce(rests >= ESCAPE, axis=1) * width
        np.minimum(rests, ESCAPE, out=rests)
    costs += np.add.reduce(rests, axis=1, dtype=rests.dtype)
    best = int(costs.argmin())
    return first + best, int(costs[best]) + width.bit_length()


def _candidates(median: int, mean: int, width: int) -> tuple[int, int]:
    low, high = median.bit_length(), mean.bit_length()
    if high < low:
        low, high = high, low
    return max(0, low - 1), min(width, high)


def write_rice(writer: BitWriter, values: Sequence[int] | Codes, width: int, k: int | None = None) -> None:
    """A block of numbers from 0 to 2^width - 1; how many there are is not in it."""
    if not len(values):
        return
    if k is None:
        k, _ = plan(values, width)
    writer.number(k, width.bit_length())
    if len(values) < FEW:
        _write_few(writer, values.tolist() if isinstance(values, np.ndarray) else values, width, k)
    else:
        _write_many(writer, np.asarray(values, np.int64), width, k)


def _write_few(writer: BitWriter, values: Sequence[int], width: int, k: int) -> None:
    rests = [value >> k for value in values]
    far: list[int] = []
    if max(rests) >= ESCAPE:
        far = [value for value in values if value >> k >= ESCAPE]
        rests = [min(rest, ESCAPE) for rest in rests]
    writer.unary(rests)
    if k:
        mask = (1 << k) - 1
        writer.numbers([value & mask for value in values], k)
    writer.numbers(far, width)


def _write_many(writer: BitWriter, values: Codes, width: int, k: int) -> None:
    rests = values >> k
    far = _NONE
    if int(rests.max()) >= ESCAPE:
        far = values[rests >= ESCAPE]
        np.minimum(rests, ESCAPE, out=rests)
    writer.unary(rests)
    if k:
        writer.numbers(values & ((1 << k) - 1), k)
    writer.numbers(far, width)


def read_rice(reader: BitReader, count: int, width: int) -> Codes:
    """The block again. Raises WireError for what cannot be one; numbers may be as large as the bits allow."""
    if not count:
        return np.zeros(0, np.int64)
    k = reader.number(width.bit_length())
    if k > width:
        raise WireError("a frame has a block that is wider than its numbers")
    if count < FEW:
        rests = reader.few_unary(count, ESCAPE)
        if k:
            rests_and_lows = zip(rests, reader.few_numbers(count, k), strict=True)
            few = [rest << k | low for rest, low in rests_and_lows]
        else:
            few = rests
        if max(rests) == ESCAPE:
            far = iter(reader.few_numbers(rests.count(ESCAPE), width))
            few = [next(far) if rest == ESCAPE else value for rest, value in zip(rests, few, strict=True)]
        return np.array(few, np.int64)
    values = reader.unary(count, ESCAPE)
    escaped = (values == ESCAPE).nonzero()[0]
    if k:
        values = values << k | reader.numbers(count, k)
    if len(escaped):
        values[escaped] = reader.numbers(len(escaped), width)
    return values


def zigzag(values: Codes) -> Codes:
    """0, -1, 1, -2, 2 … as 0, 1, 2, 3, 4 …"""
    signs = values >> 63
    signs ^= values << 1
    return signs


def unzigzag(values: Codes) -> Codes:
    """And back."""
    return (values >> 1) ^ -(values & 1)
