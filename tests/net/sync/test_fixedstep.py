import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.sync.fixedstep import FixedStep

rates = st.one_of(st.sampled_from([20.0, 30.0, 59.94, 60.0, 144.0, 1000.0]), st.floats(0.5, 1000.0))


def test_the_first_call_sets_the_start_and_its_step_is_due_at_once() -> None:
    steps = FixedStep(60)
    assert steps.next_at == -math.inf
    assert steps.alpha(5.0) == 0.0
    assert steps.due(5.0) == 1
    assert steps.due(5.0) == 0
    assert steps.next_at == 5.0 + 1 / 60


def test_steps_are_due_at_their_time_and_not_before() -> None:
    steps = FixedStep(10)
    due = [steps.due(now) for now in (100.0, 100.05, 100.0999, 100.1, 100.15, 100.35, 100.36, 100.4)]
    assert due == [1, 0, 0, 1, 0, 2, 0, 1]
    assert steps.dropped == 0


def test_beyond_the_most_steps_are_dropped_and_the_phase_is_kept() -> None:
    steps = FixedStep(10, max_steps=3)
    steps.due(0.0)
    assert steps.due(0.35) == 3
    assert steps.dropped == 0
    assert steps.due(1.05) == 3
    assert steps.dropped == 4
    assert steps.next_at == 1.1
    assert steps.due(1.1) == 1
    assert steps.due(3601.15) == 3, "a machine that slept for an hour"
    assert steps.dropped == 4 + 36000 - 3
    assert steps.next_at == 3601.2


def test_a_clock_that_goes_back_makes_no_step_due() -> None:
    steps = FixedStep(10)
    steps.due(10.0)
    steps.due(10.1)
    assert [steps.due(now) for now in (9.0, 10.0, 10.15, -1e9)] == [0] * 4
    assert steps.due(10.2) == 1


def test_alpha_is_the_share_of_the_way_to_the_next_step() -> None:
    steps = FixedStep(10)
    steps.due(20.0)
    assert [steps.alpha(now) for now in (20.0, 20.025, 20.05)] == pytest.approx([0.0, 0.25, 0.5])
    assert steps.alpha(20.1) == pytest.approx(1.0)
    assert (steps.alpha(19.0), steps.alpha(25.0)) == (0.0, 1.0)
    steps.due(20.1)
    assert steps.alpha(20.125) == pytest.approx(0.25)


def test_alpha_keeps_the_phase_over_dropped_steps() -> None:
    steps = FixedStep(10, max_steps=1)
    steps.due(0.0)
    steps.due(7.72)
    assert steps.alpha(7.72) == pytest.approx(0.2)


@given(rates, st.floats(0, 1e6), st.integers(1, 100))
def test_whoever_waits_for_next_at_gets_exactly_one_step(rate: float, start: float, count: int) -> None:
    """However the products round: due at `next_at`, and not one float before."""
    steps = FixedStep(rate)
    steps.due(start)
    for _ in range(count):
        at = steps.next_at
        assert steps.due(math.nextafter(at, -math.inf)) == 0
        assert steps.due(at) == 1
    assert steps.dropped == 0


@given(rates, st.floats(0, 1e6), st.lists(st.floats(0, 3), max_size=30), st.integers(1, 10))
def test_every_step_is_run_or_dropped_and_never_twice(
    rate: float, start: float, pauses: list[float], max_steps: int
) -> None:
    steps = FixedStep(rate, max_steps=max_steps)
    now, run = start, steps.due(start)
    for pause in pauses:
        now += pause
        due = steps.due(now)
        assert 0 <= due <= max_steps
        run += due
        assert now < steps.next_at
        assert 0.0 <= steps.alpha(now) <= 1.0
    exact = (Fraction(now) - Fraction(start)) * Fraction(rate)
    assert abs(run + steps.dropped - 1 - exact) < 1 + 1e-3


def test_a_week_of_steps_does_not_drift() -> None:
    """36 million deadlines at 60 Hz: each is the float nearest to the exact sum, to a bit."""
    start, rate = 12345.678, 60
    steps = FixedStep(rate, max_steps=1)
    for hour in range(168):
        steps.due(start + hour * 3600.0)
    n = 167 * 3600 * rate + 1
    exact = Fraction(start) + Fraction(n, rate)
    assert abs(Fraction(steps.next_at) - exact) <= Fraction(math.ulp(steps.next_at))


@pytest.mark.parametrize(("rate", "most"), [(0, 8), (-1, 8), (math.nan, 8), (math.inf, 8), (60, 0)])
def test_what_is_no_schedule_is_refused(rate: float, most: int) -> None:
    with pytest.raises(ValueError, match="no such schedule"):
        FixedStep(rate, max_steps=most)
