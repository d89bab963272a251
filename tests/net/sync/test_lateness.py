import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.sync.lateness import FIRST, LONGEST, OVERDUE, RELEASE, SPAN, WINDOW, Lateness, Quantiles

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
    assert lateness.delay(9 * INTERVAL + 0.05) == pytest.approx(0.04 + INTERVAL)


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


def test_it_is_believed_slowly_that_the_way_has_become_better() -> None:
    lateness, fall = stream([0.05] * 4 + [0.25, 0.2, 0.15, 0.1] + [0.05] * 40), RELEASE * INTERVAL
    assert lateness.quantile(0.98) == pytest.approx(0.2)
    awaited = [lateness.awaited]
    for i in range(48, 48 + 240):
        lateness.add(i * INTERVAL, i * INTERVAL + 0.05)
        awaited.append(lateness.awaited)
    steps = [a - b for a, b in pairwise(awaited)]
    assert max(steps) == pytest.approx(fall)
    assert min(steps) >= -1e-9
    assert awaited[-1] == pytest.approx(0.0)


def test_one_that_is_seconds_late_does_no_more_harm_than_one_later_than_the_longest_delay() -> None:
    lateness = stream([0.05] * 4 + [5.0] + [0.05] * 300)
    assert lateness.awaited <= LONGEST


def test_another_way_is_no_reason_to_play_later_or_earlier() -> None:
    """100 ms longer for ever: lateness, until the last one on the old way is forgotten, and then the way itself."""
    lateness, played = stream([0.05] * 100), []
    for i in range(100, 700):
        lateness.add(i * INTERVAL, i * INTERVAL + 0.15)
        played.append(lateness.fastest + lateness.delay(i * INTERVAL + 0.15))
    assert lateness.fastest == pytest.approx(0.15)
    floor = (SPAN - 1) * INTERVAL
    assert max(abs(b - a) for a, b in pairwise(played[5:])) <= floor + 1e-9, "once, for what a lost one needs"
    assert played[-1] == pytest.approx(0.15 + SPAN * INTERVAL)


def test_what_is_long_overdue_counts_before_it_comes() -> None:
    lateness = stream([0.05] * 40)
    newest = 39 * INTERVAL
    assert lateness.overdue(newest + 0.05) == pytest.approx(-INTERVAL)
    lost = newest + 0.05 + INTERVAL * (1 + OVERDUE)
    assert lateness.delay(lost - 1e-6) == pytest.approx(SPAN * INTERVAL)
    assert lateness.delay(lost + 1e-6) == lateness.delay(lost + 9.0) == LONGEST


def test_what_is_not_later_than_what_is_waited_for_anyway_is_no_stall() -> None:
    lateness = stream([0.05, 0.05, 0.05, 0.17] * 10 + [0.05])
    due = 40 * INTERVAL + 0.05 + INTERVAL
    assert lateness.awaited == pytest.approx(0.12)
    assert lateness.awaited > OVERDUE * INTERVAL
    assert lateness.delay(due + 0.12 - 1e-6) == pytest.approx(0.12 + INTERVAL)
    assert lateness.delay(due + 0.12 + 1e-6) == LONGEST


def test_a_pause_that_was_announced_is_no_stall_and_leaves_a_known_interval_alone() -> None:
    """A sender that rests speaks five times a second, and says so; then it moves again, and then it really stalls."""
    lateness = Lateness(INTERVAL)
    for i in range(40):
        lateness.add(i * 0.2, i * 0.2 + 0.05, 0.15)
        for since in (0.0, 0.1, 0.199):
            if i >= FIRST:
                assert lateness.delay(i * 0.2 + 0.05 + since) == pytest.approx(SPAN * INTERVAL)
    last = 39 * 0.2
    assert lateness.delay(last + 0.2 + 0.05 + OVERDUE * INTERVAL + 0.001) == LONGEST
    lateness.add(last + INTERVAL, last + INTERVAL + 0.05)
    assert lateness.interval == INTERVAL
    assert lateness.delay(last + INTERVAL + 0.05) == pytest.approx(SPAN * INTERVAL)
    assert lateness.delay(last + 2 * INTERVAL + 0.05 + OVERDUE * INTERVAL + 0.001) == LONGEST
