"""Peers and a relay in JavaScript, ours as processes beside them, all over loopback. Each test has rooms of its own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from net.clock import MonotonicClock

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 60.0
"""seconds after which a condition is given up: far beyond what any machine needs"""


class Program:
    """A process that tells what happens in JSON lines, and ends with its stdin."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def tell(self, **what: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def line(self, timeout: float = PATIENCE) -> dict[str, Any] | None:
        """The next line, None if there is none in time."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            return None
        assert line, "the program has ended"
        return json.loads(line)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


class Peers:
    """Any number of peers in one Node process."""

    def __init__(self, node: str) -> None:
        self._program = Program(node, str(HERE / "client.mjs"))
        self._news: list[dict[str, Any]] = []
        """what has happened and was not asked for yet"""
        self._opened: list[str] = []

    def open(self, url: str, peer: str = "") -> str:
        """A new peer, connected; its id."""
        peer = peer or f"js-{uuid.uuid4().hex[:8]}"
        self._opened.append(peer)
        self.do(peer, "open", url)
        self.until(peer, "open")
        return peer

    def do(self, peer: str, verb: str, argument: Any = None) -> None:
        """Let the peer do that, and return when it has."""
        self._program.tell(peer=peer, do=verb, **{"with": argument})
        self.until(peer, "done")

    def until(self, peer: str, what: str, step: Callable[[], object] | None = None, **fields: Any) -> dict[str, Any]:
        """The next such news of that peer. `step` is called again and again while it has not come."""
        end = time.monotonic() + PATIENCE
        while True:
            for index, news in enumerate(self._news):
                if _fits(news, peer, what, fields):
                    return self._news.pop(index)
            assert time.monotonic() < end, f"{peer} never told of {what} {fields}; it told {self._news[-5:]}"
            line = self._program.line(0.01 if step else PATIENCE)
            if step:
                step()
            if line is not None:
                self._news.append(line)

    def told(self, peer: str, what: str, **fields: Any) -> list[dict[str, Any]]:
        """What has come so far and was not asked for."""
        while (line := self._program.line(0.0)) is not None:
            self._news.append(line)
        return [news for news in self._news if _fits(news, peer, what, fields)]

    def vanish(self) -> None:
        """All of them, and what they told."""
        for peer in self._opened:
            self.do(peer, "vanish")
        self._opened.clear()
        self._news.clear()

    def stop(self) -> None:
        self._program.stop()


def _fits(news: dict[str, Any], peer: str, what: str, fields: dict[str, Any]) -> bool:
    return (news["peer"], news["on"]) == (peer, what) and all(news.get(name) == value for name, value in fields.items())


@pytest.fixture(scope="session")
def node() -> str:
    """The path of Node, with `ws` installed beside the tests."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found and npm and not (HERE / "node_modules" / "ws").is_dir():
        install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(install, cwd=HERE, capture_output=True, timeout=120, check=False)
    if not found or not (HERE / "node_modules" / "ws").is_dir():
        why = "Node or its package ws missing: what others wrote cannot be tested here"
        if os.environ.get("CI") or os.environ.get("LAGTAG_CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


@pytest.fixture
def start_node(node: str) -> Iterator[Callable[..., Program]]:
    """Starts a file of this folder with arguments: a program that tells in JSON lines and is told in them."""
    with contextlib.ExitStack() as stack:

        def start(file: str, *arguments: str) -> Program:
            program = Program(node, str(HERE / file), *arguments)
            stack.callback(program.stop)
            return program

        yield start


@pytest.fixture(scope="session")
def _peers(node: str) -> Iterator[Peers]:
    made = Peers(node)
    yield made
    made.stop()


@pytest.fixture
def peers(_peers: Peers) -> Iterator[Peers]:
    yield _peers
    _peers.vanish()


def _server(*command: str) -> Iterator[str]:
    program = Program(sys.executable, *command, "--port", "0", "--log", "json", "--until-stdin-closes")
    listening = program.line()
    assert listening is not None
    yield listening["url"].rstrip("/")
    program.stop()


def _room(url: str) -> str:
    return f"{url}/{uuid.uuid4().hex}"


@pytest.fixture(scope="session", params=["websockets", "picows"])
def our_relay(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "picows" and sys.platform == "win32":
        pytest.skip("uvloop does not run on Windows")
    yield from _server("run_server.py", "relay", "--engine", request.param)


@pytest.fixture
def start_ours() -> Iterator[Callable[..., str]]:
    """Starts a server of ours with flags of the test's own, and gives its URL."""
    with contextlib.ExitStack() as stack:
        yield lambda *command: stack.enter_context(contextlib.contextmanager(_server)(*command))


@pytest.fixture(scope="session")
def our_authority() -> Iterator[str]:
    yield from _server("run_server.py")


@pytest.fixture(scope="session")
def our_movement() -> Iterator[str]:
    yield from _server("examples/movement_authority.py")


def _relay(node: str, *arguments: str) -> Iterator[Any]:
    program: Any = Program(node, str(HERE / "relay.mjs"), *arguments)
    listening = program.line()
    program.url = f"ws://127.0.0.1:{listening['port']}"
    yield program
    program.stop()


@pytest.fixture(scope="session")
def their_relay(node: str) -> Iterator[str]:
    for program in _relay(node):
        yield program.url


@pytest.fixture
def their_relay_alone(node: str) -> Iterator[Any]:
    """The program, with its `url`: this one may be ended."""
    yield from _relay(node)


@pytest.fixture
def their_heartbeat(node: str) -> Iterator[str]:
    """A relay that pings every 400 ms."""
    for program in _relay(node, "400"):
        yield program.url + "/"


@pytest.fixture
def our_room(our_relay: str) -> str:
    return _room(our_relay)


@pytest.fixture
def their_room(their_relay: str) -> str:
    return _room(their_relay)


@pytest.fixture
def wait() -> Callable[..., None]:
    """Calls `step` until `condition` holds."""

    def until(condition: Callable[[], object], step: Callable[[], object]) -> None:
        clock = MonotonicClock()
        end = clock.now() + PATIENCE
        while not condition():
            assert clock.now() < end, "this should have happened by now"
            step()
            time.sleep(0.002)

    return until
