"""Bits and Rice blocks: round trips at any size, both ways of writing equal, and nothing but WireError for the rest."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from net.envelope import WireError
from net.replication import bits, rice
from net.replication.bits import BitReader, BitWriter
from net.replication.rice import ESCAPE, plan, read_rice, unzigzag, write_rice, zigzag


def array(values):
    return np.array(values, np.int64)


@pytest.fixture(params=["few", "many"])
def way(request, monkeypatch):
    """Everything by loops, and everything by numpy."""
    use(request.param, monkeypatch)
    return request.param


def use(kind, monkeypatch):
    for module, limit in ((bits, "FEW"), (rice, "FEW"), (rice, "MANY")):
        monkeypatch.setattr(module, limit, 10**9 if kind == "few" else 0)


def test_numbers_of_every_width_come_back(way):
    writer = BitWriter()
    for width in range(1, 63):
        writer.number(1, 1)
        writer.numbers(array([2**width - 1, 0, 1]), width)
        writer.unary(array([width, 0]))
        writer.count(2**31 >> width % 32)
    reader = BitReader(writer.finish())
    for width in range(1, 63):
        assert reader.number(1) == 1
        assert reader.numbers(3, width).tolist() == [2**width - 1, 0, 1]
        assert reader.unary(2, 63).tolist() == [width, 0]
        assert reader.count() == 2**31 >> width % 32
    reader.finish()


@given(
    st.lists(st.integers(0, 2**53 - 1) | st.integers(0, 20) | st.integers(0, 3000), max_size=60),
    st.integers(0, 7),
)
@example([0] * 30, 0)
@example([2**53 - 1], 3)
@example(list(range(40)), 1)
def test_both_ways_of_writing_are_equal_bit_for_bit(values, offset):
    width = max(values, default=0).bit_length() or 1
    written = []
    for kind in ("few", "many"):
        with pytest.MonkeyPatch.context() as patch:
            use(kind, patch)
            writer = BitWriter()
            writer.number(0, offset)
            write_rice(writer, array(values), width)
            data = writer.finish()
            written.append((data, len(writer), plan(array(values), width) if values else None))
            reader = BitReader(data)
            reader.number(offset)
            assert read_rice(reader, len(values), width).tolist() == values
            reader.finish()
    assert written[0] == written[1]
    if values:
        assert written[0][2][1] == written[0][1] - offset, "a plan says how many bits it takes"


def test_a_block_costs_about_what_its_numbers_are_worth():
    dice = np.random.default_rng(3)
    geometric = dice.geometric(0.05, 5000) - 1  # 5.7 bits of entropy each
    assert plan(geometric, 16)[1] / 5000 < 5.9
    geometric[:50] = 65535
    assert plan(geometric, 16)[1] / 5000 < 6.3, "few large ones make only themselves expensive"


@given(st.lists(st.integers(-(2**54), 2**54), min_size=1))
def test_zigzag_turns_around(values):
    assert unzigzag(zigzag(array(values))).tolist() == values
    assert zigzag(array([0, -1, 1, -2])).tolist() == [0, 1, 2, 3]


@given(st.binary(max_size=80), st.integers(0, 100), st.integers(1, 54))
def test_any_bytes_are_a_block_or_a_wire_error(data, count, width):
    results = []
    for kind in ("few", "many"):
        with pytest.MonkeyPatch.context() as patch:
            use(kind, patch)
            try:
                results.append(read_rice(BitReader(data), count, width).tolist())
            except WireError as error:
                results.append(str(error))
    if isinstance(results[0], list) or isinstance(results[1], list):
        assert results[0] == results[1]


@pytest.mark.parametrize(
    "read",
    [
        lambda reader: reader.number(25),
        lambda reader: reader.numbers(5, 5),
        lambda reader: reader.numbers(10**9, 60),
        lambda reader: reader.unary(25, 3),
        lambda reader: reader.unary(10**9, 16),
        lambda reader: reader.octets(4),
        lambda reader: reader.octets(10**9),
        lambda reader: read_rice(reader, 10**9, 20),
        lambda reader: reader.finish(),
    ],
)
def test_what_is_not_there_is_a_wire_error_and_costs_nothing(way, read):
    with pytest.raises(WireError):
        read(BitReader(b"\xff\xff\xff"))


def test_long_zeros_and_counts_without_end_are_refused(way):
    with pytest.raises(WireError):
        BitReader(bytes(20)).unary(1, ESCAPE)
    with pytest.raises(WireError):
        BitReader(b"\x00\x00\x40").unary(1, ESCAPE)
    with pytest.raises(WireError):
        BitReader(b"\xff" * 20).count()
    reader = BitReader(b"\xff\x00")
    reader.number(8)
    with pytest.raises(WireError):
        reader.finish()
