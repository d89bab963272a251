"""Movement computes what its rules say when each is written down plainly: any state, any command, any arena."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game.sim.arena import CROSSFIRE, Arena, Block
from game.sim.command import Command
from game.sim.constants import (
    AIR_ACCELERATION,
    AIR_FRICTION,
    AVATAR_RADIUS,
    DASH_COOLDOWN,
    DASH_SPEED,
    DASH_TICKS,
    DIRECTION,
    GRAVITY,
    GROUND_ACCELERATION,
    GROUND_FRICTION,
    JUMP_SPEED,
    RUN_SPEED,
)
from game.sim.grid import cosine, direction, sine
from game.sim.movement import move_avatar, move_tick, slide
from game.sim.state import Avatar


def plain_slide(x: int, z: int, vx: int, vz: int, arena: Arena) -> tuple[int, int, int, int]:
    """One axis after the other, each against every block in turn, and then against the border."""
    r = AVATAR_RADIUS
    to_x = x + vx
    for block in arena.blocks:
        if block.top - r < z < block.bottom + r and block.left - r < to_x < block.right + r:
            to_x, vx = block.left - r if x <= block.left - r else block.right + r, 0
    limit = arena.half_width - r
    if to_x < -limit or to_x > limit:
        to_x, vx = max(-limit, min(limit, to_x)), 0
    to_z = z + vz
    for block in arena.blocks:
        if block.left - r < to_x < block.right + r and block.top - r < to_z < block.bottom + r:
            to_z, vz = block.top - r if z <= block.top - r else block.bottom + r, 0
    limit = arena.half_depth - r
    if to_z < -limit or to_z > limit:
        to_z, vz = max(-limit, min(limit, to_z)), 0
    return to_x, to_z, vx, vz


def quotient(a: int, b: int) -> int:
    """a / b rounded towards zero."""
    return abs(a) // b * (1 if a >= 0 else -1)


def plain_tick(avatar: Avatar, command: Command, arena: Arena) -> Avatar:
    vx, vy, vz, y = avatar.vx, avatar.vy, avatar.vz, avatar.y
    pushing = command.dx != 0 or command.dz != 0
    grounded = y == 0 and vy == 0
    dash_ticks, cooldown = avatar.dash_ticks, max(0, avatar.cooldown - 1)
    if command.dash and cooldown == 0 and dash_ticks == 0:
        dash_ticks, cooldown = DASH_TICKS, DASH_COOLDOWN
        if pushing:
            length = max(1, math.isqrt(command.dx**2 + command.dz**2))
            vx, vz = quotient(command.dx * DASH_SPEED, length), quotient(command.dz * DASH_SPEED, length)
        else:
            vx = quotient(cosine(command.yaw) * DASH_SPEED, 32767)
            vz = quotient(sine(command.yaw) * DASH_SPEED, 32767)
    dashing = dash_ticks > 0
    if not dashing:
        push, coast = (GROUND_ACCELERATION, GROUND_FRICTION) if grounded else (AIR_ACCELERATION, AIR_FRICTION)
        rate = push if pushing else coast
        gap_x = quotient(command.dx * RUN_SPEED, DIRECTION) - vx
        gap_z = quotient(command.dz * RUN_SPEED, DIRECTION) - vz
        square = gap_x**2 + gap_z**2
        step_x, step_z = gap_x, gap_z
        if square > rate**2:
            length = math.isqrt(square) + 1
            step_x, step_z = quotient(gap_x * rate, length), quotient(gap_z * rate, length)
            if (step_x, step_z) == (0, 0):
                along_x = abs(gap_x) >= abs(gap_z)
                step_x, step_z = int(math.copysign(along_x, gap_x)), int(math.copysign(not along_x, gap_z))
        vx, vz = vx + step_x, vz + step_z
    if grounded and command.jump and not avatar.jump_held:
        vy, grounded = JUMP_SPEED, False
    if not grounded:
        y, vy = y + vy, vy - GRAVITY
        if y <= 0:
            y, vy = 0, 0
    x, z, vx, vz = plain_slide(avatar.x, avatar.z, vx, vz, arena)
    if dashing:
        dash_ticks -= 1
        length = math.isqrt(vx**2 + vz**2)
        if dash_ticks == 0 and length > RUN_SPEED:
            vx, vz = quotient(vx * RUN_SPEED, length), quotient(vz * RUN_SPEED, length)
    return Avatar(x, y, z, vx, vy, vz, command.yaw, dash_ticks, cooldown, command.jump)


def any_arena(random: Random) -> Arena:
    """Blocks thick and thin, apart or over each other, over the border and outside; sometimes no room to stand."""
    size = random.choice([300, 500, 1500, 6000])

    def edge(low: int, high: int) -> int:
        """Anywhere there, or so that the edge of a grown block is that of a cell, or one or two beside it."""
        place = random.randint(low, high)
        return random.choice([place, (place & -512) + random.choice([-1, 1]) * AVATAR_RADIUS + random.randint(-2, 2)])

    blocks = []
    for _ in range(random.choice([0, 1, 2, 5, 20])):
        left, top = edge(-size - 900, size + 900), edge(-size - 900, size + 900)
        longest = random.choice([1, 300, 3000])
        right, bottom = max(left, edge(left, left + longest)), max(top, edge(top, top + longest))
        blocks.append(Block(left, top, right, bottom, 1000))
    return Arena("any", random.randint(0, size), random.randint(0, size), tuple(blocks), ((0, 0, 0),))


def any_coordinate(random: Random, half: int, edges: list[int]) -> int:
    """On the floor, off it, or a step or less from an edge."""
    return random.choice(
        [
            random.randint(-half, half),
            random.randint(-3 * half, 3 * half),
            random.randint(-(2**40), 2**40),
            random.choice([*edges, half, -half]) + random.choice([-1, 1]) * random.choice([0, 408, 409, 410, 411, 900]),
        ]
    )


def any_place(random: Random, arena: Arena) -> tuple[int, int]:
    return (
        any_coordinate(random, arena.half_width, [edge for b in arena.blocks for edge in (b.left, b.right)]),
        any_coordinate(random, arena.half_depth, [edge for b in arena.blocks for edge in (b.top, b.bottom)]),
    )


def any_speed(random: Random) -> int:
    top = random.choice([0, 1, 14, RUN_SPEED, DASH_SPEED, 1023, 5000, 2**40])
    return random.randint(-top, top)


def any_step(random: Random, arena: Arena) -> tuple[int, int, int, int]:
    """From anywhere, at any velocity or right to another place, however far."""
    x, z = any_place(random, arena)
    to_x, to_z = any_place(random, arena)
    return x, z, random.choice([any_speed(random), to_x - x]), random.choice([any_speed(random), to_z - z])


def any_avatar(random: Random, arena: Arena) -> Avatar:
    x, z = any_place(random, arena)
    y, vy = random.choice([(0, 0), (0, 0), (0, 5), (random.randint(-3, 1600), random.randint(-145, 145))])
    push = direction(random.randint(-127, 127), random.randint(-127, 127))
    running = tuple(quotient(part * RUN_SPEED, DIRECTION) + random.choice([0, 0, 1, -2]) for part in push)
    vx, vz = random.choice([running, (any_speed(random), any_speed(random))])
    timers = random.choice([0, 0, 1, 2, 9]), random.choice([-1, 0, 0, 1, 2, 72])
    return Avatar(x, y, z, vx, vy, vz, random.randrange(65536), *timers, random.random() < 0.5)


def any_command(random: Random, avatar: Avatar) -> Command:
    """A push anywhere on the grid, often the one that keeps the avatar's velocity."""
    kept = round(avatar.vx * DIRECTION / RUN_SPEED), round(avatar.vz * DIRECTION / RUN_SPEED)
    push = random.choice([(0, 0), (1, 0), kept, (random.randint(-127, 127), random.randint(-127, 127))])
    flags = (random.random() < 0.5, random.random() < 0.3, random.random() < 0.5)
    return Command(*direction(*push), random.randrange(65536), *flags, random.randint(1, 6))


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32))
def test_a_step_from_anywhere_in_any_arena_ends_where_the_plain_rule_says(seed: int):
    random = Random(seed)
    arena = any_arena(random)
    for _ in range(100):
        step = any_step(random, arena)
        assert slide(*step, arena) == plain_slide(*step, arena)


