"""A bot: commands from an avatar's own state, the tick and a seed, nothing else."""

from __future__ import annotations

from game.sim.arena import Arena
from game.sim.command import Command
from game.sim.constants import DASH_COOLDOWN, DIRECTION, TICK_RATE, TURN
from game.sim.grid import cosine, direction, sine
from game.sim.random import noise
from game.sim.state import Avatar

_LEG = TICK_RATE
"""ticks that a bot keeps one course"""


def bot_command(avatar: Avatar, tick: int, seed: int, arena: Arena) -> Command:
    """What bot `seed` wants in `tick`: it strolls on random courses, turns back at the border, jumps and dashes."""
    leg, into = divmod(tick + seed % _LEG, _LEG)
    course = noise(seed, leg, 0) % TURN
    margin = arena.half_width // 5
    if abs(avatar.x) > arena.half_width - margin or abs(avatar.z) > arena.half_depth - margin:
        # into the other half, a quarter turn wide around the way to the middle
        spread = noise(seed, leg, 1) % (TURN // 4) - TURN // 8
        course = (_heading(-avatar.x, -avatar.z) + spread) % TURN
    turn_from = noise(seed, leg - 1, 0) % TURN
    gap = (course - turn_from + TURN // 2) % TURN - TURN // 2
    yaw = (turn_from + gap * min(into, 20) // 20) % TURN
    dx, dz = direction(cosine(yaw) * DIRECTION // 32767, sine(yaw) * DIRECTION // 32767)
    if noise(seed, leg, 2) % 8 == 0 and into > 30:
        dx = dz = 0
    jump = noise(seed, tick // 6, 3) % 20 == 0
    dash = avatar.cooldown == 0 and noise(seed, tick // DASH_COOLDOWN, 4) % 3 == 0 and into == 30
    return Command(dx=dx, dz=dz, yaw=yaw, jump=jump, dash=dash)


def _heading(x: int, z: int) -> int:
    """The angle of (x, z) in 1/65536 turn, to an eighth of a turn: enough for a stroll."""
    octants = (0, 1, 2, 3, 4, 5, 6, 7)
    return max(octants, key=lambda o: x * cosine(o * TURN // 8) + z * sine(o * TURN // 8)) * TURN // 8
