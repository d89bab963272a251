from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game.sim.arena import CROSSFIRE
from game.sim.constants import UNIT
from game.view.camera import DEPTH, MARGIN, Camera
from game.view.theme import Theme

SIZES = [(1280, 720), (1920, 1080), (960, 540), (800, 900), (2560, 720), (321, 243)]
x_units = st.floats(-20, 20)
z_units = st.floats(-13, 13)
heights = st.floats(0, 3)


@given(x_units, heights, z_units, x_units, z_units, st.sampled_from(SIZES))
def test_ground_at_undoes_project(x: float, y: float, z: float, cx: float, cz: float, size: tuple[int, int]) -> None:
    camera = Camera(CROSSFIRE, Theme(*size))
    camera.follow(cx, cz, 0.1)
    assert camera.ground_at(camera.project(x, y, z), y) == pytest.approx((x, z), abs=1e-6)


@given(x_units, z_units, st.sampled_from(SIZES))
def test_the_view_stays_on_the_painted_ground(x: float, z: float, size: tuple[int, int]) -> None:
    camera = Camera(CROSSFIRE, Theme(*size))
    camera.follow(x, z, 0.1)
    width, height = camera.ground
    assert -width // 2 <= camera.left
    assert camera.left + size[0] <= width // 2
    assert -height // 2 <= camera.top
    assert camera.top + size[1] <= height // 2


@pytest.mark.parametrize("corner", [(-20, -13), (20, 13), (-20, 13)])
def test_little_is_seen_beyond_the_border(corner: tuple[float, float]) -> None:
    camera = Camera(CROSSFIRE, Theme(1280, 720))
    camera.follow(*corner, 1.0)
    left, top = camera.ground_at((0, 0))
    right, bottom = camera.ground_at((1280, 720))
    beyond = MARGIN / DEPTH + 0.1
    assert left >= -CROSSFIRE.half_width / UNIT - beyond
    assert right <= CROSSFIRE.half_width / UNIT + beyond
    assert top >= -CROSSFIRE.half_depth / UNIT - beyond
    assert bottom <= CROSSFIRE.half_depth / UNIT + beyond


def test_forty_pixels_a_unit_as_designed_and_more_on_a_larger_screen() -> None:
    assert Camera(CROSSFIRE, Theme(1280, 720)).px == 40
    assert Camera(CROSSFIRE, Theme(1920, 1080)).px == 60


def test_a_narrow_window_is_filled_rather_than_left_empty() -> None:
    camera = Camera(CROSSFIRE, Theme(800, 900))
    assert camera.px > 40 * Theme(800, 900).scale
    assert camera.ground[1] <= 901


def test_following_does_not_depend_on_the_frame_rate() -> None:
    places = []
    for rate in (30, 60, 144):
        camera = Camera(CROSSFIRE, Theme(640, 360))
        camera.follow(0, 0, 0)
        for _ in range(rate // 3 if rate != 144 else 48):
            camera.follow(4, 2, 1 / rate)
        places.append((camera.left, camera.top))
    assert max(p[0] for p in places) - min(p[0] for p in places) <= 1
    assert max(p[1] for p in places) - min(p[1] for p in places) <= 1


def test_it_moves_smoothly_and_cuts_over_long_ways() -> None:
    camera = Camera(CROSSFIRE, Theme(640, 360))
    camera.follow(0, 0, 0)
    start = camera.left
    camera.follow(3, 0, 1 / 60)
    assert start < camera.left < start + 3 * camera.px / 2
    camera.follow(5, 0, 10)
    camera.follow(-5, 0, 1 / 60)
    assert camera.project(-5, 0, 0)[0] == pytest.approx(320, abs=1)


def test_it_returns_to_the_middle_without_an_avatar() -> None:
    camera = Camera(CROSSFIRE, Theme(640, 360))
    camera.follow(5, 5, 0)
    for _ in range(600):
        camera.rest(1 / 60)
    assert camera.project(0, 0, 0) == pytest.approx((320, 180), abs=1)
