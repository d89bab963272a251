"""How smoothly somebody else's avatar moves, over networks that delay, reorder, lose and stall.

    python benchmarks/motion.py --report
    python benchmarks/motion.py TRACE.json > display.json

The report makes its own traces (60 s at 6 units a second, 20 snapshots a second, abrupt turns), plays each at 60 frames
a second, and prints a table: our adaptive playback beside Mirror's, and beside what it replaces, a buffer that shows
snapshots 120 ms after they arrive. Each number is the median of the seeds, with the worst seed in brackets. The other
use plays a trace from elsewhere: {durationMs, snapshots: [{sendTime, arriveTime, x, y}, ...] in the order of arrival},
in ms, and prints {player, frames: [[now, x, y, shownTime, targetTime], ...]}.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.mirror import MirrorPlayback
from net.sync.playback import Playback
from net.sync.snapshots import SnapshotBuffer
from net.sync.track import Track

FRAME: Final = 1000 / 60
PHASE: Final = 5.0
"""ms: no frame falls on a time at which snapshots are sent"""
DURATION: Final = 60_000.0
INTERVAL: Final = 50.0
SPEED: Final = 6.0
"""units a second"""
FIELD: Final = 40.0, 24.0
FAR: Final = 3.0
"""units: farther than this nobody glides"""
WARM_UP: Final = 2000.0
"""ms that are not judged"""
STILL: Final = 1e-3
JERK: Final = 2.5
"""steps longer than so many true ones are a jerk"""

Way = Callable[[list[float], random.Random], list[tuple[float, float]]]
Place = tuple[float, float, float]
"""x, y, and the time at which it was there"""


class Snapshot(NamedTuple):
    """ms and units."""

    sent: float
    arrived: float
    x: float
    y: float


class Trace(NamedTuple):
    """What arrived, and where the avatar really was at each corner of its way: (time, x, y)."""

    snapshots: list[Snapshot]
    duration: float
    corners: list[Place]


class Measures(NamedTuple):
    """What a viewer would complain of."""

    rms: float
    """units from where the avatar was a constant (the mean) latency ago"""
    latency: float
    """mean, ms"""
    frozen: int
    """frames in which it stood still"""
    jerks: int
    backward: int
    """frames that showed an earlier time than the one before"""


# -- traces


def walk(dice: random.Random) -> list[Place]:
    """Corners of a way of straight legs at constant speed, each 0.3 to 1.5 s long."""
    time, (x, y) = 0.0, (FIELD[0] / 2, FIELD[1] / 2)
    corners = [(x, y, time)]
    while time <= DURATION:
        lasts, heading = dice.uniform(300, 1500), dice.uniform(0, math.tau)
        length = SPEED * lasts / 1000
        to = x + length * math.cos(heading), y + length * math.sin(heading)
        if 0 < to[0] < FIELD[0] and 0 < to[1] < FIELD[1]:
            (x, y), time = to, time + lasts
            corners.append((x, y, time))
    return corners


def places(corners: list[Place], times: list[float]) -> Iterator[tuple[float, float]]:
    """Where it was at each of `times` (ms, rising)."""
    leg = 0
    for time in times:
        while leg < len(corners) - 2 and corners[leg + 1][2] < time:
            leg += 1
        x, y, _ = glide(corners[leg], corners[leg + 1], time_share(corners[leg], corners[leg + 1], time))
        yield x, y


def time_share(a: Place, b: Place, time: float) -> float:
    """How far `time` is from a's to b's, 0..1."""
    return min(1.0, max(0.0, (time - a[2]) / (b[2] - a[2])))


def clean(sends: list[float], dice: random.Random) -> list[tuple[float, float]]:
    """50 ms."""
    return [(sent, sent + 50) for sent in sends]


def jitter(sends: list[float], dice: random.Random) -> list[tuple[float, float]]:
    """20 to 80 ms."""
    return [(sent, sent + dice.uniform(20, 80)) for sent in sends]


def heavy_tail(sends: list[float], dice: random.Random) -> list[tuple[float, float]]:
    """Log-normal: 50 ms for half of them, more than 300 ms for one in a hundred."""
    return [(sent, sent + 50 * math.exp(math.log(6) / 2.326348 * dice.gauss(0, 1))) for sent in sends]


def heavy_tail_ordered(sends: list[float], dice: random.Random) -> list[tuple[float, float]]:
    """The same on an ordered stream: what is late holds up all that follows."""
    last, ways = 0.0, []
    for sent, arrived in heavy_tail(sends, dice):
        last = max(last, arrived)
        ways.append((sent, last))
    return ways


def loss(sends: list[float], dice: random.Random) -> list[tuple[float, float]]:
    """50 ms, and one in twenty never comes."""
    return [(sent, sent + 50) for sent in sends if dice.random() > 0.05]


def stall(sends: list[float], dice: random.Random) -> list[tuple[float, float]]:
    """50 ms, but every 3 s nothing comes for 300 ms, and then all at once."""
    start, ways = dice.uniform(1500, 2500), []
    for sent in sends:
        arrived = sent + 50
        into = (arrived - start) % 3000
        ways.append((sent, arrived + 300 - into if arrived >= start and into < 300 else arrived))
    return ways


WAYS: Final[tuple[Way, ...]] = (clean, jitter, heavy_tail, heavy_tail_ordered, loss, stall)


def make_trace(way: Way, seed: int) -> Trace:
    """The seed's walk, the same for every way, carried over one of them."""
    corners = walk(random.Random(f"walk {seed}"))
    sends = [i * INTERVAL for i in range(int(DURATION / INTERVAL) + 1)]
    where = dict(zip(sends, places(corners, sends), strict=True))
    delivered = way(sends, random.Random(f"{way.__name__} {seed}"))
    snapshots = [Snapshot(sent, arrived, *where[sent]) for sent, arrived in delivered]
    return Trace(sorted(snapshots, key=lambda snapshot: snapshot.arrived), DURATION, corners)


