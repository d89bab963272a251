"""The bot: repeatable, on the grid, and not a statue."""

from game.sim.arena import CROSSFIRE
from game.sim.bot import bot_command
from game.sim.constants import UNIT
from game.sim.grid import direction
from game.sim.movement import move_avatar
from game.sim.random import noise
from game.sim.state import Avatar


def walk(seed: int, ticks: int) -> list[Avatar]:
    avatar, path = Avatar(x=4 * UNIT, z=3 * UNIT), []
    for tick in range(ticks):
        command = bot_command(avatar, tick, seed, CROSSFIRE)
        assert direction(command.dx, command.dz) == (command.dx, command.dz)
        assert 0 <= command.yaw < 65536
        avatar = move_avatar(avatar, command, CROSSFIRE)
        path.append(avatar)
    return path


def test_the_same_seed_takes_the_same_walk_and_another_seed_another():
    assert walk(7, 300) == walk(7, 300)
    assert walk(7, 300)[-1] != walk(8, 300)[-1]


def test_a_bot_sees_much_of_the_arena_and_uses_its_legs():
    path = walk(1, 3600)
    assert max(a.x for a in path) - min(a.x for a in path) > 20 * UNIT
    assert max(a.z for a in path) - min(a.z for a in path) > 12 * UNIT
    assert any(a.y > 0 for a in path)
    assert any(a.dash_ticks for a in path)


def test_noise_depends_on_each_of_its_keys_and_fills_its_bits():
    values = {noise(s, t, k) for s in range(8) for t in range(8) for k in range(8)}
    assert len(values) == 512
    assert all(0 <= value < 2**64 for value in values)
    ones = sum(value.bit_count() for value in values) / 512
    assert 31 < ones < 33
