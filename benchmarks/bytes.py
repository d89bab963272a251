"""What replication costs on the wire and in time. Prints one JSON object.

    python benchmarks/bytes.py

Bots walk by the game's own rules, 60 ticks a second, and 20 times a second everybody is told about everybody:
position to 1/256 unit in three axes, facing to 1/1024 turn, score, and the newest command dealt with. `update_bytes` is
all that one client is sent, frame heads included, divided by the updates of one player that it holds; the yardstick is
JSON of the same fields in the same run, as in the game's `world`. `idle_bytes_s` is a room where nobody moves but
everybody goes on sending commands. `encode_us` is one sample for all receivers, `decode_us` one frame at one of them;
`private_` is the same with 21 bytes for each receiver alone, the state of its own avatar, and `tell_us` what it takes
to hand these over. `crowd` is 100,000 entities on a plain, 668 of which walk each sample, and 32 connections that see
1 % of them within a radius: one sample for all 32, with their own avatars standing still and walking.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import platform
import sys
import uuid
from functools import partial
from pathlib import Path
from statistics import mean, median

import numpy as np
from numpy.random import default_rng

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from game.sim.arena import CROSSFIRE
from game.sim.bot import bot_command
from game.sim.movement import move_avatar
from game.sim.state import Avatar
from net.clock import MonotonicClock
from net.envelope import encode
from net.replication.authority import Authority
from net.replication.interest import RadiusProvider
from net.replication.mirror import Mirror
from net.replication.schema import Component, Schema
from net.replication.shapes import Angle, Fixed, Int

SCHEMA = Schema(
    [
        Component("body", x=Fixed(-20, 20, 1 / 256), y=Fixed(0, 8, 1 / 256), z=Fixed(-13, 13, 1 / 256), yaw=Angle(10)),
        Component("player", score=Int(0, 65535)),
    ]
)
WARM_UP = 40
"""samples until the bots have left where they entered"""

clock = MonotonicClock()


class Bots:
    """Avatars that walk, and their names in JSON."""

    def __init__(self, count: int) -> None:
        spawns = CROSSFIRE.spawns
        self.avatars = [Avatar(x=x, z=z, yaw=yaw) for x, z, yaw in (spawns[n % len(spawns)] for n in range(count))]
        self.names = [str(uuid.UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 & (1 << 128) - 1)) for n in range(count)]
        self.scores = [0] * count

    def step(self, tick: int) -> None:
        for n, avatar in enumerate(self.avatars):
            command = bot_command(avatar, tick, 7919 * n + 13, CROSSFIRE)
            self.avatars[n] = move_avatar(avatar, command, CROSSFIRE)
        self.scores[tick % len(self.scores)] += 1 if tick % 5 == 0 else 0

    def world(self, tick: int) -> bytes:
        players = {
            name: {
                "x": a.x / 1024,
                "y": a.y / 1024,
                "z": a.z / 1024,
                "yaw": round(a.yaw / 10430.378, 3),
                "score": score,
            }
            for name, a, score in zip(self.names, self.avatars, self.scores, strict=True)
        }
        return encode("server", {"t": "world", "players": players, "tick": tick, "timeMs": round(tick * 1000 / 60, 2)})


def write(authority: Authority, bots: Bots) -> None:
    """Everybody's codes, in bulk: the simulation's grid is 1/1024 unit."""
    for name, codes in (
        ("x", [(a.x >> 2) + 20 * 256 for a in bots.avatars]),
        ("y", [a.y >> 2 for a in bots.avatars]),
        ("z", [(a.z >> 2) + 13 * 256 for a in bots.avatars]),
        ("yaw", [a.yaw >> 6 for a in bots.avatars]),
    ):
        authority.column("body", name)[: len(codes)] = codes
    authority.column("player", "score")[: len(bots.scores)] = bots.scores


PRIVATE = 21
"""bytes of the state of one's own avatar"""


