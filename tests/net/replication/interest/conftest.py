"""A plain world of entities that tells an interest manager what it did, and knows by brute force who sees what."""

import numpy as np
import pytest

from net.replication.interest import NOBODY, Sample, Visibility


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
        self._put(slot, None)
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
        if position is not None:
            self.position[:, slot] = position
        elif slot % 2:
            # What nobody may read: in odd slots no position, in even ones the last.
            self.position[:, slot] = np.nan if self.position.dtype.kind == "f" else np.iinfo(np.int32).min


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


class Run:
    """A world, a Visibility with a provider, and clients that believe it; all compared in each sample."""

    def __init__(self, capacity, provider, within, dtype=np.float32):
        self.world = PlainWorld(capacity, dtype)
        self.visibility = Visibility(capacity)
        self.visibility.set_provider(provider)
        self.within = within
        self.clients = {}

    def do(self, op, *arguments):
        getattr(self, op)(*arguments)

    def put(self, slot, position, owner=NOBODY):
        """Spawn, or move and own."""
        if not self.world.live[slot]:
            self.world.spawn(slot, position, owner)
        else:
            self.world.move(slot, position)
            self.world.own(slot, owner)

    def drop(self, slot):
        if self.world.live[slot]:
            self.world.despawn(slot)

    def reuse(self, slot, position, owner=NOBODY):
        self.drop(slot)
        self.world.spawn(slot, position, owner)

    def own(self, slot, owner):
        if self.world.live[slot]:
            self.world.own(slot, owner)

    def step(self, slot, by):
        if self.world.placed[slot]:
            self.world.move(slot, self.world.position[:, slot] + np.array(by))

    def walk(self, by):
        """All anchors take a step."""
        for slot in np.flatnonzero(self.world.placed & (self.world.owner != NOBODY)).tolist():
            self.step(slot, by)

    def toggle(self, connection):
        if self.clients.pop(connection, None):
            self.visibility.disconnect(connection)
        else:
            self.visibility.connect(connection)
            self.clients[connection] = Client()

    def sample(self):
        changes = self.visibility.update(self.world.take())
        assert changes.keys() <= self.clients.keys()
        for connection, answer in changes.items():
            assert len(answer.enter) or len(answer.leave)
            self.clients[connection].apply(answer, self.world)
        self.check()
        return changes

    def check(self):
        everything = np.arange(self.world.capacity, dtype=np.int32)
        audience = self.visibility.audience(everything)
        for connection, client in self.clients.items():
            assert client.entities() == self.world.visible(connection, self.within)
            assert sorted(client.sees) == self.visibility.visible(connection).tolist()
            assert sorted(client.sees) == np.flatnonzero(audience[connection]).tolist()


def random_ops(random, capacity, connections, far, edge):
    """The ops of one sample: mostly small steps, and now and then everything else that can happen."""

    def position():
        if random.random() < 0.05:
            return None
        if random.random() < 0.2:
            return [random.choice([0, edge, -edge, 2 * edge]) for _ in "xyz"]
        return [random.uniform(-far, far) for _ in "xyz"]

    def owner():
        return random.randrange(connections) if random.random() < 0.25 else NOBODY

    for _ in range(random.choice([0, 1, 5, 40])):
        slot = random.randrange(capacity)
        what = random.random()
        if what < 0.3:
            yield "put", slot, position(), owner()
        elif what < 0.35:
            yield "drop", slot
        elif what < 0.4:
            yield "reuse", slot, position(), owner()
        elif what < 0.42:
            yield "own", slot, owner()
        else:
            yield "step", slot, [random.choice([-1, 0, 1, 0.25]) for _ in "xyz"]
    if random.random() < 0.7:
        yield "walk", [random.uniform(-1, 1) for _ in "xyz"]
    if random.random() < 0.2:
        yield "toggle", random.randrange(connections)


@pytest.fixture(scope="session")
def make_run():
    return Run


@pytest.fixture(scope="session")
def ops_of_a_sample():
    return random_ops


@pytest.fixture(scope="session")
def make_world():
    return PlainWorld


@pytest.fixture(scope="session")
def make_client():
    return Client


@pytest.fixture(scope="session")
def within_sphere():
    return sphere


@pytest.fixture(scope="session")
def within_nine_cells():
    return nine_cells
