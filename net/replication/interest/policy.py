"""Policies: who is told about what, as plain functions of a connection and a slot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

from net.replication.interest.sample import Policy

Position: TypeAlias = tuple[float, float, float]


def squared_radius(radius: float) -> float:
    """radius * radius. ValueError for what is no radius, or has no square."""
    square = radius * radius
    if not (radius >= 0.0 and math.isfinite(square)):
        raise ValueError(f"a radius is a finite number of units, 0 or more, not {radius!r}")
    return square


def radius_interest(
    radius: float, anchors: Callable[[int], Iterable[int]], position: Callable[[int], Position | None]
) -> Policy:
    """See what is at most `radius` units from any own anchor: a sphere around each, its surface included.

    `anchors(connection)` gives the slots it owns that have a position, `position(slot)` a world position or None;
    `Visibility` has both. A connection without an anchor sees everything, and what has no position is seen by all.
    `RadiusProvider` gives the same answers, bit for bit, without asking for every pair.
    """
    limit = squared_radius(radius)

    def sees(connection: int, slot: int) -> bool:
        there = position(slot)
        if there is None:
            return True
        alone = True
        for anchor in anchors(connection):
            here = position(int(anchor))
            if here is None:
                continue
            alone = False
            x, y, z = there[0] - here[0], there[1] - here[1], there[2] - here[2]
            if x * x + y * y + z * z <= limit:
                return True
        return alone

    return sees
