"""What a tick of many avatars costs, as objects and as columns. Prints one JSON object.

    python benchmarks/movement.py --ticks 300

Players walk in one of eight directions, another one every 0.3 to 1.5 s, walls or not, jump now and then and dash. In
"all" each has one command of one tick in every tick; in "half" one in every other tick (30 commands a second, half of
the players in each tick); in "bunched" none to three a tick, of one or two ticks. `plain`, `columns` and `chosen` are a
`Crowd` that always, never or as it likes holds objects; `moves` holds columns, and is given as columns what is one
command of one tick, as a server's crowd is; `step` is the reference that also finds events. All run the same commands
in turn, tick by tick, are compared at the end, and are measured as the median of their ticks, in µs per avatar and
tick. Before each the nearest cache is filled with other things, as in a server that ticks now and then. `packed` and
`read` are the bytes of all avatars, and five fields of them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from statistics import median
from typing import TypeVar

import numpy as np

from game.sim.arena import CROSSFIRE
from game.sim.batch import Moves
from game.sim.command import Command
from game.sim.crowd import Crowd
from game.sim.grid import direction
from game.sim.state import World
from game.sim.step import spawn, step

SIZES = (16, 32, 50, 64, 80, 100, 128, 200)
READ = ("x", "y", "z", "yaw", "dash_ticks")
NEVER = 1_000_000

T = TypeVar("T")
Commands = Mapping[int, Sequence[Command]]


class Player:
    """Keys that somebody holds."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.left = 0
        self.push = (0, 0)

    def command(self, ticks: int = 1) -> Command:
        random = self.random
        if self.left <= 0:
            self.left = random.randint(18, 90)
            self.push = direction(127 * random.randint(-1, 1), 127 * random.randint(-1, 1))
        self.left -= ticks
        jump, dash = random.random() < 0.02, random.random() < 0.02
        return Command(*self.push, random.randrange(65536), jump, dash, False, ticks)


def all_of(players: list[Player], tick: int) -> Commands:
    return {slot: (player.command(),) for slot, player in enumerate(players)}


def half_of(players: list[Player], tick: int) -> Commands:
    return {slot: (player.command(),) if (slot + tick) % 2 else () for slot, player in enumerate(players)}


def bunches_of(players: list[Player], tick: int) -> Commands:
    return {
        slot: tuple(player.command(player.random.randint(1, 2)) for _ in range(player.random.choice((0, 1, 1, 1, 2))))
        for slot, player in enumerate(players)
    }


def split(commands: Commands) -> tuple[Commands, Moves]:
    """Those that are one command of one tick as columns, and the others as they are."""
    single = {slot: own[0] for slot, own in commands.items() if len(own) == 1 and own[0].ticks == 1}
    others = {slot: own for slot, own in commands.items() if slot not in single and own}
    columns = [(c.dx, c.dz, c.yaw, c.jump, c.dash) for c in single.values()]
    return others, Moves(np.array(list(single), np.intp), np.array(columns, np.int64).reshape(len(single), 5).T.copy())


_ELSEWHERE = np.zeros(1 << 15)
_OTHERS = [{"key": number, "value": str(number)} for number in range(200)]


def do_something_else() -> None:
    """Read more memory than the nearest cache holds, by numpy and by the interpreter."""
    _ELSEWHERE.sum()
    json.dumps(_OTHERS)


def measure(size: int, ticks: int, commands_of: Callable[[list[Player], int], Commands]) -> dict[str, float]:
    players = [Player(number) for number in range(size)]
    crowds = {
        "plain": Crowd(CROSSFIRE, size, batch_from=NEVER),
        "columns": Crowd(CROSSFIRE, size, batch_from=0),
        "moves": Crowd(CROSSFIRE, size, batch_from=0),
        "chosen": Crowd(CROSSFIRE, size),
    }
    world = World()
    for slot in range(size):
        world = spawn(world, slot, CROSSFIRE)
        for crowd in crowds.values():
            crowd.spawn(slot)
    spent: dict[str, list[float]] = {name: [] for name in (*crowds, "step", "packed", "read")}

    def timed(name: str, work: Callable[[], T]) -> T:
        do_something_else()
        started = time.perf_counter()
        result = work()
        spent[name].append(time.perf_counter() - started)
        return result

    for tick in range(ticks):
        commands = commands_of(players, tick)
        others, moves = split(commands)
        names = list(crowds)
        for name in names[tick % 4 :] + names[: tick % 4]:
            given = (others, moves) if name == "moves" else (commands,)
            timed(name, partial(crowds[name].advance, *given))
        world, _ = timed("step", partial(step, world, commands, CROSSFIRE))
        timed("packed", crowds["chosen"].packed)
        timed("read", partial(crowds["chosen"].read, READ))
    for name, crowd in crowds.items():
        assert crowd.world() == world, f"{name} is not what step makes of it"
    return {name: round(median(times) * 1e6 / size, 3) for name, times in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=300)
    arguments = parser.parse_args()
    kinds = {"all": all_of, "half": half_of, "bunched": bunches_of}
    print(
        json.dumps(
            {
                kind: {str(size): measure(size, arguments.ticks, commands_of) for size in SIZES}
                for kind, commands_of in kinds.items()
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
