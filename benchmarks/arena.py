"""What a full arena costs the server: players at 60 Hz among bots that live there. Prints one JSON object.

    python benchmarks/arena.py --players 16 --others 64 --seconds 10

A real server, and `run_client.py --bots` in another process: real clients, binary replication, everyone sees everyone.
The server's CPU time (user and kernel) is taken by psutil between two marks, after everybody has joined. The yardstick
is one `move_avatar` on this machine in the same run.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
from yardstick import move_us

from net.clock import MonotonicClock, Pacer

ROOT = Path(__file__).resolve().parents[1]
SETTLING = 4.0
"""seconds from the clients' start to the first mark: they join over the first of them"""

clock = MonotonicClock()


def wait(seconds: float) -> None:
    pacer = Pacer(1 / seconds, clock, spin=0.0)
    pacer.wait()
    pacer.wait()


def measure(players: int, others: int, seconds: float, engine: str) -> dict[str, Any]:
    server = subprocess.Popen(
        [
            *(sys.executable, "run_server.py", "--port", "0", "--log", "json", "--until-stdin-closes"),
            *("--bots", str(others), "--engine", engine),
        ],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        listening = json.loads(server.stdout.readline())
        crew = subprocess.Popen(
            [
                *(sys.executable, "run_client.py", "--bots", str(players), "--connect", listening["url"]),
                *("--seconds", str(SETTLING + seconds + 2)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        process = psutil.Process(server.pid)
        wait(SETTLING)
        before, start = process.cpu_times(), clock.now()
        wait(seconds)
        after, span = process.cpu_times(), clock.now() - start
        report = json.loads(crew.communicate(timeout=60)[0])
    finally:
        out, _ = server.communicate(timeout=10)
    dropped = next(event["ticks_dropped"] for event in map(json.loads, out.splitlines()) if event["event"] == "stopped")
    used = after.user + after.system - before.user - before.system
    return {
        "engine": listening["engine"],
        "players": players,
        "others": others,
        "share_of_a_core": round(used / span, 4),
        "kernel_share": round((after.system - before.system) / span, 4),
        "ticks_dropped": dropped,
        "clients": report,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=16)
    parser.add_argument("--others", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    result = measure(options.players, options.others, options.seconds, options.engine)
    result |= {"move_avatar_us": round(move_us(), 2), "python": platform.python_version()}
    print(json.dumps(result | {"machine": platform.machine()}, indent=2))


if __name__ == "__main__":
    main()
