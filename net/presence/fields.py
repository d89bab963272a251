"""Fields: the kinds of value that presence carries in protobuf, found from the local data, and the messages for them.

Each table of kinds makes a message type at run time: field n of it is `f<n>`, whose type follows from its code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from net.presence.codec import INT_RANGE, TEXT_LIMIT
from net.presence.record import Scalar, Value

BOOL: Final = 1
INT: Final = 2
"""sint64"""
FIXED: Final = 3
"""sint64: a number times 10^decimals, rounded"""
DOUBLE: Final = 4
"""for numbers that are too large for FIXED"""
TEXT: Final = 5
LIST: Final = 8
"""added to the code of what a list holds"""

FIELD_LIMIT: Final = 64
"""fields of one peer, and the highest number that one may have"""
ITEM_LIMIT: Final = 64
"""items of one list"""
DECIMALS_LIMIT: Final = 9
"""finest grid for FIXED"""
MESSAGE_TYPES: Final = 64
"""types that are kept: whoever invents more costs time, not memory"""

_EXACT: Final = 2**53
"""integers up to this are exact as floats"""

_DescriptorField = descriptor_pb2.FieldDescriptorProto
_PROTOBUF_TYPES: Final = {
    BOOL: _DescriptorField.TYPE_BOOL,
    INT: _DescriptorField.TYPE_SINT64,
    FIXED: _DescriptorField.TYPE_SINT64,
    DOUBLE: _DescriptorField.TYPE_DOUBLE,
    TEXT: _DescriptorField.TYPE_STRING,
}
CODES: Final = frozenset(_PROTOBUF_TYPES) | {code | LIST for code in _PROTOBUF_TYPES}
"""all that this version knows"""


class Field(NamedTuple):
    """One entry of a table."""

    name: str
    number: int
    """1 to FIELD_LIMIT"""
    code: int


def code_of(value: Value, scale: int, known: int = 0) -> int:
    """The code for `value`, wide enough for what the field has held before (`known`), so that it does not flutter.

    `scale` is 10^decimals. Raises TypeError for other types and mixed lists, ValueError for NaN and infinities.
    """
    if isinstance(value, list | tuple):
        if not value:
            return known if known & LIST else BOOL | LIST
        code = _widest({_scalar_code(item, scale) for item in value})
        if known & LIST and known ^ LIST >= INT and INT <= code < TEXT and known ^ LIST < TEXT:
            code = max(code, known ^ LIST)
        if code == FIXED and any(not _fits(item, scale) for item in value):
            code = DOUBLE
        return code | LIST
    code = _scalar_code(value, scale)
    if INT <= code < TEXT and INT <= known < TEXT:
        code = max(code, known)
    return DOUBLE if code == FIXED and not _fits(value, scale) else code


def to_raw(value: Value, code: int, scale: int) -> Any:
    """What stands in the message for `value` of that code.

    Raises ValueError for a list, string or number beyond the limits.
    """
    if not code & LIST:
        _check_text(len(value) if isinstance(value, str) else 0)
        return _raw(value, code, scale)
    assert isinstance(value, list | tuple)
    if len(value) > ITEM_LIMIT:
        raise ValueError(f"a list in presence has up to {ITEM_LIMIT} items, not {len(value)}")
    _check_text(sum(len(item) for item in value if isinstance(item, str)))
    return [_raw(item, code ^ LIST, scale) for item in value]


def from_raw(raw: Any, code: int, scale: int) -> Value | None:
    """The value that stands in a message; None if it is beyond the limits or no finite number."""
    if not code & LIST:
        return _value(raw, code, scale) if code != TEXT or len(raw) <= TEXT_LIMIT else None
    if len(raw) > ITEM_LIMIT:
        return None
    items = tuple(_value(item, code ^ LIST, scale) for item in raw)
    if None in items or (code == TEXT | LIST and sum(map(len, raw)) > TEXT_LIMIT):
        return None
    return items  # type: ignore[return-value]  # there is no None in it


@lru_cache(maxsize=MESSAGE_TYPES)
def message_type(table: tuple[tuple[int, int], ...]) -> type[Message]:
    """The message type for fields of these (number, code)."""
    file = descriptor_pb2.FileDescriptorProto(name="state.proto", package="presence", syntax="proto3")
    described = file.message_type.add(name="State")
    for number, code in table:
        field = described.field.add(name=f"f{number}", number=number, type=_PROTOBUF_TYPES[code & ~LIST])
        if code & LIST:
            field.label = _DescriptorField.LABEL_REPEATED
        else:
            # Optional in proto3 is a oneof of one: so that a field which became 0 differs from one that is not sent.
            field.label = _DescriptorField.LABEL_OPTIONAL
            field.proto3_optional = True
            field.oneof_index = len(described.oneof_decl)
            described.oneof_decl.add(name=f"_f{number}")
    pool = descriptor_pool.DescriptorPool()  # of its own: it goes when the type goes
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("presence.State"))


def _scalar_code(value: Any, scale: int) -> int:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT if value in INT_RANGE else DOUBLE
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} in presence: every peer would refuse it")
        return FIXED if _fits(value, scale) else DOUBLE
    if isinstance(value, str):
        return TEXT
    raise TypeError(f"presence carries numbers, strings, bools and lists of them, not {type(value).__name__}")


def _widest(codes: set[int]) -> int:
    if len(codes) > 1 and not all(INT <= code < TEXT for code in codes):
        raise TypeError("a list in presence holds one kind of value")
    return max(codes)


def _fits(value: Any, scale: int) -> bool:
    """Whether a number is exact on the grid of FIXED."""
    return bool(abs(value) < _EXACT / scale)


def _raw(value: Any, code: int, scale: int) -> Any:
    if code == FIXED:
        return round(value * scale)
    if code == DOUBLE:
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError("a number in presence is too large") from error
    return value


def _value(raw: Any, code: int, scale: int) -> Scalar | None:
    if code == FIXED:
        return float(raw / scale)
    if code == DOUBLE:
        return float(raw) if math.isfinite(raw) else None
    return raw  # type: ignore[no-any-return]


def _check_text(length: int) -> None:
    if length > TEXT_LIMIT:
        raise ValueError(f"strings in presence have up to {TEXT_LIMIT} characters a field, not {length}")


def readable(fields: Sequence[Field]) -> tuple[Field, ...]:
    """Of a table that a peer sent, what this version understands, first come first served."""
    taken: dict[int, Field] = {}
    names: set[str] = set()
    for field in fields:
        if field.code in CODES and 0 < field.number <= FIELD_LIMIT and field.number not in taken:
            if field.name in names:
                continue
            taken[field.number] = field
            names.add(field.name)
    return tuple(taken.values())
