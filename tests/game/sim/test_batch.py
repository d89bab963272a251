"""A batch is `move_tick` for every row: any state, any command, any walls."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game.sim.arena import CROSSFIRE, Arena, Block
from game.sim.batch import FEW, Batch
from game.sim.command import Command
from game.sim.constants import AVATAR_RADIUS, GROUND_ACCELERATION, RUN_SPEED
from game.sim.grid import direction
from game.sim.movement import move_avatar, slide
from game.sim.state import Avatar
from game.sim.walls import walls


def any_avatar(random: Random, arena: Arena) -> Avatar:
    """One of the rows of a batch: anywhere, in blocks too, often beside a wall, at any speed that there is."""
    reach_x, reach_z = arena.half_width - AVATAR_RADIUS, arena.half_depth - AVATAR_RADIUS
    x, z = random.randint(-reach_x, reach_x), random.randint(-reach_z, reach_z)
    if arena.blocks and random.random() < 0.5:
        block = random.choice(arena.blocks)
        radius = AVATAR_RADIUS + random.choice([-1, 0, 1, 100, 341])
        x = random.choice([x, block.left - radius, block.right + radius])
        z = random.choice([z, block.top - radius, block.bottom + radius])
    if random.random() < 0.2:
        x, z = random.choice([-reach_x, reach_x]), random.choice([z, reach_z])
    top = random.choice([0, 1, 14, RUN_SPEED, 341])
    vx, vz = random.randint(-top, top), random.randint(-top, top)
    y, vy = random.choice([(0, 0), (0, 0), (random.randint(1, 1600), random.randint(-145, 145))])
    cooldown = random.choice([0, 1, 2, random.randint(0, 72)])
    return Avatar(
        max(-reach_x, min(reach_x, x)),
        y,
        max(-reach_z, min(reach_z, z)),
        vx,
        vy,
        vz,
        random.randrange(65536),
        random.choice([0, 0, 1, 2, random.randint(0, 9)]),
        cooldown,
        random.random() < 0.5,
    )


def any_command(random: Random, most_ticks: int = 1) -> Command:
    push = random.choice([(0, 0), (127, 0), (1, 0), (random.randint(-127, 127), random.randint(-127, 127))])
    flags = (random.random() < 0.5, random.random() < 0.3, random.random() < 0.5)
    return Command(*direction(*push), random.randrange(65536), *flags, random.randint(1, most_ticks))


def any_arena(random: Random) -> Arena:
    """Blocks that overlap each other and the border, and lie outside it."""
    blocks = []
    for _ in range(random.randint(0, 5)):
        left, top = random.randint(-5000, 5000), random.randint(-5000, 5000)
        blocks.append(Block(left, top, left + random.randint(1, 3000), top + random.randint(1, 3000), 1000))
    return Arena("any", random.randint(800, 5000), random.randint(800, 5000), tuple(blocks), ((0, 0, 0),))


def moved(avatar: Avatar, commands: tuple[Command, ...], arena: Arena) -> Avatar:
    for command in commands:
        avatar = move_avatar(avatar, command, arena)
    return avatar


@pytest.mark.parametrize("seed", range(30))
def test_any_state_and_any_command_in_the_arena(seed: int):
    random = Random(seed)
    avatars = [any_avatar(random, CROSSFIRE) for _ in range(1000)]
    given = [(any_command(random),) for _ in avatars]
    batch = Batch(CROSSFIRE, avatars)
    batch.advance(given)
    assert batch.avatars() == [moved(*pair, CROSSFIRE) for pair in zip(avatars, given, strict=True)]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_any_walls(seed: int):
    random = Random(seed)
    arena = any_arena(random)
    avatars = [any_avatar(random, arena) for _ in range(150)]
    batch = Batch(arena, avatars)
    for _ in range(4):
        given = [(any_command(random),) for _ in avatars]
        batch.advance(given)
        avatars = [moved(*pair, arena) for pair in zip(avatars, given, strict=True)]
        assert batch.avatars() == avatars


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32), rows=st.integers(0, 3 * FEW), idle=st.floats(0, 1))
def test_any_number_of_commands_of_any_length(seed: int, rows: int, idle: float):
    random = Random(seed)
    avatars = [any_avatar(random, CROSSFIRE) for _ in range(rows)]
    batch = Batch(CROSSFIRE, avatars)
    given = [
        tuple(any_command(random, 6) for _ in range(0 if random.random() < idle else random.randint(1, 3)))
        for _ in avatars
    ]
    batch.advance(given)
    assert batch.avatars() == [moved(*pair, CROSSFIRE) for pair in zip(avatars, given, strict=True)]


def test_a_step_from_anywhere_on_the_floor_ends_where_slide_says():
    """Every coordinate along lines through the arena: the tables have no gap and no seam."""
    random = Random(1)
    reach_x, reach_z = CROSSFIRE.half_width - AVATAR_RADIUS, CROSSFIRE.half_depth - AVATAR_RADIUS
    for _ in range(10):
        vx, vz = random.randint(-341, 341), random.randint(-341, 341)
        x = np.concatenate([np.arange(-reach_x, reach_x + 1, 5), np.full(2 * reach_z + 1, random.randint(-9000, 9000))])
        z = np.full_like(x, random.randint(-reach_z, reach_z))
        z[-2 * reach_z - 1 :] = np.arange(-reach_z, reach_z + 1)
        place, velocity = np.stack([x, z]), np.stack([np.full_like(x, vx), np.full_like(x, vz)])
        walls(CROSSFIRE).slide(place, velocity)
        wanted = [slide(*start, vx, vz, CROSSFIRE) for start in zip(x.tolist(), z.tolist(), strict=True)]
        assert [tuple(row) for row in np.concatenate([place, velocity]).T.tolist()] == wanted


def test_rows_can_be_put_in_and_taken_out():
    one, two, three = Avatar(x=1), Avatar(x=2, jump_held=True), Avatar(x=3, yaw=65535)
    batch = Batch(CROSSFIRE, [one])
    batch.insert(0, two)
    batch.insert(2, three)
    assert batch.avatars() == [two, one, three]
    batch.delete(1)
    assert [batch[row] for row in range(len(batch))] == [two, three]
    assert batch.read(["yaw"]).tolist() == [[0, 65535]]


def test_doubles_give_the_roots_and_quotients_of_integers():
    """All that can occur: gaps of up to 500 on either axis, times the largest rate, by any length of such a gap."""
    squares = np.arange(2 * 500**2 + 1)
    roots = np.floor(np.sqrt(squares)).astype(np.int64)
    assert np.all((roots * roots <= squares) & (squares < (roots + 1) ** 2))
    for length in range(1, 710):
        product = np.arange(500 * GROUND_ACCELERATION + 1)
        assert np.array_equal((-product / length).astype(np.int64), -(product // length))
