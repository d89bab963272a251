"""World: entities and their components as columns of integer codes, as both the authority and its mirrors keep them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from net.replication.schema import GENERATION, KEY, OWNER, PARENT, Component, Schema
from net.replication.shapes import SLOT_BITS, Codes

SLOT_MASK: Final = (1 << SLOT_BITS) - 1
SLOTS: Final = 1 << SLOT_BITS
"""entities that a world can have at most"""

Slots: TypeAlias = NDArray[np.int32]
"""which entities, ascending"""
Flags: TypeAlias = NDArray[np.bool_]
NO_SLOTS: Final[Slots] = np.zeros(0, np.int32)
NO_SLOTS.flags.writeable = False
NO_IDS: Final[Codes] = np.zeros(0, np.int64)


class Table:
    """The columns of one component, for `capacity` slots: rows of the arrays of its world."""

    __slots__ = ("codes", "component", "present", "steps", "texts")

    def __init__(self, component: Component, codes: Codes, steps: Codes, present: Flags) -> None:
        self.component = component
        self.codes: Codes = codes
        """[fields, capacity] what the fields hold; of a text, a number that is another one for another text"""
        self.steps: Codes = steps
        """[fields, capacity] how far each predicted field went in the last sample in which its row changed"""
        self.present: Flags = present
        """[capacity] whether the entity has this component"""
        self.texts: dict[int, list[str | None]] = {field: [None] * len(present) for field in component.texts}
        """by number of field: [capacity] the texts"""

    def reset(self, slot: int) -> None:
        """The fields of a slot as nobody has set them."""
        self.codes[:, slot] = self.component.defaults[:, 0]
        for field, shape in self.component.texts.items():
            self.texts[field][slot] = None if shape.nullable else ""
            self.codes[field, slot] = 0

    def value(self, slot: int, field: int) -> Any:
        """What a field holds."""
        if field in self.texts:
            return self.texts[field][slot]
        return self.component.shapes[field].value(int(self.codes[field, slot]))


class World:
    """All tables of a schema. The first one, the identity, has every entity that there is."""

    def __init__(self, schema: Schema, capacity: int) -> None:
        if not 1 <= capacity <= SLOTS:
            raise ValueError(f"a world has 1 to {SLOTS} slots, not {capacity}")
        self.schema = schema
        self.capacity = capacity
        fields = sum(len(component.shapes) for component in schema.tables)
        self.codes: Codes = np.zeros((fields, capacity), np.int64)
        """[fields of all tables, capacity]"""
        self.steps: Codes = np.zeros((fields, capacity), np.int64)
        self.present: Flags = np.zeros((len(schema.tables), capacity), np.bool_)
        """[tables, capacity]"""
        self.tables: list[Table] = []
        first = 0
        for component, present in zip(schema.tables, self.present, strict=True):
            last = first + len(component.shapes)
            self.tables.append(Table(component, self.codes[first:last], self.steps[first:last], present))
            first = last
        self.ids: Codes = np.zeros(capacity, np.int64)
        """[capacity] the id of the entity in each slot, or 0"""

    @property
    def identity(self) -> Table:
        """The table of IDENTITY."""
        return self.tables[0]

    def table(self, component: str) -> Table:
        """The table of a declared component. KeyError for another name."""
        return self.tables[self.schema.index(component)]

    def slot(self, entity: int) -> int:
        """Where an entity is. KeyError if there is no such one (any more)."""
        slot = entity & SLOT_MASK
        if entity <= 0 or slot >= self.capacity or self.ids[slot] != entity:
            raise KeyError(f"there is no entity {entity}")
        return slot

    def has(self, entity: int) -> bool:
        """Whether there is this very entity."""
        slot = entity & SLOT_MASK
        return entity > 0 and slot < self.capacity and bool(self.ids[slot] == entity)

    def name(self, slots: Slots | Codes) -> None:
        """Work out the ids of slots from their generations."""
        self.ids[slots] = self.identity.codes[GENERATION, slots] << SLOT_BITS | slots

    def owner(self, slot: int) -> int:
        """The connection that owns the entity in a slot; 0 for nobody."""
        return int(self.identity.codes[OWNER, slot])

    def parent(self, slot: int) -> int | None:
        """The id of its parent, if that exists here."""
        parent = int(self.identity.codes[PARENT, slot])
        return parent if self.has(parent) else None

    def archetype(self, slot: int) -> str:
        """The key of its archetype; empty for a bare entity."""
        return self.identity.texts[KEY][slot] or ""

    def get(self, slot: int, component: str, field: str) -> Any:
        """The value of a field. KeyError without that component. What refers to nothing that is here is None."""
        table = self.table(component)
        if not table.present[slot]:
            raise KeyError(f"entity {self.ids[slot]} has no {component!r}")
        number = table.component.index(field)
        value = table.value(slot, number)
        if table.component.shapes[number].refers and value is not None and not self.has(value):
            return None
        return value


def expected(component: Component, codes: Codes, steps: Codes) -> Codes:
    """[fields, rows] where fields are expected next."""
    base = codes + steps
    np.maximum(base, 0, out=base)
    np.minimum(base, component.limits, out=base)
    return base


def digest(ids: Codes) -> int:
    """32 bits that tell sets of ids apart: add and subtract those of what comes and goes, modulo 2^32."""
    # Mixed twice: after one product, a and d would amount to as much as b and c wherever a + d = b + c.
    mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return int((mixed >> np.uint64(32)).sum(dtype=np.uint64)) & 0xFFFFFFFF
