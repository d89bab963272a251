"""Tiers: what is far away is told less often, and nothing is ever older than a bound.

Each tier has a period in samples, and each slot a phase in it, so that not everything is due in the same sample. Every
period divides the next one, which makes the due samples of a slow tier a part of those of the faster ones. A slot
changes its tier only when it is due, and gets slower only when it is due in the slower one too: so however it changes,
from one due sample to the next it is never longer than the period of the tier in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from net.replication.interest.sample import Flags, Sample, Slots

Tier = NDArray[np.uint8]
Distances = NDArray[np.float64]


@dataclass(frozen=True)
class TierPlan:
    """Which distance is told how often. Pure functions; `number` counts samples.

    ValueError for a plan that can't hold its bound.
    """

    edges: Sequence[float]
    """units, ascending: tier k is from edges[k - 1], exclusive, to edges[k], inclusive; the last one has no end"""
    periods: Sequence[int]
    """samples between updates, one more than edges; each divides the next. The last one is the bound of any age"""
    slack: float = 0.1
    """how much farther than an edge, as a share of it, a slot must be to get slower: else the edge would flicker"""

    def __post_init__(self) -> None:
        edges, periods = self.edges, self.periods
        if len(periods) != len(edges) + 1 or len(periods) > 255:
            raise ValueError("tiers have one period more than edges, and are 255 at most")
        if not all(low < high for low, high in zip((0.0, *edges), (*edges, math.inf), strict=True)):
            raise ValueError(f"the edges of tiers are finite and ascending, not {edges}")
        if periods[0] < 1 or any(slow % fast for fast, slow in pairwise(periods)):
            raise ValueError(f"each period of a tier divides the next one, not so {periods}")
        if not 0.0 <= self.slack < math.inf:
            raise ValueError(f"the slack of tiers is a finite share, 0 or more, not {self.slack!r}")

    def first(self, distances: Distances) -> Tier:
        """The tiers of slots that have none yet."""
        return np.searchsorted(np.asarray(self.edges, np.float64), distances).astype(np.uint8)

    def due(self, tiers: Tier, slots: Slots, number: int) -> Flags:
        """Which slots are to be told in this sample."""
        periods = np.asarray(self.periods, np.int64)[tiers]
        due: Flags = (slots + np.int64(number)) % periods == 0
        return due

    def next(self, tiers: Tier, distances: Distances, slots: Slots, number: int) -> Tier:
        """The tiers from here on of slots that are due in this sample: as slow as wanted, if that is due too."""
        chosen = np.minimum(tiers, self.first(distances))
        wanted = np.maximum(chosen, self.first(distances / (1.0 + self.slack)))
        for tier in range(1, len(self.periods)):
            slower = (chosen < tier) & (tier <= wanted)
            slower &= self.due(np.full(len(slots), tier, np.uint8), slots, number)
            chosen[slower] = tier
        return chosen


class Tiers:
    """Which changed slots each connection is to be told now. One byte and one flag for each slot and connection.

    Tell it what enters, leaves and changes in the visible set of a connection, then `take` what is due.
    """

    def __init__(self, capacity: int, plan: TierPlan) -> None:
        self._capacity = capacity
        self._plan = plan
        self._tiers: dict[int, Tier] = {}
        self._waits: dict[int, Flags] = {}

    def connect(self, connection: int) -> None:
        """Add a connection that sees nothing yet."""
        self._tiers[connection] = np.zeros(self._capacity, np.uint8)
        self._waits[connection] = np.zeros(self._capacity, np.bool_)

    def disconnect(self, connection: int) -> None:
        """Remove a connection. Unknown ones are ignored."""
        self._tiers.pop(connection, None)
        self._waits.pop(connection, None)

    def enter(self, connection: int, slots: Slots, distances: Distances) -> None:
        """These slots are told in full now, at these distances: what waited is told with it."""
        self._tiers[connection][slots] = self._plan.first(distances)
        self._waits[connection][slots] = False

    def leave(self, connection: int, slots: Slots) -> None:
        """The connection doesn't see these slots any more: nothing waits."""
        self._waits[connection][slots] = False

    def change(self, connection: int, slots: Slots) -> None:
        """Something of these slots, which the connection sees, is other than it was told."""
        self._waits[connection][slots] = True

    def take(self, connection: int, number: int) -> Slots:
        """The slots whose changes are due in this sample, ascending; they wait no more.

        Ask in every sample: what isn't taken when it is due waits for another period.
        """
        waits = self._waits[connection]
        slots = np.flatnonzero(waits).astype(np.int32)
        slots = slots[self._plan.due(self._tiers[connection][slots], slots, number)]
        waits[slots] = False
        return slots

    def place(self, connection: int, number: int, slots: Slots, distances: Distances) -> None:
        """Choose the tiers from here on of slots that were just taken, by their distances now, in units."""
        tiers = self._tiers[connection]
        tiers[slots] = self._plan.next(tiers[slots], distances, slots, number)


def nearest(sample: Sample, slots: Slots, anchors: Slots) -> Distances:
    """Units from each slot to the nearest anchor; 0 without a position, and to who has no anchor."""
    if not len(anchors):
        return np.zeros(len(slots))
    best = np.full(len(slots), math.inf)
    placed = sample.placed[slots]
    there = [np.where(placed, axis[slots], 0).astype(np.float64) for axis in (sample.x, sample.y, sample.z)]
    for anchor in anchors.tolist():
        here = [float(axis[anchor]) for axis in (sample.x, sample.y, sample.z)]
        x, y, z = (that - this for that, this in zip(there, here, strict=True))
        np.minimum(best, x * x + y * y + z * z, out=best)
    return np.where(placed, np.sqrt(best), 0.0)
