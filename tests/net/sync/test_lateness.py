import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.sync.lateness import FIRST, LONGEST, MARGIN, OVERDUE, SPAN, WINDOW, Lateness, Quantiles

INTERVAL = 0.05


def stream(transits: list[float], start: float = 0.0, ahead: float = 0.0) -> Lateness:
    """Snapshots every INTERVAL with these transits, in the order in which they arrive; the sender's clock is ahead."""
    lateness = Lateness()
    sends = [(start + i * INTERVAL, start + i * INTERVAL + transit) for i, transit in enumerate(transits)]
    for sent, arrived in sorted(sends, key=lambda send: send[1]):
        lateness.add(sent + ahead, arrived)
    return lateness


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(-5, 5)), min_size=1, max_size=60), st.floats(0, 1))
def test_quantiles_are_those_of_a_sorted_list_of_the_window(steps: list[tuple[float, float]], share: float) -> None:
    quantiles, now, kept = Quantiles(seconds=4.0, limit=20), 0.0, []
    for step, value in steps:
        now += step
        quantiles.add(now, value)
        kept = [(time, number) for time, number in [*kept, (now, value)] if time >= now - 4.0][-20:]
    numbers = sorted(number for _, number in kept)
    assert len(quantiles) == len(numbers)
    assert quantiles.at(share) == numbers[max(0, math.ceil(share * len(numbers)) - 1)]
    assert sum(number <= quantiles.at(share) for number in numbers) >= share * len(numbers)


def test_no_numbers_have_no_quantile() -> None:
    assert Quantiles().at(0.5) == 0.0


def test_before_anything_is_known_the_delay_is_the_longest() -> None:
    assert stream([0.05] * (FIRST - 1)).delay(1.0) == LONGEST
    assert stream([0.05] * FIRST).delay(FIRST * INTERVAL) < LONGEST


@pytest.mark.parametrize("ahead", [0.0, 1e6, -1e6])
def test_the_clocks_need_not_agree(ahead: float) -> None:
    lateness = stream([0.05, 0.09, 0.05, 0.05, 0.07, 0.05, 0.05, 0.05, 0.05, 0.05], ahead=ahead)
    assert lateness.fastest == pytest.approx(0.05 - ahead)
    assert lateness.interval == pytest.approx(INTERVAL)
    assert lateness.quantile(1.0) == pytest.approx(0.04)
    assert lateness.quantile(0.9) == pytest.approx(0.02)
    assert lateness.delay(9 * INTERVAL + 0.05) == pytest.approx(0.04 + INTERVAL + MARGIN)


def test_without_lateness_most_of_a_lost_snapshots_gap_is_covered() -> None:
    assert stream([0.05] * 40).delay(39 * INTERVAL + 0.05) == pytest.approx(SPAN * INTERVAL)


def test_the_interval_is_what_is_sent_not_what_comes() -> None:
    """Of 100 snapshots every third is lost, and there is a pause of two seconds."""
    lateness = Lateness()
    for i in range(100):
        if i % 3:
            sent = i * INTERVAL + (2.0 if i > 50 else 0.0)
            lateness.add(sent, sent + 0.05)
    assert lateness.interval == pytest.approx(INTERVAL)


def test_reordered_snapshots_leave_the_newest_and_the_interval_alone() -> None:
    lateness = stream([0.05, 0.05, 0.16, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05])
    assert lateness.newest == pytest.approx(9 * INTERVAL)
    assert lateness.interval == pytest.approx(INTERVAL)
    assert lateness.quantile(1.0) == pytest.approx(0.11)


def test_a_stall_is_remembered_for_the_window_and_no_longer() -> None:
    lateness = stream([0.05] * 20 + [0.25, 0.2, 0.15, 0.1, 0.05])
    assert lateness.delay(1.25) == LONGEST
    for i in range(25, 25 + int(WINDOW / INTERVAL) + 1):
        before = lateness.delay(i * INTERVAL)
        lateness.add(i * INTERVAL, i * INTERVAL + 0.05)
        assert lateness.delay(i * INTERVAL + 0.05) <= before
    assert lateness.delay(i * INTERVAL + 0.05) == pytest.approx(SPAN * INTERVAL)


def test_what_is_long_overdue_counts_before_it_comes() -> None:
    lateness = stream([0.05] * 40)
    newest = 39 * INTERVAL
    assert lateness.overdue(newest + 0.05) == pytest.approx(-INTERVAL)
    lost = newest + 0.05 + INTERVAL * (1 + OVERDUE)
    assert lateness.delay(lost - 1e-6) == pytest.approx(SPAN * INTERVAL)
    assert lateness.delay(lost + 1e-6) == pytest.approx(OVERDUE * INTERVAL + INTERVAL + MARGIN, abs=1e-4)
    assert lateness.delay(lost + 9.0) == LONGEST
