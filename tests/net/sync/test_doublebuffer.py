from __future__ import annotations

import math
from itertools import pairwise

import pytest

from net.sync.angles import lerp_angle
from net.sync.doublebuffer import DoubleBuffer
from net.sync.fixedstep import FixedStep


def lerp(a: float, b: float, t: float) -> float:
    return a + (b - a) * t


def apart(a: float, b: float) -> float:
    return abs(b - a)


def test_before_the_first_step_the_start_is_shown() -> None:
    buffer = DoubleBuffer(5.0, lerp, apart)
    assert [buffer.sample(alpha) for alpha in (0.0, 0.5, 1.0)] == [5.0] * 3
    assert (buffer.previous, buffer.next) == (5.0, 5.0)


def test_between_two_steps_alpha_is_the_share_of_the_way() -> None:
    buffer = DoubleBuffer(0.0, lerp, apart)
    buffer.push(2.0)
    assert [buffer.sample(alpha) for alpha in (0.0, 0.25, 0.5, 1.0)] == [0.0, 0.5, 1.0, 2.0]
    buffer.push(1.0)
    assert (buffer.previous, buffer.next) == (2.0, 1.0)
    assert [buffer.sample(alpha) for alpha in (0.0, 0.25, 0.5, 1.0)] == [2.0, 1.75, 1.5, 1.0]


@pytest.mark.parametrize(("alpha", "shown"), [(-0.5, 0.0), (-0.0, 0.0), (1.5, 2.0), (math.inf, 2.0), (-math.inf, 0.0)])
def test_it_never_goes_beyond_either_state(alpha: float, shown: float) -> None:
    buffer = DoubleBuffer(0.0, lerp, apart)
    buffer.push(2.0)
    assert buffer.sample(alpha) == shown


def test_a_jump_is_shown_at_once_and_a_step_up_to_the_limit_is_not_one() -> None:
    buffer = DoubleBuffer(0.0, lerp, apart, snap=3.0)
    buffer.push(3.0)
    assert buffer.sample(0.5) == 1.5
    buffer.push(6.001)
    assert [buffer.sample(alpha) for alpha in (0.0, 0.5, 1.0)] == [6.001] * 3
    buffer.push(8.001)
    assert buffer.sample(0.5) == pytest.approx(7.001), "the step after a jump is an ordinary one"
    buffer.snap = 1.0
    assert buffer.sample(0.5) == 8.001
    buffer.snap = math.inf
    assert buffer.sample(0.5) == pytest.approx(7.001)


def test_a_distance_that_is_no_number_is_a_jump() -> None:
    buffer = DoubleBuffer(0.0, lerp, apart)
    buffer.push(math.nan)
    buffer.push(4.0)
    assert buffer.sample(0.5) == 4.0


def test_a_reset_is_shown_at_once_however_near() -> None:
    buffer = DoubleBuffer(0.0, lerp, apart)
    buffer.push(1.0)
    buffer.reset(1.5)
    assert [buffer.sample(alpha) for alpha in (0.0, 0.5)] == [1.5, 1.5]
    buffer.push(2.0)
    assert buffer.sample(0.5) == 1.75


def test_any_state_will_do() -> None:
    """Poses of position and angle: the way round is `interpolate`'s, the measure is `distance`'s."""

    def blend(a: tuple[float, float], b: tuple[float, float], t: float) -> tuple[float, float]:
        return lerp(a[0], b[0], t), lerp_angle(a[1], b[1], t)

    buffer = DoubleBuffer((0.0, 3.0), blend, lambda a, b: abs(a[0] - b[0]))
    buffer.push((1.0, -3.0))
    x, yaw = buffer.sample(0.5)
    assert x == 0.5
    assert math.cos(yaw) == pytest.approx(-1.0), "half a turn from 0, and not at 0"


def test_a_steady_motion_looks_steady_at_any_frame_rate_one_step_late() -> None:
    """Steps at 60 Hz, frames at 144 Hz: what is shown moves by the same distance every frame."""
    steps, buffer, position = FixedStep(60.0), DoubleBuffer(0.0, lerp, apart), 0.0
    shown: list[float] = []
    for frame in range(300):
        now = 10.0 + frame / 144
        for _ in range(steps.due(now)):
            position += 0.1
            buffer.push(position)
        shown.append(buffer.sample(steps.alpha(now)))
        assert shown[-1] == pytest.approx(6.0 * (now - 10.0), abs=1e-9)
    gaps = [b - a for a, b in pairwise(shown)]
    assert min(gaps) == pytest.approx(max(gaps), abs=1e-9)
