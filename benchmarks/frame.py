"""What a frame costs: a match of synthetic avatars with everything on screen.

    python benchmarks/frame.py [--avatars 30] [--size 1280x720] [--frames 600] [--screenshot PATH] ...

Prints one JSON object: milliseconds a frame (draw and flip), and how many plain background blits that is, a yardstick
that carries over to other machines. Needs a display (Xvfb will do) or SDL_VIDEODRIVER=dummy.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
# without a GPU the default presentation goes through a software OpenGL and costs more than the whole picture
os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
import pygame

from game.session.base import AvatarFrame, Diagnostics, Frame, Link, RemoteMotion, SessionStatus, Techniques
from game.sim.arena import CROSSFIRE
from game.view.overlay import Overlay
from game.view.play import PlayView
from game.wire import DEFAULT_COLORS, Person
from net.clock import MonotonicClock
from net.store import Store
from net.transport.base import Traffic

NAMES = (
    "Astra", "Nova", "Kestrel", "Zoë", "Björn", "桜さくら", "张伟", "Борис", "플레이어", "Quark", "Comet", "Wren",
    "Lynx", "Rook", "Odin", "Onyx", "Iris", "Milo", "Echo", "Fable", "Pike", "Ωmega", "Tango", "Pixel", "Vega",
    "Sable", "Dash", "Juno", "Luma", "Ghost",
)  # fmt: skip
DT = 1 / 60


class Crowd:
    """Avatars that run, jump and dash along curves through the arena."""

    def __init__(self, count: int, seed: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.avatars = [
            AvatarFrame(f"p{i}", NAMES[i % len(NAMES)], DEFAULT_COLORS[i % len(DEFAULT_COLORS)], me=i == 0)
            for i in range(count)
        ]
        self._phase = random.uniform(0, math.tau, (count, 4))
        self._pace = random.uniform(0.12, 0.5, (count, 2))
        self.diagnostics = Diagnostics()
        self._random = random

    def people(self) -> dict[str, Person]:
        return {
            avatar.peer_id: Person(avatar.name, avatar.color, 20.0 + 17 * i % 240, i % 9 == 5)
            for i, avatar in enumerate(self.avatars)
        }

    def at(self, now: float) -> Frame:
        for i, avatar in enumerate(self.avatars):
            p, w = self._phase[i], self._pace[i]
            before = avatar.x, avatar.z
            avatar.away = i % 9 == 5
            time = 0.0 if avatar.away else now
            avatar.x = 17.5 * math.sin(w[0] * time + p[0])
            avatar.z = 11 * math.sin(w[1] * time * 1.3 + p[1])
            avatar.yaw = math.atan2(avatar.z - before[1], avatar.x - before[0]) if now else p[2]
            hop = (now * 0.7 + p[3]) % 3.0
            avatar.y = max(0.0, 8.5 * hop - 12.3 * hop * hop) if i % 3 == 0 and not avatar.away else 0.0
            avatar.dashing = not avatar.away and bool((now + p[2]) % 4 < 0.25)
            avatar.truth = (avatar.x - 0.5 * math.cos(avatar.yaw), avatar.y, avatar.z - 0.5 * math.sin(avatar.yaw), 0.0)
        random, d = self._random, self.diagnostics
        d.rtt_ms.add(84 + 6 * math.sin(now * 2) + random.normal(0, 3))
        d.jitter_ms.add(abs(7 + random.normal(0, 1.5)))
        d.snapshot_gap_ms.add(abs(50 + random.normal(0, 9)) + (90 if random.random() < 0.02 else 0))
        d.render_delay_ms.add(115 + 12 * math.sin(now))
        d.buffer_depth_ms.add(80 - 50 * (now * 20 % 1) + random.normal(0, 3))
        d.pending.add(round(7 + 2 * math.sin(now * 3) + random.random()))
        d.correction_units.add(random.uniform(0.02, 0.4) if random.random() < 0.03 else 0.0)
        d.frame_ms.add(abs(3 + random.normal(0, 0.4)))
        return Frame(now, round(now * 60), self.avatars, self.avatars[0] if self.avatars else None, d, Traffic())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--avatars", type=int, default=30)
    parser.add_argument("--size", default="1280x720", help="WIDTHxHEIGHT")
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--screenshot", type=Path, help="save the last frame here")
    parser.add_argument("--link", type=Link, default=Link.CONNECTED, help="show this connection state")
    parser.add_argument("--help-page", action="store_true")
    parser.add_argument("--truth", action="store_true")
    parser.add_argument("--place", help="X,Y,Z: put the own avatar there (units)")
    parser.add_argument("--toast", action="append", default=[])
    options = parser.parse_args()

    pygame.display.init()
    surface = pygame.display.set_mode(tuple(int(part) for part in options.size.split("x")))
    clock = MonotonicClock()
    crowd = Crowd(options.avatars)
    status = SessionStatus(options.link, "", 2, 3, "ws://127.0.0.1:8788/")
    if options.link in (Link.REFUSED, Link.LOST):
        status = SessionStatus(options.link, "the room is full: 32 of 32 seats are taken", 3, 3, status.where)
    techniques = Techniques(remote_motion=RemoteMotion.ADAPTIVE)
    overlay = Overlay(options.help_page, True, options.truth, "4G", 40.0, title="authoritative server")
    view = PlayView(CROSSFIRE, Store(crowd.people()), Store(status), Store(techniques), Store(overlay))
    start = clock.now()
    view.resize(surface)
    build = clock.now() - start

    gc.collect()
    gc.freeze()
    costs = []
    yard = []
    background = pygame.Surface(surface.get_size()).convert()
    warm_up = 120
    for i in range(options.frames + warm_up):
        frame = crowd.at(i * DT)
        if options.place and frame.me is not None:
            frame.me.x, frame.me.y, frame.me.z = (float(part) for part in options.place.split(","))
        if i == options.frames + warm_up - 40:
            for text in options.toast:
                view.toast(text)
        start = clock.now()
        surface.blit(background, (0, 0))
        middle = clock.now()
        view.draw(surface, frame, DT)
        pygame.display.flip()
        end = clock.now()
        pygame.event.pump()
        if i >= warm_up:
            yard.append(middle - start)
            costs.append(end - middle)
    if options.screenshot:
        pygame.image.save(surface, options.screenshot)
    median = float(np.median(costs)) * 1e3
    blit = float(np.median(yard)) * 1e3
    print(
        json.dumps(
            {
                "avatars": options.avatars,
                "size": options.size,
                "build_s": round(build, 2),
                "median_ms": round(median, 3),
                "p99_ms": round(float(np.percentile(costs, 99)) * 1e3, 3),
                "blit_ms": round(blit, 4),
                "median_in_blits": round(median / blit, 1),
            }
        )
    )
    view.close()
    pygame.quit()


if __name__ == "__main__":
    main()
