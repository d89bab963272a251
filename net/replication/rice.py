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
ALONE: Final = 128
"""numbers from which on numpy finds k faster than a loop, for one block"""
TOGETHER: Final = 64
"""and for several blocks at once: 16 would do while caches are warm, but when a tick begins they are cold"""
SPREAD: Final = 8
"""candidates for k beyond which blocks are planned one by one"""
_NONE: Final[Codes] = np.zeros(0, np.int64)


def plan(values: Sequence[int] | Codes, width: int) -> tuple[int, int]:
    """The best k for numbers of up to `width` bits, and how many bits the block takes with it."""
    count = len(values)
    if not count:
        return 0, 0
    if count >= ALONE:
        block = np.asarray(values, np.int64)
        total = int(np.add.reduce(block))
        if 0 <= total <= count and int(block.max()) < ESCAPE:
            return 0, count + total + width.bit_length()
        return plans(block[None], [width])[0]
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


def plans(blocks: Codes, widths: Sequence[int]) -> list[tuple[int, int]]:
    """The same for [blocks, n] numbers at once, n above 0."""
    count = blocks.shape[1]
    if count < (ALONE if len(blocks) == 1 else TOGETHER):
        return [plan(values, width) for values, width in zip(blocks.tolist(), widths, strict=True)]
    middles = np.partition(blocks, count // 2, axis=1)[:, count // 2].tolist()
    sums = np.add.reduce(blocks, axis=1).tolist()
    candidates = [
        _candidates(middle, total // count, width) for middle, total, width in zip(middles, sums, widths, strict=True)
    ]
    first, last = min(low for low, _ in candidates), max(high for _, high in candidates)
    if len(blocks) > 1 and last - first > SPREAD:
        return [plans(blocks[n : n + 1], widths[n : n + 1])[0] for n in range(len(blocks))]
    # From here on everybody tries all that anybody is to try: [candidates, blocks, n].
    ks = np.arange(first, last + 1)[:, None]
    largest = int(blocks.max())
    # Half as wide is twice as fast.
    rests = (blocks.astype(np.int32) if largest < 1 << 31 else blocks) >> ks[:, :, None].astype(np.int32)
    costs = count * (ks + 1)
    if largest >> first >= ESCAPE:
        costs = costs + np.add.reduce(rests >= ESCAPE, axis=2) * np.array(widths)
        np.minimum(rests, ESCAPE, out=rests)
    costs = costs + np.add.reduce(rests, axis=2, dtype=rests.dtype)
    best = costs.argmin(axis=0).tolist()
    return [(first + k, int(costs[k, n]) + widths[n].bit_length()) for n, k in enumerate(best)]


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
