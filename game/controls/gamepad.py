"""Gamepad: the first controller that is plugged in, if any, with SDL's mapped axes."""

from __future__ import annotations

import math
from typing import Final

import pygame
from pygame._sdl2 import controller

DEAD_ZONE: Final = 0.22
_FULL: Final = 32767.0


class Gamepad:
    """Sticks and buttons of one controller; everything rests while none is there."""

    def __init__(self) -> None:
        controller.init()
        self._pad: controller.Controller | None = None
        self._find()

    def feed(self, event: pygame.event.Event) -> None:
        """Take in one event: controllers come and go."""
        if event.type == pygame.CONTROLLERDEVICEADDED and self._pad is None:
            self._find()
        elif event.type == pygame.CONTROLLERDEVICEREMOVED and self._pad is not None and not self._pad.attached():
            self._pad = None
            self._find()

    def move(self) -> tuple[float, float]:
        """Left stick (x, z), each -1 to 1, the dead zone cut out; (0, 0) at rest."""
        return self._stick(pygame.CONTROLLER_AXIS_LEFTX, pygame.CONTROLLER_AXIS_LEFTY)

    def aim(self) -> tuple[float, float]:
        """Right stick (x, z), likewise."""
        return self._stick(pygame.CONTROLLER_AXIS_RIGHTX, pygame.CONTROLLER_AXIS_RIGHTY)

    def pressed(self, *buttons: int) -> bool:
        """Whether one of the buttons (pygame.CONTROLLER_BUTTON_*) is down."""
        pad = self._pad
        return pad is not None and any(pad.get_button(button) for button in buttons)

    def triggered(self) -> bool:
        """Whether the right trigger is pulled more than half."""
        return self._pad is not None and self._pad.get_axis(pygame.CONTROLLER_AXIS_TRIGGERRIGHT) > _FULL / 2

    def _stick(self, x_axis: int, y_axis: int) -> tuple[float, float]:
        if self._pad is None:
            return 0.0, 0.0
        x, y = self._pad.get_axis(x_axis) / _FULL, self._pad.get_axis(y_axis) / _FULL
        length = math.hypot(x, y)
        if length < DEAD_ZONE:
            return 0.0, 0.0
        scale = min(1.0, (length - DEAD_ZONE) / (1 - DEAD_ZONE)) / length
        return x * scale, y * scale

    def _find(self) -> None:
        for index in range(controller.get_count()):
            if controller.is_controller(index):
                self._pad = controller.Controller(index)
                return
