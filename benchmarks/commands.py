"""What each policy of the authority's command buffer does to players, over every preset of the network conditioner.

    python benchmarks/commands.py [--seconds 60] [--seeds 1 2 3] [--policies "hold, at once" ...] [--networks LAN ...]

A real authority, two bots' sessions and the networks between them, in one process on one manual clock: frames and
server ticks come unevenly, as they do on real machines. The same seeds give the same numbers on any machine. Prints one
JSON line for each policy and network, then the tables.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from game.session.base import Link
from game.session.online import OnlineSession
from game.session.pilot import BotPilot
from game.sim.arena import CROSSFIRE
from game.sim.command import Command
from game.sim.constants import TICK_RATE
from game.wire import PENDING_LIMIT
from net.clock import ManualClock
from net.sync.inputs import InputBuffer, Push, Read
from net.transport.base import Transport
from net.transport.conditioner import PRESETS, ConditionedTransport
from server.authority import Authority
from server.inprocess import connect
from server.room import Room

_LIMIT: Final = {"bank": PENDING_LIMIT, "limit": PENDING_LIMIT}
"""an honest client stops when so many wait for their answer, so nothing that it sends is too old"""
POLICIES: Final[dict[str, dict[str, Any]]] = {
    "hold, at once": _LIMIT,
    "hold, at once, limit 60": {},
    "hold, at once, keep 2": {**_LIMIT, "depth": 2},
    "hold, up to 4 a tick": {**_LIMIT, "catch_up": 4},
    "hold, up to 2 a tick": {**_LIMIT, "catch_up": 2},
    "hold, up to 2 a tick, keep 2": {**_LIMIT, "depth": 2, "catch_up": 2},
    "hold, one a tick, keep 2": {**_LIMIT, "depth": 2, "catch_up": 1},
    "repeat 6, at once": {**_LIMIT, "repeat": 6},
    "repeat 15, at once": {**_LIMIT, "repeat": 15},
    "repeat 6, up to 2 a tick, keep 2": {**_LIMIT, "repeat": 6, "depth": 2, "catch_up": 2},
    "repeat 15, one a tick, keep 2": {**_LIMIT, "repeat": 15, "depth": 2, "catch_up": 1},
    "repeat 15, one a tick, keep 6": {**_LIMIT, "repeat": 15, "depth": 6, "catch_up": 1},
    "latest, hold": {**_LIMIT, "read": Read.LATEST},
    "latest, repeat 15": {**_LIMIT, "read": Read.LATEST, "repeat": 15},
}
"""hold: own time stands still while no command is there; keep: `depth`; limit 128 ticks where none is named"""
PLAYERS: Final = 2
START: Final = 100.0
"""seconds: no clock starts at 0 just when somebody looks"""
PATIENCE: Final = 60.0
"""seconds for joining, on the slowest network with any luck"""
WARM_UP: Final = 3.0
"""seconds after both have joined that are not judged"""
FRAME_LATE: Final = 0.001
"""seconds, mean of an exponential distribution: how late a client's frame is"""
HITCH: Final = 0.003
"""probability that a frame is late by another 20 to 120 ms: 11 times a minute"""
TICK_LATE: Final = 0.0003
"""seconds, as FRAME_LATE, for the server's ticks"""
NETWORK: Final = 1000
"""times a second at which what the networks carry moves on: between frames, too, for networks know no frames"""
_TICK: Final = -2
_NETWORK: Final = -1


class Result(NamedTuple):
    """One policy over one network, all players and seeds."""

    corrections: float
    """a minute and player"""
    largest: float
    """units"""
    age: float
    """ms from sending a command to applying it, mean"""
    age_p95: float
    uneven: float
    """what others see of it: RMS over server ticks of (ticks played - 1); 0 is smooth"""
    lost: float
    """commands without effect, a minute and player"""
    repeated: float
    """ticks played by repetition, a minute and player"""


class Recorder(InputBuffer[Command]):
    """A command buffer that notes what it does, by the clock."""

    def __init__(self, clock: ManualClock, **policy: Any) -> None:
        super().__init__(**policy)
        self._clock = clock
        self._seqs: dict[int, tuple[int, Command]] = {}
        """by the command's identity, each kept so that none takes another's place"""
        self.applied: dict[int, float] = {}
        """when each seq was applied"""
        self.steps: list[tuple[float, int]] = []
        """time and ticks of each take"""

    def push(self, seq: int, command: Command, ticks: int) -> Push:
        self._seqs[id(command)] = seq, command
        return super().push(seq, command, ticks)

    def take(self, now: float) -> list[Command]:
        taken = super().take(now)
        for command in taken:
            self.applied.setdefault(self._seqs[id(command)][0], self._clock.now())
        self.steps.append((self._clock.now(), sum(command.ticks for command in taken)))
        return taken


class Player(BotPilot):
    """A bot that notes when it has sent each command. One connection, so the n-th command has seq n."""

    def __init__(self, seed: int, clock: ManualClock) -> None:
        super().__init__(seed, CROSSFIRE)
        self._clock = clock
        self.sent: list[float] = []

    def committed(self) -> None:
        self.sent.append(self._clock.now())


def _silence(event: str, /, **fields: Any) -> None:
    """No log."""


