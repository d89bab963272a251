"""Owned and not: what is ours is predicted over the mirror, and what is others' is played back, side by side."""

from __future__ import annotations

from collections import deque

import pytest

from net.replication import Authority, Bool, Component, Int, Mirror, Schema
from net.sync.playback import Playback
from net.sync.prediction import Predictor
from net.sync.track import Track

SCHEMA = Schema([Component("pawn", x=Int(-100, 100), lit=Bool())])
WALL = 10
LATENCY = 6
"""ticks, each way"""
TICK = 1 / 60

Pose = tuple[float, bool]


def walk(x: int, step: int) -> int:
    return x + step


def glide(a: Pose, b: Pose, t: float) -> Pose:
    """What is a number goes along, what is not is the older one until the newer one's time."""
    return a[0] + (b[0] - a[0]) * t, a[1] if t < 1 else b[1]


class World:
    """An authority with a wall that clients know nothing of, one pawn for each of two connections, and slow ways."""

    def __init__(self) -> None:
        self.authority = Authority(SCHEMA, 8)
        self.tick = 0
        self.down: dict[int, deque[tuple[int, bytes]]] = {1: deque(), 2: deque()}
        self.up: deque[tuple[int, int, int]] = deque()
        self.mirrors = {connection: Mirror(SCHEMA) for connection in self.down}
        for connection, way in self.down.items():
            self.authority.attach(connection, lambda frame, way=way: way.append((self.tick + LATENCY, frame)))
            assert self.authority.greet(connection, SCHEMA.greeting()) is None
        self.pawns = {connection: self.authority.spawn(owner=connection, pawn={}) for connection in self.down}

    def send(self, seq: int, step: int) -> None:
        self.up.append((self.tick + LATENCY, seq, step))

    def step(self) -> list[int]:
        """One tick: commands of connection 1 that have arrived, a sample, frames that have arrived. Who heard."""
        self.tick += 1
        mine, other = self.pawns[1], self.pawns[2]
        while self.up and self.up[0][0] <= self.tick:
            _, seq, step = self.up.popleft()
            self.authority.set(mine, "pawn", x=min(WALL, self.authority.get(mine, "pawn", "x") + step))
            self.authority.acknowledge(1, seq)
        self.authority.set(other, "pawn", x=self.tick % 100, lit=self.tick % 40 >= 20)
        self.authority.sample(self.tick)
        heard = []
        for connection, way in self.down.items():
            while way and way[0][0] <= self.tick:
                assert self.mirrors[connection].apply(way.popleft()[1]) is not None
                heard.append(connection)
        return heard


@pytest.mark.parametrize("start", [0, 1, 25])
def test_pi_10_pi_13_pi_14_the_authority_wins_and_prediction_may_begin_at_any_time(start: int) -> None:
    """From its first command on it holds: what the mirror says and what is not acknowledged, and nothing else."""
    world = World()
    for _ in range(2 * LATENCY + start):
        world.step()
    mirror, mine = world.mirrors[1], world.pawns[1]
    corrections: list[tuple[int, int]] = []
    predictor = Predictor(mirror.get(mine, "pawn", "x"), walk, on_correction=lambda *states: corrections.append(states))
    for seq in range(1, 16):
        assert predictor.apply(1) == seq
        world.send(seq, 1)
        if 1 in world.step() and mirror.acknowledged > predictor.last_acknowledged:
            assert predictor.acknowledge(mirror.get(mine, "pawn", "x"), mirror.acknowledged)
            assert predictor.pending == seq - mirror.acknowledged, "what is acknowledged is gone at once"
        assert predictor.state == min(WALL, mirror.acknowledged) + seq - mirror.acknowledged
    assert predictor.state > WALL, "the client cannot know of the wall yet"
    for _ in range(3 * LATENCY):
        if 1 in world.step() and mirror.acknowledged > predictor.last_acknowledged:
            predictor.acknowledge(mirror.get(mine, "pawn", "x"), mirror.acknowledged)
    assert (predictor.state, predictor.pending) == (WALL, 0)
    assert all(after == before - 1 for before, after in corrections)
    assert len(corrections) == 15 - WALL


def test_pi_11_ri_04_what_others_own_is_played_back_untouched_by_our_commands() -> None:
    """Numbers glide between the authority's ticks; what is no number is the older one until the newer one's time."""
    world = World()
    playback = Playback(0.1)
    track: Track[Pose] = Track(playback, glide)
    mirror, other = world.mirrors[1], world.pawns[2]
    compared, seen = 0, set()
    for frame in range(200):
        world.send(frame + 1, 1)
        if 1 in world.step():
            track.push(mirror.tick * TICK, (mirror.get(other, "pawn", "x"), mirror.get(other, "pawn", "lit")))
            playback.hear(mirror.tick * TICK, world.tick * TICK)
        time = playback.advance((world.tick + 0.3) * TICK)
        pose = track.sample()
        if pose is None or time < 2 * TICK or (time / TICK) % 100 > 98:
            continue
        assert pose[0] == pytest.approx(time / TICK % 100)
        assert pose[1] == (int(time / TICK + 1e-9) % 40 >= 20)
        seen.add(pose[1])
        compared += 1
    assert compared > 150
    assert seen == {True, False}
    assert not mirror.owns(other)
    assert mirror.owns(world.pawns[1])


def test_ri_04_what_is_no_number_changes_at_the_newer_ones_time() -> None:
    """Also where one looks just before and exactly then, and beyond the newest."""
    playback = Playback()
    track: Track[Pose] = Track(playback, glide)
    for time, lit in ((1.0, False), (2.0, True), (3.0, False)):
        track.push(time, (time, lit))
    shown = []
    for time in (0.5, 1.0, 1.999, 2.0, 2.5, 2.999, 3.0, 3.2):
        playback.time = time
        pose = track.sample()
        assert pose is not None
        shown.append(pose[1])
    assert shown == [False, False, False, True, True, True, False, False]
