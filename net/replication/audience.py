"""Audience: what each receiver is told of what is new, by interest and by tiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from net.replication.encoder import Selection
from net.replication.interest import (
    NOBODY,
    UNCHANGED,
    Answer,
    InterestProvider,
    Policy,
    Position,
    Sample,
    TierPlan,
    Tiers,
    Visibility,
    nearest,
)
from net.replication.schema import OWNER
from net.replication.shapes import Fixed
from net.replication.survey import News
from net.replication.world import NO_SLOTS, Flags, Slots, World


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
        )

    def key(self) -> tuple[bytes, ...]:
        """Equal for who is told the same in the same sample."""
        parts = [bytes([self.full]), self.leave.tobytes()]
        for one in self.selections:
            rows = b"all" if one.rows is None else one.rows.tobytes()
            parts += [one.removed.tobytes(), one.added.tobytes(), one.late.tobytes(), one.late_fields.tobytes(), rows]
        return tuple(parts)


_NO_FIELDS: Final[Flags] = np.zeros((0, 0), np.bool_)


def told_all(news: News) -> Told:
    """What they are told who see everything."""
    selections = [
        Selection(table.removed, table.added, NO_SLOTS, _NO_FIELDS, None if len(table.rows.slots) else _NO_ROWS)
        for table in news.tables
    ]
    return Told(news.born, news.gone, selections)


_NO_ROWS: Final = np.zeros(0, np.int64)


def told_full(world: World, known: Flags | None) -> Told:
    """All there is, or all of what is flagged in `known`."""
    selections = []
    for table in world.tables:
        there = table.present if known is None else table.present & known
        selections.append(Selection(NO_SLOTS, np.flatnonzero(there).astype(np.int32), NO_SLOTS, _NO_FIELDS, _NO_ROWS))
    return Told(selections[0].added, NO_SLOTS, selections, full=True)


@dataclass(slots=True)
class _Moment:
    """One sample, for all receivers."""

    news: News
    sample: Sample
    changed: Slots
    """whose values are others, in any table"""
    changes: Mapping[int, Answer]
    """who came and went, by connection"""


class _View:
    """What one receiver knows."""

    __slots__ = ("behind", "fresh", "known", "told_at")

    def __init__(self, known: Flags) -> None:
        self.known = known
        self.fresh = True
        """whether the visibility counts from the empty set for it"""
        self.behind = np.zeros(len(known), np.bool_)
        """who has changed since it was told"""
        self.told_at = np.zeros(len(known), np.int32)
        """the last sample that it was told of, of who is behind"""


class Audience:
    """Who sees what and how often, as long as interest or tiers are set."""

    def __init__(self, world: World, position: tuple[str, tuple[str, ...]] | None) -> None:
        """`world` is what was sent; `position` the component and the two or three Fixed fields of a place in it.

        Two are x and z, three x, y and z. ValueError for a field that is not Fixed.
        """
        self._world = world
        self._place = None if position is None else _Place(world, *position)
        self._policy: Policy | None = None
        self._provider: InterestProvider | None = None
        self._plan: TierPlan | None = None
        self._tiers: Tiers | None = None
        self._visibility: Visibility | None = None
        self._views: dict[int, _View] = {}
        self._changed_at = [np.zeros(table.codes.shape, np.int32) for table in world.tables]
        self._number = 0
        self._states = 0
        self._owner = np.full(world.capacity, NOBODY, np.int32)

    @property
    def active(self) -> bool:
        """Whether receivers may be told different things."""
        return self._visibility is not None

    def set_policy(self, policy: Policy | None, connections: Iterable[int]) -> None:
        """From the next sample on, show what this says; None: everything."""
        self._policy, self._provider = policy, None
        self._start(connections).set_policy(policy)

    def set_provider(self, provider: InterestProvider | None, connections: Iterable[int]) -> None:
        """From the next sample on, show what this says; None: everything. It is disposed of when it is replaced."""
        self._policy, self._provider = None, provider
        self._start(connections).set_provider(provider)

    def set_tiers(self, plan: TierPlan | None, connections: Iterable[int]) -> None:
        """From the next sample on, tell of what is far as seldom as this says; None: always."""
        self._start(connections)
        self._plan = plan
        self._tiers = None if plan is None else Tiers(self._world.capacity, plan)
        if self._tiers is not None:
            for connection in self._views:
                self._tiers.connect(connection)

    def connect(self, connection: int) -> None:
        """Somebody who knows nothing yet."""
        if self._visibility is not None:
            self._connect(connection, np.zeros(self._world.capacity, np.bool_))

    def disconnect(self, connection: int) -> None:
        """Somebody has gone. Unknown ones are ignored."""
        if self._visibility is not None:
            self._visibility.disconnect(connection)
            self._views.pop(connection, None)
            if self._tiers is not None:
                self._tiers.disconnect(connection)

    def known(self, connection: int) -> Flags:
        """[capacity] what a receiver has been told of."""
        return self._views[connection].known

    def anchors(self, connection: int) -> Slots:
        """What a connection owns that has a place, for policies; nothing while neither interest nor tiers are set."""
        return self._visibility.anchors(connection) if self._visibility is not None else NO_SLOTS

    def position(self, slot: int) -> Position | None:
        """Where an entity was in the last sample, for policies."""
        return self._visibility.position(slot) if self._visibility is not None else None

    def close(self) -> None:
        """Dispose of the provider. Idempotent."""
        if self._visibility is not None:
            self._visibility.close()

    def update(self, news: News) -> dict[int, Told]:
        """What every receiver is told now. Call it while `active`, once a sample."""
        assert self._visibility is not None
        self._number += 1
        sample = self._sample(news)
        changes = self._visibility.update(sample)
        self._note(news)
        lists = [table.rows.slots for table in news.tables if len(table.rows.slots)]
        changed = np.unique(np.concatenate(lists)) if lists else NO_SLOTS
        moment = _Moment(news, sample, changed, changes)
        told = {connection: self._tell(connection, view, moment) for connection, view in self._views.items()}
        if self._policy is None and self._provider is None and self._plan is None:
            self._visibility.close()
            self._visibility = None  # everybody knows everything now
            self._views.clear()
        return told

    def _start(self, connections: Iterable[int]) -> Visibility:
        if self._visibility is None:
            self._visibility = Visibility(self._world.capacity)
            for connection in connections:
                self._connect(connection, self._world.identity.present.copy())
            if self._place is not None:
                self._place.read_all()
        return self._visibility

    def _connect(self, connection: int, known: Flags) -> None:
        assert self._visibility is not None
        self._visibility.connect(connection)
        self._views[connection] = _View(known)
        if self._tiers is not None:
            self._tiers.connect(connection)

    def _sample(self, news: News) -> Sample:
        world, place = self._world, self._place
        owner = world.identity.codes[OWNER]
        np.copyto(self._owner, np.where(owner == 0, NOBODY, owner), casting="unsafe")
        identity = news.tables[0].rows
        reowned = identity.slots[identity.differs[OWNER]]
        if place is None:
            moved, placed, axes = NO_SLOTS, np.zeros(world.capacity, np.bool_), (np.zeros(world.capacity),) * 3
        else:
            moved, placed, axes = place.read(news), world.tables[place.table].present, place.axes
        if len(moved) or len(news.born) or len(news.gone):
            self._states += 1
        x, y, z = axes
        return Sample(
            self, self._states, world.identity.present, placed, x, y, z, self._owner,
            moved=moved, spawned=news.born, despawned=news.gone, reowned=reowned,
        )  # fmt: skip

    def _note(self, news: News) -> None:
        """Remember which fields changed when, for those who are told later."""
        for changed_at, table in zip(self._changed_at, news.tables, strict=True):
            changed_at[:, table.added] = 0
            fields, rows = np.nonzero(table.rows.differs)
            changed_at[fields, table.rows.slots[rows]] = self._number

    def _tell(self, connection: int, view: _View, moment: _Moment) -> Told:
        visibility, news = self._visibility, moment.news
        assert visibility is not None
        known = view.known
        if view.fresh:
            view.fresh = False
            wanted = np.zeros(len(known), np.bool_)
            wanted[visibility.visible(connection)] = True
            again = np.zeros(len(known), np.bool_)
            again[news.gone] = True
            leave = np.flatnonzero(known & (~wanted | again)).astype(np.int32)
            enter = np.flatnonzero(wanted & (~known | again)).astype(np.int32)
        else:
            answer = moment.changes.get(connection, UNCHANGED)
            enter, leave = answer.enter, answer.leave
        told = Told(enter, leave, [])
        known[leave] = False
        stays = known.copy()
        # Who enters is told what it has: never what it has just lost.
        removed = [table.removed[stays[table.removed]] for table in news.tables]
        known[enter] = True
        late = self._hold_back(connection, view, told, stays, moment)
        for number, (table, new) in enumerate(zip(self._world.tables, news.tables, strict=True)):
            added = new.added[known[new.added]]
            if len(enter):
                added = np.union1d(added, enter[table.present[enter]])
            slots, fields = self._late_fields(number, late, view)
            rows = np.flatnonzero(stays[new.rows.slots])
            told.selections.append(Selection(removed[number], added, slots, fields, rows))
        view.behind[late] = False
        return told

    def _hold_back(self, connection: int, view: _View, told: Told, stays: Flags, moment: _Moment) -> Slots:
        """Take from `stays` whoever is not told in time. Gives who is told late, but now."""
        behind, tiers, sample = view.behind, self._tiers, moment.sample
        behind[told.leave] = False
        behind[told.enter] = False
        if tiers is None:
            late = np.flatnonzero(behind).astype(np.int32)
            stays[late] = False
            return late
        assert self._visibility is not None
        anchors = self._visibility.anchors(connection)
        tiers.leave(connection, told.leave)
        tiers.enter(connection, told.enter, nearest(sample, told.enter, anchors))
        mine = moment.changed[stays[moment.changed]]
        tiers.change(connection, mine)
        due = tiers.take(connection, self._number)
        tiers.place(connection, self._number, due, nearest(sample, due, anchors))
        late = due[behind[due]]
        on_time = np.zeros(len(stays), np.bool_)
        on_time[due] = True
        on_time[late] = False
        starts = mine[~on_time[mine] & ~behind[mine]]
        view.told_at[starts] = self._number - 1
        behind[starts] = True
        stays &= on_time
        return late

    def _late_fields(self, number: int, late: Slots, view: _View) -> tuple[Slots, Flags]:
        if not len(late):
            return NO_SLOTS, _NO_FIELDS
        slots = late[self._world.tables[number].present[late]]
        fields = self._changed_at[number][:, slots] > view.told_at[slots]
        some = fields.any(axis=0)
        return slots[some], fields[:, some]


class _Place:
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