def read_trace(path: Path) -> Trace:
    """A trace from elsewhere, without the truth."""
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    snapshots = [Snapshot(s["sendTime"], s["arriveTime"], s["x"], s["y"]) for s in told["snapshots"]]
    return Trace(snapshots, told["durationMs"], [])


# -- players: each yields (now, x, y, shown time, wanted time) a frame


def glide(a: Place, b: Place, t: float) -> Place:
    """In a straight line, in time as well as in space."""
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t


def far(a: Place, b: Place) -> bool:
    """Nobody went there."""
    return math.dist(a[:2], b[:2]) > FAR


def frames(trace: Trace) -> Iterator[tuple[float, list[Snapshot]]]:
    """Each frame's time, and what has come since the one before."""
    now, next_one = PHASE, 0
    while now < trace.duration:
        first = next_one
        while next_one < len(trace.snapshots) and trace.snapshots[next_one].arrived <= now:
            next_one += 1
        yield now, trace.snapshots[first:next_one]
        now += FRAME


def adaptive(trace: Trace) -> list[tuple[float, ...]]:
    """Playback with its defaults."""
    playback = Playback()
    log: list[tuple[float, ...]] = []
    track = Track(playback, glide, apart=far)
    for now, arrivals in frames(trace):
        for sent, arrived, x, y in arrivals:
            playback.hear(sent / 1000, arrived / 1000)
            track.push(sent / 1000, (x, y, sent))
        playback.advance(now / 1000)
        place = track.sample()
        if place is not None:
            log.append((now, *place[:2], playback.time * 1000, playback.wanted * 1000))
    return log


def buffered(trace: Trace) -> list[tuple[float, ...]]:
    """The yardstick: a buffer of a constant delay, on the times of arrival."""
    buffer = SnapshotBuffer(glide)
    log: list[tuple[float, ...]] = []
    for now, arrivals in frames(trace):
        for sent, arrived, x, y in arrivals:
            buffer.push(arrived / 1000, (x, y, sent))
        place = buffer.sample(now / 1000)
        if place is not None:
            log.append((now, *place, now - buffer.delay * 1000))
    return log


def mirror(trace: Trace) -> list[tuple[float, ...]]:
    """The other yardstick."""
    playback = MirrorPlayback()
    log: list[tuple[float, ...]] = []
    for now, arrivals in frames(trace):
        for sent, _, x, y in arrivals:
            playback.push(now, (x, y, sent))
        found = playback.step(FRAME)
        if found is not None:
            log.append((now, *glide(*found)))
    return log


# -- measures


def measure(trace: Trace, log: list[tuple[float, ...]]) -> Measures:
    """Judge a display log."""
    log = [frame for frame in log if frame[0] >= WARM_UP]
    latency = sum(frame[0] - frame[3] for frame in log) / len(log)
    truth = places(trace.corners, [frame[0] - latency for frame in log])
    square = sum((frame[1] - x) ** 2 + (frame[2] - y) ** 2 for frame, (x, y) in zip(log, truth, strict=True))
    frozen = jerks = backward = 0
    for a, b in pairwise(log):
        step = math.dist(a[1:3], b[1:3])
        frozen += step <= STILL
        jerks += step > JERK * SPEED * (b[0] - a[0]) / 1000
        backward += b[3] < a[3] - 1e-6
    return Measures(math.sqrt(square / len(log)), latency, frozen, jerks, backward)


def report(seeds: list[int]) -> None:
    """Print the table."""
    print("| network | player | RMS, units | latency, ms | frozen frames | jerks | backward |")
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for way in WAYS:
        traces = [make_trace(way, seed) for seed in seeds]
        for player in (buffered, mirror, adaptive):
            columns = zip(*(measure(trace, player(trace)) for trace in traces), strict=True)
            cells = (
                f"{median(column):.{places}f} ({max(column):.{places}f})"
                for column, places in zip(columns, (3, 0, 0, 0, 0), strict=True)
            )
            print(f"| {way.__name__.replace('_', ' ')} | {player.__name__} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, nargs="?", help="a trace to be played")
    parser.add_argument("--report", action="store_true", help="measure on traces of our own")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(2001, 2021)))
    options = parser.parse_args()
    if options.report == (options.trace is not None):
        parser.error("give either a trace or --report")
    if options.report:
        report(options.seeds)
        return
    try:
        trace = read_trace(options.trace)
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.error(f"{options.trace} is no trace: {error}")
    print(json.dumps({"player": "adaptive playback", "frames": adaptive(trace)}))


if __name__ == "__main__":
    main()
