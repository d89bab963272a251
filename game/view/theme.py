"""Colours and sizes that everything on screen shares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from game.view.shapes import Rgb

CYAN: Final[Rgb] = (56, 217, 255)
BLUE: Final[Rgb] = (96, 165, 250)
MAGENTA: Final[Rgb] = (255, 77, 190)
GREEN: Final[Rgb] = (74, 222, 128)
AMBER: Final[Rgb] = (251, 191, 36)
RED: Final[Rgb] = (255, 92, 106)
VIOLET: Final[Rgb] = (180, 140, 255)
TEAL: Final[Rgb] = (45, 212, 191)
LIME: Final[Rgb] = (180, 226, 62)

INK: Final[Rgb] = (233, 241, 255)
"""text that matters"""
SOFT: Final[Rgb] = (158, 178, 214)
"""labels"""
FAINT: Final[Rgb] = (124, 142, 180)
"""hints"""
HEADING: Final[Rgb] = (156, 205, 255)
NIGHT: Final[Rgb] = (5, 8, 17)
"""outside of everything, and outlines of text"""
PANEL: Final[Rgb] = (9, 14, 29)
PANEL_LIGHT: Final[Rgb] = (15, 23, 45)
EDGE: Final[Rgb] = (52, 82, 134)
KEY: Final[Rgb] = (24, 34, 62)

DESIGN_WIDTH: Final = 1280
DESIGN_HEIGHT: Final = 720
SMALLEST_UI: Final = 0.8
"""below this factor text cannot be read, so panels shrink no further"""


class Face(StrEnum):
    """The fonts, by file."""

    TITLE = "ChakraPetch_700Bold.ttf"
    LABEL = "ChakraPetch_500Medium.ttf"
    NAME = "Exo2_600SemiBold.ttf"
    NUMBER = "JetBrainsMono_500Medium.ttf"
    FALLBACK = "wqy-microhei.ttc"
    """for characters that the others lack: CJK, Hangul, Greek"""


@dataclass(frozen=True, slots=True)
class Theme:
    """The window's size, and what follows from it. Sizes are designed for 1280 x 720."""

    width: int
    height: int

    @property
    def scale(self) -> float:
        """How much larger than designed the whole picture is."""
        return min(self.width / DESIGN_WIDTH, self.height / DESIGN_HEIGHT)

    @property
    def ui(self) -> float:
        """The same for panels and text."""
        return max(SMALLEST_UI, self.scale)

    def px(self, designed: float) -> int:
        """A panel's length in real pixels, at least 1."""
        return max(1, round(designed * self.ui))
