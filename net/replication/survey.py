"""Survey: how the authority's world differs from what was sent last. One look a sample serves all receivers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from net.replication.encoder import Rows, residuals
from net.replication.schema import IDENTITY
from net.replication.shapes import Codes
from net.replication.world import NO_IDS, NO_SLOTS, Flags, Slots, Table, World, expected


@dataclass(slots=True)
class TableNews:
    """What is new in one table. Who was born or has gone is in it like everybody else."""

    removed: Slots
    """who lost the component and lives on"""
    added: Slots
    rows: Rows
    """who has it as before, with other values"""


@dataclass(slots=True)
class News:
    """What is new since the last sample."""

    born: Slots
    gone: Slots
    """a slot that is used again at once is in both"""
    gone_ids: Codes
    """whose slots those were"""
    tables: list[TableNews]


class Survey:
    """Keeps what was sent last, and compares."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.sent: Final = World(world.schema, world.capacity)
        """what was sent last, as of the last `take`"""
        self._still: Final = [_no_news(table) for table in world.tables]

    def take(self, top: int, stirred: bool) -> News:
        """What is new among the slots below `top`, which then counts as sent.

        `stirred` says whether identities, or who has which component, may be others: if not, they aren't looked at.
        ValueError, before anything counts as sent, for a code that its field cannot hold.
        """
        # All tables are compared at once: that is a few numpy calls for few entities, and memory bandwidth for many.
        world, sent = self._world, self.sent
        others: Flags | None = None
        changed = _NO_INDEX
        first = len(IDENTITY.shapes)
        if stirred:
            first = 0
            others = world.ids[:top] != sent.ids[:top]
            changed = others.nonzero()[0]
            if not len(changed) and np.array_equal(world.present[:, :top], sent.present[:, :top]):
                others = None
        differs = world.codes[first:, :top] != sent.codes[first:, :top]
        fields = np.logical_or.reduce(differs, axis=1).tolist()
        found: list[_Change | None] = []
        last = -first
        for now, then in zip(world.tables, sent.tables, strict=True):
            begin, last = last, last + len(now.component.shapes)
            touched = differs[begin:last] if begin >= 0 and any(fields[begin:last]) else None
            found.append(None if touched is None and others is None else _compare(now, then, touched, others))
        if others is None:
            return News(NO_SLOTS, NO_SLOTS, NO_IDS, self._follow(found))
        born = changed[world.ids[changed] != 0].astype(np.int32)
        gone = changed[sent.ids[changed] != 0].astype(np.int32)
        gone_ids = sent.ids[gone]
        sent.ids[changed] = world.ids[changed]
        sent.present[:, gone] = False
        return News(born, gone, gone_ids, self._follow(found))

    def _follow(self, found: list[_Change | None]) -> list[TableNews]:
        """Let what was sent be what there is."""
        tables = []
        for still, change, now, then in zip(self._still, found, self._world.tables, self.sent.tables, strict=True):
            if change is None:
                tables.append(still)
                continue
            if len(change.removed):
                then.present[change.removed] = False
            if len(change.added):
                _copy(now, then, change.added)
            rows = _follow(now, then, change) if len(change.slots) else still.rows
            tables.append(TableNews(change.removed, change.added, rows))
        return tables


@dataclass(slots=True)
class _Change:
    """How a table differs from what was sent."""

    removed: Slots
    added: Slots
    slots: Slots
    """who has it as before, with other values"""
    differs: Flags
    """[fields, slots] which ones"""
    codes: Codes
    """[fields, slots]"""


def _no_news(table: Table) -> TableNews:
    nothing = np.zeros((len(table.component.shapes), 0), np.int64)
    return TableNews(NO_SLOTS, NO_SLOTS, Rows(NO_SLOTS, nothing.astype(np.bool_), nothing))


def _compare(now: Table, then: Table, differs: Flags | None, others: Flags | None) -> _Change:
    """`differs` says which codes are others, if any are; `others` which slots have another entity.

    None if all have the same one, with the same components.
    """
    removed = added = slots = NO_SLOTS
    if others is not None:
        top = len(others)
        present, had = now.present[:top], then.present[:top] & ~others
        removed = (had & ~present).nonzero()[0].astype(np.int32)
        added = (present & ~had).nonzero()[0].astype(np.int32)
        _check(now, added, now.codes.take(added, axis=1))
    if differs is None:
        return _Change(removed, added, slots, _NO_FLAGS, _NO_CODES)
    slots = np.logical_or.reduce(differs, axis=0).nonzero()[0].astype(np.int32)
    kept = now.present.take(slots)
    if others is not None:
        kept &= had.take(slots)
    slots = slots[kept]
    differs = differs.take(slots, axis=1)
    if now.texts and len(slots):
        for field, texts in now.texts.items():
            old = then.texts[field]
            for row in differs[field].nonzero()[0].tolist():
                slot = slots[row]
                differs[field, row] = texts[slot] != old[slot]
        kept = np.logical_or.reduce(differs, axis=0)
        slots, differs = slots[kept], differs[:, kept]
    codes = now.codes.take(slots, axis=1)
    _check(now, slots, codes)
    return _Change(removed, added, slots, differs, codes)


_NO_INDEX: Final = np.zeros(0, np.intp)
_NO_FLAGS: Final[Flags] = np.zeros((0, 0), np.bool_)
_NO_CODES: Final[Codes] = np.zeros((0, 0), np.int64)


def _check(table: Table, slots: Slots, codes: Codes) -> None:
    # As unsigned numbers, those below 0 are beyond any limit too.
    wrong = codes.view(np.uint64) > table.component.limits.view(np.uint64)
    if wrong.any():
        field, row = np.argwhere(wrong)[0]
        name = list(table.component.fields)[field]
        raise ValueError(f"slot {slots[row]}: {table.component.name}.{name} cannot hold the code {codes[field, row]}")


def _copy(now: Table, then: Table, added: Slots) -> None:
    then.codes[:, added] = now.codes[:, added]
    then.steps[:, added] = 0
    for field, texts in now.texts.items():
        copy = then.texts[field]
        for slot in added.tolist():
            copy[slot] = texts[slot]
    then.present[added] = True


def _follow(now: Table, then: Table, change: _Change) -> Rows:
    slots, codes, component = change.slots, change.codes, now.component
    old = then.codes.take(slots, axis=1)
    base = expected(component, old, then.steps.take(slots, axis=1))
    then.codes[:, slots] = codes
    then.steps[:, slots] = np.multiply(np.subtract(codes, old, out=old), component.predicted, out=old)
    for field, texts in now.texts.items():
        copy = then.texts[field]
        for slot in slots[change.differs[field]].tolist():
            copy[slot] = texts[slot]
    return Rows(slots, change.differs, residuals(component, codes, base))
