"""What it costs to show remote peers from snapshots. Prints one JSON object.

    python benchmarks/snapshots.py --peers 100

Each peer's buffer holds poses that came 20 times a second with jittered times, and each frame samples all of them at
its own time. The yardstick is what the same blends cost by themselves, without a buffer, in the same run:
`frame_in_blends` is a frame's cost over that of one blend per peer, and the same on every machine.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import platform
import random
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from game.session.ghost import Pose, blend
from net.clock import MonotonicClock
from net.sync.snapshots import SnapshotBuffer

RATE = 20.0
"""snapshots a second"""


def walk(peer: int, time: float) -> Pose:
    """Where a peer is at `time`: on a curve through the arena."""
    return Pose(
        17.5 * math.sin(0.3 * time + peer),
        0.0,
        11 * math.sin(0.4 * time + 2 * peer),
        math.remainder(time + peer, math.tau),
        False,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=int, default=100)
    parser.add_argument("--frames", type=int, default=1200)
    options = parser.parse_args()
    clock, dice = MonotonicClock(), random.Random(1)
    buffers = [SnapshotBuffer(blend) for _ in range(options.peers)]
    arrivals = [dice.random() / RATE for _ in buffers]
    pairs = [(walk(peer, 0.0), walk(peer, 1 / RATE)) for peer in range(options.peers)]
    samples, blends, pushes, shown = [], [], [], 0
    gc.collect()
    gc.freeze()
    for frame in range(options.frames):
        now = 1000.0 + frame / 60
        for peer, buffer in enumerate(buffers):
            if now >= 1000.0 + arrivals[peer]:
                arrivals[peer] += (0.7 + 0.6 * dice.random()) / RATE
                pose = walk(peer, now)
                start = clock.now()
                buffer.push(now, pose)
                pushes.append(clock.now() - start)
        count = 0
        start = clock.now()
        for buffer in buffers:
            count += buffer.sample(now) is not None
        middle = clock.now()
        for a, b in pairs:
            blend(a, b, 0.4)
        end = clock.now()
        if frame >= 120:  # every buffer is as full as it gets
            shown += count
            samples.append(middle - start)
            blends.append(end - middle)
    frame_ms, blend_ms = median(samples) * 1e3, median(blends) * 1e3
    print(
        json.dumps(
            {
                "peers": options.peers,
                "frames": len(samples),
                "shown_share": round(shown / len(samples) / options.peers, 4),
                "frame_ms": round(frame_ms, 4),
                "frame_p99_ms": round(sorted(samples)[len(samples) * 99 // 100] * 1e3, 4),
                "blend_ms": round(blend_ms, 4),
                "frame_in_blends": round(frame_ms / blend_ms, 2),
                "push_us": round(median(pushes) * 1e6, 3),
                "python": platform.python_version(),
                "machine": platform.machine(),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
