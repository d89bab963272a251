"""Real processes: a server, bots, windows on a screen that nobody sees. Each ends with its test."""

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""seconds after which a condition is given up: far beyond what any machine needs"""


class Program:
    """One of our programs as a process, its JSON lines read as they come."""

    def __init__(self, *command: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "SDL_AUDIODRIVER": "dummy", **(env or {})},
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.errors: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        self.errors.extend(self.process.stderr)

    def line(self) -> dict[str, Any]:
        """The next JSON line."""
        line = self._lines.get(timeout=PATIENCE)
        assert line is not None, f"it ended with {self.process.wait(5)}: {''.join(self.errors)}"
        return json.loads(line)

    def until(self, fits: Any) -> dict[str, Any]:
        """The next line for which `fits(line)` is true."""
        end = time.monotonic() + PATIENCE
        seen = []
        while time.monotonic() < end:
            seen.append(self.line())
            if fits(seen[-1]):
                return seen[-1]
        raise AssertionError(f"it never came; the last lines were {seen[-3:]}")

    def wait(self) -> int:
        """Its exit code, once it ends by itself."""
        return self.process.wait(PATIENCE)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


@pytest.fixture
def start() -> Iterator[Any]:
    programs: list[Program] = []

    def starter(*command: str, env: dict[str, str] | None = None) -> Program:
        programs.append(Program(*command, env=env))
        return programs[-1]

    yield starter
    for program in reversed(programs):
        program.stop()


@pytest.fixture
def server(start: Any) -> Program:
    program = start("run_server.py", "--port", "0", "--log", "json", "--log-positions")
    listening = program.line()
    assert listening["event"] == "listening"
    program.url = listening["url"]
    return program


@pytest.fixture(scope="session")
def screen() -> Iterator[dict[str, str]]:
    """The environment of a program whose windows open on a screen of this test run's own."""
    missing = [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]
    if missing:
        why = f"{' and '.join(missing)} missing: windows cannot be tested here"
        if os.environ.get("CI") or os.environ.get("LAGTAG_CI"):
            pytest.fail(why)
        pytest.skip(why)
    read, write = os.pipe()
    xvfb = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24", "-noreset"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        display = f":{pipe.readline().strip()}"
    assert display != ":", "Xvfb did not start"
    yield {"DISPLAY": display, "SDL_VIDEODRIVER": "x11", "SDL_FRAMEBUFFER_ACCELERATION": "0", "WAYLAND_DISPLAY": ""}
    xvfb.terminate()
    xvfb.wait(10)
