import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.sync.angles import lerp_angle, shortest_arc, wrap_angle

PI, TAU = math.pi, math.tau
finite = st.floats(allow_nan=False, allow_infinity=False)
turned = st.floats(-1e3, 1e3)


@pytest.mark.parametrize(
    ("angle", "wrapped"),
    [
        (0.0, 0.0),
        (PI, PI),
        (-PI, PI),
        (3.5, 3.5 - TAU),
        (-3.5, TAU - 3.5),
        (3 * PI, PI),
        (-3 * PI, PI),
        (7.0, 7.0 - TAU),
    ],
)
def test_wraps_into_the_half_open_turn(angle: float, wrapped: float) -> None:
    assert wrap_angle(angle) == pytest.approx(wrapped, abs=1e-12)


@given(finite)
def test_wraps_anything_finite_without_changing_the_direction(angle: float) -> None:
    wrapped = wrap_angle(angle)
    assert -PI < wrapped <= PI
    assert wrap_angle(wrapped) == wrapped
    assert math.remainder(angle - wrapped, TAU) == pytest.approx(0.0, abs=1e-9) or abs(angle) > 1e6


@pytest.mark.parametrize(
    ("a", "b", "arc"),
    [
        (0.0, 1.0, 1.0),
        (1.0, 0.0, -1.0),
        (3.0, -3.0, TAU - 6.0),
        (-3.0, 3.0, 6.0 - TAU),
        (0.0, PI, PI),
        (0.0, -PI, PI),
        (PI, 0.0, PI),
        (2.0, 2.0 + 5 * TAU, 0.0),
        (-0.5, 0.5 - 3 * TAU, 1.0),
    ],
)
def test_shortest_arc(a: float, b: float, arc: float) -> None:
    assert shortest_arc(a, b) == pytest.approx(arc, abs=1e-12)


@given(finite, finite)
def test_the_arc_of_any_two_angles_is_at_most_half_a_turn(a: float, b: float) -> None:
    assert -PI < shortest_arc(a, b) <= PI


@given(turned, turned)
def test_the_arc_leads_from_one_to_the_other(a: float, b: float) -> None:
    gap = shortest_arc(a + shortest_arc(a, b), b)
    assert gap == pytest.approx(0.0, abs=1e-9)


@given(turned, turned)
def test_the_way_back_is_the_same_arc_mirrored(a: float, b: float) -> None:
    there, back = shortest_arc(a, b), shortest_arc(b, a)
    assert there == pytest.approx(-back, abs=1e-9) or abs(there) == pytest.approx(PI, abs=1e-9)


def test_lerp_takes_the_short_way_and_may_leave_the_range_pr_27() -> None:
    """PR-27: 3.0 to -3.0, half way, is about pi; the result is start plus the share of the short difference."""
    assert lerp_angle(3.0, -3.0, 0.5) == pytest.approx(PI)
    assert lerp_angle(3.0, -3.0, 1.0) == pytest.approx(TAU - 3.0)
    assert lerp_angle(-3.0, 3.0, 1.0) == pytest.approx(3.0 - TAU)
    assert lerp_angle(3.0, -3.0, 0.0) == 3.0


@given(turned, turned, st.floats(0, 1))
def test_lerp_stays_on_the_arc(a: float, b: float, t: float) -> None:
    assert abs(lerp_angle(a, b, t) - a) <= PI + 1e-9


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_angle_gives_nan_and_raises_nothing(bad: float) -> None:
    assert math.isnan(wrap_angle(bad))
    assert math.isnan(shortest_arc(bad, 1.0))
    assert math.isnan(shortest_arc(1.0, bad))
    assert math.isnan(lerp_angle(bad, 1.0, 0.5))


def test_angles_whose_difference_overflows() -> None:
    assert -PI < shortest_arc(-1.7e308, 1.7e308) <= PI
