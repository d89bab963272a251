"""Survey: how the authority's world differs from what was sent last. One look a sample serves all receivers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from net.replication.encoder import Rows, expected, residuals
from net.replication.shapes import Codes
from net.replication.world import Flags, Slots, Table, World


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

    def take(self, top: int) -> News:
        """What is new among the slots below `top`, which then counts as sent.

        ValueError, before anything counts as sent, for a code that its field cannot hold.
        """
        world, sent = self._world, self.sent
        differs = world.ids[:top] != sent.ids[:top]
        changed = np.flatnonzero(differs)
        born = changed[world.ids[changed] != 0].astype(np.int32)
        gone = changed[sent.ids[changed] != 0].astype(np.int32)
        still = ~differs
        found = [_compare(now, then, still) for now, then in zip(world.tables, sent.tables, strict=True)]
        tables = []
        for now, then, (removed, added, rows, differing) in zip(world.tables, sent.tables, found, strict=True):
            if len(gone) or len(removed):
                then.present[gone] = False
                then.present[removed] = False
            _copy(now, then, added)
            tables.append(TableNews(removed, added, _follow(now, then, rows, differing)))
        gone_ids = sent.ids[gone]
        sent.ids[changed] = world.ids[changed]
        return News(born, gone, gone_ids, tables)


def _compare(now: Table, then: Table, still: Flags) -> tuple[Slots, Slots, Slots, Flags]:
    """Who lost the component, who got it, whose values are others, and which ones: [fields, rows].

    `still` says in which slots there is the same entity as before.
    """
    top = len(still)
    present, had = now.present[:top], then.present[:top] & still
    removed = np.flatnonzero(had & ~present & still).astype(np.int32)
    added = np.flatnonzero(present & ~had).astype(np.int32)
    differs = now.codes[:, :top] != then.codes[:, :top]
    differs &= present & had
    rows = np.flatnonzero(np.logical_or.reduce(differs, axis=0)).astype(np.int32)
    differs = differs[:, rows]
    for field, texts in now.texts.items():
        old = then.texts[field]
        for row in np.flatnonzero(differs[field]).tolist():
            slot = rows[row]
            differs[field, row] = texts[slot] != old[slot]
    if now.texts and len(rows):
        kept = differs.any(axis=0)
        rows, differs = rows[kept], differs[:, kept]
    for slots in (rows, added):
        _check(now, slots)
    return removed, added, rows, differs


def _check(table: Table, slots: Slots) -> None:
    if not len(slots):
        return
    codes = table.codes[:, slots]
    wrong = (codes < 0) | (codes > table.component.limits)
    if wrong.any():
        field, row = np.argwhere(wrong)[0]
        name = list(table.component.fields)[field]
        raise ValueError(f"slot {slots[row]}: {table.component.name}.{name} cannot hold the code {codes[field, row]}")


def _copy(now: Table, then: Table, added: Slots) -> None:
    if not len(added):
        return
    then.codes[:, added] = now.codes[:, added]
    then.steps[:, added] = 0
    for field, texts in now.texts.items():
        copy = then.texts[field]
        for slot in added.tolist():
            copy[slot] = texts[slot]
    then.present[added] = True


def _follow(now: Table, then: Table, rows: Slots, differs: Flags) -> Rows:
    component = now.component
    if not len(rows):
        return Rows(rows, differs, differs.astype(np.int64))
    codes, old = now.codes[:, rows], then.codes[:, rows]
    changes = Rows(rows, differs, residuals(component, codes, expected(component, old, then.steps[:, rows])))
    then.codes[:, rows] = codes
    then.steps[:, rows] = (codes - old) * component.predicted
    for field, texts in now.texts.items():
        copy = then.texts[field]
        for slot in rows[differs[field]].tolist():
            copy[slot] = texts[slot]
    return changes
