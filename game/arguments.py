"""What a person may ask of the client, and one sentence for each mistake in it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from game.wire import DEFAULT_COLORS, clean_color
from net.transport.conditioner import Conditions, parse_conditions

MOST_BOTS: Final = 200
"""headless players in one process"""
MOST_OPPONENTS: Final = 128
"""bots that live in a room"""
PORT: Final = 8788
"""of the server that others join"""


def parser() -> argparse.ArgumentParser:
    """The flags of `lagtag`."""
    parser = argparse.ArgumentParser(prog="lagtag", description="Laser tag that shows its netcode.")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--demo", action="store_true", help="a server and a second window of its own (the default)")
    where.add_argument("--connect", metavar="URL", type=_address, help="play on the server at ws://HOST:PORT/ROOM")
    where.add_argument("--relay", metavar="URL", type=_address, help="play without an authority in a relay's room")
    where.add_argument("--channel", metavar="NAME", help="play without any server: windows on this machine")
    where.add_argument("--offline", action="store_true", help="play with bots, without any network")
    where.add_argument(
        "--host",
        metavar="PORT",
        type=_port,
        nargs="?",
        const=PORT,
        help=f"play on a server in this program, that others in your network can join (default port: {PORT})",
    )
    parser.add_argument(
        "--opponents",
        metavar="N",
        type=_opponents,
        help="bots that live in the match of --offline (7), --host or --demo (0)",
    )
    parser.add_argument("--name", help="what the others call you")
    parser.add_argument("--color", type=_color, help="your colour, #rrggbb")
    parser.add_argument(
        "--net",
        metavar="CONDITIONS",
        type=_network,
        default=(Conditions(), 0),
        help="a bad network, each way: latency=80,jitter=20,loss=0.02,seed=1 (ms), or a preset such as '4G'",
    )
    bots = parser.add_mutually_exclusive_group()
    bots.add_argument("--bot", action="store_true", help="no window: a bot plays, and prints what it saw as JSON")
    bots.add_argument("--bots", metavar="N", type=_bots, help="no window: N bots play, and print one summary as JSON")
    parser.add_argument("--seconds", type=_seconds, help="stop after this time")
    parser.add_argument("--autopilot", action="store_true", help="a bot plays in the window, until F9")
    parser.add_argument("--size", type=_size, default=(1280, 720), metavar="WxH", help="the window's size")
    parser.add_argument("--fps", type=_fps, default=0.0, help="frames a second (default: the display's rate)")
    parser.add_argument("--software", action="store_true", help="draw without a GPU, as on machines that have none")
    parser.add_argument("--screenshots", type=Path, default=Path("screenshots"), help="where F12 saves pictures")
    parser.add_argument("--log", choices=("json",), help="print what the window shows, one JSON object a second")
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="end with whoever holds the other end of standard input"
    )
    return parser


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("ws", "wss") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address like ws://192.168.1.5:8788/room")
    return text


def _color(text: str) -> str:
    if not (color := clean_color(text, "")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a colour like {DEFAULT_COLORS[0]}, or too dark to be seen")
    return color


def _network(text: str) -> tuple[Conditions, int]:
    try:
        return parse_conditions(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65_535):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


def _opponents(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= MOST_OPPONENTS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of opponents from 0 to {MOST_OPPONENTS}")
    return int(text)


def _bots(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MOST_BOTS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bots from 1 to {MOST_BOTS}")
    return int(text)


def _seconds(text: str) -> float:
    return _number(text, 0.1, 1e6)


def _fps(text: str) -> float:
    return _number(text, 10, 1000)


def _number(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least:g} to {most:g}")
    return value


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit() and 640 <= int(width) <= 8192 and 400 <= int(height) <= 8192):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size like 1280x720 (at least 640x400)")
    return int(width), int(height)
