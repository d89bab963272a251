"""Place: where entities are, for interest and tiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from net.replication.shapes import Fixed
from net.replication.survey import News
from net.replication.world import Slots, World


class Place:
    """Where entities are, from the fields that say so."""

    def __init__(self, world: World, component: str, fields: Sequence[str]) -> None:
        self.table = world.schema.index(component)
        self._columns = world.tables[self.table]
        self._fields = [self._columns.component.index(field) for field in fields]
        shapes = [self._columns.component.shapes[field] for field in self._fields]
        self._shapes = [shape for shape in shapes if isinstance(shape, Fixed)]
        if len(self._shapes) != len(fields) or len(fields) not in (2, 3):
            raise ValueError("a place is two or three Fixed fields of one component")
        axes = [np.zeros(world.capacity) for _ in fields]
        self._axes = axes
        level = np.zeros(world.capacity)
        self.axes = (axes[0], level, axes[1]) if len(axes) == 2 else (axes[0], axes[1], axes[2])

    def read_all(self) -> None:
        """Take all positions as they were sent."""
        self._read(np.flatnonzero(self._columns.present).astype(np.int32))

    def read(self, news: News) -> Slots:
        """Take the positions of what is new. Gives who moved, got a place or lost it, but for who is born or gone."""
        table = news.tables[self.table]
        moved = table.rows.slots[table.rows.differs[self._fields].any(axis=0)]
        self._read(moved)
        self._read(table.added)
        if not (len(table.added) or len(table.removed)):
            return moved
        others = np.setdiff1d(np.concatenate([table.added, table.removed]), news.born)
        return np.union1d(moved, others).astype(np.int32)

    def _read(self, slots: Slots) -> None:
        for axis, field, shape in zip(self._axes, self._fields, self._shapes, strict=True):
            axis[slots] = shape.values(self._columns.codes[field, slots])
