"""What every server is as a program: where it listens, what it tells, and an orderly end."""

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
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TextIO

from server.engine import Handler, Limits, Listener
from server.engines import NAMES, Engine, MissingEngineError, choose
from server.log import LineLog, Log, json_line, text_line
from server.room_path import url_of
from server.websockets_engine import serve

HARD_STOP: Final = 2.0
"""seconds from a signal to the end of the process, whatever is stuck"""
EVERYWHERE: Final = ("0.0.0.0", "::")
"""all addresses of a machine"""


class Service:
    """What a program serves: a handler, and what goes on beside it."""

    def __init__(self, handler: Handler, limits: Limits) -> None:
        self.handler = handler
        self.limits = limits

    def start(self) -> None:
        """It is listening now, on the running loop."""

    def stop(self) -> Mapping[str, Any]:
        """It is going to end. Returns what the last line of the log says."""
        return {}


class Parser(argparse.ArgumentParser):
    """The flags that every server has. A mistake in them is one sentence and exit code 2."""

    def __init__(self, prog: str, description: str, port: int | None, epilog: str = "") -> None:
        """`port`: the default; None if the program finds one itself."""
        super().__init__(prog=prog, description=description, epilog=epilog)
        where = self.add_mutually_exclusive_group()
        where.add_argument("--host", default="127.0.0.1", help="name or address to listen on (default: %(default)s)")
        where.add_argument(
            "--lan", action="store_true", help="listen on every address, and say which ones others type in"
        )
        self.add_argument("--port", type=port_number, default=port, help="TCP port, 0 picks a free one")
        self.add_argument(
            "--engine",
            choices=("auto", *NAMES),
            default="auto",
            help="what serves the WebSockets: the fastest that is installed, or this one",
        )
        self.add_argument("--log", choices=("text", "json"), default="text", help="json: one object a line on stdout")
        self.add_argument(
            "--until-stdin-closes",
            action="store_true",
            help="stop as soon as stdin ends, so that a server never outlives the program that started it",
        )

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence, and exit with 2."""
        self.exit(2, f"{self.prog}: {message}\n")


def port_number(text: str) -> int:
    """A TCP port from what a person wrote. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65_535):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


def run(parser: Parser, options: argparse.Namespace, prepare: Callable[[Log], Service]) -> int:
    """Run a server until it is told to stop. Returns the exit code."""
    try:
        engine = choose(options.engine)
    except MissingEngineError as error:
        parser.error(str(error))
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    log = LineLog(_any_text(sys.stdout), json_line if options.log == "json" else text_line)
    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        code = runner.run(_run(parser.prog, options, engine, prepare(log), log))
    if not log.close() or options.until_stdin_closes:
        # A thread that is still stuck in a pipe would hold up the interpreter's own end.
        sys.stderr.flush()
        os._exit(code)
    return code


async def _run(prog: str, options: argparse.Namespace, engine: Engine, service: Service, log: LineLog) -> int:
    stop = asyncio.Event()
    _stop_on_signals(stop)
    hosts = EVERYWHERE if options.lan else (options.host,)
    try:
        listener = await serve(service.handler, hosts, options.port, service.limits, kind=engine.connection)
    except (OSError, ValueError) as error:
        host = "all addresses" if options.lan else options.host
        sys.stderr.write(f"{prog}: {fault_of(error, host, options.port)}\n")
        return 2
    _announce(options, engine, listener, log)
    service.start()
    if options.until_stdin_closes:
        _stop_with_stdin(stop)
    await stop.wait()
    hard_stop = threading.Timer(HARD_STOP, os._exit, (0,))
    hard_stop.daemon = True
    hard_stop.start()
    last = service.stop()
    await listener.close()
    log("stopped", **last)
    return 0


def _announce(options: argparse.Namespace, engine: Engine, listener: Listener, log: Log) -> None:
    port = listener.port
    if options.lan or options.host in EVERYWHERE:
        urls = [url_of(address, port) for address in lan_addresses()]
        log("listening", url=url_of("127.0.0.1", port), port=port, engine=engine.name, addresses=urls)
    else:
        log("listening", url=url_of(options.host, port), port=port, engine=engine.name)


def lan_addresses() -> list[str]:
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
    when_stdin_closes(lambda: _set(stop, loop))


def when_stdin_closes(then: Callable[[], object]) -> None:
    """Call this once standard input has ended, from a thread of its own."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):  # not sys.stdin: its lock would be held when the interpreter ends
                pass
        then()

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


def fault_of(error: OSError | ValueError, host: str, port: int, flag: str = "--port") -> str:
    """Why a server cannot listen on that port of `host`, in one sentence. `flag` is what chooses another port."""
    if isinstance(error, socket.gaierror | ValueError):
        return f"there is no host {host!r}."
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is in use; stop what uses it, or choose another with {flag}."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine."
    if error.errno == errno.EACCES:
        return f"you may not listen on port {port}; choose one from 1024 on with {flag}."
    return f"cannot listen on port {port} of {host}: {error.strerror or error}."
