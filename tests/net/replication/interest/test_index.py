"""The parts under the providers, where being slow or large is the fault rather than being wrong."""

import numpy as np
import pytest

from net.replication.interest.band import PATIENCE, SLACK, Band
from net.replication.interest.bits import BitTable, set_bits
from net.replication.interest.columns import SIDE, STRAYS, ColumnIndex


def test_bits_are_set_and_unset_also_where_pairs_share_a_byte():
    table = BitTable(10)
    table.widen(20)
    rows, columns = np.array([1, 1, 1, 9], np.int32), np.array([0, 7, 15, 3])
    table.set(rows, columns)
    assert table.test(rows, columns).all()
    found = set_bits(table.words)
    assert [each.tolist() for each in found] == [rows.tolist(), columns.tolist()]
    table.unset(rows[1:], columns[1:])
    assert table.test(rows, columns).tolist() == [True, False, False, False]
    assert table.column(0).tolist() == [1]


def test_columns_are_taken_again_empty_and_a_wider_table_keeps_its_bits():
    table = BitTable(4)
    columns = [table.take() for _ in range(8)]
    table.set(np.array([2], np.int32), columns[5])
    assert table.take() == 8
    assert table.columns == 16
    assert table.column(columns[5]).tolist() == [2]
    table.give_back(columns[5])
    assert table.take() == columns[5]
    assert table.column(columns[5]).tolist() == []


@pytest.mark.parametrize("size", [0.5, 3.0, 1e-3])
def test_the_index_finds_all_in_a_rectangle_wherever_it_lies(size):
    """Around 0, across the edge of its table, larger than its table, and far out."""
    source = np.random.default_rng(1)
    x = np.concatenate([source.uniform(-400, 400, 3000), source.uniform(-1, 1, 50) * 1e30]).astype(np.float32)
    z = np.concatenate([source.uniform(-400, 400, 3000), source.uniform(-1, 1, 50) * 1e30]).astype(np.float32)
    placed = source.random(len(x)) < 0.9
    index = ColumnIndex(len(x), size)
    for width in (0.0, 1.0, 30.0, SIDE * size, 1e31):
        for _ in range(20):
            middle = int(source.integers(len(x)))
            low = (float(x[middle]) - width, float(z[middle]) - width)
            high = (float(x[middle]) + width, float(z[middle]) + width)
            found = index.near(low, high, placed, x, z)
            inside = placed & (x >= low[0]) & (x <= high[0]) & (z >= low[1]) & (z <= high[1])
            assert len(set(found.tolist())) == len(found)
            assert placed[found].all()
            assert set(np.flatnonzero(inside).tolist()) <= set(found.tolist())


def test_the_index_asks_few_where_few_are():
    source = np.random.default_rng(2)
    x, z = source.uniform(0, 1000, (2, 50_000))
    index = ColumnIndex(len(x), 10.0)
    found = index.near((500.0, 500.0), (540.0, 540.0), np.ones(len(x), np.bool_), x, z)
    assert len(found) < 150


def test_whoever_changes_the_cell_appears_or_returns_is_found():
    """One that went before the index was built, and comes back to the cell it had, too."""
    x, z = np.arange(10.0), np.zeros(10)
    placed = np.ones(10, np.bool_)
    index = ColumnIndex(10, 1.0)
    index.near((0.0, 0.0), (0.0, 0.0), placed, x, z)
    placed[4] = False
    index.drop()
    index.near((0.0, 0.0), (0.0, 0.0), placed, x, z)
    placed[4] = True
    x[7] = 4.5
    index.move(np.array([4, 7], np.int32), x, z)
    assert sorted(index.near((4.0, 0.0), (4.9, 0.0), placed, x, z).tolist()) == [4, 7]
    x[7] = 7.0
    index.move(np.array([7], np.int32), x, z)
    assert 7 in index.near((7.0, 0.0), (7.9, 0.0), placed, x, z).tolist()


def test_strays_are_sorted_in_before_they_are_many():
    source = np.random.default_rng(4)
    count = 4 * STRAYS
    x, z = source.uniform(0, 1000, (2, count))
    placed = np.ones(count, np.bool_)
    index = ColumnIndex(count, 10.0)
    for first in range(0, count, 100):
        index.near((0.0, 0.0), (1.0, 1.0), placed, x, z)
        moved = np.arange(first, min(first + 100, count), dtype=np.int32)
        x[moved] = source.uniform(0, 1000, len(moved))
        index.move(moved, x, z)
        assert len(index.near((0.0, 0.0), (1.0, 1.0), placed, x, z)) <= STRAYS + 100


def band_around(count, radius=10.0, skin=1.0):
    """One eye at 0 of a band with nothing near its surface."""
    band = Band(count, radius, skin)
    at = np.zeros((3, 8))
    moved = np.zeros(8, np.bool_)
    moved[0] = True
    assert band.check(at, moved).tolist() == [0]
    band.make(0, at[:, 0], np.empty(0, np.int32), np.empty(0))
    return band, at, moved


def near(slots, eyes=8):
    distances = np.full((len(slots), eyes), 1e6)
    distances[:, 0] = 100.0
    return distances


def test_a_band_does_not_grow_with_what_passes_by():
    band, at, moved = band_around(10_000)
    longest = 0
    for first in range(0, 10_000, 20):
        slots = np.arange(first, first + 20, dtype=np.int32)
        for eye in band.check(at, moved).tolist():
            band.make(eye, at[:, eye], np.empty(0, np.int32), np.empty(0))
        band.admit(slots, near(slots))
        band.admit(slots, near(slots))
        longest = max(longest, len(band.slots))
    assert 20 < longest <= SLACK + 20


def test_an_eye_that_stands_still_loses_its_band_and_gets_a_new_one_when_it_moves():
    band, at, moved = band_around(100)
    band.admit(np.array([3], np.int32), near([3]))
    still = np.zeros(8, np.bool_)
    for _ in range(PATIENCE - 1):
        assert band.check(at, still).tolist() == []
        assert band.active[0]
    assert band.check(at, still).tolist() == []
    assert not band.active.any()
    assert len(band.slots) == 0
    assert band.check(at, moved).tolist() == [0]


def test_a_band_holds_for_a_skin():
    band, at, moved = band_around(100)
    for x, remade in ((0.5, []), (-0.9, []), (1.01, [0])):
        at[0, 0] = x
        assert band.check(at, moved).tolist() == remade
