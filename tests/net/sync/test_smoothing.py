import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.sync.smoothing import VisualOffset, decay, smooth, smooth_angle

half_lives = st.floats(0.01, 5)
steps = st.lists(st.floats(0, 0.2), min_size=1, max_size=20)
places = st.floats(-1000, 1000)


@pytest.mark.parametrize(
    ("half_life", "dt", "share"),
    [(1.0, 0.0, 1.0), (1.0, 1.0, 0.5), (1.0, 2.0, 0.25), (0.5, 1.0, 0.25), (0.1, 1e9, 0.0), (2.0, -1.0, 1.0)],
)
def test_decay(half_life: float, dt: float, share: float) -> None:
    """PI-15: what is left halves every half-life."""
    assert decay(half_life, dt) == share


@pytest.mark.parametrize("dt", [0.0, 0.016, 10.0])
def test_no_half_life_leaves_nothing(dt: float) -> None:
    """PI-15: off is a snap."""
    assert decay(0.0, dt) == 0.0
    assert smooth(1.0, 5.0, 0.0, dt) == 5.0


@given(half_lives, steps)
def test_decay_of_parts_multiplies_to_the_whole(half_life: float, parts: list[float]) -> None:
    assert math.prod(decay(half_life, dt) for dt in parts) == pytest.approx(decay(half_life, sum(parts)), abs=1e-12)


def test_smooth_covers_half_the_way_in_a_half_life() -> None:
    assert smooth(10.0, 20.0, 0.25, 0.25) == 15.0
    assert smooth(10.0, 20.0, 0.25, 0.5) == 17.5
    assert smooth(-10.0, -20.0, 0.25, 0.25) == -15.0


@given(places, places, half_lives, steps)
def test_smoothing_does_not_depend_on_the_frame_rate(a: float, b: float, half_life: float, parts: list[float]) -> None:
    """Better than RR-02, where a fixed share a frame makes the speed a matter of the screen."""
    value = a
    for dt in parts:
        value = smooth(value, b, half_life, dt)
    assert value == pytest.approx(smooth(a, b, half_life, sum(parts)), abs=1e-6)


@given(places, places, half_lives, steps)
def test_smoothing_is_monotone_and_never_overshoots(a: float, b: float, half_life: float, parts: list[float]) -> None:
    """PI-15: monotone, converges."""
    value, gap = a, abs(a - b)
    for dt in parts:
        value = smooth(value, b, half_life, dt)
        assert abs(value - b) <= gap + 1e-9
        gap = abs(value - b)
    assert smooth(value, b, half_life, 1000.0) == pytest.approx(b, abs=1e-9)


def test_smooth_snaps_only_beyond_the_limit() -> None:
    """PI-16: beyond the limit it jumps; without one it never does."""
    assert smooth(0.0, 3.0, 1.0, 1.0, snap=3.0) == 1.5
    assert smooth(0.0, 3.001, 1.0, 1.0, snap=3.0) == 3.001
    assert smooth(0.0, -3.001, 1.0, 1.0, snap=3.0) == -3.001
    assert smooth(0.0, 1e9, 1.0, 1.0) == 5e8


@given(places, half_lives, st.floats(0, 1))
def test_what_agrees_is_not_touched(a: float, half_life: float, dt: float) -> None:
    """PI-17: no error, nothing smoothed: to the bit."""
    assert smooth(a, a, half_life, dt) == a


def test_smooth_angle_takes_the_short_way() -> None:
    """RR-03: the short-arc difference is what is smoothed."""
    assert smooth_angle(3.0, -3.0, 1.0, 1.0) == pytest.approx(math.pi)
    assert smooth_angle(-3.0, 3.0, 1.0, 2.0) == pytest.approx(3.0 + 0.25 * (math.tau - 6.0))
    assert smooth_angle(0.0, 1.0, 1.0, 1.0) == pytest.approx(0.5)


def test_smooth_angle_snaps_beyond_the_limit() -> None:
    assert smooth_angle(0.0, 1.1, 1.0, 1.0, snap=1.0) == 1.1
    assert smooth_angle(0.0, 7.0, 1.0, 1.0, snap=0.5) == pytest.approx(7.0 - math.tau)
    assert smooth_angle(3.0, -3.0, 1.0, 1.0, snap=1.0) == pytest.approx(math.pi), "0.28 apart, by the short way"


