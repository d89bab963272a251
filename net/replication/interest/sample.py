"""The seam of interest management: what an authority tells once per sample, and what it gets back per connection.

Entities are rows ("slots", 0 .. capacity - 1) of arrays that the caller owns; nothing here knows components. Slots are
int32 everywhere, and connections are small ints of the caller's choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Slots: TypeAlias = NDArray[np.int32]
Flags: TypeAlias = NDArray[np.bool_]
Axis: TypeAlias = NDArray[np.float32] | NDArray[np.float64] | NDArray[np.int32]
"""[capacity] one coordinate of every slot, in units of the caller's choice, below 1e150"""

Policy: TypeAlias = Callable[[int, int], bool]
"""policy(connection, slot): whether this connection is told about this entity; any function"""

NOBODY: Final = -1
"""the owner of what nobody owns"""
NO_SLOTS: Final[Slots] = np.empty(0, np.int32)
NO_SLOTS.flags.writeable = False


def _no_slots() -> Slots:
    return NO_SLOTS


@dataclass(frozen=True, slots=True)
class Sample:
    """The world at one sample, and how it differs from the sample before.

    The arrays are only read, and must hold until the next sample.

    Every array of slots names each slot at most once. With the same `source` and `number` as before, nothing has
    moved, spawned or gone, and nobody is asked again unless what he owns has changed.
    """

    source: object
    """who numbers the samples and reads the positions; compared by identity. Another one: everybody is asked afresh"""
    number: int
    """which state of the world this is; another one whenever something moved, spawned or went"""
    live: Flags
    """[capacity] whether an entity is in this slot"""
    placed: Flags
    """[capacity] whether it is live and has a position; what has none is visible to everyone"""
    x: Axis
    """[capacity] read where `placed`, and finite there"""
    y: Axis
    """[capacity] height"""
    z: Axis
    """[capacity]"""
    owner: Slots
    """[capacity] the connection that owns the entity, or NOBODY. Owned entities with a position are its anchors"""
    moved: Slots = field(default_factory=_no_slots)
    """whose position has changed, or who got or lost a position"""
    spawned: Slots = field(default_factory=_no_slots)
    """slots with a new entity since the last sample"""
    despawned: Slots = field(default_factory=_no_slots)
    """slots whose entity of the last sample has gone; one that is in use again is also in `spawned`"""
    reowned: Slots = field(default_factory=_no_slots)
    """whose owner has changed (spawned ones need not be named)"""

    def tells(self) -> bool:
        """Whether anything moved, spawned or went."""
        return bool(len(self.moved) or len(self.spawned) or len(self.despawned))


def moved_slots(sample: Sample) -> Slots:
    """Whose position may be another one: `moved` and `spawned`, each once, without what is not live any more."""
    if not len(sample.spawned):
        slots = sample.moved
    elif not len(sample.moved):
        slots = sample.spawned
    else:
        slots = np.union1d(sample.moved, sample.spawned)
    live = sample.live.take(slots)
    return slots if live.all() else slots[live]


def check_positions(sample: Sample, slots: Slots) -> None:
    """ValueError if one of these slots has a position that is not finite."""
    for axis in (sample.x, sample.y, sample.z):
        finite = np.isfinite(axis.take(slots))
        if not finite.all():
            wrong = slots[~finite & sample.placed[slots]]
            if len(wrong):
                raise ValueError(f"the position of slot {wrong[0]} is not a finite number")


@dataclass(frozen=True, slots=True)
class Answer:
    """How the visible set of one connection changed. Both arrays are sorted.

    What has despawned leaves too. Apply `leave` before `enter`: a slot in both holds another entity now.
    """

    enter: Slots
    leave: Slots


UNCHANGED: Final = Answer(NO_SLOTS, NO_SLOTS)


class InterestProvider(Protocol):
    """Answers who sees what from positions alone, in whatever way is fastest.

    Entities without a position, and connections without an anchor, never reach it: `Visibility` shows them.
    """

    def prepare(self, sample: Sample) -> None:
        """Take in a sample; once for each in which anything moved, spawned or went.

        A sample of another `source` than the last one forgets all answers: they count from empty sets again.
        """
        ...

    def query(self, connection: int, anchors: Slots) -> Answer:
        """What changed for one connection since its last answer (the first one counts from the empty set).

        `anchors` are the slots that it owns and that have a position: sorted, at least one, and the same object as
        long as they are the same slots. Whose anchors change is asked at once, also without a new sample.
        """
        ...

    def forget(self, connection: int) -> None:
        """The connection has gone, or has no anchor any more; its next answer counts from the empty set. Idempotent."""
        ...

    def dispose(self) -> None:
        """Let go of everything; the last call, made exactly once."""
        ...