def measure(players: int, seconds: int, private: bool) -> dict[str, float]:
    bots, authority = Bots(players), Authority(SCHEMA, players)
    frames: dict[int, bytes] = {}
    for n in range(players):
        authority.spawn(owner=n + 1, body={}, player={})
        authority.attach(n + 1, partial(frames.__setitem__, n))
        authority.greet(n + 1, SCHEMA.greeting())
    mirror = Mirror(SCHEMA)
    sizes, updates, jsons, tells, encodes, decodes, moved = [], 0, [], [], [], [], []
    gc.collect()
    gc.freeze()
    for sample in range(WARM_UP + 20 * seconds):
        for tick in range(3 * sample, 3 * sample + 3):
            bots.step(tick)
        frames.clear()
        write(authority, bots)
        before = clock.now()
        for n in range(players):
            authority.acknowledge(n + 1, 3 * sample)
            if private:
                authority.tell(n + 1, (1000 * sample + n).to_bytes(PRIVATE, "big"))
        start = clock.now()
        authority.sample(3 * sample)
        middle = clock.now()
        update = mirror.apply(frames[0])
        end = clock.now()
        assert update is not None
        if sample >= WARM_UP:
            tells.append(start - before)
            encodes.append(middle - start)
            decodes.append(end - middle)
            sizes.append(mean(map(len, frames.values())))
            updates += players
            moved.append(len(update.changed.get("body", ())) / players)
            jsons.append(len(bots.world(3 * sample)) / players)
    assert mirror.column("body", "x")[:players].tolist() == authority.column("body", "x")[:players].tolist()
    if private:
        return {
            "private_encode_us": round(median(encodes) * 1e6, 1),
            "private_decode_us": round(median(decodes) * 1e6, 1),
            "tell_us": round(median(tells) * 1e6, 1),
        }
    return {
        "update_bytes": round(sum(sizes) / updates, 3),
        "update_bytes_of_who_moved": round(sum(sizes) / updates / mean(moved), 3),
        "json_update_bytes": round(mean(jsons), 1),
        "encode_us": round(median(encodes) * 1e6, 1),
        "encode_us_per_receiver": round(median(encodes) * 1e6 / players, 2),
        "decode_us": round(median(decodes) * 1e6, 1),
    }


def idle(players: int, seconds: int) -> float:
    """Bytes a second and client in a room where nothing moves."""
    authority, sizes = Authority(SCHEMA, players), [0]
    for n in range(players):
        authority.spawn(owner=n + 1, body={}, player={})
        authority.attach(n + 1, lambda frame: sizes.append(len(frame)))
        authority.greet(n + 1, SCHEMA.greeting())
    authority.sample(0)
    sizes.clear()
    for sample in range(1, 20 * seconds + 1):
        for n in range(players):
            authority.acknowledge(n + 1, 3 * sample)
        authority.sample(3 * sample)
    return round(sum(sizes) / seconds / players, 1)


def crowd(entities: int, connections: int, walkers: int, share: float, samples: int) -> dict[str, float]:
    """One sample of many entities of which each connection sees few, `Authority.sample` and nothing else."""
    side, step = 1000.0, 26
    schema = Schema(
        [
            Component(
                "body", x=Fixed(0, side, 1 / 256), y=Fixed(0, 8, 1 / 256), z=Fixed(0, side, 1 / 256), yaw=Angle(10)
            ),
            Component("player", score=Int(0, 65535)),
        ]
    )
    authority, sizes, random = Authority(schema, entities, position=("body", ("x", "y", "z"))), [0], default_rng(7)
    for n in range(entities):
        authority.spawn(owner=n + 1 if n < connections else 0, body={})
    x, z, yaw = (authority.column("body", field) for field in ("x", "z", "yaw"))
    for axis in (x, z):
        axis[:] = random.integers(0, 256 * int(side), entities)
    for connection in range(1, connections + 1):
        authority.attach(connection, lambda frame: sizes.append(len(frame)))
        authority.greet(connection, schema.greeting())
    authority.set_provider(RadiusProvider(entities, side * math.sqrt(share / math.pi)))
    authority.sample(0)
    gc.collect()
    gc.freeze()
    result, tick = {}, 0
    for name, avatars in (("still", 0), ("walking", connections)):
        spent = []
        sizes.clear()
        for number in range(-20, samples):
            who = np.concatenate(
                [np.arange(avatars), connections + random.choice(entities - connections, walkers, replace=False)]
            )
            for axis in (x, z):
                axis[who] = np.clip(axis[who] + random.integers(-step, step + 1, len(who)), 0, 256 * int(side))
            yaw[who] = random.integers(0, 1024, len(who))
            tick += 1
            start = clock.now()
            authority.sample(tick)
            if number >= 0:
                spent.append(clock.now() - start)
        result[f"{name}_encode_us"] = round(median(spent) * 1e6, 1)
        result[f"{name}_frame_bytes"] = round(mean(sizes), 1)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--players", type=int, nargs="+", default=[4, 10, 50, 100, 200])
    options = parser.parse_args()
    result: dict[str, object] = {
        f"players_{n}": measure(n, options.seconds, False) | measure(n, options.seconds, True) for n in options.players
    }
    result["idle_bytes_s"] = idle(50, 30)
    result["crowd"] = crowd(100_000, 32, 668, 0.01, 200)
    result |= {"python": platform.python_version(), "machine": platform.machine()}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
