"""Ghost: the copy of an avatar that somebody else owns, and the ways to draw it between snapshots."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from game.session.base import RemoteMotion
from game.sim.constants import TURN, UNIT
from game.sim.state import Avatar
from net.sync.angles import lerp_angle
from net.sync.playback import Playback
from net.sync.smoothing import smooth, smooth_angle
from net.sync.snapshots import SnapshotBuffer
from net.sync.track import Track

RADIANS: Final = 2 * math.pi / TURN
SNAP: Final = 3.0
"""units: a ghost that is further than this from where it should be jumps instead of gliding"""
SMOOTHING_HALF_LIFE: Final = 0.05
"""seconds"""


class Pose(NamedTuple):
    """Where an avatar is drawn: units, radians."""

    x: float
    y: float
    z: float
    yaw: float
    dashing: bool


def pose_of(avatar: Avatar) -> Pose:
    """An avatar's place as it is drawn."""
    return Pose(avatar.x / UNIT, avatar.y / UNIT, avatar.z / UNIT, avatar.yaw * RADIANS, avatar.dash_ticks > 0)


def mix(a: Pose, b: Pose, t: float) -> Pose:
    """From a (t 0) to b (t 1), and on beyond it, in a straight line, the short way round."""
    return Pose(
        a.x + (b.x - a.x) * t,
        max(0.0, a.y + (b.y - a.y) * t),
        a.z + (b.z - a.z) * t,
        lerp_angle(a.yaw, b.yaw, t),
        a.dashing if t < 0.5 else b.dashing,
    )


def blend(a: Pose, b: Pose, t: float) -> Pose:
    """The same, but a jump is not glided over."""
    if _apart(a, b):
        return a if t < 1 else b
    return mix(a, b, t)


def _apart(a: Pose, b: Pose) -> bool:
    """Whether nobody goes from one to the other between two snapshots."""
    return (b.x - a.x) ** 2 + (b.y - a.y) ** 2 + (b.z - a.z) ** 2 > SNAP * SNAP


class Ghost:
    """One avatar, fed with snapshots in its owner's time."""

    def __init__(self, playback: Playback, extrapolate: bool = True) -> None:
        """`playback` is the clock of its owner, advanced once a frame by whoever draws.

        Without `extrapolate` it stays where its owner was last, as owners that rest need not say so again.
        """
        self._track: Track[Pose] = Track(playback, mix, apart=_apart, extrapolate=extrapolate)
        self._buffer: SnapshotBuffer[Pose] = SnapshotBuffer(blend)
        self._newest_at = -math.inf
        self.newest: Pose | None = None
        self._shown: Pose | None = None

    def push(self, time: float, pose: Pose) -> None:
        """Take in the avatar as its owner saw it at its `time` (seconds)."""
        self._buffer.push(time, pose)
        self._track.push(time, pose)
        if time >= self._newest_at:
            self._newest_at, self.newest = time, pose

    def hold(self, time: float) -> None:
        """It was up to its owner's `time` where it was last: for owners that do not speak of what rests."""
        if self.newest is not None and time > self._newest_at:
            self._buffer.push(time, self.newest)
            self._track.hold(time)

    def pose(self, motion: RemoteMotion, arrival_time: float, dt: float) -> Pose | None:
        """Where to draw it `dt` seconds after the last call; None before the first snapshot.

        `arrival_time` is the owner's time of what arrives now; interpolation shows the buffer's delay before it.
        """
        newest = self.newest
        if newest is None:
            return None
        shown = self._shown
        if motion is RemoteMotion.ADAPTIVE:
            pose = self._track.sample() or newest
        elif motion is RemoteMotion.INTERPOLATION:
            pose = self._buffer.sample(arrival_time) or newest
        elif motion is RemoteMotion.RAW or shown is None or math.dist(shown[:3], newest[:3]) > SNAP:
            pose = newest
        else:
            pose = Pose(
                smooth(shown.x, newest.x, SMOOTHING_HALF_LIFE, dt),
                smooth(shown.y, newest.y, SMOOTHING_HALF_LIFE, dt),
                smooth(shown.z, newest.z, SMOOTHING_HALF_LIFE, dt),
                smooth_angle(shown.yaw, newest.yaw, SMOOTHING_HALF_LIFE, dt),
                newest.dashing,
            )
        self._shown = pose
        return pose
