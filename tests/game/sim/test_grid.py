"""The grid: directions are idempotent and symmetric, sine is what it says."""

import math

from hypothesis import given
from hypothesis import strategies as st

from game.sim.grid import cosine, direction, sine

ANY = st.integers(-1000, 1000)


def test_every_direction_is_a_fixed_point_after_one_pass_and_mirrors():
    for dx in range(-127, 128):
        for dz in range(-127, 128):
            once = direction(dx, dz)
            assert direction(*once) == once
            assert direction(-dx, -dz) == (-once[0], -once[1])


@given(ANY, ANY)
def test_a_direction_is_never_longer_than_one_by_more_than_rounding(dx: int, dz: int):
    assert math.hypot(*direction(dx, dz)) <= 127 + math.sqrt(0.5)


def test_parts_are_clamped_before_the_length():
    # AS-10: (50, 0) moves like (1, 0), and (50, 50) like (1, 1)
    assert direction(50 * 127, 0) == (127, 0)
    assert direction(50 * 127, 50 * 127) == direction(127, 127) == (90, 90)


@given(st.integers(-200_000, 200_000))
def test_sine_and_cosine_follow_the_circle(angle: int):
    radians = (angle % 65536 // 64 * 64) / 65536 * 2 * math.pi
    assert sine(angle) == round(32767 * math.sin(radians))
    assert abs(cosine(angle) - 32767 * math.cos(radians)) <= 0.51
