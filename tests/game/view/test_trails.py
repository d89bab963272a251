from __future__ import annotations

import pygame
import pytest

from game.view.theme import Theme
from game.view.trails import Trails

THEME = Theme(320, 180)


def light(surface: pygame.Surface) -> int:
    return int(pygame.surfarray.array3d(surface).sum())


def shown(trails: Trails, left: int = 0, top: int = 0) -> pygame.Surface:
    target = pygame.Surface((320, 180)).convert()
    trails.draw(target, left, top)
    return target


def test_a_trail_dies_completely() -> None:
    """Multiplying alone leaves ghosts for ever: 8 bits round small values back up."""
    trails = Trails(THEME, 40)
    trails.begin(0, 0, 1 / 60)
    trails.add((50, 50), (150, 90), "#ffffff", True)
    assert light(shown(trails)) > 0
    for _ in range(150):
        trails.begin(0, 0, 1 / 60)
    assert light(shown(trails)) == 0


@pytest.mark.parametrize("rate", [30, 144, 240])
def test_fading_takes_the_same_time_at_any_frame_rate(rate: int) -> None:
    def after(rate: int) -> int:
        trails = Trails(THEME, 40)
        trails.begin(0, 0, 0)
        trails.add((50, 50), (150, 90), "#ffffff", True)
        trails.draw(pygame.Surface((320, 180)).convert(), 0, 0)
        for _ in range(rate // 5):
            trails.begin(0, 0, 1 / rate)
        return light(shown(trails))

    assert after(rate) == pytest.approx(after(60), rel=0.12)


def test_trails_stay_on_the_ground_when_the_view_moves() -> None:
    trails = Trails(THEME, 40)
    trails.begin(0, 0, 0)
    trails.add((100, 80), (110, 80), "#ffffff", True)
    before = shown(trails)
    trails.begin(7, -4, 0)
    after = shown(trails, 7, -4)
    box = pygame.mask.from_threshold(before, (255, 255, 255), (200, 200, 200, 255)).get_bounding_rects()[0]
    moved = pygame.mask.from_threshold(after, (255, 255, 255), (200, 200, 200, 255)).get_bounding_rects()[0]
    assert moved.topleft == (box.left - 7, box.top + 4)


def test_what_scrolls_in_is_dark() -> None:
    trails = Trails(THEME, 40)
    trails.begin(0, 0, 0)
    trails.add((0, 90), (4, 90), "#ffffff", True)
    trails.draw(pygame.Surface((320, 180)).convert(), 0, 0)
    trails.begin(-200, 0, 0)
    picture = shown(trails, -200, 0)
    assert light(picture.subsurface((0, 0, 180, 180))) == 0
    assert light(picture) > 0
    trails.begin(9000, 0, 0)
    assert light(shown(trails, 9000, 0)) == 0
