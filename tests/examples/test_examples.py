"""Each example as its user starts it: real processes beside a real relay, ending by themselves."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from net.clock import ManualClock
from net.presence import LocalPresence, PresenceSync
from net.sync.prediction import Predictor
from net.transport.websocket import WebSocketTransport

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""seconds after which a condition is given up: far beyond what any machine needs"""


class Program:
    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8", env={**os.environ, "SDL_VIDEODRIVER": "dummy", "PYTHONIOENCODING": "utf-8"},
        )  # fmt: skip
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("its end")

    def write(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self) -> str:
        return self._lines.get(timeout=PATIENCE)

    def until(self, text: str) -> str:
        """The next line with that text in it."""
        while text not in (line := self.line()):
            assert line != "its end", f"{text!r} never came"
        return line

    def end(self) -> int:
        """Its exit code once it has ended by itself."""
        return self.process.wait(PATIENCE)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    programs: list[Program] = []

    def starter(*command: str) -> Program:
        programs.append(Program(*command))
        return programs[-1]

    yield starter
    for program in reversed(programs):
        program.process.terminate()
        program.stop()


@pytest.fixture
def relay(start: Callable[..., Program]) -> str:
    program = start("run_server.py", "relay", "--port", "0", "--log", "json", "--until-stdin-closes")
    return json.loads(program.line())["url"]


def lines_of(example: str) -> int:
    return len((ROOT / "examples" / example).read_text("utf-8").splitlines())


def wait(condition: Callable[[], object], step: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "this should have happened by now"
        step()
        time.sleep(0.002)


def test_two_dots_see_each_other(start: Callable[..., Program], relay: str):
    """RR-01, RR-07: whoever is new is placed, and not slid from anywhere."""
    demos = [
        start("examples/presence_demo.py", "--relay", relay + "dots", "--name", name, "--frames", "60")
        for name in ("Zoë", "桜")
    ]
    for demo, expected in zip(demos, ("Zoë saw 桜", "桜 saw Zoë"), strict=True):
        assert demo.until("saw") == expected
        assert demo.end() == 0
    assert lines_of("presence_demo.py") < 60


@pytest.mark.parametrize(
    ("name", "position"),
    [("\0" * 5000, (1.0, 0.0, 1.0)), ("🎈" * 30, (1e308, 0.0, -1e308)), (None, (0.0, 0.0, 0.0))],
    ids=["NUL", "far away", "no name"],
)
def test_a_dot_may_claim_anything(start: Callable[..., Program], relay: str, name: Any, position: Any):
    """Names with NUL, emoji or none, and places that no screen has, are drawn all the same."""
    url = relay + "dots"
    stranger = WebSocketTransport(url)
    clock = ManualClock()
    meta = {"name": name}
    presence = PresenceSync(stranger, lambda: LocalPresence(position, meta=meta), clock)
    presence.start()
    demo = start("examples/presence_demo.py", "--relay", url, "--name", "Zoë", "--frames", "3")
    try:

        def beat() -> None:
            clock.advance(0.1)
            stranger.poll()
            presence.update()

        wait(lambda: demo.process.poll() is not None, beat)
    finally:
        stranger.close()
    assert demo.end() == 0
    demo.until("Zoë saw ")


def test_two_people_chat(start: Callable[..., Program], relay: str):
    zoe, sakura = (start("examples/chat.py", "--relay", relay + "chat", "--name", name) for name in ("Zoë", "桜"))
    zoe.until("* 桜 is here")
    sakura.until("* Zoë is here")
    zoe.write("Hello, 桜 🎈")
    assert sakura.until("Hello") == "Zoë: Hello, 桜 🎈"
    sakura.write("\x1b[31mred\x07")
    assert zoe.until("red") == "桜: ?[31mred?", "a terminal obeys nobody else"
    sakura.write("/who")
    assert sakura.until("lines") == "* Zoë has said 1 lines"
    sakura.write("/quit")
    assert sakura.end() == 0
    zoe.until("* 桜 has left")
    zoe.process.stdin.close()
    assert zoe.end() == 0, "the end of the input is a /quit"
    assert lines_of("chat.py") <= 80


def test_the_second_game_agrees_with_our_own_predictor(start: Callable[..., Program]):
    """PD-03: the same steps on both sides, and no correction; tests/interop drives it from another language."""
    server = start("examples/movement_authority.py", "--port", "0", "--log", "json", "--until-stdin-closes")
    client = WebSocketTransport(json.loads(server.line())["url"], peer_id="me")
    corrections: list[Any] = []

    def step(state: tuple[float, float], wish: tuple[float, float]) -> tuple[float, float]:
        x, z = (at + way * 5 * 0.02 for at, way in zip(state, wish, strict=True))
        return max(-50, min(50, x)), max(-50, min(50, z))

    predictor = Predictor((0.0, 0.0), step, on_correction=lambda before, after: corrections.append((before, after)))
    client.subscribe(
        lambda envelope: (
            envelope.data["t"] == "state"
            and predictor.acknowledge(
                (envelope.data["state"]["x"], envelope.data["state"]["z"]), envelope.data["lastSeq"]
            )
        )
    )
    road = [(0.6, -0.8), (-0.3, 0.1), (0.0, 1.0)] * 12

    def drive() -> None:
        client.poll()
        while road and predictor.pending < 8:
            wish = road.pop()
            seq = predictor.apply(wish)
            client.send({"t": "input", "seq": seq, "input": {"dx": wish[0], "dz": wish[1]}, "dtMs": 20})

    try:
        client.wait_open_blocking(PATIENCE)
        wait(lambda: not road and not predictor.pending, drive)
    finally:
        client.close()
    assert corrections == []
    assert predictor.state == pytest.approx((0.36, 0.36))
    assert lines_of("movement_authority.py") < 120


def test_two_players_gather_gems_in_a_replicated_world(start: Callable[..., Program]):
    server = start("examples/replicated_game.py", "serve", "--port", "0", "--log", "json", "--until-stdin-closes")
    port = str(json.loads(server.line())["port"])
    players = [
        start("examples/replicated_game.py", "play", "--port", port, "--name", name, "--gems", "2")
        for name in ("Zoë", "桜")
    ]
    for player, name in zip(players, ("Zoë", "桜"), strict=True):
        assert player.until("has 2").startswith(f"{name} has 2 gems, sees ")
        assert int(player.until("bytes").split()[0]) < 20_000
        assert player.end() == 0
    refused = start("examples/replicated_game.py", "play", "--port", port, "--name", "x" * 17)
    assert "name" in refused.until("bytes")
    assert refused.end() == 2
    assert lines_of("replicated_game.py") < 150


def test_the_readme_names_every_example():
    text = (ROOT / "examples" / "README.md").read_text("utf-8")
    for example in (ROOT / "examples").glob("*.py"):
        assert example.name in text
