"""The relay as a program."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from server.engine import Limits
from server.log import Log
from server.program import Parser, Service, port_number, run
from server.relay import HEARTBEAT, MAX_BUFFERED, MAX_PER_ADDRESS, MAX_ROOMS, MAX_SIZE, Relay

PORT: Final = 8787
LONGEST_HEARTBEAT: Final = 86_400_000.0
"""ms: a day"""
MOST: Final = 1_000_000
"""rooms, or connections from one host"""

T = TypeVar("T")


def main(arguments: Sequence[str]) -> int:
    """Run the relay until it is told to stop. Returns the exit code."""
    parser = Parser(
        "lagtag-server relay",
        "A relay: passes every frame to all others of its room (the path), unread. Knows no game.",
        None,
        f"The environment's PORT (else {PORT}) and HEARTBEAT_MS (else {HEARTBEAT * 1000:.0f}) are the defaults.",
    )
    parser.add_argument("--heartbeat-ms", type=_heartbeat, metavar="MS", help="between two pings; 0 sends none")
    parser.add_argument("--base-path", default="", metavar="PATH", help="only paths below this one are rooms")
    parser.add_argument("--max-rooms", type=_count, default=MAX_ROOMS, metavar="N", help="rooms at the same time")
    parser.add_argument(
        "--max-per-address", type=_count, default=MAX_PER_ADDRESS, metavar="N", help="connections from one host"
    )
    options = parser.parse_args(arguments)
    if options.port is None:
        options.port = _default(parser, "PORT", port_number, PORT)
    if options.heartbeat_ms is None:
        options.heartbeat_ms = _default(parser, "HEARTBEAT_MS", _heartbeat, HEARTBEAT * 1000)
    limits = Limits(max_size=MAX_SIZE, max_buffered=MAX_BUFFERED, ping_interval=options.heartbeat_ms / 1000)

    def prepare(log: Log) -> Service:
        bounds = {"max_rooms": options.max_rooms, "max_per_address": options.max_per_address}
        return Service(Relay(base_path=options.base_path, log=log, **bounds), limits)

    return run(parser, options, prepare)


def _default(parser: Parser, variable: str, read: Callable[[str], T], otherwise: T) -> T:
    """What the environment says, if it says anything."""
    text = os.environ.get(variable, "")
    if not text:
        return otherwise
    try:
        return read(text)
    except argparse.ArgumentTypeError as error:
        parser.error(f"{variable} in the environment: {error}")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) <= MOST):
        raise argparse.ArgumentTypeError(f"a bound is a number from 1 to {MOST}, not {text!r}")
    return int(text)


def _heartbeat(text: str) -> float:
    try:
        heartbeat = float(text)
    except ValueError:
        heartbeat = -1.0
    if not 0 <= heartbeat <= LONGEST_HEARTBEAT:
        raise argparse.ArgumentTypeError(
            f"a heartbeat is a number of ms from 0 to {LONGEST_HEARTBEAT:.0f}, not {text!r}"
        )
    return heartbeat
