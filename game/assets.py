"""Where fonts and icons lie, and how they are loaded."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import pygame

import assets

ROOT: Final = Path(assets.__file__).parent


def font_path(file: str) -> Path:
    """The path of a font. Raises FileNotFoundError with the name of what is missing."""
    path = ROOT / "fonts" / file
    if not path.is_file():
        raise FileNotFoundError(f"the font {path} is missing: is the installation complete?")
    return path


def icon(name: str, size: int, color: str) -> pygame.Surface:
    """A line icon, `size` x `size` pixels, stroked in `color` (#rrggbb). Raises FileNotFoundError."""
    text = (ROOT / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    # SDL's svg reader knows no current colour and would draw grey
    drawn = text.replace("currentColor", color)
    return pygame.image.load_sized_svg(io.BytesIO(drawn.encode()), (size, size)).convert_alpha()
