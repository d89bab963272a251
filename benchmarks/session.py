"""What a frame costs a client before anything is drawn: decode, prediction, playback, and the Frame. One JSON object.

    python benchmarks/session.py --ghosts 100

A room with that many bots plays by the real rules, and what it sends one player is kept. Then a session plays it, 60
frames a second on a clock that stands still while it works. `update_us` is one `Session.update`: `with_news` those that
had a frame of replication to take in, three ticks apart, `all` all of them. The yardstick is one `move_avatar` here.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from yardstick import move_us

from game.session.base import RemoteMotion, Techniques
from game.session.online import OnlineSession
from game.session.pilot import BotPilot
from game.sim.arena import CROSSFIRE
from net.clock import ManualClock, MonotonicClock
from server.authority import Authority
from server.inprocess import connect

WARM_UP = 120
"""frames"""

clock = MonotonicClock()


class Match:
    """An authority with bots, and one session at the other end of a wire."""

    def __init__(self, ghosts: int, motion: RemoteMotion) -> None:
        self.time = ManualClock(100.0)
        self.authority = Authority(self.time, lambda event, **fields: None, bots=ghosts)
        self.session = OnlineSession(lambda: connect(self.authority), self.time, name="Ada")
        self.session.techniques.set(Techniques(remote_motion=motion))
        self.pilot = BotPilot(3, CROSSFIRE)

    def frame(self) -> tuple[float, bool]:
        """Seconds that the session's next frame took, and whether there was news in it."""
        now = self.time.advance(1 / 60)
        self.authority.tick(now)
        snapshots = self.session.report().snapshots
        start = clock.now()
        self.session.update(now, self.pilot)
        took = clock.now() - start
        return took, self.session.report().snapshots > snapshots


def measure(ghosts: int, motion: RemoteMotion, frames: int) -> dict[str, dict[str, float]]:
    match = Match(ghosts, motion)
    for _ in range(WARM_UP):
        match.frame()
    gc.collect()
    gc.freeze()
    times = [match.frame() for _ in range(frames)]
    assert len(match.session.update(match.time.now(), match.pilot).avatars) == ghosts + 1
    return {
        name: {
            "median_us": round(median(some) * 1e6, 1),
            "p99_us": round(quantiles(some, n=100)[98] * 1e6, 1),
        }
        for name, some in (
            ("all", [took for took, _ in times]),
            ("with_news", [took for took, news in times if news]),
        )
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ghosts", type=int, default=100)
    parser.add_argument("--frames", type=int, default=1800)
    options = parser.parse_args()
    result: dict[str, object] = {
        motion.value: measure(options.ghosts, motion, options.frames)
        for motion in (RemoteMotion.ADAPTIVE, RemoteMotion.INTERPOLATION)
    }
    result |= {"move_avatar_us": round(move_us(), 2), "ghosts": options.ghosts}
    result |= {"python": platform.python_version(), "machine": platform.machine()}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
