from __future__ import annotations

import math

import numpy as np
import pygame
import pytest

from game.view.camera import RISE
from game.view.capsule import DIRECTIONS, HEIGHT, RADIUS, Capsules, direction_index

PX = 40.0


@pytest.fixture(scope="module")
def capsules() -> Capsules:
    return Capsules(PX)


def head(capsules: Capsules, yaw: float) -> np.ndarray:
    """Colours of the part of the sprite where the visor can be, shape (across, down, 3)."""
    sprite = capsules.sprite("#ff8040", direction_index(yaw), False)
    return pygame.surfarray.array3d(sprite)[:, 10:32].astype(float)


def visor(capsules: Capsules, yaw: float) -> tuple[float, float]:
    """(how many pixels right of the middle the visor is, how many belong to it): its glass alone is bluish."""
    pixels = head(capsules, yaw)
    glass = (pixels[..., 2] > pixels[..., 0]) & (capsules._alpha.T[:, 10:32] > 0.9)
    count = glass.sum()
    across = np.arange(glass.shape[0])[:, None] - capsules.anchor[0] + 0.5
    return (float((across * glass).sum() / count) if count else 0.0), float(count)


def test_there_are_at_least_32_directions() -> None:
    assert DIRECTIONS >= 32
    assert {direction_index(i * math.tau / DIRECTIONS) for i in range(DIRECTIONS)} == set(range(DIRECTIONS))
    assert direction_index(-0.001) == 0
    assert direction_index(math.tau * 5 + math.pi) == DIRECTIONS // 2


def test_the_visor_is_where_the_avatar_looks(capsules: Capsules) -> None:
    """yaw 0 is right, a quarter turn is down the screen towards the viewer."""
    front, seen = visor(capsules, math.pi / 2)
    assert abs(front) < 1.5
    assert seen > 60
    right, _ = visor(capsules, math.pi / 4)
    left, _ = visor(capsules, 3 * math.pi / 4)
    assert right > 3
    assert left < -3
    _, behind = visor(capsules, -math.pi / 2)
    assert behind < seen / 10


def test_a_turned_back_has_a_direction_too(capsules: Capsules) -> None:
    """The crest down the back moves when a turned away avatar turns."""
    away, a_little_right = (head(capsules, -math.pi / 2 + turn) for turn in (0.0, 0.5))
    assert np.abs(away - a_little_right).max() > 40


def test_its_size_on_screen_is_its_size_in_units(capsules: Capsules) -> None:
    alpha = capsules._alpha
    assert (alpha.max(axis=0) > 0.5).sum() == pytest.approx(2 * RADIUS * PX, abs=1)
    assert (alpha.max(axis=1) > 0.5).sum() == pytest.approx(2 * RADIUS * PX + (HEIGHT - 2 * RADIUS) * RISE * PX, abs=1)


def test_edges_are_antialiased(capsules: Capsules) -> None:
    alpha = pygame.surfarray.array_alpha(capsules.sprite("#22d3ee", 0, False))
    partly = (alpha > 10) & (alpha < 245)
    assert partly.sum() > 30


def test_colours_differ_and_away_is_paler(capsules: Capsules) -> None:
    red, blue, away = (
        pygame.surfarray.array3d(capsules.sprite(color, 12, gone)).astype(int)[16, 40]
        for color, gone in (("#ff2020", False), ("#2020ff", False), ("#ff2020", True))
    )
    assert red[0] > 2 * red[2]
    assert blue[2] > 2 * blue[0]
    assert away[0] - away[2] < red[0] - red[2]


@pytest.mark.parametrize("color", ["", "red", "#12345", "#gggggg", "#-12345", "\0", "#ffffff" * 9])
def test_a_bad_colour_is_drawn_white(capsules: Capsules, color: str) -> None:
    good = pygame.image.tobytes(capsules.sprite("#ffffff", 3, False), "RGBA")
    assert pygame.image.tobytes(capsules.sprite(color, 3, False), "RGBA") == good


def test_sprites_are_shared_and_bounded() -> None:
    capsules = Capsules(120.0)
    assert capsules.sprite("#22d3ee", 5, False) is capsules.sprite("#22d3ee", 5, False)
    for i in range(capsules.limit + 20):
        capsules.sprite(f"#{i:06x}", i % DIRECTIONS, False)
    assert capsules.cached == capsules.limit
    size = capsules.size[0] * capsules.size[1] * 4
    assert capsules.limit * size <= 48 << 20
