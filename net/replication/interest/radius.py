"""RadiusProvider: `radius_interest` for many entities and connections, from what has moved alone.

Three facts make a sample cheap. Slots that moved are tested against all eyes in one go. Of the others, only those in an
eye's band can change sides when that eye takes a small step. And an eye that is new, or has left its band behind,
asks a spatial index for its surroundings.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from net.replication.interest.band import Band
from net.replication.interest.bits import Index
from net.replication.interest.columns import ColumnIndex
from net.replication.interest.eyes import Eyes, Floats
from net.replication.interest.policy import squared_radius
from net.replication.interest.sample import Answer, Sample, Slots, moved_slots

SKIN: Final = 1 / 24
"""the skin of a band as a share of the radius: thin bands are cheap to test, thick ones last longer"""
CELLS: Final = 4
"""cells of the index along a radius"""
REACH: Final = 1 + 1e-9
"""widens what is asked of the index, so that no rounding loses what the exact test would accept"""
BLOCK: Final = 1024
"""moved slots that are tested at once: what that needs stays in the cache, however many move"""


class RadiusProvider:
    """Who is at most `radius` units from any anchor: spheres, their surfaces included.

    Distances are float64 and exactly those of `radius_interest`, so that both agree bit for bit.
    ValueError for a radius that is negative or not finite.
    """

    def __init__(self, capacity: int, radius: float) -> None:
        self._limit = squared_radius(radius)
        self._capacity = capacity
        self._radius = radius
        self._skin = radius * SKIN
        self._reach = (radius + self._skin) * REACH
        self._cell = max(radius / CELLS, 1e-6)
        self._sample: Sample | None = None
        self._restart()

    def prepare(self, sample: Sample) -> None:
        """Take in a sample (see `InterestProvider`)."""
        if self._sample is None or sample.source is not self._sample.source:
            self._restart()
        self._sample = sample
        eyes, band = self._eyes, self._band
        moved = eyes.begin(sample)
        remake = band.check(eyes.at, moved)
        slots = moved_slots(sample)
        placed = sample.placed.take(slots)
        if not placed.all():
            eyes.hide(slots[~placed])
            slots = slots[placed]
        watched = bool(band.active.any())
        if watched or len(remake):
            self._index.move(slots, sample.x, sample.z)
        elif len(slots):
            self._index.drop()
        if len(eyes):
            for first in range(0, len(slots), BLOCK):
                block = slots[first : first + BLOCK]
                distances = self._distances(sample, block)
                eyes.judge(block, distances <= self._limit)
                if watched:
                    band.admit(block, distances)
        stepped = moved & band.active
        if stepped.any():
            slots, which = band.pairs(stepped)
            near = self._pair_distances(sample, slots, which) <= self._limit
            eyes.judge_pairs(slots, which, near & sample.placed.take(slots))
        for eye in remake.tolist():
            self._look(sample, eye)
        eyes.end()

    def query(self, connection: int, anchors: Slots) -> Answer:
        """What changed for a connection (see `InterestProvider`)."""
        sample = self._sample
        assert sample is not None, "prepare comes first"
        for eye in self._eyes.watch(connection, anchors, sample):
            slots = self._surroundings(sample, eye)
            self._eyes.judge_pairs(slots, eye, self._pair_distances(sample, slots, eye) <= self._limit)
        return self._eyes.answer(connection)

    def forget(self, connection: int) -> None:
        """The connection has no eyes any more."""
        self._eyes.forget(connection)

    def dispose(self) -> None:
        """Let go of the sample and of all that was remembered."""
        self._sample = None
        self._restart()

    def _restart(self) -> None:
        self._eyes = Eyes(self._capacity)
        self._band = Band(self._capacity, self._radius, self._skin)
        self._index = ColumnIndex(self._capacity, self._cell)

    def _look(self, sample: Sample, eye: int) -> None:
        """Find all that an eye sees from where it is now, and what is near its surface."""
        if self._eyes.jumped(eye, self._reach):
            # The old surroundings are not part of the new ones.
            seen = self._eyes.seen.column(eye)
            self._eyes.judge_pairs(seen, eye, self._pair_distances(sample, seen, eye) <= self._limit)
        slots = self._surroundings(sample, eye)
        distances = self._pair_distances(sample, slots, eye)
        self._eyes.judge_pairs(slots, eye, distances <= self._limit)
        self._band.make(eye, self._eyes.at[:, eye], slots, distances)

    def _surroundings(self, sample: Sample, eye: int) -> Slots:
        return self._index.near(*self._eyes.box(eye, self._reach), sample.placed, sample.x, sample.z)

    def _distances(self, sample: Sample, slots: Slots) -> Floats:
        """Squared distances of slots to all eyes, [slots, eyes]."""
        x, y, z = (
            np.subtract(axis.take(slots).astype(np.float64)[:, None], at)
            for axis, at in zip((sample.x, sample.y, sample.z), self._eyes.at, strict=True)
        )
        return _squared(x, y, z)

    def _pair_distances(self, sample: Sample, slots: Slots, eyes: Index | int) -> Floats:
        """Squared distances of each slot to its eye (or to one), [slots]."""
        x, y, z = (
            np.subtract(axis.take(slots).astype(np.float64), at.take(eyes))
            for axis, at in zip((sample.x, sample.y, sample.z), self._eyes.at, strict=True)
        )
        return _squared(x, y, z)


def _squared(x: Floats, y: Floats, z: Floats) -> Floats:
    """x * x + y * y + z * z in place, rounded in the order of `radius_interest`."""
    x *= x
    y *= y
    z *= z
    x += y
    x += z
    return x
