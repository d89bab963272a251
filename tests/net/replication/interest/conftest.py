"""A plain world of entities that tells an interest manager what it did, and knows by brute force who sees what."""

import numpy as np
import pytest

from net.replication.interest import NOBODY, Sample


class PlainWorld:
    """Entities in slots, with the identities that slots don't have. `take()` gives a Sample of all since the last."""

    def __init__(self, capacity, dtype=np.float32):
        self.capacity = capacity
        self.live = np.zeros(capacity, np.bool_)
        self.placed = np.zeros(capacity, np.bool_)
        self.position = np.zeros((3, capacity), dtype)
        self.owner = np.full(capacity, NOBODY, np.int32)
        self.identity = np.zeros(capacity, np.int64)
        self.number = 0
        self._born = 0
        self._known = self.live.copy()
        self._lists = {"moved": set(), "spawned": set(), "despawned": set(), "reowned": set()}

    def spawn(self, slot, position=None, owner=NOBODY):
        assert not self.live[slot]
        self._born += 1
        self.identity[slot] = self._born
        self.live[slot] = True
        self.owner[slot] = owner
        self._lists["spawned"].add(slot)
        self._lists["moved"].discard(slot)
        self._lists["reowned"].discard(slot)
        self._put(slot, position)

    def despawn(self, slot):
        assert self.live[slot]
        self.live[slot] = self.placed[slot] = False
        self.position[:, slot] = self._rubbish()
        for name in ("moved", "spawned", "reowned"):
            self._lists[name].discard(slot)
        if self._known[slot]:
            self._lists["despawned"].add(slot)

    def move(self, slot, position):
        """None takes its position away."""
        assert self.live[slot]
        self._put(slot, position)
        if slot not in self._lists["spawned"]:
            self._lists["moved"].add(slot)

    def own(self, slot, owner):
        assert self.live[slot]
        self.owner[slot] = owner
        if slot not in self._lists["spawned"]:
            self._lists["reowned"].add(slot)

    def take(self, source="world"):
        if any(self._lists[name] for name in ("moved", "spawned", "despawned")):
            self.number += 1
        lists = {name: np.array(sorted(slots), np.int32) for name, slots in self._lists.items()}
        for slots in self._lists.values():
            slots.clear()
        self._known = self.live.copy()
        x, y, z = self.position
        return Sample(source, self.number, self.live, self.placed, x, y, z, self.owner, **lists)

    def anchors(self, connection):
        return np.flatnonzero(self.live & self.placed & (self.owner == connection))

    def near(self, connection, within):
        """Slots that a provider must find: placed, and within(dx, dy, dz, slots, anchor) of any anchor."""
        found = np.zeros(self.capacity, np.bool_)
        slots = np.flatnonzero(self.placed)
        for anchor in self.anchors(connection):
            found[slots] |= within(
                self.position[:, slots].astype(np.float64), self.position[:, anchor].astype(np.float64)
            )
        return found

    def visible(self, connection, within):
        """All that a connection sees, by the rules: a set of (slot, identity)."""
        if len(self.anchors(connection)):
            sees = self.near(connection, within) | ~self.placed | (self.owner == connection)
        else:
            sees = np.ones(self.capacity, np.bool_)
        return self.entities(sees & self.live)

    def entities(self, sees):
        slots = np.flatnonzero(sees)
        return set(zip(slots.tolist(), self.identity[slots].tolist(), strict=True))

    def _put(self, slot, position):
        self.placed[slot] = position is not None
        self.position[:, slot] = self._rubbish() if position is None else position

    def _rubbish(self):
        """What nobody may read."""
        return np.nan if self.position.dtype.kind == "f" else np.iinfo(np.int32).min


class Client:
    """What one connection was told, applied as a client would: a leave it can't apply, or an enter, is an error."""

    def __init__(self):
        self.sees = {}

    def apply(self, answer, world):
        for slots in (answer.enter, answer.leave):
            assert slots.dtype == np.int32
            assert (np.diff(slots) > 0).all()
        for slot in answer.leave.tolist():
            del self.sees[slot]
        for slot in answer.enter.tolist():
            assert slot not in self.sees
            self.sees[slot] = int(world.identity[slot])

    def entities(self):
        return set(self.sees.items())


def sphere(radius):
    def within(there, here):
        x, y, z = there - here[:, None]
        return x * x + y * y + z * z <= radius * radius

    return within


def nine_cells(size):
    def within(there, here):
        x, _, z = np.abs(np.floor(there / size) - np.floor(here / size)[:, None])
        return (x <= 1) & (z <= 1)

    return within


@pytest.fixture
def make_world():
    return PlainWorld


@pytest.fixture
def make_client():
    return Client


@pytest.fixture
def within_sphere():
    return sphere


@pytest.fixture
def within_nine_cells():
    return nine_cells