class Match:
    """An authority and its players, driven by a row of events."""

    def __init__(self, network: str, policy: dict[str, Any], seed: int) -> None:
        self.clock = ManualClock(START)
        self.authority = Authority(self.clock, _silence)
        self.buffers: list[Recorder] = []
        self.authority.rooms["/"] = Room(inputs=self.buffer)
        self.players = [Player(seed * PLAYERS + i, self.clock) for i in range(PLAYERS)]
        self.largest = 0.0
        self.sessions: list[OnlineSession] = []
        self._policy = policy
        self._conditions = PRESETS[network]
        self._wires: list[Transport] = []
        self._seed = seed
        self._events = heapq.merge(self._ticks(), self._network(), *(self._frames(i) for i in range(PLAYERS)))

    def _ticks(self) -> Iterator[tuple[float, int, float]]:
        dice = random.Random(f"server {self._seed}")
        for n in itertools.count(1):
            due = START + n / TICK_RATE
            yield due + min(0.9 / TICK_RATE, dice.expovariate(1 / TICK_LATE)), _TICK, due

    def _network(self) -> Iterator[tuple[float, int, float]]:
        for n in itertools.count(1):
            at = START + n / NETWORK
            yield at, _NETWORK, at

    def _frames(self, player: int) -> Iterator[tuple[float, int, float]]:
        dice = random.Random(f"player {player} {self._seed}")
        phase, at = dice.random(), START
        for n in itertools.count(1):
            late = dice.expovariate(1 / FRAME_LATE)
            if dice.random() < HITCH:
                late += dice.uniform(0.02, 0.12)
            at = max(at, START + (n + phase) / TICK_RATE + late)  # a frame can't begin before the last one's end
            yield at, player, at

    def join(self) -> None:
        """One after the other, so that buffers and players are in the same order."""
        for i in range(PLAYERS):
            session = OnlineSession(partial(self._connect, i), self.clock, name=f"Bot {i}")
            self.sessions.append(session)
            while session.status.get().link is not Link.CONNECTED or len(self.buffers) <= i:
                if self.clock.now() > START + PATIENCE:
                    raise RuntimeError("the players can't join, or the room makes its command buffers elsewhere")
                self.step()

    def _connect(self, player: int) -> Transport:
        inner = connect(self.authority, "/", f"peer-{player}")
        network, seed = self._conditions, self._seed * PLAYERS + player
        self._wires.append(ConditionedTransport(inner, self.clock, network, network, seed))
        return self._wires[-1]

    def buffer(self) -> Recorder:
        """A player's command buffer by the policy in question instead of the room's own."""
        self.buffers.append(Recorder(self.clock, rate=TICK_RATE, **self._policy))
        return self.buffers[-1]

    def step(self) -> None:
        at, who, now = next(self._events)
        self.clock.advance(max(0.0, at - self.clock.now()))
        if who == _TICK:
            self.authority.tick(now)
        elif who == _NETWORK:
            for wire in self._wires:
                wire.poll()
        elif who < len(self.sessions):
            diagnostics = self.sessions[who].update(now, self.players[who]).diagnostics
            self.largest = max(self.largest, diagnostics.correction_units.last)

    def run(self, seconds: float) -> None:
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            self.step()


def measure(network: str, policy: dict[str, Any], seeds: list[int], seconds: float) -> Result:
    """Play all of `seeds` by one policy over one network."""
    corrections = lost = repeated = 0
    largest = 0.0
    ages: list[float] = []
    squares: list[float] = []
    for seed in seeds:
        match = Match(network, policy, seed)
        match.join()
        match.run(WARM_UP)
        start, match.largest = match.clock.now(), 0.0
        before = [session.report().corrections for session in match.sessions]
        counts = [(buffer.discarded, buffer.repeated) for buffer in match.buffers]
        match.run(seconds)
        for session, already, recorder, (discarded, guessed), player in zip(
            match.sessions, before, match.buffers, counts, match.players, strict=True
        ):
            corrections += session.report().corrections - already
            lost += recorder.discarded - discarded
            repeated += recorder.repeated - guessed
            ages += [(at - player.sent[seq - 1]) * 1000 for seq, at in recorder.applied.items() if at > start]
            squares += [(ticks - 1) ** 2 for at, ticks in recorder.steps if at > start]
        largest = max(largest, match.largest)
    minutes = len(seeds) * PLAYERS * seconds / 60
    ages.sort()
    return Result(
        round(corrections / minutes, 2),
        round(largest, 3),
        round(mean(ages), 1),
        round(ages[int(len(ages) * 0.95)], 1),
        round(math.sqrt(mean(squares)), 3),
        round(lost / minutes, 2),
        round(repeated / minutes, 1),
    )


TABLES: Final[dict[str, Callable[[Result], str]]] = {
    "Corrections a minute (the largest, units)": lambda r: f"{r.corrections:g} ({r.largest:.2g})",
    "Age of a command when it is applied, ms: mean (p95)": lambda r: f"{r.age:.0f} ({r.age_p95:.0f})",
    "Unevenness for others: RMS of ticks played in a tick - 1": lambda r: f"{r.uneven:.2f}",
    "Commands without effect a minute": lambda r: f"{r.lost:g}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--networks", nargs="+", choices=PRESETS, default=list(PRESETS))
    options = parser.parse_args()
    results: dict[tuple[str, str], Result] = {}
    for policy, network in itertools.product(options.policies, options.networks):
        result = results[policy, network] = measure(network, POLICIES[policy], options.seeds, options.seconds)
        print(json.dumps({"policy": policy, "network": network, **result._asdict()}), flush=True)
    for title, cell in TABLES.items():
        print(f"\n{title}\n\n| policy | {' | '.join(options.networks)} |\n| --- |{' --: |' * len(options.networks)}")
        for policy in options.policies:
            print(f"| {policy} | {' | '.join(cell(results[policy, network]) for network in options.networks)} |")


if __name__ == "__main__":
    main()
