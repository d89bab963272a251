"""Mirror: a client's copy of what the authority shows it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from net.envelope import WireError
from net.replication.bits import BitReader
from net.replication.decoder import TableChange, apply_body, read_body
from net.replication.frame import Head, body_check, check_of, read_head
from net.replication.schema import OWNER, Schema
from net.replication.shapes import Codes
from net.replication.world import NO_SLOTS, Slots, World, digest

SLOTS: Final = 65536
"""slots that an authority may have, unless a mirror is told otherwise"""

Archetype = Callable[[int], Mapping[str, Mapping[str, Any]]]
"""builds what an entity (its id) has of its own at this end: values by field by component, declared or not"""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Update:
    """What one frame changed, in this order: who went, who came, then components and values.

    Ids for entities; slots (`Mirror.ids` has whose they are) for their components, by component. Who came is in `added`
    with all its components; who went is in `despawned` alone.
    """

    tick: int
    """the authority's, at which all this was true"""
    full: bool = False
    """everything was told anew: `changed` names all that stayed"""
    despawned: list[int] = field(default_factory=list)
    spawned: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    """who came as an archetype that is not known here, or failed to be built: it is not shown"""
    reowned: list[int] = field(default_factory=list)
    """who got another owner or parent"""
    removed: dict[str, Slots] = field(default_factory=dict)
    added: dict[str, Slots] = field(default_factory=dict)
    changed: dict[str, Slots] = field(default_factory=dict)


