"""Floor: walls are found where they are. That steps end where they must is tested with the movement."""

import pytest

from game.sim.arena import CROSSFIRE, Arena, Block
from game.sim.constants import AVATAR_RADIUS
from game.sim.floor import floor


def test_only_the_walls_in_a_cell_are_near():
    east, north = (600, 600, 2000, 2000), (-3000, -4000, -1000, -3000)
    found = floor(8000, 8000, (east, north))
    assert found.near(700, 700) == (east,)
    assert found.near(-1100, -3500) == (north,)
    assert found.near(100, 100) == found.near(-100, 1900) == ()


@pytest.mark.parametrize("low", range(-514, -508))
@pytest.mark.parametrize("high", range(510, 516))
def test_every_place_in_a_wall_finds_it_wherever_cells_begin(low: int, high: int):
    wall = (low, low, high, high)
    found = floor(3000, 3000, (wall,))
    for near_edge in (*range(low + 1, -500), *range(500, high)):
        assert found.near(near_edge, 0) == found.near(0, near_edge) == (wall,)


def test_a_wall_that_a_face_lies_in_is_near_too_and_in_order():
    """Who is put to the right face of the first one is in the second one, and so on, cells away."""
    chain = ((4900, 0, 7500, 900), (2400, 0, 5000, 900), (0, 0, 2500, 900))
    far = (7600, 0, 7700, 900)
    assert floor(9000, 9000, (*chain, far)).near(100, 100) == chain


def test_beyond_all_cells_any_wall_may_be_near():
    outside = (50_000, 50_000, 60_000, 60_000)
    found = floor(1000, 1000, (outside,))
    assert found.near(0, 0) == ()
    assert found.near(55_000, 55_000) == found.near(0, -9000) == (outside,)


def test_in_the_arena_of_the_game_most_cells_are_free_and_none_has_two_walls():
    """What movement costs depends on it."""
    found = CROSSFIRE.floor
    width, depth = found.half_width, found.half_depth
    near = [len(found.near(x, z)) for x in range(-width, width, 512) for z in range(-depth, depth, 512)]
    assert max(near) == 1
    assert near.count(0) > 0.7 * len(near)


def test_cells_that_are_alike_share_their_memory():
    assert len({id(column) for column in CROSSFIRE.floor.columns}) < 20


def test_an_arena_is_the_same_value_before_and_after_its_floor_is_made():
    one, other = (Arena("a", 9000, 9000, (Block(0, 0, 900, 900, 500),), ((0, 0, 0),)) for _ in range(2))
    assert one.floor is one.floor
    assert one.floor.walls == ((-AVATAR_RADIUS, -AVATAR_RADIUS, 900 + AVATAR_RADIUS, 900 + AVATAR_RADIUS),)
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
