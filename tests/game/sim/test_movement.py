"""Movement: literal distances and times, walls that hold, and nothing that favours a side."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game.sim.arena import CROSSFIRE, Arena, Block
from game.sim.command import Command
from game.sim.constants import (
    AVATAR_RADIUS,
    DASH_COOLDOWN,
    DASH_TICKS,
    DIRECTION,
    RUN_SPEED,
    UNIT,
)
from game.sim.grid import direction
from game.sim.movement import move_avatar
from game.sim.state import Avatar

OPEN = Arena("open", 40 * UNIT, 40 * UNIT, (), ((0, 0, 0),))
RIGHT, STAND = Command(dx=DIRECTION), Command()

commands = st.builds(
    lambda dx, dz, yaw, jump, dash, ticks: Command(*direction(dx, dz), yaw, jump, dash, False, ticks),
    st.integers(-127, 127),
    st.integers(-127, 127),
    st.integers(0, 65535),
    st.booleans(),
    st.booleans(),
    st.integers(1, 6),
)


def run(avatar: Avatar, command: Command, ticks: int, arena: Arena = OPEN) -> Avatar:
    for _ in range(ticks):
        avatar = move_avatar(avatar, command, arena)
    return avatar


def test_running_reaches_full_speed_and_stops_again():
    moving = run(Avatar(), RIGHT, 20)
    assert (moving.vx, moving.vz) == (RUN_SPEED, 0)
    assert run(moving, STAND, 20).vx == 0


def test_a_second_of_running_covers_about_seven_units():
    assert run(Avatar(), RIGHT, 60).x / UNIT == pytest.approx(6.5, abs=0.1)


def test_a_command_of_n_ticks_is_n_commands_of_one():
    long = move_avatar(Avatar(), Command(dx=90, dz=-90, jump=True, ticks=6), OPEN)
    assert long == run(Avatar(), Command(dx=90, dz=-90, jump=True), 6)


def test_a_jump_rises_one_and_a_half_units_and_lands_where_it_must():
    avatar, heights = move_avatar(Avatar(), Command(jump=True), OPEN), []
    while avatar.y > 0:
        heights.append(avatar.y)
        avatar = move_avatar(avatar, STAND, OPEN)
    assert max(heights) / UNIT == pytest.approx(1.5, abs=0.05)
    assert len(heights) == 42
    assert (avatar.y, avatar.vy) == (0, 0)


def test_holding_jump_jumps_once_until_released():
    hold = Command(jump=True)
    avatar = run(Avatar(), hold, 60)
    assert avatar.y == 0
    assert run(run(avatar, STAND, 1), hold, 2).y > 0


def test_a_dash_covers_three_units_and_then_needs_its_cooldown():
    dash = Command(dx=DIRECTION, dash=True)
    avatar = run(Avatar(), dash, DASH_TICKS)
    assert avatar.x / UNIT == pytest.approx(3.0, abs=0.1)
    assert avatar.vx == RUN_SPEED
    again = run(avatar, dash, DASH_COOLDOWN - DASH_TICKS)
    assert again.dash_ticks == 0
    assert move_avatar(again, dash, OPEN).dash_ticks == DASH_TICKS - 1


def test_a_dash_without_a_direction_goes_where_the_avatar_looks():
    avatar = run(Avatar(), Command(yaw=16384, dash=True), DASH_TICKS)
    assert avatar.x == 0
    assert avatar.z / UNIT == pytest.approx(3.0, abs=0.1)


def test_walls_stop_one_axis_and_let_the_other_slide():
    wall = Arena("wall", 40 * UNIT, 40 * UNIT, (Block(2 * UNIT, -9 * UNIT, 3 * UNIT, 9 * UNIT, UNIT),), ((0, 0, 0),))
    avatar = run(Avatar(), Command(dx=90, dz=90), 60, wall)
    assert avatar.x == 2 * UNIT - AVATAR_RADIUS
    assert avatar.vx == 0
    assert avatar.z > 3 * UNIT


@pytest.mark.parametrize(("dx", "dz"), [(127, 0), (-127, 0), (0, 127), (0, -127), (90, 90), (-90, -90)])
def test_the_border_holds_in_every_direction(dx: int, dz: int):
    avatar = run(Avatar(), Command(dx=dx, dz=dz, dash=True), 1200)
    limit = OPEN.half_width - AVATAR_RADIUS
    assert max(abs(avatar.x), abs(avatar.z)) == limit


@settings(max_examples=60)
@given(st.lists(commands, max_size=60), st.integers(0, 15))
def test_no_command_gets_an_avatar_into_a_wall_or_out_of_the_arena(log: list[Command], slot: int):
    x, z, yaw = CROSSFIRE.spawns[slot]
    avatar = Avatar(x=x, z=z, yaw=yaw)
    for command in log:
        avatar = move_avatar(avatar, command, CROSSFIRE)
        assert abs(avatar.x) <= CROSSFIRE.half_width - AVATAR_RADIUS
        assert abs(avatar.z) <= CROSSFIRE.half_depth - AVATAR_RADIUS
        assert avatar.y >= 0
        for block in CROSSFIRE.blocks:
            assert not (
                block.left - AVATAR_RADIUS < avatar.x < block.right + AVATAR_RADIUS
                and block.top - AVATAR_RADIUS < avatar.z < block.bottom + AVATAR_RADIUS
            )


@settings(max_examples=40)
@given(st.lists(commands, max_size=40))
def test_movement_is_the_same_mirrored(log: list[Command]):
    ahead, back = Avatar(), Avatar(yaw=32768)
    for command in log:
        ahead = move_avatar(ahead, command, OPEN)
        mirrored = Command(-command.dx, -command.dz, (command.yaw + 32768) % 65536, command.jump, command.dash)
        back = move_avatar(back, Command(*mirrored_fields(mirrored), ticks=command.ticks), OPEN)
        assert (back.x, back.y, back.z) == (-ahead.x, ahead.y, -ahead.z)


def mirrored_fields(command: Command) -> tuple[int, int, int, bool, bool, bool]:
    return command.dx, command.dz, command.yaw, command.jump, command.dash, command.fire