class Mirror:
    """Takes frames in the order in which they were sent, and is then what the authority said.

    `archetypes` by key: what a builder gives holds where the authority says nothing. Whoever spawns with a key that
    is not there is refused as a whole. A frame that cannot be right changes nothing, and sets `needs_resync`: ask the
    authority for a full frame (`Authority.resync`) then; until it comes, frames are ignored.
    """

    def __init__(
        self, schema: Schema, archetypes: Mapping[str, Archetype] | None = None, *, slots: int = SLOTS
    ) -> None:
        """`slots` bounds the memory that an authority may make us use. ValueError for an empty key."""
        self.schema = schema
        self._archetypes = dict(archetypes or {})
        if "" in self._archetypes:
            raise ValueError("an archetype has a key; entities without one are bare")
        self._most = slots
        self._unknown: set[str] = set()
        self.clear()

    def clear(self) -> None:
        """Forget everything: for a new connection. Whoever comes is new then, and the first frame has to be full."""
        self._world = World(self.schema, 1)
        self._shown = np.zeros(1, np.bool_)
        self._own: dict[int, Mapping[str, Mapping[str, Any]]] = {}
        self._digest = 0
        self._counter: int | None = None
        self.connection = 0
        """our number at the authority; 0 before the first frame"""
        self.tick = 0
        """the authority's, of the newest frame"""
        self.acknowledged = 0
        """the newest of our commands that the authority has dealt with"""
        self.private = b""
        """what the authority tells us alone"""
        self.needs_resync = False
        self.fault: WireError | None = None
        """why that is so"""

    def apply(self, data: bytes) -> Update | None:
        """Take in a frame. None for one that changed nothing because it cannot be right, or a full one has to come.

        Never raises: see `needs_resync` and `fault`.
        """
        try:
            head, start, body = read_head(data)
            if not head.full and (self.needs_resync or self._counter is None):
                return None
            return self._take(head, start, body, data[len(start) + len(body) :])
        except WireError as error:
            self.needs_resync = True
            self.fault = error
            return None

    def _take(self, head: Head, start: bytes, body: bytes, check: bytes) -> Update:
        if not head.full and head.counter != self._counter:
            raise WireError("a frame is missing")
        world = self._world
        if head.full:
            if not 1 <= head.capacity <= self._most:
                raise WireError(f"the authority has {head.capacity} slots, more than we take")
            world = World(self.schema, head.capacity)
        known = 0 if head.full else self._digest
        leave, changes = NO_SLOTS, [TableChange() for _ in world.tables]
        if body:
            leave, changes = read_body(BitReader(body), world)
        gone = world.ids[leave]
        ids = changes[0].ids()
        if len(ids) or len(gone):
            known = (known + digest(ids) - digest(gone)) & 0xFFFFFFFF
        if check_of(start, body_check(body, known)) != check:
            raise WireError("a frame's check does not fit what is known here")
        self._digest = known  # from here on nothing fails
        self._counter = (head.counter + 1) & 255
        self.tick = head.tick if head.full else self.tick + head.tick
        self.acknowledged = head.acknowledged + (0 if head.full else self.acknowledged)
        if head.private is not None:
            self.private = head.private
        apply_body(world, leave, changes)
        if head.full:
            self.connection = head.connection
            self.needs_resync, self.fault = False, None
            return self._replace(world)
        update = Update(self.tick)
        self._bury(gone, leave, update)
        self._bear(changes[0].added, update)
        identity = changes[0].changed
        if len(identity):
            update.reowned = self._world.ids[identity[self._shown[identity]]].tolist()
        for table, change in zip(world.tables[1:], changes[1:], strict=True):
            for into, slots in (
                (update.removed, change.removed),
                (update.added, change.added),
                (update.changed, change.changed),
            ):
                shown = slots[self._shown[slots]] if len(slots) else slots
                if len(shown):
                    into[table.component.name] = shown
        return update

    def _replace(self, world: World) -> Update:
        """A full frame: whoever was here already stays the same one."""
        old, self._world = self._world, world
        update = Update(self.tick, full=True)
        shown = np.zeros(world.capacity, np.bool_)
        both = min(old.capacity, world.capacity)
        stays = np.flatnonzero((old.ids[:both] == world.ids[:both]) & (old.ids[:both] != 0)).astype(np.int32)
        shown[stays] = self._shown[stays]
        going = old.ids != 0
        going[stays] = False
        going = np.flatnonzero(going)
        self._bury(old.ids[going], going.astype(np.int32), update)
        self._shown = shown
        coming = world.ids != 0
        coming[stays] = False
        self._bear(np.flatnonzero(coming).astype(np.int32), update)
        update.reowned = world.ids[stays[shown[stays]]].tolist()
        for before, now in zip(old.tables[1:], world.tables[1:], strict=True):
            name = now.component.name
            has = now.present & self._shown
            had = np.zeros(world.capacity, np.bool_)
            had[stays] = before.present[stays]
            for into, flags in (
                (update.removed, had & ~now.present & self._shown),
                (update.added, has & ~had),
                (update.changed, has & had),
            ):
                slots = np.flatnonzero(flags).astype(np.int32)
                if len(slots):
                    into[name] = slots
        return update

    def _bury(self, ids: Codes, slots: Slots, update: Update) -> None:
        for entity, slot in zip(ids.tolist(), slots.tolist(), strict=True):
            if self._shown[slot]:
                update.despawned.append(entity)
                self._own.pop(entity, None)
        self._shown[slots] = False

    def _bear(self, slots: Slots, update: Update) -> None:
        world = self._world
        for slot in slots.tolist():
            entity, key = int(world.ids[slot]), world.archetype(slot)
            if key:
                builder = self._archetypes.get(key)
                if builder is None:
                    self._report(key)
                    update.refused.append(entity)
                    continue
                try:
                    self._own[entity] = builder(entity)
                except Exception:
                    _log.exception("archetype %r failed, and its entity is not shown", key)
                    update.refused.append(entity)
                    continue
            self._shown[slot] = True
            update.spawned.append(entity)

    def _report(self, key: str) -> None:
        if key not in self._unknown and len(self._unknown) < 64:
            self._unknown.add(key)
            _log.warning("there is no archetype %r here, and its entities are not shown", key)

    def __contains__(self, entity: int) -> bool:
        return self._world.has(entity) and bool(self._shown[self._world.slot(entity)])

    def __len__(self) -> int:
        return int(np.count_nonzero(self._shown))

    def entities(self) -> list[int]:
        """The ids of all that is shown, in the order of their slots."""
        ids: list[int] = self._world.ids[self._shown].tolist()
        return ids

    @property
    def ids(self) -> Codes:
        """[capacity] the id of who is in each slot, or 0."""
        return self._world.ids

    def slot(self, entity: int) -> int:
        """The row of an entity. KeyError for one that is not shown."""
        if entity not in self:
            raise KeyError(f"no entity {entity} is shown")
        return self._world.slot(entity)

    def slots(self, component: str) -> Slots:
        """The rows of who is shown and has a component from the authority."""
        return np.flatnonzero(self._world.table(component).present & self._shown).astype(np.int32)

    def has(self, entity: int, component: str) -> bool:
        """Whether it has a component, from the authority or of its archetype."""
        slot = self.slot(entity)
        own = component in self._own.get(entity, {})
        try:
            return own or bool(self._world.table(component).present[slot])
        except KeyError:
            return own

    def get(self, entity: int, component: str, field: str) -> Any:
        """What a field holds: what the authority says, and where it says nothing, what the archetype does.

        A reference to what is not shown is None. KeyError for an unknown entity, component or field.
        """
        slot = self.slot(entity)
        own = self._own.get(entity, {}).get(component, {})
        try:
            value = self._world.get(slot, component, field)
        except KeyError:
            if field in own:
                return own[field]
            raise
        if isinstance(value, int) and self.schema[component].fields[field].refers and value not in self:
            return None
        return value

    def column(self, component: str, field: str) -> Codes:
        """[capacity] the codes of one field, to be read where `slots` says. Another array after a full frame."""
        table = self._world.table(component)
        codes: Codes = table.codes[table.component.index(field)]
        return codes

    def values(self, component: str, field: str, slots: Slots) -> NDArray[Any]:
        """[slots] what a field holds there."""
        table = self._world.table(component)
        number = table.component.index(field)
        return table.component.shapes[number].values(table.codes[number].take(slots))

    def owner_of(self, entity: int) -> int:
        """The connection that owns it, 0 for nobody."""
        return self._world.owner(self.slot(entity))

    def owns(self, entity: int) -> bool:
        """Whether it is ours."""
        return entity in self and self.connection != 0 and self.owner_of(entity) == self.connection

    def owned(self) -> list[int]:
        """All that is ours."""
        mine = self._shown & (self._world.identity.codes[OWNER] == self.connection)
        ids: list[int] = self._world.ids[mine].tolist() if self.connection else []
        return ids

    def parent_of(self, entity: int) -> int | None:
        """Its parent, if that is shown."""
        parent = self._world.parent(self.slot(entity))
        return parent if parent is not None and parent in self else None

    def archetype_of(self, entity: int) -> str:
        """The key of its archetype, empty for a bare one."""
        return self._world.archetype(self.slot(entity))
