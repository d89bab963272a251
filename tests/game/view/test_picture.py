"""Pictures: what is read back is what was shown."""

from pathlib import Path

import pygame
import pytest

from game.view.picture import save_png


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (640, 360)])
def test_a_picture_reads_back_as_it_was(size: tuple[int, int], tmp_path: Path):
    surface = pygame.Surface(size)
    surface.fill((10, 200, 30))
    surface.set_at((size[0] - 1, size[1] - 1), (255, 0, 128))
    save_png(surface, tmp_path / "picture.png")
    read = pygame.image.load(tmp_path / "picture.png")
    assert read.get_size() == size
    assert pygame.image.tobytes(read, "RGB") == pygame.image.tobytes(surface, "RGB")


def test_a_place_that_cannot_be_written_is_an_os_error(tmp_path: Path):
    with pytest.raises(OSError, match="nowhere"):
        save_png(pygame.Surface((4, 4)), tmp_path / "nowhere" / "picture.png")
