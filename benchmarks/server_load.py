"""What the authority costs: real server, real sockets, bots that move. Prints one JSON object.

    python benchmarks/server_load.py --players 20 --seconds 15

The server runs in a process of its own, and its CPU time (user and kernel) is taken by psutil over the measured span,
after everybody has joined. The yardstick is the time of one `move_avatar` on this machine in the same run, so that
results from different machines can be compared: `cpu_per_player_in_moves` is how many of them a player costs a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
from websockets.asyncio.client import ClientConnection, connect
from yardstick import move_us

from game.sim.arena import CROSSFIRE
from game.sim.bot import bot_command
from game.sim.movement import move_avatar
from game.sim.state import Avatar
from game.wire import AvatarFields, pack_input, unpack_avatar
from net.envelope import encode

ROOT = Path(__file__).parents[1]


class Bot:
    """One player: commands at 60 Hz from a bot's own prediction, every answer compared with it."""

    def __init__(self, number: int, socket: ClientConnection) -> None:
        self.peer_id = f"bot-{number}"
        self.number = number
        self.socket = socket
        self.states: dict[int, Avatar] = {}
        self.seq = 0
        self.acknowledged = 0
        self.corrections = 0
        self.bytes_down = 0

    async def join(self) -> None:
        await self.socket.send(encode(self.peer_id, {"t": "hello", "protocol": 1, "name": self.peer_id}).decode())
        while not self.states:
            self.take(await self.socket.recv(decode=False))

    async def listen(self) -> None:
        async for frame in self.socket:
            self.take(frame.encode() if isinstance(frame, str) else frame)

    def take(self, frame: bytes) -> None:
        self.bytes_down += len(frame)
        if b'"t":"state"' not in frame[:60]:
            return
        data = json.loads(frame)["data"]
        avatar = unpack_avatar(msgspec.convert(data["state"], AvatarFields))
        self.acknowledged = data["lastSeq"]
        if self.acknowledged in self.states:
            self.corrections += avatar != self.states[self.acknowledged]
            for seq in [seq for seq in self.states if seq < self.acknowledged]:
                del self.states[seq]
        elif not self.states:
            self.states[0] = avatar

    async def play(self, end: float) -> None:
        due = time.perf_counter() + self.number / 997
        while due < end:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            due += 1 / 60
            avatar = self.states[self.seq]
            command = bot_command(avatar, self.seq, self.number, CROSSFIRE)
            self.seq += 1
            self.states[self.seq] = move_avatar(avatar, command, CROSSFIRE)
            await self.socket.send(encode(self.peer_id, pack_input(self.seq, command)).decode())


async def measure(port: int, process: psutil.Process, players: int, seconds: float) -> dict[str, Any]:
    sockets = [await connect(f"ws://127.0.0.1:{port}/", compression=None) for _ in range(players)]
    bots = [Bot(number, socket) for number, socket in enumerate(sockets)]
    await asyncio.gather(*(bot.join() for bot in bots))
    listening = [asyncio.create_task(bot.listen()) for bot in bots]
    end = time.perf_counter() + seconds + 1.0
    playing = [asyncio.create_task(bot.play(end)) for bot in bots]
    await asyncio.sleep(1.0)
    before, start = process.cpu_times(), time.perf_counter()
    bytes_before, sent_before = sum(bot.bytes_down for bot in bots), sum(bot.seq for bot in bots)
    await asyncio.gather(*playing)
    after, span = process.cpu_times(), time.perf_counter() - start
    bytes_down, sent = sum(bot.bytes_down for bot in bots) - bytes_before, sum(bot.seq for bot in bots) - sent_before
    memory = process.memory_info().rss
    await asyncio.sleep(0.3)
    for task in listening:
        task.cancel()
    for socket in sockets:
        await socket.close()
    user, kernel = after.user - before.user, after.system - before.system
    return {
        "players": players,
        "seconds": round(span, 2),
        "cpu_user_s": round(user, 3),
        "cpu_kernel_s": round(kernel, 3),
        "cpu_share_of_a_core": round((user + kernel) / span, 4),
        "cpu_ms_per_player_per_second": round((user + kernel) / span / players * 1000, 3),
        "commands_per_player_per_second": round(sent / span / players, 2),
        "bytes_down_per_player_per_second": round(bytes_down / span / players),
        "corrections": sum(bot.corrections for bot in bots),
        "unacknowledged_at_the_end": max(bot.seq - bot.acknowledged for bot in bots),
        "rss_mb": round(memory / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--world-rate", type=float, default=20.0)
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    move = move_us()
    server = subprocess.Popen(
        [
            *(sys.executable, "run_server.py", "--port", "0", "--log", "json"),
            *("--until-stdin-closes", "--world-rate", str(options.world_rate), "--engine", options.engine),
        ],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        listening = json.loads(server.stdout.readline())
        port, engine = listening["port"], listening["engine"]
        result = asyncio.run(measure(port, psutil.Process(server.pid), options.players, options.seconds))
    finally:
        out, _ = server.communicate(timeout=10)
    dropped = next(event["ticks_dropped"] for event in map(json.loads, out.splitlines()) if event["event"] == "stopped")
    per_player = result["cpu_ms_per_player_per_second"]
    yard = {
        "engine": engine,
        "world_rate": options.world_rate,
        "ticks_dropped": dropped,
        "move_avatar_us": round(move, 3),
        "cpu_per_player_in_moves": round(per_player * 1000 / move),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    print(json.dumps({**result, **yard}, indent=2))


if __name__ == "__main__":
    main()
