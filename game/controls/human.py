"""HumanPilot: keyboard, mouse and gamepad become a command on the grid."""

from __future__ import annotations

import math
from typing import Final

import pygame

from game.controls.gamepad import Gamepad
from game.controls.held import Held
from game.sim.command import Command
from game.sim.constants import DIRECTION, UNIT
from game.sim.grid import direction
from game.sim.state import Avatar
from game.wire import grid_yaw

LEFT: Final = (pygame.KSCAN_A, pygame.KSCAN_LEFT)
RIGHT: Final = (pygame.KSCAN_D, pygame.KSCAN_RIGHT)
UP: Final = (pygame.KSCAN_W, pygame.KSCAN_UP)
DOWN: Final = (pygame.KSCAN_S, pygame.KSCAN_DOWN)
JUMP: Final = (pygame.KSCAN_SPACE,)
DASH: Final = (pygame.KSCAN_LSHIFT, pygame.KSCAN_RSHIFT, -pygame.BUTTON_RIGHT)
FIRE: Final = (-pygame.BUTTON_LEFT,)


class HumanPilot:
    """The player's devices as a `Pilot`. The mouse aims, until the right stick or a keyboard alone is used."""

    def __init__(self, held: Held, gamepad: Gamepad) -> None:
        self._held, self._gamepad = held, gamepad
        self._aim: tuple[float, float] | None = None
        self._yaw = 0

    def feed(self, event: pygame.event.Event) -> None:
        """Take in one event."""
        self._held.feed(event)
        self._gamepad.feed(event)

    def aim_at(self, ground: tuple[float, float] | None) -> None:
        """The mouse points at this place (x, z) in units; None: nowhere yet."""
        self._aim = ground

    def command(self, avatar: Avatar, tick: int) -> Command:
        """What the devices say now."""
        held, pad = self._held, self._gamepad
        pad_x, pad_z = pad.move()
        wish_x = held.any(RIGHT) - held.any(LEFT) + pad_x
        wish_z = held.any(DOWN) - held.any(UP) + pad_z
        dx, dz = direction(round(wish_x * DIRECTION), round(wish_z * DIRECTION))
        return Command(
            dx=dx,
            dz=dz,
            yaw=self._facing(avatar, dx, dz),
            jump=held.any(JUMP) or pad.pressed(pygame.CONTROLLER_BUTTON_A),
            dash=held.any(DASH) or pad.pressed(pygame.CONTROLLER_BUTTON_B, pygame.CONTROLLER_BUTTON_X),
            fire=held.any(FIRE) or pad.triggered(),
        )

    def committed(self) -> None:
        """Taps have had their effect."""
        self._held.consume()

    def _facing(self, avatar: Avatar, dx: int, dz: int) -> int:
        stick_x, stick_z = self._gamepad.aim()
        if stick_x or stick_z:
            self._aim = None
            self._yaw = grid_yaw(math.atan2(stick_z, stick_x))
        elif self._aim is not None:
            x, z = self._aim[0] - avatar.x / UNIT, self._aim[1] - avatar.z / UNIT
            if x or z:
                self._yaw = grid_yaw(math.atan2(z, x))
        elif dx or dz:
            self._yaw = grid_yaw(math.atan2(dz, dx))
        return self._yaw
