"""The authoritative server as a program: arguments in, engine, authority and ticker put together, an orderly end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TextIO

from game.sim.constants import TICK_RATE
from net.clock import Clock, MonotonicClock
from net.sync.fixedstep import FixedStep
from server.authority import MAX_SIZE, Authority
from server.engine import Limits
from server.log import LineLog, json_line, text_line
from server.websockets_engine import WebSocketListener, serve

PORT: Final = 8788
HARD_STOP: Final = 2.0
"""seconds from a signal to the end of the process, whatever is stuck"""
_EVERYWHERE: Final = ("0.0.0.0", "::")


class Ticker:
    """Calls `tick` at a fixed rate on the event loop, each step with the time that it was due at."""

    def __init__(self, clock: Clock, tick: Callable[[float], None]) -> None:
        self._clock = clock
        self._tick = tick
        self._steps = FixedStep(TICK_RATE)
        self._loop = asyncio.get_running_loop()
        self._run()

    @property
    def dropped(self) -> int:
        """Steps that were left out because the process was too late for them."""
        return self._steps.dropped

    def stop(self) -> None:
        """No more steps."""
        self._timer.cancel()

    def _run(self) -> None:
        steps = self._steps
        due = steps.due(self._clock.now())
        try:
            for left in range(due, 0, -1):
                self._tick(steps.next_at - left / steps.rate)
        finally:
            self._timer = self._loop.call_later(max(0.0, steps.next_at - self._clock.now()), self._run)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence, and exit with 2."""
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server until it is told to stop. Returns the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    log = LineLog(_any_text(sys.stdout), json_line if options.log == "json" else text_line)
    code = asyncio.run(_run(options, log))
    if not log.close() or options.until_stdin_closes:
        # A thread that is still stuck in a pipe would hold up the interpreter's own end.
        sys.stderr.flush()
        os._exit(code)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lagtag-server", description="Lagtag's authoritative server: rooms by path, 60 ticks a second."
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--host", default="127.0.0.1", help="name or address to listen on (default: %(default)s)")
    where.add_argument("--lan", action="store_true", help="listen on every address, and say which ones others type in")
    parser.add_argument("--port", type=_port, default=PORT, help="TCP port, 0 picks a free one (default: %(default)s)")
    parser.add_argument("--world-rate", type=_rate, default=20.0, metavar="HZ", help="world messages a second, 1 to 60")
    parser.add_argument("--log", choices=("text", "json"), default="text", help="json: one object a line on stdout")
    parser.add_argument("--log-positions", action="store_true", help="log where everybody is, once a second")
    parser.add_argument(
        "--until-stdin-closes",
        action="store_true",
        help="stop as soon as stdin ends, so that a server never outlives the program that started it",
    )
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 1 <= rate <= TICK_RATE:
        raise argparse.ArgumentTypeError(f"a world rate is a number from 1 to {TICK_RATE}, not {text!r}")
    return rate


async def _run(options: argparse.Namespace, log: LineLog) -> int:
    clock = MonotonicClock()
    authority = Authority(clock, log, world_rate=options.world_rate, log_positions=options.log_positions)
    stop = asyncio.Event()
    _stop_on_signals(stop)
    hosts = _EVERYWHERE if options.lan else (options.host,)
    try:
        listener = await serve(authority, hosts, options.port, Limits(max_size=MAX_SIZE))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"lagtag-server: {_sentence(error, options)}\n")
        return 2
    _announce(options, listener, log)
    ticker = Ticker(clock, authority.tick)
    if options.until_stdin_closes:
        _stop_with_stdin(stop)
    await stop.wait()
    hard_stop = threading.Timer(HARD_STOP, os._exit, (0,))
    hard_stop.daemon = True
    hard_stop.start()
    ticker.stop()
    await listener.close()
    log("stopped", ticks_dropped=ticker.dropped)
    return 0


def _announce(options: argparse.Namespace, listener: WebSocketListener, log: LineLog) -> None:
    if options.lan or options.host in _EVERYWHERE:
        urls = [_url(address, listener.port) for address in _lan_addresses()]
        log("listening", url=_url("127.0.0.1", listener.port), port=listener.port, addresses=urls)
    else:
        log("listening", url=_url(options.host, listener.port), port=listener.port)


def _url(host: str, port: int) -> str:
    return f"ws://[{host}]:{port}/" if ":" in host else f"ws://{host}:{port}/"


def _lan_addresses() -> list[str]:
    """This machine's addresses that others can reach, the one towards the internet first."""
    found: list[str] = []
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((target, 9))  # sends nothing: UDP's connect only picks a route
                found.append(probe.getsockname()[0])
        except OSError:
            continue
    try:
        infos = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET, socket.SOCK_STREAM)
        found.extend(str(info[4][0]) for info in infos)
    except OSError:
        pass
    return [address for address in dict.fromkeys(found) if not address.startswith("127.") and address != "::1"]


def _stop_on_signals(stop: asyncio.Event) -> None:
    """SIGINT and SIGTERM end the server; on Windows Ctrl+Break too, which is what a parent process can send there."""
    loop = asyncio.get_running_loop()
    # not the loop's own handlers, for Windows' loop has none; asyncio's wakeup socket does the rest
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, lambda *_: _set(stop, loop))


def _stop_with_stdin(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def watch() -> None:
        try:
            while os.read(0, 4096):  # not sys.stdin: its lock would be held when the interpreter ends
                pass
        except OSError:
            pass
        _set(stop, loop)

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def _set(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(stop.set)


def _any_text(stream: TextIO) -> TextIO:
    """The stream, made to escape what its encoding does not have: names may hold anything."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return stream


def _sentence(error: OSError | ValueError, options: argparse.Namespace) -> str:
    host = "all addresses" if options.lan else options.host
    if isinstance(error, socket.gaierror | ValueError):
        return f"there is no host {host!r}."
    if error.errno == errno.EADDRINUSE:
        return f"port {options.port} on {host} is in use; stop what uses it, or choose another with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine."
    if error.errno == errno.EACCES:
        return f"you may not listen on port {options.port}; choose one from 1024 on with --port."
    return f"cannot listen on port {options.port} of {host}: {error.strerror or error}."
