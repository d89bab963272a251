"""Devices: held keys from events, and the command that they make."""

import math

import pygame
import pytest

from game.controls.held import Held
from game.controls.human import HumanPilot
from game.sim.state import Avatar


class NoPad:
    """A gamepad that nobody touches."""

    stick = (0.0, 0.0)
    right = (0.0, 0.0)

    def feed(self, event: pygame.event.Event) -> None: ...

    def move(self) -> tuple[float, float]:
        return self.stick

    def aim(self) -> tuple[float, float]:
        return self.right

    def pressed(self, *buttons: int) -> bool:
        return False

    def triggered(self) -> bool:
        return False


def down(code: int) -> pygame.event.Event:
    return pygame.event.Event(pygame.KEYDOWN, scancode=code, key=0, mod=0)


def up(code: int) -> pygame.event.Event:
    return pygame.event.Event(pygame.KEYUP, scancode=code, key=0, mod=0)


@pytest.fixture
def pad() -> NoPad:
    return NoPad()


@pytest.fixture
def pilot(pad: NoPad) -> HumanPilot:
    return HumanPilot(Held(), pad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "wish"),
    [
        ((pygame.KSCAN_W,), (0, -127)),
        ((pygame.KSCAN_DOWN,), (0, 127)),
        ((pygame.KSCAN_A, pygame.KSCAN_D), (0, 0)),
        ((pygame.KSCAN_D, pygame.KSCAN_RIGHT), (127, 0)),
        ((pygame.KSCAN_W, pygame.KSCAN_D), (90, -90)),
    ],
)
def test_keys_by_their_place_become_a_direction(pilot: HumanPilot, keys: tuple[int, ...], wish: tuple[int, int]):
    for key in keys:
        pilot.feed(down(key))
    command = pilot.command(Avatar(), 1)
    assert (command.dx, command.dz) == wish


def test_a_tap_between_two_ticks_counts_once_and_is_never_lost(pilot: HumanPilot):
    pilot.feed(down(pygame.KSCAN_SPACE))
    pilot.feed(up(pygame.KSCAN_SPACE))
    assert pilot.command(Avatar(), 1).jump
    assert pilot.command(Avatar(), 1).jump, "asking changes nothing"
    pilot.committed()
    assert not pilot.command(Avatar(), 2).jump


def test_a_held_key_stays_until_it_is_released(pilot: HumanPilot):
    pilot.feed(down(pygame.KSCAN_D))
    pilot.committed()
    assert pilot.command(Avatar(), 2).dx == 127
    pilot.feed(up(pygame.KSCAN_D))
    assert pilot.command(Avatar(), 3).dx == 0


def test_losing_the_window_releases_everything(pilot: HumanPilot):
    pilot.feed(down(pygame.KSCAN_D))
    pilot.feed(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1))
    assert pilot.command(Avatar(), 1).fire
    pilot.feed(pygame.event.Event(pygame.WINDOWFOCUSLOST))
    command = pilot.command(Avatar(), 1)
    assert (command.dx, command.fire) == (0, False)


def test_the_mouse_aims_from_the_avatar(pilot: HumanPilot):
    pilot.aim_at((3.0, 5.0))
    assert pilot.command(Avatar(x=3 * 1024, z=2 * 1024), 1).yaw == 16384


def test_without_a_mouse_the_avatar_looks_where_it_walks_and_keeps_looking_there(pilot: HumanPilot):
    pilot.feed(down(pygame.KSCAN_LEFT))
    assert pilot.command(Avatar(), 1).yaw == 32768
    pilot.feed(up(pygame.KSCAN_LEFT))
    pilot.committed()
    assert pilot.command(Avatar(), 2).yaw == 32768


def test_the_right_stick_takes_the_aim_over(pilot: HumanPilot, pad: NoPad):
    pilot.aim_at((9.0, 0.0))
    pad.right = (0.0, -1.0)
    pad.stick = (math.sqrt(0.5), math.sqrt(0.5))
    command = pilot.command(Avatar(), 1)
    assert command.yaw == 49152
    assert (command.dx, command.dz) == (90, 90)