@pytest.mark.parametrize("seed", range(10))
def test_a_step_in_the_arena_of_the_game_ends_where_the_plain_rule_says(seed: int):
    random = Random(seed)
    for _ in range(2000):
        step = any_step(random, CROSSFIRE)
        assert slide(*step, CROSSFIRE) == plain_slide(*step, CROSSFIRE)


def test_every_coordinate_of_the_floor_and_beyond_it():
    """Along lines through the arena, across all faces and the border: whatever is looked up has no gap and no seam."""
    random = Random(1)
    for _ in range(6):
        vx, vz = random.randint(-341, 341), random.randint(-341, 341)
        z = random.randint(-13 * 1024, 13 * 1024)
        for x in range(-24 * 1024, 24 * 1024, 7):
            assert slide(x, z, vx, vz, CROSSFIRE) == plain_slide(x, z, vx, vz, CROSSFIRE)
        x = random.randint(-20 * 1024, 20 * 1024)
        for z in range(-17 * 1024, 17 * 1024, 7):
            assert slide(x, z, vx, vz, CROSSFIRE) == plain_slide(x, z, vx, vz, CROSSFIRE)


def test_hundreds_of_blocks():
    """More different neighbourhoods than a byte counts."""
    random = Random(2)
    corners = [(random.randint(-30000, 30000), random.randint(-30000, 30000)) for _ in range(400)]
    arena = Arena("many", 30000, 30000, tuple(Block(x, z, x + 300, z + 300, 900) for x, z in corners), ((0, 0, 0),))
    for _ in range(3000):
        step = any_step(random, arena)
        assert slide(*step, arena) == plain_slide(*step, arena)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32))
def test_a_tick_is_what_the_plain_rules_say(seed: int):
    random = Random(seed)
    arena = random.choice([CROSSFIRE, any_arena(random)])
    for _ in range(60):
        avatar = any_avatar(random, arena)
        command = any_command(random, avatar)
        assert move_tick(avatar, command, arena) == plain_tick(avatar, command, arena)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32))
def test_a_match_is_what_the_plain_rules_say(seed: int):
    """Minutes of play from a spawn: the states that really occur, walls and all."""
    random = Random(seed)
    x, z, yaw = random.choice(CROSSFIRE.spawns)
    avatar = Avatar(x=x, z=z, yaw=yaw)
    for _ in range(40):
        command = any_command(random, avatar)
        for _ in range(random.randint(1, 8)):
            wanted = avatar
            for _ in range(command.ticks):
                wanted = plain_tick(wanted, command, CROSSFIRE)
            avatar = move_avatar(avatar, command, CROSSFIRE)
            assert avatar == wanted
