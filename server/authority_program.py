"""The authoritative server as a program: rooms by path, 60 ticks a second."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from game.sim.constants import TICK_RATE
from net.clock import MonotonicClock
from server.authority import MAX_SIZE, Authority
from server.engine import Limits
from server.gatherer import Gatherer
from server.log import Log
from server.program import Parser, Service, run
from server.room import CAPACITY
from server.ticker import Ticker

PORT: Final = 8788


class AuthorityService(Service):
    """The authority and its ticks."""

    def __init__(self, log: Log, *, world_rate: float = 20.0, bots: int = 0, log_positions: bool = False) -> None:
        self._clock = MonotonicClock()
        self._authority = Authority(self._clock, log, world_rate=world_rate, bots=bots, log_positions=log_positions)
        self._gatherer = Gatherer()
        super().__init__(self._authority, Limits(max_size=MAX_SIZE, gatherer=self._gatherer))
        self._ticker: Ticker | None = None

    def start(self) -> None:
        """It is listening now, on the running loop."""
        self._ticker = Ticker(self._clock, self._tick)

    def _tick(self, now: float) -> None:
        self._gatherer.collect()
        self._authority.tick(now)

    def stop(self) -> dict[str, Any]:
        """It is going to end. Returns what the last line of the log says."""
        assert self._ticker is not None
        self._ticker.stop()
        return {"ticks_dropped": self._ticker.dropped}


def main(arguments: Sequence[str]) -> int:
    """Run the authority until it is told to stop. Returns the exit code."""
    parser = Parser(
        "lagtag-server",
        "Lagtag's authoritative server: rooms by path, 60 ticks a second.",
        PORT,
        "`lagtag-server relay --help` is about the relay, for games that need no authority.",
    )
    parser.add_argument("--world-rate", type=_rate, default=20.0, metavar="HZ", help="world messages a second, 1 to 60")
    most = f"bots that live in every room, 0 to {CAPACITY // 2}"
    parser.add_argument("--bots", type=_bots, default=0, metavar="N", help=most)
    parser.add_argument("--log-positions", action="store_true", help="log where everybody is, once a second")
    options = parser.parse_args(arguments)
    return run(
        parser,
        options,
        lambda log: AuthorityService(
            log, world_rate=options.world_rate, bots=options.bots, log_positions=options.log_positions
        ),
    )


def _bots(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > CAPACITY // 2:
        raise argparse.ArgumentTypeError(f"bots are a number from 0 to {CAPACITY // 2}, not {text!r}")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 1 <= rate <= TICK_RATE:
        raise argparse.ArgumentTypeError(f"a world rate is a number from 1 to {TICK_RATE}, not {text!r}")
    return rate
