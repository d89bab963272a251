"""The envelope, rows EN-01 to EN-10 (EN-06 and EN-08 are the transports' part): whatever arrives, only WireError."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.envelope import Envelope, WireError, decode, decode_raw, encode

text = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


@given(text, values)
def test_what_is_written_is_read_back_and_is_json_to_anybody(sender: str, data: Any) -> None:
    frame = encode(sender, data)
    assert decode(frame) == Envelope(sender, data)
    assert decode(frame.decode()) == Envelope(sender, data)
    assert json.loads(frame) == {"from": sender, "data": data}
    raw = decode_raw(frame)
    assert raw.sender == sender
    assert msgspec.json.decode(raw.data) == data


def test_tw05_compact_from_first_raw_utf8() -> None:
    assert encode("é", {"名": [1, None, 2.5]}) == '{"from":"é","data":{"名":[1,null,2.5]}}'.encode()


class _Point(msgspec.Struct):
    x: float


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: x,
        lambda x: [None, x],
        lambda x: {"a": {"b": (1, x)}},
        _Point,
        lambda x: [msgspec.Raw(b"null"), x],
        lambda x: ["null", {"p": _Point(x)}],
    ],
)
def test_en09_nan_and_infinities_are_refused_wherever_they_hide(bad: float, wrap: Any) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode("a", wrap(bad))


def test_null_in_data_and_text_is_no_nan() -> None:
    for data in (None, [None], "null", {"null": "null"}, [msgspec.Raw(b"null")], _Point(1.0)):
        assert decode(encode("a", data)).sender == "a"


def test_what_json_cannot_hold_is_a_type_or_value_error() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = None
    for _ in range(100_000):
        deep = [deep]
    for bad in (object(), 1j, {(1,): 2}, {None: 1}, "\ud800", {"\ud800": 1}, cycle, deep, [None, cycle], 10**5000):
        with pytest.raises((TypeError, ValueError)):
            encode("a", bad)
    with pytest.raises(ValueError, match="surrogates"):
        encode("\ud800", 1)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="EN-01 empty"),
        pytest.param(b"hello", id="EN-01 no JSON"),
        pytest.param(b'{"from":"a","data":1', id="EN-01 cut short"),
        pytest.param(b'{"from":"a","data":1}}', id="EN-01 too long"),
        pytest.param(b"null", id="EN-02 null"),
        pytest.param(b'["from","data"]', id="EN-02 array"),
        pytest.param(b'"from"', id="EN-02 string"),
        pytest.param(b"1", id="EN-02 number"),
        pytest.param(b'{"data":1}', id="EN-03 no sender"),
        pytest.param(b'{"from":1,"data":1}', id="EN-03 number as sender"),
        pytest.param(b'{"from":null,"data":1}', id="EN-03 null as sender"),
        pytest.param(b'{"from":"a"}', id="EN-04 no data"),
        pytest.param(b'{"from":"a","data":NaN}', id="EN-09 NaN"),
        pytest.param(b'{"from":"a","data":[Infinity]}', id="EN-09 Infinity"),
        pytest.param(b'{"from":"a","data":-Infinity}', id="EN-09 -Infinity"),
        pytest.param(b'{"from":"\\ud800","data":1}', id="lone surrogate as sender"),
        pytest.param(b'{"from":"\\udc00\\ud800","data":1}', id="surrogates the wrong way round"),
        pytest.param(b'{"from":"\xff","data":1}', id="invalid UTF-8"),
        pytest.param(b'{"from":"a","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="deep nesting"),
        pytest.param(
            b'{"from":"a","x":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}", id="deep in no key of ours"
        ),
        pytest.param(b"[" * 1_000_000, id="a megabyte of brackets"),
        pytest.param(b"\x00" * 1_000_000, id="a megabyte of NUL"),
    ],
)
def test_no_envelope_is_a_wire_error(frame: bytes) -> None:
    with pytest.raises(WireError):
        decode(frame)
    with pytest.raises(WireError):
        decode_raw(frame)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'"\\ud800"', id="lone surrogate"),
        pytest.param(b'{"\\ud800":1}', id="lone surrogate as key"),
        pytest.param(b'"\xff"', id="invalid UTF-8"),
        pytest.param(b"1e999", id="a float beyond all"),
        pytest.param(b"-1e999", id="a float below all"),
        pytest.param(b"9" * 5000, id="an int of 5000 digits"),
    ],
)
def test_data_that_no_reader_can_hold_is_a_wire_error(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(b'{"from":"a","data":' + data + b"}")


def test_a_str_with_lone_surrogates_is_a_wire_error() -> None:
    with pytest.raises(WireError):
        decode('{"from":"\ud800","data":1}')


def test_en04_null_is_data_and_en05_an_empty_sender_is_a_sender() -> None:
    assert decode(b'{"from":"","data":null}') == Envelope("", None)


def test_en07_further_keys_are_accepted() -> None:
    assert decode(b'{"v":2,"from":"a","x":{"y":[1]},"data":1}') == Envelope("a", 1)


def test_the_last_of_duplicate_keys_counts() -> None:
    assert decode(b'{"from":"a","from":"b","data":1,"data":2}') == Envelope("b", 2)


def test_en10_data_of_any_kind_passes() -> None:
    assert decode(b'{"from":"a","data":{"t":"who knows"}}').data == {"t": "who knows"}


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_wire_error(frame: bytes) -> None:
    for reader in (decode, decode_raw):
        with pytest.raises(WireError):
            reader(frame)


@given(text, values, st.data())
def test_damaged_envelopes_raise_nothing_but_wire_error(sender: str, data: Any, draw: st.DataObject) -> None:
    frame = bytearray(encode(sender, data))
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(frame) - 1))
        frame[at : at + draw.draw(st.integers(0, 3))] = draw.draw(
            st.binary(max_size=3) | st.sampled_from([b"\\ud8", b"[", b'"'])
        )
        if not frame:
            break
    for reader in (decode, decode_raw):
        with contextlib.suppress(WireError):
            reader(bytes(frame))
