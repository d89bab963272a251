"""Band: the slots near the surface of each eye's sphere, the only ones whose visibility a small step can change.

A neighbour list with a skin, after L. Verlet, "Computer experiments on classical fluids I", Physical Review 159
(1967): what is farther than the skin from the surface when the list is made stays on its side until the eye has
moved by more than the skin. So the list serves many samples, and only then is it made anew.
"""

from __future__ import annotations

import numpy as np

from net.replication.interest.bits import BitTable, Index, pack, set_bits
from net.replication.interest.eyes import Floats
from net.replication.interest.sample import NO_SLOTS, Flags, Slots

PATIENCE = 30
"""samples that an eye may stand still before its list is dropped, so that still eyes cost nothing"""
SLACK = 256
"""pairs that a list may grow by beyond twice its first length before it is made anew"""


class Band:
    """Pairs of (slot, eye) within `skin` units of the surface of a sphere of `radius`, as flat arrays for all eyes.

    Slots that move are added where they come near; those that went elsewhere stay until the list is made anew.
    """

    def __init__(self, capacity: int, radius: float, skin: float) -> None:
        self._listed = BitTable(capacity)
        self._made = (_square(radius - skin), _square(radius + skin))
        # Where eyes are within a skin of where their lists were made, this is certain to hold what `_made` would.
        self._kept = (_square(radius - 2 * skin), _square(radius + 2 * skin))
        # The last bits of a distance must not decide whether a list holds.
        self._limit = _square(0.999 * skin)
        self.slots: Slots = NO_SLOTS
        self.eyes: Index = np.empty(0, np.intp)
        self._made_at: Floats = np.zeros((3, 0))
        self._active = np.zeros(0, np.bool_)
        self._idle = np.zeros(0, np.intp)
        self._room = np.zeros(0, np.intp)

    @property
    def active(self) -> Flags:
        """[eyes] whose lists hold."""
        return self._active

    def check(self, at: Floats, moved: Flags) -> Index:
        """Drop the lists that don't hold for eyes [3, eyes], or that nobody needs. Gives whose are to be made."""
        more = len(moved) - len(self._active)
        if more:
            self._listed.widen(len(moved))
            self._made_at = np.pad(self._made_at, ((0, 0), (0, more)))
            self._active = np.pad(self._active, (0, more))
            self._idle = np.pad(self._idle, (0, more))
            self._room = np.pad(self._room, (0, more))
        self._idle += 1
        self._idle[moved] = 0
        if not (self._active.any() or moved.any()):
            return np.empty(0, np.intp)
        step = at - self._made_at
        holds = self._active & (self._idle < PATIENCE)
        holds &= np.einsum("ij,ij->j", step, step) <= self._limit
        if len(self.eyes) > self._room[holds].sum():
            holds &= np.bincount(self.eyes, minlength=len(holds)) <= self._room
        dropped = self._active & ~holds
        if dropped.any():
            ends = dropped.take(self.eyes)
            self._listed.unset(self.slots[ends], self.eyes[ends])
            keep = np.flatnonzero(~ends)
            self.slots, self.eyes = self.slots.take(keep), self.eyes.take(keep)
            self._active = holds
        return np.flatnonzero(moved & ~holds)

    def admit(self, slots: Slots, distances: Floats) -> None:
        """List what has moved near a surface; `distances` are squared, [slots, eyes]."""
        low, high = self._kept
        near = (distances >= low) & (distances <= high) & self._active
        rows, eyes = set_bits(pack(near) & ~self._listed.of(slots))
        self._append(slots[rows], eyes)

    def make(self, eye: int, at: Floats, slots: Slots, distances: Floats) -> None:
        """List anew for an eye at [3]; `slots` hold all within the radius and a skin, `distances` are squared."""
        low, high = self._made
        near = slots[(distances >= low) & (distances <= high)]
        self._made_at[:, eye] = at
        self._active[eye] = True
        self._room[eye] = 2 * len(near) + SLACK
        self._append(near, np.full(len(near), eye))

    def pairs(self, eyes: Flags) -> tuple[Slots, Index]:
        """The pairs of these eyes, [eyes]."""
        if eyes.all():
            return self.slots, self.eyes
        chosen = np.flatnonzero(eyes.take(self.eyes))
        return self.slots.take(chosen), self.eyes.take(chosen)

    def _append(self, slots: Slots, eyes: Index) -> None:
        if len(slots):
            self._listed.set(slots, eyes)
            self.slots = np.concatenate([self.slots, slots])
            self.eyes = np.concatenate([self.eyes, eyes])


def _square(length: float) -> float:
    return length * length if length > 0.0 else 0.0
