"""Angles in radians: differences and blends that take the short way round."""

from __future__ import annotations

import math

_PI = math.pi
_TAU = math.tau


def wrap_angle(angle: float) -> float:
    """The same direction in (-pi, pi]. NaN for NaN and infinities."""
    if -_PI < angle <= _PI:
        return angle
    if not math.isfinite(angle):
        return math.nan
    wrapped = math.remainder(angle, _TAU)  # exact, however large the angle is
    return wrapped if wrapped > -_PI else _PI


def shortest_arc(a: float, b: float) -> float:
    """The signed turn in (-pi, pi] that leads from `a` to `b`; half a turn is +pi. NaN unless both are finite."""
    arc = b - a
    if -_PI < arc <= _PI:
        return arc
    return wrap_angle(wrap_angle(b) - wrap_angle(a))  # each wrapped first: the plain difference may overflow


def lerp_angle(a: float, b: float, t: float) -> float:
    """The angle at share `t` of the short way from `a` to `b`. Not wrapped: it may lie outside -pi..pi."""
    return a + shortest_arc(a, b) * t
