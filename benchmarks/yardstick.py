"""The yardstick of the game's benchmarks: what one move of one avatar costs here and now."""

from __future__ import annotations

from game.sim.arena import CROSSFIRE
from game.sim.command import Command
from game.sim.movement import move_avatar
from game.sim.state import Avatar
from net.clock import MonotonicClock


def move_us() -> float:
    """Microseconds of one `move_avatar`: the best of five rounds."""
    clock, best = MonotonicClock(), float("inf")
    for _ in range(5):
        avatar, command = Avatar(x=-4096, z=3277), Command(dx=100, dz=-60)
        start = clock.now()
        for _ in range(20_000):
            avatar = move_avatar(avatar, command, CROSSFIRE)
        best = min(best, (clock.now() - start) / 20_000)
    return best * 1e6
