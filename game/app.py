"""The window: opens it, paces it, feeds its scene, and closes everything whatever happens."""

from __future__ import annotations

import gc
import json
import math
import os
import sys
import threading
import warnings
from collections import deque
from pathlib import Path
from typing import Final

import pygame

from game.scenes.play import PlayScene
from game.view.picture import save_png
from net.clock import Clock, Pacer

SMALLEST: Final = (640, 400)
REBUILD_AFTER: Final = 0.25
"""seconds that the window's size must rest before art is made for it"""
LONGEST_FRAME: Final = 0.25
"""seconds: a longer pause (a dragged window, a sleeping laptop) is not caught up with"""


class NoDisplayError(RuntimeError):
    """There is no screen to open a window on."""


def open_window(size: tuple[int, int], caption: str, *, software: bool) -> pygame.Surface:
    """Open the window. Raises NoDisplayError. `software` leaves the GPU out: the fastest way where there is none."""
    if software:
        os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
    os.environ.setdefault("SDL_WINDOWS_DPI_AWARENESS", "permonitorv2")
    if sys.platform.startswith("linux") and not os.environ.get("SDL_VIDEODRIVER"):
        # without this SDL falls back to a driver that draws into nothing
        if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
            raise NoDisplayError("DISPLAY is not set")
    try:
        pygame.display.init()
        pygame.font.init()
        surface = _set_mode(size, pygame.RESIZABLE, software)
    except pygame.error as error:
        raise NoDisplayError(str(error)) from error
    pygame.display.set_caption(caption)
    pygame.key.stop_text_input()  # an input method would swallow WASD
    return surface


def without_gpu() -> bool:
    """Whether this machine surely has none: SDL would emulate one, and spend several times as long on each frame."""
    return sys.platform.startswith("linux") and not Path("/dev/dri").exists()


def _set_mode(size: tuple[int, int], flags: int, software: bool) -> pygame.Surface:
    if software:  # waiting for the screen's beam would bring the GPU's way of presenting back in
        return pygame.display.set_mode(size, flags)
    try:
        return pygame.display.set_mode(size, flags, vsync=1)
    except pygame.error:
        return pygame.display.set_mode(size, flags)


class App:
    """Runs one scene in one window until it is over."""

    def __init__(
        self, surface: pygame.Surface, scene: PlayScene, clock: Clock, screenshots: Path, fps: float, *, software: bool
    ) -> None:
        self._surface, self._scene, self._clock, self._screenshots = surface, scene, clock, screenshots
        self._software = software
        self._pacer = Pacer(fps or _refresh_rate(), clock)
        self._windowed = surface.get_size()
        self._resized_at: float | None = None
        self._said: deque[str] = deque()
        scene.resize(surface)

    def run(self, *, until: float = math.inf, log: bool = False) -> None:
        """Frame after frame until the window closes, the scene is over, or the clock says `until` (seconds).

        `log` prints what the window shows, one JSON object a second.
        """
        last = self._clock.now()
        log_at = last if log else math.inf
        work_ms = 0.0
        gc.collect()
        gc.freeze()  # art and modules live as long as the window: no need to look at them again
        while not self._scene.over and last < until:
            start = self._pacer.wait()
            for event in pygame.event.get():
                self._handle(event)
            while self._said:
                self._scene.view.toast(self._said.popleft())
            self._rebuild(start)
            self._scene.update(start, self._surface, min(start - last, LONGEST_FRAME), work_ms)
            pygame.display.flip()
            last = start
            work_ms = (self._clock.now() - start) * 1000
            if start >= log_at:
                log_at = start + 1.0
                print(json.dumps(self._scene.describe()), flush=True)

    def _handle(self, event: pygame.event.Event) -> None:
        if event.type == pygame.QUIT:
            self._scene.over = True
        elif event.type == pygame.VIDEORESIZE:
            self._resized_at = self._clock.now()
        elif event.type == pygame.KEYDOWN and event.key == pygame.K_F11:
            self._toggle_fullscreen()
        elif event.type == pygame.KEYDOWN and event.key == pygame.K_F12:
            self._screenshot()
        else:
            self._scene.handle(event)

    def _rebuild(self, now: float) -> None:
        """Make art for a new size once it rests: dragging the edge stays smooth."""
        if self._resized_at is not None and now - self._resized_at >= REBUILD_AFTER:
            self._resized_at = None
            self._surface = pygame.display.get_surface() or self._surface
            width, height = self._surface.get_size()
            if width < SMALLEST[0] or height < SMALLEST[1]:
                self._surface = _set_mode(
                    (max(width, SMALLEST[0]), max(height, SMALLEST[1])), pygame.RESIZABLE, self._software
                )
            self._scene.resize(self._surface)

    def _toggle_fullscreen(self) -> None:
        if self._surface.get_flags() & pygame.FULLSCREEN:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # "resized by the OS"
                for _ in range(2):  # the first only leaves the full screen, and keeps its size
                    self._surface = _set_mode(self._windowed, pygame.RESIZABLE, self._software)
        else:
            self._windowed = self._surface.get_size()
            self._surface = _set_mode((0, 0), pygame.FULLSCREEN, self._software)
        self._scene.resize(self._surface)

    def _screenshot(self) -> None:
        """Save what is on screen, in a thread: packing a picture takes as long as several frames."""
        threading.Thread(target=self._save, args=(self._surface.copy(),), daemon=True).start()

    def _save(self, picture: pygame.Surface) -> None:
        try:
            self._screenshots.mkdir(parents=True, exist_ok=True)
            number = 1
            while (path := self._screenshots / f"lagtag-{number:03}.png").exists():
                number += 1
            save_png(picture, path)
        except OSError as error:
            self._said.append(f"No screenshot: {error}")
        else:
            self._said.append(f"Saved {path}")


def _refresh_rate() -> float:
    """The display's, where it tells; 60 otherwise."""
    rate = pygame.display.get_current_refresh_rate() if pygame.display.get_init() else 0
    return float(rate) if 30 <= rate <= 360 else 60.0
