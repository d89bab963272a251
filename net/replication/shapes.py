"""Shapes: what a replicated field may hold. Each turns its values into integer codes from 0 to `limit`, and back.

What is not text is compared, stored and sent as its code alone, so that one codec serves all shapes.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

WIDEST: Final = 1 << 53
"""codes are below it: a float holds them exactly, and their differences fit into 64 bits with room to spare"""
SLOT_BITS: Final = 20
"""an entity's id is its slot, and above that the generation of the slot: an id is used once in 2^20 lives of a slot"""
GENERATIONS: Final = 1 << 20

Codes = NDArray[np.int64]


class Shape:
    """What one field may hold. `code` raises ValueError for what it cannot hold: whoever writes must know."""

    limit: int
    """the largest code"""
    default: int = 0
    """the code of a field that nobody has set"""
    modulus: int = 0
    """codes are taken modulo this power of two, where it is not 0"""
    predicted: bool = False
    """whether values tend to go on as they went: then the difference to that is sent"""
    refers: bool = False
    """whether codes other than 0 are ids of entities"""
    textual: bool = False
    """whether values are texts, which have no codes"""
    wire: str
    """the shape in words: equal words are equal bits"""

    def code(self, value: Any) -> int:
        """The code nearest to a value. ValueError if there is none."""
        raise NotImplementedError

    def value(self, code: int) -> Any:
        """What a code from 0 to `limit` stands for."""
        raise NotImplementedError

    def values(self, codes: Codes) -> NDArray[Any]:
        """The same for an array."""
        return np.array([self.value(code) for code in codes.tolist()])

    def __repr__(self) -> str:
        return self.wire


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} is a whole number, not {value!r}")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{value!r} is no number")
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


class Bool(Shape):
    """True or False."""

    limit = 1
    modulus = 2
    wire = "bool"

    def code(self, value: Any) -> int:
        """0 or 1."""
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{value!r} is neither True nor False")
        return int(value)

    def value(self, code: int) -> bool:
        """False or True."""
        return code == 1

    def values(self, codes: Codes) -> NDArray[Any]:
        """An array of bool."""
        true: NDArray[np.bool_] = codes == 1
        return true


class Int(Shape):
    """A whole number from `low` to `high`."""

    def __init__(self, low: int, high: int) -> None:
        low, high = _whole(low, "low"), _whole(high, "high")
        if not (low < high and high - low < WIDEST and max(abs(low), abs(high)) <= WIDEST):
            raise ValueError(f"no shape holds whole numbers from {low} to {high}")
        self.low, self.limit = low, high - low
        self.default = min(max(0, low), high) - low
        self.wire = f"int {low} to {high}"

    def code(self, value: Any) -> int:
        """The distance from `low`."""
        code = _whole(value, "an Int") - self.low
        if not 0 <= code <= self.limit:
            raise ValueError(f"{value} is not within {self.wire}")
        return code

    def value(self, code: int) -> int:
        """The number."""
        return self.low + code

    def values(self, codes: Codes) -> NDArray[Any]:
        """An array of int64."""
        return codes + self.low


class Fixed(Shape):
    """A number from `low` to `high` in steps of `precision`. It is expected to go on as it went, like a position."""

    predicted = True

    def __init__(self, low: float, high: float, precision: float) -> None:
        low, high, precision = _number(low), _number(high), _number(precision)
        if not (low < high and precision > 0 and (high - low) / precision < WIDEST):
            raise ValueError(f"no shape holds numbers from {low} to {high} in steps of {precision}")
        self.low, self.precision = low, precision
        self.limit = max(1, round((high - low) / precision))
        self.default = min(max(0, round(-low / precision)), self.limit)
        self.wire = f"fixed {low!r} to {high!r} by {precision!r}"

    def code(self, value: Any) -> int:
        """Steps from `low`, rounded to the nearest."""
        code = round((_number(value) - self.low) / self.precision)
        if not 0 <= code <= self.limit:
            raise ValueError(f"{value} is not within {self.wire}")
        return code

    def codes(self, values: NDArray[np.floating[Any]]) -> Codes:
        """The same for an array, unchecked: what does not fit is refused at the next sample."""
        codes: Codes = np.rint((values - self.low) / self.precision).astype(np.int64)
        return codes

    def value(self, code: int) -> float:
        """The number, at most half a step from what was set."""
        return self.low + code * self.precision

    def values(self, codes: Codes) -> NDArray[Any]:
        """An array of float64."""
        return self.low + codes * self.precision


class Angle(Shape):
    """An angle in 2^bits steps of a turn. Values are radians, 0 up to 2 pi; any finite angle can be set."""

    def __init__(self, bits: int = 10) -> None:
        if not 1 <= _whole(bits, "bits") <= 32:
            raise ValueError(f"an angle has 1 to 32 bits, not {bits}")
        self.modulus = 1 << bits
        self.limit = self.modulus - 1
        self.wire = f"angle of {bits} bits"

    def code(self, value: Any) -> int:
        """Steps, modulo a turn."""
        turns = math.remainder(_number(value), math.tau) / math.tau
        return round(turns * self.modulus) % self.modulus

    def value(self, code: int) -> float:
        """Radians."""
        return code * math.tau / self.modulus

    def values(self, codes: Codes) -> NDArray[Any]:
        """An array of float64."""
        return codes * (math.tau / self.modulus)


class Text(Shape):
    """A text of at most `limit` characters, any but lone surrogates."""

    limit = WIDEST
    textual = True
    nullable: ClassVar[bool] = False

    def __init__(self, length: int) -> None:
        if not 1 <= _whole(length, "length") <= 65535:
            raise ValueError(f"a text has 1 to 65535 characters, not {length}")
        self.length = length
        self.wire = f"text of {length}"

    def check(self, value: Any) -> str | None:
        """The same text. ValueError for what doesn't fit."""
        if not isinstance(value, str):
            raise ValueError(f"{value!r:.40} is no text")
        if len(value) > self.length:
            raise ValueError(f"a text of {len(value)} characters is not a {self.wire}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("a text with a lone surrogate cannot be sent") from error
        return value


class _OptionalText(Text):
    nullable = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.wire = f"optional {self.wire}"

    def check(self, value: Any) -> str | None:
        return None if value is None else super().check(value)


class EntityRef(Shape):
    """Another entity, by its id, or None. What is gone, or never was, is None."""

    limit = (GENERATIONS << SLOT_BITS) - 1
    refers = True
    wire = "entity"

    def code(self, value: Any) -> int:
        """The id; 0 for None."""
        code = 0 if value is None else _whole(value, "an entity's id")
        if not 0 <= code <= self.limit:
            raise ValueError(f"{value} is no entity's id")
        return code

    def value(self, code: int) -> int | None:
        """The id, or None."""
        return code or None


class _OptionalRef(EntityRef):
    wire = "optional entity"


class _Optional(Shape):
    def __init__(self, inner: Shape) -> None:
        self.inner = inner
        self.limit = inner.limit + 1
        self.wire = f"optional {inner.wire}"

    def code(self, value: Any) -> int:
        return 0 if value is None else self.inner.code(value) + 1

    def value(self, code: int) -> Any:
        return self.inner.value(code - 1) if code else None

    def values(self, codes: Codes) -> NDArray[Any]:
        return np.array([self.value(code) for code in codes.tolist()], object)


def Optional(inner: Shape) -> Shape:  # noqa: N802 - it stands among the classes in a declaration
    """The same shape, or None, which is what it holds at first."""
    if isinstance(inner, Text):
        return _OptionalText(inner.length)
    return _OptionalRef() if inner.refers else _Optional(inner)