@given(st.floats(-100, 100), st.floats(-100, 100), half_lives, steps)
def test_smooth_angle_stays_in_range_and_splits(a: float, b: float, half_life: float, parts: list[float]) -> None:
    value = a
    for dt in parts:
        value = smooth_angle(value, b, half_life, dt)
        assert -math.pi < value <= math.pi
    whole = smooth_angle(a, b, half_life, sum(parts))
    opposite = abs(abs(math.remainder(a - b, math.tau)) - math.pi) < 1e-6  # either way round is the short one
    assert opposite or math.remainder(value - whole, math.tau) == pytest.approx(0.0, abs=1e-6)


def shown(offset: VisualOffset) -> tuple[float, float, float]:
    return offset.x, offset.y, offset.z


def test_an_offset_hides_a_correction_and_fades_by_half_lives() -> None:
    """PI-15: the visible error halves every half-life, from exactly what was shown."""
    offset = VisualOffset(half_life=0.1)
    offset.add(1.0, -0.5, 2.0)
    assert shown(offset) == (1.0, -0.5, 2.0)
    offset.update(0.1)
    assert shown(offset) == (0.5, -0.25, 1.0)
    offset.update(0.2)
    assert shown(offset) == (0.125, -0.0625, 0.25)


def test_the_default_half_life_is_80_ms() -> None:
    offset = VisualOffset()
    offset.add(1.0)
    offset.update(0.08)
    assert shown(offset) == (0.5, 0.0, 0.0)


def test_a_correction_while_one_fades_does_not_jump() -> None:
    offset = VisualOffset(half_life=0.1)
    simulated = 10.0
    offset.add(12.0 - simulated)
    offset.update(0.1)
    before = simulated + offset.x
    offset.add(simulated - 9.5)
    assert 9.5 + offset.x == before == 11.0


def test_an_offset_beyond_the_limit_is_dropped() -> None:
    """PI-16: by its length, not by one axis, and by the sum of what fades."""
    offset = VisualOffset()
    offset.add(3.0)
    assert shown(offset) == (3.0, 0.0, 0.0)
    offset.add(0.0, 0.1, 0.0)
    assert shown(offset) == (0.0, 0.0, 0.0)
    offset.add(2.0, 2.0, 1.0)
    assert shown(offset) == (2.0, 2.0, 1.0)
    offset.add(0.0, 0.0, 0.001)
    assert shown(offset) == (0.0, 0.0, 0.0)


def test_the_limit_and_the_half_life_may_change() -> None:
    offset = VisualOffset(half_life=1.0, snap=100.0)
    offset.add(0.0, 0.0, -50.0)
    offset.half_life = 0.5
    offset.update(0.5)
    assert shown(offset) == (0.0, 0.0, -25.0)
    offset.snap = 10.0
    offset.add(0.0, 0.0, 0.0)
    assert shown(offset) == (0.0, 0.0, 0.0)


def test_no_half_life_shows_the_truth_at_once() -> None:
    offset = VisualOffset(half_life=0.0)
    offset.add(1.0, 1.0, 1.0)
    offset.update(0.001)
    assert shown(offset) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_does_not_stay(bad: float) -> None:
    offset = VisualOffset(snap=math.inf if math.isnan(bad) else 3.0)
    offset.add(bad, 0.0, 0.0)
    assert shown(offset) == (0.0, 0.0, 0.0)


def test_clear() -> None:
    offset = VisualOffset()
    offset.add(1.0, 1.0, 1.0)
    offset.clear()
    assert shown(offset) == (0.0, 0.0, 0.0)


@given(half_lives, st.lists(st.floats(0, 0.2), min_size=1, max_size=20))
def test_an_offset_fades_the_same_at_every_frame_rate(half_life: float, parts: list[float]) -> None:
    in_parts, at_once = VisualOffset(half_life), VisualOffset(half_life)
    in_parts.add(1.0, -2.0, 0.5)
    at_once.add(1.0, -2.0, 0.5)
    for dt in parts:
        in_parts.update(dt)
    at_once.update(sum(parts))
    assert shown(in_parts) == pytest.approx(shown(at_once), abs=1e-9)
