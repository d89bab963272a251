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
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from game.arguments import parser
from game.session.base import Role
from game.session.crew import TURN_RATE, Crew
from game.session.headless import HeadlessOnline, HeadlessPeer
from game.session.match import Match
from game.session.offline import HostSession, OfflineSession
from game.session.online import OnlineSession
from game.session.peer import PeerSession
from game.session.pilot import BotPilot
from game.wire import NAME_LIMIT, clean_name
from net.clock import MonotonicClock, Pacer, ProcessClock
from net.transport.base import Transport
from net.transport.broadcast import BroadcastTransport, TransportUnavailableError
from net.transport.websocket import RetryPolicy, WebSocketTransport
from server.hosted import HostedServer, HostingError
from server.local import LocalServer
from server.program import when_stdin_closes

NAMES = ("Astra", "Nova", "Kestrel", "Quark", "Comet", "Lynx", "Wren", "Odin", "Iris", "Onyx", "Vega", "Rook")
CORNER = (40, 60)
"""pixels from the screen's edge at which the demo's windows stand"""
HERE = Path(__file__).resolve().parent


class Mistake(Exception):  # noqa: N818 - it is the person's, not an error of ours
    """Something that the person can put right; the message is one sentence."""


def main(argv: list[str] | None = None) -> int:
    """Run the client; the exit code says how it went: 0 well, 1 somebody was kept out, 2 a mistake in the call."""
    arguments = parser().parse_args(argv)
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        if arguments.bot or arguments.bots is not None:
            if not (arguments.connect or arguments.relay or arguments.channel):
                raise Mistake(
                    "bots need somebody to play with: add --connect ws://HOST:PORT/ROOM, --relay or --channel."
                )
            return _run_bots(arguments)
        if arguments.opponents is not None and (arguments.connect or arguments.relay or arguments.channel):
            raise Mistake("--opponents live where this program runs the match: --offline, --host or --demo.")
        with _server(arguments) as url:
            return _run_window(arguments, url)
    except Mistake as mistake:
        print(f"lagtag: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def _run_bots(arguments: argparse.Namespace) -> int:
    """Headless players, one or many, and what they saw."""
    clock = MonotonicClock()
    names = _bot_names(arguments)

    def join(number: int) -> tuple[Match, BotPilot]:
        session = _session(arguments, arguments.connect, names[number], clock, bot=number)
        return session, BotPilot(_seed(names[number]), session.arena)

    orphaned = threading.Event()
    if arguments.until_stdin_closes:
        when_stdin_closes(orphaned.set)
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
        scene = PlayScene(session, _title(arguments, session.role), _seed(name), autopilot=arguments.autopilot)
        app = App(surface, scene, clock, arguments.screenshots, arguments.fps, software=software)
        if arguments.until_stdin_closes:
            when_stdin_closes(lambda: pygame.event.post(pygame.event.Event(pygame.QUIT)))
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
    """The match that the arguments ask for: at an authority's `url`, with nobody, in a relay's room, or on a channel.

    For a window, or for the headless player with the number `bot`, who meets bad luck of his own.
    """
    network, seed = arguments.net
    where: str = arguments.channel or arguments.relay or url or ""
    options = {"name": name, "color": arguments.color or "", "network": network, "seed": seed + (bot or 0)}

    def connect() -> Transport:
        if arguments.channel is not None:
            return BroadcastTransport(arguments.channel)
        return WebSocketTransport(where, policy=RetryPolicy.backoff(), queue_while_away=False, clock=clock)

    try:
        if arguments.offline:
            server = LocalServer(clock, bots=7 if arguments.opponents is None else arguments.opponents)
            return OfflineSession(server, clock, where="this machine", **options)
        kind: type[Match]
        if bot is not None:
            kind = HeadlessOnline if url is not None else HeadlessPeer
        elif arguments.host is not None:
            kind = HostSession
        else:
            kind = OnlineSession if url is not None else PeerSession
        return kind(connect, clock, where=where, **options)
    except (TransportUnavailableError, ValueError) as error:
        raise Mistake(str(error)) from error


def _title(arguments: argparse.Namespace, role: Role) -> str:
    """What kind of game this is, for the screen."""
    if role is Role.PEER:
        return "no server: a channel" if arguments.channel is not None else "no authority: a relay"
    return f"{role} on port {arguments.host}" if role is Role.HOST else str(role)


def _server(arguments: argparse.Namespace) -> contextlib.AbstractContextManager[str | None]:
    """The url of the authority to play on, for as long as that is here; None to play without one, or offline."""
    if arguments.host is not None:
        return _hosted(arguments)
    places = (arguments.connect, arguments.relay, arguments.channel)
    if arguments.offline or any(place is not None for place in places):
        return contextlib.nullcontext(arguments.connect)
    return _demo(arguments)


@contextlib.contextmanager
def _hosted(arguments: argparse.Namespace) -> Iterator[str]:
    """A server in a thread of this program."""
    try:
        server = HostedServer(arguments.host, bots=arguments.opponents or 0)
    except HostingError as error:
        raise Mistake(str(error)) from error
    try:
        arguments.host = server.port
        for address in server.addresses if arguments.log is None else ():
            print(f"others join with: lagtag --connect {address}", flush=True)
        yield server.url
    finally:
        server.close()


@contextlib.contextmanager
def _demo(arguments: argparse.Namespace) -> Iterator[str]:
    """A server on a free port and a second window. Both end with us: they hold the other end of a pipe of ours."""
    flags = ["--port", "0", "--log", "json", "--bots", str(arguments.opponents or 0)]
    with contextlib.ExitStack() as children:
        server = _child(children, "run_server.py", *flags, stdout=subprocess.PIPE)
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


def _name(arguments: argparse.Namespace) -> str:
    return clean_name(arguments.name or random.choice(NAMES))


def _seed(name: str) -> int:
    return zlib.crc32(name.encode())


if __name__ == "__main__":
    raise SystemExit(main())
