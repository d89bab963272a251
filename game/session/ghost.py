"""Ghost: the copy of an avatar that somebody else owns, and the ways to draw it between snapshots."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from game.session.base import RemoteMotion
from game.sim.constants import TURN, UNIT
from game.sim.state import Avatar
from net.sync.angles import lerp_angle
from net.sync.playback import Playback
from net.sync.smoothing import smooth, smooth_angle
from net.sync.snapshots import DELAY
from net.sync.track import Track

RADIANS: Final = 2 * math.pi / TURN
SNAP: Final = 3.0
"""units: a ghost that is further than this from where it should be jumps instead of gliding"""
SMOOTHING_HALF_LIFE: Final = 0.05
"""seconds"""


class Pose(msgspec.Struct, frozen=True, gc=False):
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
    y = a.y + (b.y - a.y) * t
    return Pose(
        a.x + (b.x - a.x) * t,
        y if y > 0.0 else 0.0,
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
    x, y, z = b.x - a.x, b.y - a.y, b.z - a.z
    return x * x + y * y + z * z > SNAP * SNAP


class Ghost(Track[Pose]):
    """One avatar's snapshots in its owner's time, and every way to draw them."""

    __slots__ = ("_drawn",)

    def __init__(self, playback: Playback, extrapolate: bool = True) -> None:
        """`playback` is the clock of its owner, advanced once a frame by whoever draws.

        Without `extrapolate` it stays where its owner was last, as owners that rest need not say so again.
        """
        super().__init__(playback, mix, apart=_apart, extrapolate=extrapolate)
        self._drawn: Pose | None = None

    def pose(self, motion: RemoteMotion, arrival_time: float, dt: float) -> Pose | None:
        """Where to draw it `dt` seconds after the last call; None before the first snapshot.

        `arrival_time` is the owner's time of what arrives now; interpolation shows what was DELAY before it.
        """
        newest, drawn = self.latest(), self._drawn
        if newest is None:
            return None
        if motion is RemoteMotion.ADAPTIVE:
            pose = self.sample() or newest
        elif motion is RemoteMotion.INTERPOLATION:
            pose = self.at(arrival_time - DELAY) or newest
        elif motion is RemoteMotion.RAW or drawn is None or _apart(drawn, newest):
            pose = newest
        else:
            pose = Pose(
                smooth(drawn.x, newest.x, SMOOTHING_HALF_LIFE, dt),
                smooth(drawn.y, newest.y, SMOOTHING_HALF_LIFE, dt),
                smooth(drawn.z, newest.z, SMOOTHING_HALF_LIFE, dt),
                smooth_angle(drawn.yaw, newest.yaw, SMOOTHING_HALF_LIFE, dt),
                newest.dashing,
            )
        self._drawn = pose
        return pose
