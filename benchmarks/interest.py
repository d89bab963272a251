"""What interest management costs a sample. Prints one JSON object.

    python benchmarks/interest.py --samples 600

100,000 entities stand on a plain or in a cube, 32 connections own an anchor each and see 1 % of them within a radius;
668 entities walk each sample, 60 samples a second, and every connection gets exact enter and leave lists. Measured is
`Visibility.update` with `RadiusProvider`: with still anchors, with all anchors walking, with nothing moved, and with
the walkers jumping anywhere instead; `cells_` is `CellProvider` with nine cells of the same area. The yardstick, in the
same run, tests every entity against every anchor in numpy and compares with the sample before; at some samples its
answers are compared with ours, and must be equal. Shares are of one core.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass

import numpy as np

from net.replication.interest import NOBODY, Answer, CellProvider, InterestProvider, RadiusProvider, Sample, Visibility

RATE = 60
SIDE = 1000.0
STEP = 6.0 / RATE
"""units a sample: 6 units a second is a run"""


@dataclass
class World:
    """Entities in a square of SIDE units; the first ones are the anchors."""

    entities: int
    connections: int
    cube: bool

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(7)
        self.position = self.random.uniform(0.0, SIDE, (3, self.entities)).astype(np.float32)
        if not self.cube:
            self.position[1] = 0.0
        self.everyone = np.ones(self.entities, np.bool_)
        self.owner = np.full(self.entities, NOBODY, np.int32)
        self.owner[: self.connections] = np.arange(self.connections)
        self.heading = self.random.uniform(0.0, 2.0 * np.pi, self.entities)
        self.number = 0

    def radius(self, share: float) -> float:
        """Units within which this share of the entities is seen."""
        if self.cube:
            return SIDE * float(np.cbrt(share * 3.0 / 4.0 / np.pi))
        return SIDE * float(np.sqrt(share / np.pi))

    def move(self, movers: int, anchors: bool, jump: bool) -> Sample:
        """Let some that are no anchors move, and the anchors too if so asked."""
        slots = self.connections + self.random.choice(self.entities - self.connections, movers, replace=False)
        slots = np.sort(slots).astype(np.int32)
        if jump:
            self.position[:, slots] = self.random.uniform(0.0, SIDE, (3, movers))
            if not self.cube:
                self.position[1] = 0.0
        else:
            self._walk(slots)
        if anchors:
            walking = np.arange(self.connections, dtype=np.int32)
            self._walk(walking)
            slots = np.concatenate([walking, slots])
        return self.sample(slots)

    def sample(self, moved: np.ndarray) -> Sample:
        self.number += bool(len(moved))
        x, y, z = self.position
        return Sample(self, self.number, self.everyone, self.everyone, x, y, z, self.owner, moved)

    def _walk(self, slots: np.ndarray) -> None:
        self.heading[slots] += self.random.normal(0.0, 0.1, len(slots))
        for axis, part in ((0, np.cos), (2, np.sin)):
            self.position[axis, slots] += STEP * part(self.heading[slots])


class Yardstick:
    """Every entity against every anchor, all anew: within a radius, or in the nine cells of a size."""

    def __init__(self, length: float, world: World, cells: bool = False) -> None:
        self.length = length
        self.cells = cells
        self.seen = np.zeros((world.connections, world.entities), np.bool_)

    def update(self, sample: Sample) -> dict[int, Answer]:
        axes = [axis.astype(np.float64) for axis in (sample.x, sample.y, sample.z)]
        if self.cells:
            axes = [np.floor(axis / self.length) for axis in axes]
        changes = {}
        for connection, seen in enumerate(self.seen):
            x, y, z = (axis - axis[connection] for axis in axes)
            if self.cells:
                now = (np.abs(x) <= 1) & (np.abs(z) <= 1)
            else:
                now = x * x + y * y + z * z <= self.length * self.length
            enter, leave = np.flatnonzero(now & ~seen), np.flatnonzero(seen & ~now)
            seen[:] = now
            if len(enter) or len(leave):
                changes[connection] = Answer(enter.astype(np.int32), leave.astype(np.int32))
        return changes


def figures(spent: list[float], pairs: int) -> dict[str, float]:
    mean = float(np.mean(spent))
    return {
        "us_per_sample": round(mean * 1e6, 1),
        "us_median": round(float(np.median(spent)) * 1e6, 1),
        "us_p99": round(float(np.percentile(spent, 99)) * 1e6, 1),
        "share_of_core": round(mean * RATE, 4),
        "changes_per_sample": round(pairs / len(spent), 1),
    }


def run(
    arguments: argparse.Namespace,
    movers: int,
    anchors: bool = False,
    cube: bool = False,
    jump: bool = False,
    cells: bool = False,
) -> dict[str, float]:
    world = World(arguments.entities, arguments.connections, cube)
    length = SIDE * float(np.sqrt(arguments.share)) / 3.0 if cells else world.radius(arguments.share)
    visibility = Visibility(world.entities)
    provider: InterestProvider = (CellProvider if cells else RadiusProvider)(world.entities, length)
    visibility.set_provider(provider)
    for connection in range(world.connections):
        visibility.connect(connection)
    visibility.update(world.sample(np.empty(0, np.int32)))
    yardstick = Yardstick(length, world, cells)
    spent, pairs = [], 0
    for number in range(-arguments.warm_up, arguments.samples):
        sample = world.move(movers, anchors, jump) if movers else world.sample(np.empty(0, np.int32))
        check = number in (-1, 0, arguments.samples // 2, arguments.samples - 1)
        if check:
            yardstick.seen[:] = [
                visibility.audience(np.arange(world.entities))[each] for each in range(world.connections)
            ]
        started = time.perf_counter()
        changes = visibility.update(sample)
        if number >= 0:
            spent.append(time.perf_counter() - started)
            pairs += sum(len(answer.enter) + len(answer.leave) for answer in changes.values())
        if check:
            wanted = yardstick.update(sample)
            assert wanted.keys() == changes.keys(), "not the connections of the yardstick"
            for connection, answer in wanted.items():
                assert np.array_equal(answer.enter, changes[connection].enter), "not the enter list of the yardstick"
                assert np.array_equal(answer.leave, changes[connection].leave), "not the leave list of the yardstick"
    return figures(spent, pairs)


def measure_yardstick(arguments: argparse.Namespace) -> dict[str, float]:
    world = World(arguments.entities, arguments.connections, cube=False)
    yardstick = Yardstick(world.radius(arguments.share), world)
    yardstick.update(world.sample(np.empty(0, np.int32)))
    spent, pairs = [], 0
    for _ in range(20):
        sample = world.move(arguments.movers, anchors=True, jump=False)
        started = time.perf_counter()
        changes = yardstick.update(sample)
        spent.append(time.perf_counter() - started)
        pairs += sum(len(answer.enter) + len(answer.leave) for answer in changes.values())
    return figures(spent, pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=600)
    parser.add_argument("--warm-up", type=int, default=60, help="samples before those that are measured")
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--movers", type=int, default=668)
    parser.add_argument("--share", type=float, default=0.01, help="of the entities that a connection sees")
    arguments = parser.parse_args()
    movers = arguments.movers
    print(
        json.dumps(
            {
                "still": run(arguments, movers),
                "anchors_moving": run(arguments, movers, anchors=True),
                "nothing_moved": run(arguments, 0),
                "cube_still": run(arguments, movers, cube=True),
                "cube_anchors_moving": run(arguments, movers, anchors=True, cube=True),
                "jumping_still": run(arguments, movers, jump=True),
                "jumping_anchors_moving": run(arguments, movers, anchors=True, jump=True),
                "cells_still": run(arguments, movers, cells=True),
                "cells_anchors_moving": run(arguments, movers, anchors=True, cells=True),
                "yardstick": measure_yardstick(arguments),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
