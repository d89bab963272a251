from __future__ import annotations

import os
from collections.abc import Iterator

import pygame
import pytest


@pytest.fixture(scope="session", autouse=True)
def display() -> Iterator[pygame.Surface]:
    """A display without a screen: surfaces can be converted, nothing is shown."""
    before = os.environ.get("SDL_VIDEODRIVER")
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    pygame.display.init()
    yield pygame.display.set_mode((640, 360))
    pygame.display.quit()
    if before is None:
        del os.environ["SDL_VIDEODRIVER"]
    else:
        os.environ["SDL_VIDEODRIVER"] = before
