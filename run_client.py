"""lagtag: the client. Reads the arguments, puts the parts together, and starts the match."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import msgspec

from game.session.crew import TURN_RATE, Crew
from game.session.headless import HeadlessOnline, HeadlessPeer
from game.session.match import Match
from game.session.online import OnlineSession
from game.session.peer import PeerSession
from game.session.pilot import BotPilot
from game.wire import DEFAULT_COLORS, NAME_LIMIT, clean_color, clean_name
from net.clock import MonotonicClock, Pacer, ProcessClock
from net.transport.base import Transport
from net.transport.broadcast import BroadcastTransport, TransportUnavailableError
from net.transport.conditioner import Conditions, parse_conditions
from net.transport.websocket import RetryPolicy, WebSocketTransport

NAMES = ("Astra", "Nova", "Kestrel", "Quark", "Comet", "Lynx", "Wren", "Odin", "Iris", "Onyx", "Vega", "Rook")
MOST_BOTS = 200
CORNER = (40, 60)
"""pixels from the screen's edge at which the demo's windows stand"""
HERE = Path(__file__).resolve().parent


class Mistake(Exception):  # noqa: N818 - it is the person's, not an error of ours
    """Something that the person can put right; the message is one sentence."""


def main(argv: list[str] | None = None) -> int:
    """Run the client; the exit code says how it went: 0 well, 1 somebody was kept out, 2 a mistake in the call."""
    arguments = _parser().parse_args(argv)
    alone = arguments.connect is None and arguments.relay is None and arguments.channel is None
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        if arguments.bot or arguments.bots is not None:
            if alone:
                raise Mistake(
                    "bots need somebody to play with: add --connect ws://HOST:PORT/ROOM, --relay or --channel."
                )
            return _run_bots(arguments)
        with _demo(arguments) if alone else contextlib.nullcontext(arguments.connect) as url:
            return _run_window(arguments, url)
    except Mistake as mistake:
        print(f"lagtag: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lagtag", description="Laser tag that shows its netcode.")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--demo", action="store_true", help="a server and a second window of its own (the default)")
    where.add_argument("--connect", metavar="URL", type=_address, help="play on the server at ws://HOST:PORT/ROOM")
    where.add_argument("--relay", metavar="URL", type=_address, help="play without an authority in a relay's room")
    where.add_argument("--channel", metavar="NAME", help="play without any server: windows on this machine")
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


def _run_bots(arguments: argparse.Namespace) -> int:
    """Headless players, one or many, and what they saw."""
    clock = MonotonicClock()
    names = _bot_names(arguments)

    def join(number: int) -> tuple[Match, BotPilot]:
        session = _session(arguments, arguments.connect, names[number], clock, bot=number)
        return session, BotPilot(_seed(names[number]), session.arena)

    orphaned = threading.Event()
    if arguments.until_stdin_closes:
        _when_stdin_closes(orphaned.set)
    end = clock.now() + arguments.seconds if arguments.seconds else math.inf
    pacer = Pacer(TURN_RATE, clock, spin=0.0)
    crew = Crew(len(names), join, clock, ProcessClock())
    try:
        with contextlib.suppress(KeyboardInterrupt):
            while pacer.wait() < end and not orphaned.is_set() and crew.update(clock.now()):
                pass
        summary, reports = crew.report(), crew.reports()
    finally:
        crew.close()
    print(json.dumps(msgspec.to_builtins(reports[0] if arguments.bot else summary)), flush=True)
    trouble = summary.trouble(arguments.connect or arguments.relay or arguments.channel)
    if trouble:
        print(f"lagtag: {trouble}", file=sys.stderr)
    return 1 if trouble else 0


def _bot_names(arguments: argparse.Namespace) -> list[str]:
    """One bot is called what a player would be, many are numbered."""
    if arguments.bot:
        return [_name(arguments)]
    name = clean_name(arguments.name or "", "Bot")
    numbers = [f" {number}" for number in range(1, arguments.bots + 1)]
    return [name[: NAME_LIMIT - len(number)].rstrip() + number for number in numbers]


def _run_window(arguments: argparse.Namespace, url: str | None) -> int:
    import pygame  # noqa: PLC0415

    from game.app import App, NoDisplayError, open_window, without_gpu  # noqa: PLC0415 - bots run where pygame has no business
    from game.scenes.play import PlayScene  # noqa: PLC0415

    sys.setswitchinterval(0.001)  # the network thread waits for the frame loop at most this long
    name = _name(arguments)
    software = arguments.software or without_gpu()
    try:
        surface = open_window(arguments.size, f"Lagtag: {name}", software=software)
    except NoDisplayError as error:
        raise Mistake(f"there is no display to open a window on ({error}); --bot plays without one.") from error
    clock = MonotonicClock()
    session = _session(arguments, url, name, clock)
    try:
        scene = PlayScene(session, _title(arguments), _seed(name), autopilot=arguments.autopilot)
        app = App(surface, scene, clock, arguments.screenshots, arguments.fps, software=software)
        if arguments.until_stdin_closes:
            _when_stdin_closes(lambda: pygame.event.post(pygame.event.Event(pygame.QUIT)))
        until = clock.now() + arguments.seconds if arguments.seconds else math.inf
        app.run(until=until, log=arguments.log is not None)
        scene.close()
    finally:
        session.close()
        pygame.quit()
    return 0


def _session(
    arguments: argparse.Namespace, url: str | None, name: str, clock: MonotonicClock, bot: int | None = None
) -> Match:
    """The match that the arguments ask for: at an authority's `url`, in a relay's room, or on a channel.

    For a window, or for the headless player with the number `bot`, who meets bad luck of his own.
    """
    network, seed = arguments.net
    where: str = arguments.channel or arguments.relay or url or ""
    kind: type[Match]
    if bot is None:
        kind = OnlineSession if url is not None else PeerSession
    else:
        kind = HeadlessOnline if url is not None else HeadlessPeer
        seed += bot

    def connect() -> Transport:
        if arguments.channel is not None:
            return BroadcastTransport(arguments.channel)
        return WebSocketTransport(where, policy=RetryPolicy.backoff(), queue_while_away=False, clock=clock)

    try:
        return kind(connect, clock, name=name, color=arguments.color or "", network=network, seed=seed, where=where)
    except TransportUnavailableError as error:
        raise Mistake(str(error)) from error


def _title(arguments: argparse.Namespace) -> str:
    """What kind of game this is, for the screen."""
    if arguments.channel is not None:
        return "no server: a channel"
    if arguments.relay is not None:
        return "no authority: a relay"
    return "authoritative server"


@contextlib.contextmanager
def _demo(arguments: argparse.Namespace) -> Iterator[str]:
    """A server on a free port and a second window. Both end with us: they hold the other end of a pipe of ours."""
    with contextlib.ExitStack() as children:
        server = _child(children, "run_server.py", "--port", "0", "--log", "json", stdout=subprocess.PIPE)
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line:
            raise Mistake("the demo's server did not start; what it said stands above.")
        url: str = json.loads(line)["url"]
        threading.Thread(target=_discard, args=(server.stdout,), daemon=True).start()
        second = ["--connect", url, "--name", "Player 2", "--size", "x".join(map(str, arguments.size))]
        if arguments.software:
            second.append("--software")
        _child(children, "run_client.py", *second, place=_second_place(arguments.size))
        os.environ.setdefault("SDL_VIDEO_WINDOW_POS", f"{CORNER[0]},{CORNER[1]}")
        yield url


def _second_place(size: tuple[int, int]) -> str:
    """Where the second window shows most of itself beside the first: the screen's other corner."""
    import pygame  # noqa: PLC0415 - bots run where pygame has no business

    try:
        pygame.display.init()
        screen = pygame.display.get_desktop_sizes()[0]
    except pygame.error:  # no display: the window that is opened next says so
        screen = size
    return ",".join(str(max(2 * CORNER[i], screen[i] - size[i] - CORNER[i])) for i in (0, 1))


def _child(
    children: contextlib.ExitStack, script: str, *flags: str, stdout: int | None = None, place: str = ""
) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / script), *flags, "--until-stdin-closes"]
    env = {**os.environ, "SDL_VIDEO_WINDOW_POS": place} if place else None
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stdout, env=env)

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()

    children.callback(end)
    return process


def _discard(stream: IO[bytes]) -> None:
    """Read on: a full pipe would stop the server."""
    while stream.read(4096):
        pass


def _when_stdin_closes(then: Callable[[], object]) -> None:
    def wait() -> None:
        with contextlib.suppress(OSError, ValueError):
            while sys.stdin.buffer.read(4096):
                pass
        then()

    threading.Thread(target=wait, daemon=True).start()


def _name(arguments: argparse.Namespace) -> str:
    return clean_name(arguments.name or random.choice(NAMES))


def _seed(name: str) -> int:
    return zlib.crc32(name.encode())


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


if __name__ == "__main__":
    raise SystemExit(main())
