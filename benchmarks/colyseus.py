"""Server CPU beside Colyseus', on the same work in the same run. Prints one JSON object.

    python benchmarks/colyseus.py --peers PATH

The work: 30 simulation steps a second, 30 commands a second and client, every client sees every other at 20 Hz. PATH
is a harness with `common/drive.mjs` and `colyseus/`, its npm packages installed. CPU is what the serving process took,
user and kernel, in microseconds per client and second, over a span after the warm-up; servers in turn, medians.

Our server is `Authority` and `Ticker`, put together as the program does, but with 30 ticks a second, so that it
simulates as often as the yardstick. Two clients decode every frame: `corrections` counts own avatars that differ from
their prediction. `--io` measures the engines alone: the same messages with nothing behind them, frames of 500 bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from crowd import RATE, Crowd  # noqa: E402

from game.binary import SCHEMA  # noqa: E402
from game.sim.constants import TICK_RATE  # noqa: E402
from game.sim.crowd import OWN  # noqa: E402
from net.clock import MonotonicClock  # noqa: E402
from net.replication import Authority as Replication  # noqa: E402
from server.authority import MAX_SIZE, Authority  # noqa: E402
from server.engine import Connection, Limits  # noqa: E402
from server.engines import choose  # noqa: E402
from server.gatherer import Gatherer  # noqa: E402
from server.ticker import Ticker  # noqa: E402
from server.websockets_engine import serve  # noqa: E402

FRAMES = 20
"""frames a second to each client"""
SIZE = 500
"""bytes of a frame with nothing behind it: what 200 players take"""
WARM_UP = 5.0


class Nothing:
    """A handler that does nothing with what it gets, and sends everybody frames of SIZE at the same rate."""

    def __init__(self) -> None:
        self._connections: list[Connection] = []
        self._due = 0
        self.commands = 0

    def opened(self, connection: Connection) -> None:
        """It is nobody before it greets."""

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        if binary:
            self.commands += 1
            return
        world = Replication(SCHEMA)
        world.attach(1, connection.send_bytes)
        world.greet(1, SCHEMA.greeting())
        world.tell(1, bytes(OWN.size))
        world.sample(1)
        self._connections.append(connection)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        self._connections.remove(connection)

    def tick(self, now: float) -> None:
        self._due += FRAMES
        if self._due >= RATE:
            self._due -= RATE
            for connection in self._connections:
                connection.send_bytes(bytes(SIZE))


async def serving(connection_kind: Any, io: bool) -> None:
    """Serve until stdin ends. Answers each line on it with the CPU seconds so far."""
    clock = MonotonicClock()
    if io:
        handler: Any = Nothing()
    else:
        # a room counts its frames in ticks, which come at half their usual rate here
        handler = Authority(clock, lambda *_, **__: None, world_rate=FRAMES * TICK_RATE / RATE, max_per_address=1000)
    gatherer = Gatherer()

    def tick(now: float) -> None:
        gatherer.collect()
        handler.tick(now)

    ticker = Ticker(clock, tick, rate=RATE)
    limits = Limits(max_size=MAX_SIZE, gatherer=gatherer)
    listener = await serve(handler, "127.0.0.1", 0, limits, kind=connection_kind)
    tell(port=listener.port)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def mark() -> None:
        tell(cpu=time.process_time(), at=time.perf_counter(), dropped=ticker.dropped)

    def watch() -> None:
        for _ in sys.stdin:
            loop.call_soon_threadsafe(mark)
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=watch, daemon=True).start()
    await ended.wait()
    os._exit(0)


def tell(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


@contextmanager
def server(engine: str, io: bool) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, __file__, "--serve", engine, *(["--io"] if io else [])]
    popen = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield popen
    finally:
        popen.communicate(timeout=10)


def ask(popen: subprocess.Popen[str], question: str = "") -> dict[str, Any]:
    assert popen.stdin is not None
    assert popen.stdout is not None
    if question:
        popen.stdin.write(f"{question}\n")
        popen.stdin.flush()
    answer: dict[str, Any] = json.loads(popen.stdout.readline())
    return answer


def ours(engine: str, clients: int, seconds: float, io: bool) -> dict[str, Any]:
    """One measurement of our server."""
    with server(engine, io) as popen:
        crowd = Crowd(ask(popen)["port"], clients, watching=0 if io else 2)
        crowd.play(WARM_UP)

        def mark() -> tuple[float, ...]:
            answer = ask(popen, "mark")
            players = crowd.players
            counts = (sum(p.seq for p in players), sum(p.frames for p in players), sum(p.bytes for p in players))
            return answer["cpu"], answer["at"], answer["dropped"], *counts

        before = mark()
        crowd.play(seconds)
        cpu, span, dropped, sent, frames, size = (b - a for a, b in zip(before, mark(), strict=True))
        watching = [] if io else crowd.players[:2]
        result = {
            "cpu": round(cpu / span / clients * 1e6, 1),
            "commands": round(sent / span / clients, 2),
            "frames": round(frames / span / clients, 2),
            "bytes": round(size / span / clients),
            "ticks_dropped": dropped,
            "corrections": sum(player.corrections for player in watching),
            "unacknowledged": max((player.seq - player.mirror.acknowledged for player in watching), default=0),
            "seen": min((len(player.mirror) for player in watching), default=0),
        }
        crowd.close()
    return result


def colyseus(peers: Path, clients: int, seconds: float) -> dict[str, Any]:
    """One measurement of the yardstick, by its own driver."""
    command = [shutil.which("node") or "node", "common/drive.mjs", "--peer", "colyseus"]
    command += ["--k", str(clients), "--seconds", str(seconds)]
    found = json.loads(subprocess.run(command, cwd=peers, check=True, capture_output=True, text=True).stdout)
    return {
        "cpu": round(found["cpuUsPerClientSimS"], 1),
        "commands": round(found["inputsAppliedPerClientS"], 2),
        "frames": round(found["rxMessagesPerClientS"], 2),
        "bytes": round(found["rxBytesPerClientS"]),
    }


def measure(options: argparse.Namespace, clients: int) -> dict[str, Any]:
    """Every server in turn, `runs` times; for each the run with the median CPU, and all of them."""
    kinds = [*([] if options.io else ["colyseus"]), *options.engine]
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(options.runs):
        for kind in kinds:
            if kind == "colyseus":
                found[kind].append(colyseus(options.peers, clients, options.seconds))
            else:
                found[kind].append(ours(kind, clients, options.seconds, options.io))
    result: dict[str, Any] = {}
    for kind, runs in found.items():
        costs = [run["cpu"] for run in runs]
        result[kind] = {**min(runs, key=lambda run: abs(run["cpu"] - statistics.median(costs))), "all": costs}
        if "colyseus" in result and kind != "colyseus":
            result[kind]["of_colyseus"] = round(statistics.median(costs) / result["colyseus"]["cpu"], 3)
    return result


def fail(sentence: str) -> NoReturn:
    sys.stderr.write(f"colyseus.py: {sentence}\n")
    raise SystemExit(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="the harness with the yardstick")
    parser.add_argument("--clients", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", nargs="+", default=["websockets", "picows"])
    parser.add_argument("--io", action="store_true", help="measure the engines alone, without the yardstick")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        engine = choose(options.serve)
        with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
            runner.run(serving(engine.connection, options.io))
        return
    if not options.io:
        if options.peers is None or not (options.peers / "common" / "drive.mjs").is_file():
            where = f"at {options.peers}" if options.peers else "named"
            fail(f"there is no harness {where}; say with --peers where one is.")
        if shutil.which("node") is None:
            fail("the yardstick needs Node, which is not installed.")
        if not (options.peers / "colyseus" / "node_modules").is_dir():
            fail(f"the yardstick's packages are missing; run `npm install` in {options.peers / 'colyseus'}.")
    result: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    result["unit"] = "microseconds of CPU per client and second"
    for clients in options.clients:
        result[str(clients)] = measure(options, clients)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
