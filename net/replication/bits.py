"""Bits: numbers of any width, one behind the other, the highest bit first.

Blocks of many numbers go through numpy, blocks of few through Python's own integers; the bits are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from net.envelope import WireError
from net.replication.shapes import Codes

FEW: Final = 160
"""numbers from which on numpy is faster than a loop, when a tick or a frame begins and caches are cold"""
_NO_UNARY: Final = "a frame ends too early, or has a number that is too large"
_UNARY: Final = ["0" * value + "1" for value in range(64)]

Bits = NDArray[np.uint8]


class BitWriter:
    """Puts bits behind each other."""

    __slots__ = ("_length", "_value")

    def __init__(self) -> None:
        self._value = 0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def number(self, value: int, width: int) -> None:
        """One number from 0 to 2^width - 1."""
        self._value = self._value << width | value
        self._length += width

    def count(self, value: int) -> None:
        """A number of unknown size, in groups of 4 bits, each behind a 1 if another one follows."""
        groups = [value & 15]
        while value := value >> 4:
            groups.append(16 | value & 15)
        for group in reversed(groups[1:]):
            self.number(group, 5)
        self.number(groups[0], 5)

    def numbers(self, values: Sequence[int] | Codes, width: int) -> None:
        """Many numbers of one width."""
        if not width or not len(values):
            return
        if len(values) < FEW:
            block = 0
            for value in values.tolist() if isinstance(values, np.ndarray) else values:
                block = block << width | value
            self.number(block, len(values) * width)
        else:
            kind = np.uint8 if width <= 8 else np.int64
            bits = np.asarray(values).astype(kind)[:, None] >> _places(width).astype(kind)
            bits &= 1
            self._block(bits.astype(np.uint8, copy=False).ravel())

    def unary(self, values: Sequence[int] | Codes) -> None:
        """Each number, below 64, as that many zeros and a one."""
        if not len(values):
            return
        if len(values) < FEW:
            given = values.tolist() if isinstance(values, np.ndarray) else values
            text = "".join([_UNARY[value] for value in given])
            self.number(int(text, 2), len(text))
        else:
            ones = np.asarray(values).cumsum()
            ones += np.arange(len(ones))
            bits = np.zeros(int(ones[-1]) + 1, np.uint8)
            bits[ones] = 1
            self._block(bits)

    def octets(self, data: bytes) -> None:
        """Whole bytes, wherever they begin."""
        self.number(int.from_bytes(data, "big"), 8 * len(data))

    def finish(self) -> bytes:
        """All bits, with zeros up to a whole byte."""
        spare = -self._length % 8
        return (self._value << spare).to_bytes((self._length + spare) // 8, "big")

    def _block(self, bits: Bits) -> None:
        block = int.from_bytes(np.packbits(bits).tobytes(), "big") >> (-len(bits) % 8)
        self.number(block, len(bits))


@cache
def _places(width: int) -> Codes:
    """How far each bit of a number is shifted, the highest first."""
    return np.arange(width - 1, -1, -1, dtype=np.int64)


@cache
def _weights(width: int) -> Codes:
    """What each bit of a number counts, the highest first."""
    return 1 << _places(width)


class BitReader:
    """Takes them off again. Raises WireError where the bits end too early."""

    __slots__ = ("_at", "_bits", "_data", "_end", "_text")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._end = 8 * len(data)
        # A text of 0 and 1 is the quickest to cut up, and to search for ones.
        self._text = f"{int.from_bytes(data, 'big'):0{self._end}b}" if data else ""
        self._bits: Bits | None = None

    @property
    def left(self) -> int:
        """Bits that are left."""
        return self._end - self._at

    def number(self, width: int) -> int:
        """One number of that width."""
        start = self._at
        end = start + width
        if end > self._end:
            raise WireError("a frame ends too early")
        self._at = end
        return int(self._text[start:end], 2) if width else 0

    def flag(self) -> bool:
        """One bit."""
        at = self._at
        if at >= self._end:
            raise WireError("a frame ends too early")
        self._at = at + 1
        return self._text[at] == "1"

    def count(self) -> int:
        """A number of unknown size, below 2^32."""
        value = 0
        for _ in range(8):
            group = self.number(5)
            value = value << 4 | group & 15
            if group < 16:
                return value
        raise WireError("a frame has a count beyond all bounds")

    def numbers(self, count: int, width: int) -> Codes:
        """Many numbers of one width, up to 62 bits."""
        if not width or not count:
            return np.zeros(count, np.int64)
        if count * width > self.left:
            raise WireError("a frame ends too early")
        if count < FEW:
            return np.array(self.few_numbers(count, width), np.int64)
        bits = self._array()[self._at : self._at + count * width].reshape(count, width)
        self._at += count * width
        values: Codes = bits @ _weights(width)
        return values

    def unary(self, count: int, most: int) -> Codes:
        """Many numbers as zeros and a one, none above `most`."""
        if not count:
            return np.zeros(0, np.int64)
        if count > self.left:
            raise WireError("a frame ends too early")
        if count < FEW:
            return np.array(self.few_unary(count, most), np.int64)
        # Most numbers are small: so few bits are looked at first.
        for width in (4, most + 1):
            ones = self._array()[self._at : self._at + count * width].view(np.bool_).nonzero()[0][:count]
            if len(ones) == count:
                break
        if len(ones) < count:
            raise WireError(_NO_UNARY)
        self._at += int(ones[-1]) + 1
        values: Codes = ones.copy()
        values[1:] -= ones[:-1] + 1
        if int(values.max()) > most:
            raise WireError(_NO_UNARY)
        return values

    def few_numbers(self, count: int, width: int) -> list[int]:
        """The same as `numbers`, without numpy."""
        block, mask = self.number(count * width), (1 << width) - 1
        return [block >> shift & mask for shift in range((count - 1) * width, -1, -width)]

    def few_unary(self, count: int, most: int) -> list[int]:
        """The same as `unary`, without numpy."""
        at = self._at
        window = min(self._end, at + count * (most + 1))
        parts = self._text[at:window].split("1", count)
        del parts[count:]
        values = list(map(len, parts))
        self._at = at + sum(values) + count
        if self._at > window or max(values) > most:
            raise WireError(_NO_UNARY)
        return values

    def octets(self, count: int) -> bytes:
        """Whole bytes, wherever they begin."""
        if 8 * count > self.left:
            raise WireError("a frame ends too early")
        return self.number(8 * count).to_bytes(count, "big")

    def finish(self) -> None:
        """WireError unless all that is left are zeros up to a whole byte."""
        if self.left >= 8 or self.number(self.left):
            raise WireError("a frame has more than belongs to it")

    def _array(self) -> Bits:
        if self._bits is None:
            self._bits = np.unpackbits(np.frombuffer(self._data, np.uint8))
        return self._bits
