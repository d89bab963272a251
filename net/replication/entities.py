"""Entities: the authority's world as the game writes it."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from net.replication.schema import GENERATION, IDENTITY, KEY, OWNER, PARENT, Schema
from net.replication.shapes import GENERATIONS, SLOT_BITS, Codes, Shape
from net.replication.world import Slots, Table, World


class Entities:
    """Entities with the components of a schema, at most `capacity` at once.

    An entity is known by its id, an int that is not used again. Fields are set by value, or in bulk as codes through
    `column`; nobody has to say what changed.
    """

    def __init__(self, schema: Schema, capacity: int) -> None:
        self.schema = schema
        self._world = World(schema, capacity)
        self._generations = np.zeros(capacity, np.int64)
        self._free: list[int] = []
        self._top = 0
        """slots that were ever used"""
        self._texts = 0
        self._stirred = False
        """whether an identity, or who has which component, may be another one than at the last sample"""

    def __contains__(self, entity: int) -> bool:
        return self._world.has(entity)

    def entities(self) -> list[int]:
        """The ids of all there are, in the order of their slots."""
        ids: list[int] = self._world.ids[: self._top][self._world.identity.present[: self._top]].tolist()
        return ids

    def spawn(
        self, archetype: str = "", *, owner: int = 0, parent: int | None = None, **components: dict[str, Any]
    ) -> int:
        """A new entity with these components, fields by name; what is left out is at its shape's default. Its id.

        `archetype` is the key by which mirrors build theirs; empty for none. ValueError for what cannot be held, then
        nothing was spawned; RuntimeError where `capacity` is reached.
        """
        world, table = self._world, self._world.identity
        coded = [(world.table(name), fields) for name, fields in components.items()]
        checked = [(into, self._coded(into, fields)) for into, fields in coded]
        key = IDENTITY.texts[KEY].check(archetype)
        owned = IDENTITY.shapes[OWNER].code(owner)
        under = self._parent_code(None, parent)
        if self._free:
            slot = heapq.heappop(self._free)
        elif self._top < world.capacity:
            slot = self._top
            self._top += 1
        else:
            raise RuntimeError(f"there are {world.capacity} entities already, and that is all that fit")
        generation = int(self._generations[slot]) % (GENERATIONS - 1) + 1
        self._generations[slot] = generation
        self._stirred = True
        table.reset(slot)
        table.codes[[GENERATION, OWNER, PARENT], slot] = (generation, owned, under)
        table.texts[KEY][slot] = key
        table.present[slot] = True
        entity = generation << SLOT_BITS | slot
        world.ids[slot] = entity
        for into, values in checked:
            self._put(into, slot, values, whole=True)
        return entity

    def despawn(self, entity: int) -> None:
        """Remove an entity. Its children live on as roots. KeyError for an unknown one."""
        slot = self._world.slot(entity)
        self._stirred = True
        self._world.ids[slot] = 0
        self._world.present[:, slot] = False
        heapq.heappush(self._free, slot)

    def slot(self, entity: int) -> int:
        """The row of an entity in every column, for as long as it lives. KeyError for an unknown one."""
        return self._world.slot(entity)

    def entity(self, slot: int) -> int | None:
        """The id of who is in that row."""
        return int(self._world.ids[slot]) or None

    def add(self, entity: int, component: str, /, **values: Any) -> None:
        """Give it a component, in place of one that it has. KeyError for an unknown entity, component or field."""
        table = self._world.table(component)
        self._put(table, self._world.slot(entity), self._coded(table, values), whole=True)

    def remove(self, entity: int, component: str) -> None:
        """Take a component away. KeyError if it hasn't got it."""
        table = self._table(self._world.slot(entity), component)
        self._stirred = True
        table.present[self._world.slot(entity)] = False

    def has(self, entity: int, component: str) -> bool:
        """Whether it has a component."""
        return bool(self._world.table(component).present[self._world.slot(entity)])

    def set(self, entity: int, component: str, /, **values: Any) -> None:
        """Set fields. ValueError for a value that its shape cannot hold, then none is set."""
        slot = self._world.slot(entity)
        table = self._table(slot, component)
        self._put(table, slot, self._coded(table, values), whole=False)

    def get(self, entity: int, component: str, field: str) -> Any:
        """A field's value, to its precision."""
        return self._world.get(self._world.slot(entity), component, field)

    def column(self, component: str, field: str) -> Codes:
        """[capacity] the codes of one field, to be read and written where `present`.

        A code that the field cannot hold makes the next `sample` raise. TypeError for a text.
        """
        table = self._world.table(component)
        number = table.component.index(field)
        if number in table.texts:
            raise TypeError(f"{component}.{field} is a text: set it")
        codes: Codes = table.codes[number]
        return codes

    def columns(self, component: str) -> Codes:
        """[fields, capacity] the codes of all fields of a component, in their order, as `column` has each."""
        table = self._world.table(component)
        if table.texts:
            raise TypeError(f"{component} has texts: set them")
        return table.codes

    def present(self, component: str) -> Slots:
        """The rows that have a component."""
        return np.flatnonzero(self._world.table(component).present[: self._top]).astype(np.int32)

    def owner_of(self, entity: int) -> int:
        """The connection that owns it, 0 for nobody."""
        return self._world.owner(self._world.slot(entity))

    def set_owner(self, entity: int, owner: int) -> None:
        """Give it to a connection; 0: to nobody."""
        self._world.identity.codes[OWNER, self._world.slot(entity)] = IDENTITY.shapes[OWNER].code(owner)
        self._stirred = True

    def owned(self, connection: int) -> list[int]:
        """All that a connection owns: where its commands go."""
        table = self._world.identity
        mine = table.present[: self._top] & (table.codes[OWNER, : self._top] == connection)
        ids: list[int] = self._world.ids[: self._top][mine].tolist()
        return ids

    def parent_of(self, entity: int) -> int | None:
        """Its parent, if that lives."""
        return self._world.parent(self._world.slot(entity))

    def set_parent(self, entity: int, parent: int | None) -> None:
        """Put it under another one. ValueError for one that is under it already."""
        slot = self._world.slot(entity)
        self._world.identity.codes[PARENT, slot] = self._parent_code(entity, parent)
        self._stirred = True

    def _table(self, slot: int, component: str) -> Table:
        table = self._world.table(component)
        if not table.present[slot]:
            raise KeyError(f"entity {self._world.ids[slot]} has no {component!r}")
        return table

    def _coded(self, table: Table, values: dict[str, Any]) -> list[tuple[int, int, str | None]]:
        """(field, code, text) of each value."""
        component = table.component
        coded: list[tuple[int, int, str | None]] = []
        for name, value in values.items():
            field = component.index(name)
            try:
                if field in component.texts:
                    self._texts += 1
                    coded.append((field, self._texts, component.texts[field].check(value)))
                else:
                    coded.append((field, self._code(component.shapes[field], value), None))
            except ValueError as error:
                raise ValueError(f"{component.name}.{name}: {error}") from None
        return coded

    def _code(self, shape: Shape, value: Any) -> int:
        code = shape.code(value)
        return 0 if shape.refers and not self._world.has(code) else code

    def _put(self, table: Table, slot: int, coded: list[tuple[int, int, str | None]], *, whole: bool) -> None:
        if whole:
            self._stirred = True
            table.reset(slot)
            table.present[slot] = True
        for field, code, text in coded:
            table.codes[field, slot] = code
            if field in table.texts:
                table.texts[field][slot] = text

    def _parent_code(self, entity: int | None, parent: int | None) -> int:
        if parent is None:
            return 0
        above: int | None = parent
        while above is not None:
            if above == entity:
                raise ValueError(f"entity {entity} cannot be under {parent}, which is under it")
            above = self.parent_of(above)
        return parent
