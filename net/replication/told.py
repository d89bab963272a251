"""Told: what some receivers are told of what is new, as a choice of slots and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from net.replication.encoder import Selection
from net.replication.survey import News
from net.replication.world import NO_SLOTS, Flags, Slots, World

NO_FIELDS: Final[Flags] = np.zeros((0, 0), np.bool_)
NO_ROWS: Final = np.zeros(0, np.int64)
NOTHING: Final = Selection(NO_SLOTS, NO_SLOTS, NO_SLOTS, NO_FIELDS, NO_ROWS)
"""nothing of a table"""


@dataclass(slots=True)
class Told:
    """What some receivers are told in one sample."""

    enter: Slots
    leave: Slots
    selections: list[Selection]
    full: bool = False

    def anything(self) -> bool:
        """Whether there is any."""
        if self.full or len(self.leave):
            return True
        return any(
            len(one.added) or len(one.removed) or len(one.late) or one.rows is None or len(one.rows)
            for one in self.selections
            if one is not NOTHING
        )

    def key(self) -> tuple[bytes, ...]:
        """Equal for who is told the same in the same sample."""
        parts = [bytes([self.full]), self.leave.tobytes()]
        for one in self.selections:
            rows = b"all" if one.rows is None else one.rows.tobytes()
            parts += [one.removed.tobytes(), one.added.tobytes(), one.late.tobytes(), one.late_fields.tobytes(), rows]
        return tuple(parts)


def told_all(news: News) -> Told:
    """What they are told who see everything."""
    selections = [
        Selection(table.removed, table.added, NO_SLOTS, NO_FIELDS, None if len(table.rows.slots) else NO_ROWS)
        for table in news.tables
    ]
    return Told(news.born, news.gone, selections)


def told_full(world: World, known: Flags | None) -> Told:
    """All there is, or all of what is flagged in `known`."""
    selections = []
    for table in world.tables:
        there = table.present if known is None else table.present & known
        selections.append(Selection(NO_SLOTS, np.flatnonzero(there).astype(np.int32), NO_SLOTS, NO_FIELDS, NO_ROWS))
    return Told(selections[0].added, NO_SLOTS, selections, full=True)
