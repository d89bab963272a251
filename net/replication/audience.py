"""Audience: what each receiver is told of what is new, by interest and by tiers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from net.replication.encoder import Selection
from net.replication.guarded import guarded
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
from net.replication.place import Place
from net.replication.schema import OWNER
from net.replication.survey import News
from net.replication.told import NO_FIELDS, NOTHING, Told
from net.replication.view import View
from net.replication.world import NO_SLOTS, Flags, Slots, World

_log = logging.getLogger(__name__)
Index = NDArray[np.intp]


@dataclass(slots=True)
class _Moment:
    """One sample, for all receivers."""

    news: News
    sample: Sample
    changes: Mapping[int, Answer] | None
    """who came and went, by connection; None if nobody knows, because the provider failed"""
    changed: Slots
    """whose values are others, in any table"""
    places: list[Index]
    """where in `changed` the rows of each table are"""


class Audience:
    """Who sees what and how often, as long as interest or tiers are set."""

    def __init__(self, world: World, position: tuple[str, tuple[str, ...]] | None) -> None:
        """`world` is what was sent; `position` the component and the two or three Fixed fields of a place in it.

        Two are x and z, three x, y and z. ValueError for a field that is not Fixed.
        """
        self._world = world
        self._place = None if position is None else Place(world, *position)
        self._interest = False
        self._fails = False
        self._source = object()
        self._tiers: Tiers | None = None
        self._visibility: Visibility | None = None
        self._views: dict[int, View] = {}
        self._changed_at = [np.zeros(table.codes.shape, np.int32) for table in world.tables]
        self._number = 0
        self._states = 0
        self._owner = np.full(world.capacity, NOBODY, np.int32)
        self._in_time = np.zeros(world.capacity, np.bool_)
        """all False between uses"""

    @property
    def active(self) -> bool:
        """Whether receivers may be told different things."""
        return self._visibility is not None

    def set_policy(self, policy: Policy | None, connections: Iterable[int]) -> None:
        """From the next sample on, show what this says; None: everything."""
        self._interest = policy is not None
        self._start(connections).set_policy(None if policy is None else guarded(policy))

    def set_provider(self, provider: InterestProvider | None, connections: Iterable[int]) -> None:
        """From the next sample on, show what this says; None: everything. It is disposed of when it is replaced."""
        self._interest = provider is not None
        self._start(connections).set_provider(provider)

    def set_tiers(self, plan: TierPlan | None, connections: Iterable[int]) -> None:
        """From the next sample on, tell of what is far as seldom as this says; None: always."""
        self._start(connections)
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
        changes = self._changes(sample)
        self._note(news)
        lists = [table.rows.slots for table in news.tables if len(table.rows.slots)]
        changed = lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists)) if lists else NO_SLOTS
        places = [np.searchsorted(changed, table.rows.slots) for table in news.tables]
        moment = _Moment(news, sample, changes, changed, places)
        told = {connection: self._tell(connection, view, moment) for connection, view in self._views.items()}
        if not self._interest and self._tiers is None:
            self._visibility.close()
            self._visibility = None  # everybody knows everything now
            self._views.clear()
        return told

    def _start(self, connections: Iterable[int]) -> Visibility:
        if self._visibility is None:
            self._visibility = Visibility(self._world.capacity)
            for connection in connections:
                self._connect(connection, self._world.identity.present.copy())
            owner = self._world.identity.codes[OWNER]
            self._owner[:] = np.where(owner == 0, NOBODY, owner)
            if self._place is not None:
                self._place.read_all()
        return self._visibility

    def _connect(self, connection: int, known: Flags) -> None:
        assert self._visibility is not None
        self._visibility.connect(connection)
        self._views[connection] = View(known)
        if self._tiers is not None:
            self._tiers.connect(connection)

    def _changes(self, sample: Sample) -> Mapping[int, Answer] | None:
        """Who comes into sight and leaves it, by connection; None if the provider failed."""
        assert self._visibility is not None
        try:
            changes = self._visibility.update(sample)
        except Exception:
            if not self._fails:
                _log.exception("interest failed: everybody sees what it saw, and what it owns, until it works again")
            self._fails = True
            self._source = object()  # so that all is asked afresh
            for view in self._views.values():
                view.fresh = True
            return None
        self._fails = False
        return changes

    def _sample(self, news: News) -> Sample:
        world, place = self._world, self._place
        identity = news.tables[0].rows
        reowned = identity.slots[identity.differs[OWNER]]
        for slots in (news.born, reowned):
            owner = world.identity.codes[OWNER, slots]
            self._owner[slots] = np.where(owner == 0, NOBODY, owner)
        if place is None:
            moved, placed, axes = NO_SLOTS, np.zeros(world.capacity, np.bool_), (np.zeros(world.capacity),) * 3
        else:
            moved, placed, axes = place.read(news), world.tables[place.table].present, place.axes
        if len(moved) or len(news.born) or len(news.gone):
            self._states += 1
        x, y, z = axes
        return Sample(
            self._source, self._states, world.identity.present, placed, x, y, z, self._owner,
            moved=moved, spawned=news.born, despawned=news.gone, reowned=reowned,
        )  # fmt: skip

    def _note(self, news: News) -> None:
        """Remember which fields changed when, for those who are told later."""
        for changed_at, table in zip(self._changed_at, news.tables, strict=True):
            if len(table.added):
                changed_at[:, table.added] = 0
            if len(table.rows.slots):
                fields, rows = np.nonzero(table.rows.differs)
                changed_at[fields, table.rows.slots[rows]] = self._number

    def _tell(self, connection: int, view: View, moment: _Moment) -> Told:
        news, known = moment.news, view.known
        told = Told(*self._crossing(connection, view, moment), [])
        known[told.leave] = False
        in_time = known.take(moment.changed)
        # Who enters is told what it has: never what it has just lost.
        removed = [
            table.removed[known.take(table.removed)] if len(table.removed) else NO_SLOTS for table in news.tables
        ]
        known[told.enter] = True
        late = self._hold_back(connection, view, told, in_time, moment)
        crossing = len(told.enter) or len(late)
        for number, (table, new) in enumerate(zip(self._world.tables, news.tables, strict=True)):
            if not (crossing or len(new.removed) or len(new.added) or len(new.rows.slots)):
                told.selections.append(NOTHING)
                continue
            added = new.added[known.take(new.added)]
            if len(told.enter):
                entered = told.enter[table.present.take(told.enter)]
                added = np.union1d(added, entered) if len(added) else entered
            rows = in_time.take(moment.places[number]).nonzero()[0]
            told.selections.append(Selection(removed[number], added, *self._late_fields(number, late, view), rows))
        view.behind[late] = False
        return told

    def _crossing(self, connection: int, view: View, moment: _Moment) -> tuple[Slots, Slots]:
        """Who comes into a receiver's sight, and who leaves it."""
        if not view.fresh and moment.changes is not None:
            answer = moment.changes.get(connection, UNCHANGED)
            return answer.enter, answer.leave
        assert self._visibility is not None
        known, gone = view.known, moment.news.gone
        if moment.changes is None:
            wanted = known & moment.sample.live | moment.sample.live & (self._owner == connection)
            wanted[moment.news.born] &= self._owner[moment.news.born] == connection
        else:
            view.fresh = False
            wanted = np.zeros(len(known), np.bool_)
            wanted[self._visibility.visible(connection)] = True
        again = np.zeros(len(known), np.bool_)
        again[gone] = True
        leave = np.flatnonzero(known & (~wanted | again)).astype(np.int32)
        return np.flatnonzero(wanted & (~known | again)).astype(np.int32), leave

    def _hold_back(self, connection: int, view: View, told: Told, in_time: Flags, moment: _Moment) -> Slots:
        """Take from `in_time`, [changed], whoever is not told now. Gives who is told late, but now."""
        behind, tiers, sample, changed = view.behind, self._tiers, moment.sample, moment.changed
        if view.lags:
            behind[told.leave] = False
            behind[told.enter] = False
        if tiers is None:
            if not view.lags:
                return NO_SLOTS
            view.lags = False
            late = np.flatnonzero(behind).astype(np.int32)
            in_time &= ~behind[changed]
            return late
        assert self._visibility is not None
        anchors = self._visibility.anchors(connection)
        tiers.leave(connection, told.leave)
        tiers.enter(connection, told.enter, nearest(sample, told.enter, anchors))
        tiers.change(connection, changed[in_time])
        due = tiers.take(connection, self._number)
        tiers.place(connection, self._number, due, nearest(sample, due, anchors))
        overdue = behind[due]
        late, on_time = due[overdue], due[~overdue]
        self._in_time[on_time] = True
        now = self._in_time.take(changed)
        self._in_time[on_time] = False
        starts = changed[in_time & ~now & ~behind[changed]]
        view.told_at[starts] = self._number - 1
        behind[starts] = True
        view.lags = view.lags or len(starts) > 0
        in_time &= now
        return late

    def _late_fields(self, number: int, late: Slots, view: View) -> tuple[Slots, Flags]:
        if not len(late):
            return NO_SLOTS, NO_FIELDS
        slots = late[self._world.tables[number].present[late]]
        fields = self._changed_at[number][:, slots] > view.told_at[slots]
        some = fields.any(axis=0)
        return slots[some], fields[:, some]
