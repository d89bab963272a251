"""Pictures: a surface as a PNG file, written so that other threads go on meanwhile."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pygame

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB8 = (8, 2, 0, 0, 0)
"""bits, colour type, compression, filter, interlace (PNG specification, section 11.2.2)"""


def save_png(surface: pygame.Surface, path: Path) -> None:
    """Write `surface` without its alpha. Raises OSError.

    pygame.image.save holds the interpreter for as long as twelve frames; zlib lets it go.
    """
    width, height = surface.get_size()
    row = 3 * width
    pixels = pygame.image.tobytes(surface, "RGB")
    filtered = b"".join(b"\0" + pixels[start : start + row] for start in range(0, row * height, row))
    header = struct.pack(">II5B", width, height, *_RGB8)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered)), (b"IEND", b""))
    path.write_bytes(_SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
