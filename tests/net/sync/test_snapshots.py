import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.sync.snapshots import SnapshotBuffer


def lerp(a: float, b: float, t: float) -> float:
    return a + (b - a) * t


def filled(*snapshots: tuple[float, float], delay: float = 0.1, limit: int = 32) -> SnapshotBuffer[float]:
    buffer = SnapshotBuffer(lerp, delay=delay, limit=limit)
    for time, value in snapshots:
        buffer.push(time, value)
    return buffer


def test_an_empty_buffer_has_nothing_sb_01() -> None:
    buffer = filled()
    assert buffer.sample(5.0) is None
    assert buffer.latest() is None
    assert len(buffer) == 0


def test_one_snapshot_is_shown_at_any_time_sb_02() -> None:
    buffer = filled((1.0, 10.0))
    assert [buffer.sample(now) for now in (0.0, 1.0, 1.1, 99.0)] == [10.0] * 4


def test_before_the_first_of_several_there_is_nothing_sb_03() -> None:
    """SB-03: so a second arrival turns a value into none until the delay has passed."""
    buffer = filled((1.0, 10.0))
    assert buffer.sample(1.05) == 10.0
    buffer.push(1.05, 20.0)
    assert buffer.sample(1.05) is None
    assert buffer.sample(1.0999) is None
    assert buffer.sample(1.0 + 0.1) == 10.0


@pytest.mark.parametrize(
    ("now", "value"), [(1.1, 10.0), (1.125, 12.5), (1.15, 15.0), (1.2, 20.0), (1.3, 25.0), (1.4, 30.0), (1.5, 20.0)]
)
def test_between_two_it_is_linear_in_time_sb_04(now: float, value: float) -> None:
    """SB-04: render time is now minus the delay; the two around it count, whatever came later."""
    buffer = filled((1.0, 10.0), (1.1, 20.0), (1.3, 30.0), (1.5, 10.0))
    assert buffer.sample(now) == pytest.approx(value)


def test_interpolate_gets_both_snapshots_and_the_share_sb_04() -> None:
    calls: list[tuple[str, str, float]] = []

    def note(a: str, b: str, t: float) -> str:
        calls.append((a, b, t))
        return "between"

    buffer = SnapshotBuffer(note, delay=0.5)
    for time, value in ((1.0, "a"), (2.0, "b"), (4.0, "c")):
        buffer.push(time, value)
    assert buffer.sample(3.0) == "between"
    assert buffer.sample(1.5) == "between"
    assert calls == [("b", "c", 0.25), ("a", "b", 0.0)]


def test_at_the_first_and_past_the_last_sb_05() -> None:
    """SB-05: the first value at its time, the last one from its time on, never extrapolated."""
    buffer = filled((1.0, 10.0), (2.0, 20.0), delay=0.5)
    assert buffer.sample(1.5) == 10.0
    assert buffer.sample(2.5) == 20.0
    assert buffer.sample(1e9) == 20.0


def test_defaults_sb_06() -> None:
    buffer = SnapshotBuffer(lerp)
    assert buffer.delay == 0.12
    for i in range(40):
        buffer.push(float(i), float(i))
    assert len(buffer) == 32


def test_beyond_the_limit_the_oldest_goes_sb_07() -> None:
    buffer = filled(*((float(i), float(i)) for i in range(6)), delay=0.0, limit=4)
    assert len(buffer) == 4
    assert buffer.sample(1.99) is None
    assert buffer.sample(2.0) == 2.0
    buffer.push(0.5, 99.0)
    assert len(buffer) == 4
    assert buffer.sample(2.0) == 2.0, "older than all that is kept: not kept"
    assert buffer.sample(1.0) is None


def test_a_limit_of_one_keeps_the_newest() -> None:
    buffer = filled((1.0, 10.0), (2.0, 20.0), (1.5, 15.0), limit=1)
    assert buffer.sample(0.0) == 20.0


def test_of_equal_times_the_newer_wins_sb_08() -> None:
    buffer = filled((1.0, 10.0), (2.0, 20.0), (2.0, 25.0), (3.0, 30.0), (2.0, 28.0), delay=0.0)
    assert buffer.sample(2.0) == 28.0
    assert len(buffer) == 3
    assert filled((1.0, 10.0), (1.0, 11.0), delay=0.0).sample(1.0) == 11.0


def test_the_caller_gives_the_time_sb_09() -> None:
    """Better than SB-09: a snapshot may carry its sender's time, and late ones are put where they belong."""
    buffer = filled((1.0, 10.0), (3.0, 30.0), delay=0.0)
    assert buffer.sample(1.5) == 15.0
    buffer.push(2.0, 0.0)
    assert buffer.sample(1.5) == 5.0
    assert buffer.latest() == 30.0
    buffer.push(0.0, 0.0)
    assert buffer.sample(0.5) == 5.0


def test_clear_sb_10() -> None:
    buffer = filled((1.0, 10.0), (2.0, 20.0))
    buffer.clear()
    assert len(buffer) == 0
    assert buffer.sample(1.5) is None
    buffer.push(0.5, 5.0)
    assert buffer.sample(1.5) == 5.0, "a cleared buffer takes older times again"


def test_the_delay_may_change() -> None:
    buffer = filled((1.0, 10.0), (2.0, 20.0), delay=0.5)
    assert buffer.sample(2.0) == 15.0
    buffer.delay = 0.25
    assert buffer.sample(2.0) == 17.5


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_a_time_without_an_order_is_refused_and_harms_nothing(time: float) -> None:
    buffer = filled((1.0, 10.0), (2.0, 20.0), delay=0.0)
    with pytest.raises(ValueError, match="no time"):
        buffer.push(time, 99.0)
    assert len(buffer) == 2
    assert buffer.sample(1.5) == 15.0


def test_a_buffer_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="holds nothing"):
        SnapshotBuffer(lerp, limit=0)


ticks = st.integers(0, 50).map(lambda n: n / 8)


@given(st.lists(st.tuples(ticks, st.integers(-100, 100).map(float)), max_size=40), ticks, st.integers(1, 10))
def test_in_any_order_of_arrival_it_samples_as_the_rules_say(
    pushes: list[tuple[float, float]], now: float, limit: int
) -> None:
    """SB-01 to SB-08 against a model that sorts everything anew."""
    buffer = filled(*pushes, delay=1.0, limit=limit)
    kept: dict[float, float] = {}
    for time, value in pushes:
        kept[time] = value
        kept = dict(sorted(kept.items())[-limit:])
    at, order = now - 1.0, list(kept.items())
    expected: float | None
    if len(order) < 2:
        expected = order[0][1] if order else None
    elif at < order[0][0]:
        expected = None
    elif at >= order[-1][0]:
        expected = order[-1][1]
    else:
        (t0, a), (t1, b) = next(pair for pair in pairwise(order) if pair[0][0] <= at < pair[1][0])
        expected = lerp(a, b, (at - t0) / (t1 - t0))
    assert len(buffer) == len(order)
    assert buffer.latest() == (order[-1][1] if order else None)
    assert buffer.sample(now) == (None if expected is None else pytest.approx(expected))
