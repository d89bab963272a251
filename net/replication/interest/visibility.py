"""Visibility: who is told about what, from a policy or a provider, and from what holds whatever those say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from net.replication.interest.bits import BitTable, Index, Packed, pack, set_bits, unpack
from net.replication.interest.pairs import Grouped
from net.replication.interest.policy import Position
from net.replication.interest.sample import (
    NO_SLOTS,
    NOBODY,
    UNCHANGED,
    Answer,
    Flags,
    InterestProvider,
    Policy,
    Sample,
    Slots,
    check_positions,
    moved_slots,
)

_NOTHING: Final[Mapping[int, Answer]] = {}


class Visibility:
    """The visible set of every connection.

    What a connection owns is never hidden from it. Beyond that a policy decides alone, about everything live. A
    provider knows only positions: with it, what has no position is visible to all, and everything is visible to a
    connection without an anchor. With neither, everybody sees everything.
    """

    def __init__(self, capacity: int) -> None:
        """`capacity` slots; two bits for each slot and connection are kept."""
        self._capacity = capacity
        self._policy: Policy | None = None
        self._provider: InterestProvider | None = None
        self._near = BitTable(capacity)  # what the policy or the provider says
        self._shown = BitTable(capacity)  # what holds
        self._column: dict[int, int] = {}
        self._anchors: dict[int, Slots] = {}
        self._new: set[int] = set()
        self._open: set[int] = set()  # who has no anchor, as far as the provider knows
        self._sample: Sample | None = None
        self._placed = np.zeros(capacity, np.bool_)
        self._owner = np.full(capacity, NOBODY, np.int32)
        self._afresh = True

    def set_policy(self, policy: Policy | None) -> None:
        """Ask this function in every sample from the next on, in place of any provider; None: all see everything."""
        self._replace(policy, None)

    def set_provider(self, provider: InterestProvider | None) -> None:
        """Ask this provider from the next sample on, in place of any policy; None: all see everything."""
        self._replace(None, provider)

    def connect(self, connection: int) -> None:
        """Add a connection: the next update gives all that it sees as `enter`. ValueError if it is known already."""
        if connection in self._column or connection == NOBODY:
            raise ValueError(f"connection {connection} is connected already, or no connection")
        column = self._shown.take()
        self._near.widen(self._shown.columns)
        self._column[connection] = column
        self._anchors[connection] = NO_SLOTS
        self._new.add(connection)

    def disconnect(self, connection: int) -> None:
        """Remove a connection and all that it saw. Unknown ones are ignored."""
        column = self._column.pop(connection, None)
        if column is None:
            return
        if self._provider is not None:
            self._provider.forget(connection)
        self._near.clear_column(column)
        self._shown.give_back(column)
        self._new.discard(connection)
        self._open.discard(connection)
        del self._anchors[connection]

    def update(self, sample: Sample) -> Mapping[int, Answer]:
        """Take in a sample. Gives the exact changes by connection, of those whose visible set has changed.

        ValueError, before anything has changed, for a position that is not finite.
        """
        last, policy, provider = self._sample, self._policy, self._provider
        afresh = self._afresh or last is None or sample.source is not last.source
        changed = afresh or (last is not None and sample.number != last.number and sample.tells())
        if not (changed or self._new or policy is not None or len(sample.reowned)):
            return _NOTHING
        if changed:
            check_positions(sample, np.flatnonzero(sample.placed).astype(np.int32) if afresh else moved_slots(sample))
        self._sample = sample
        touched, reanchored = self._follow(sample, afresh, changed)
        said = self._ask_policy(policy, sample) if policy is not None else None
        gone = self._bury(sample.despawned) if changed else []
        everything = afresh or bool(self._new) or said is not None
        if said is not None:
            self._near.words = said
        elif provider is not None:
            if afresh:
                self._near.clear()
                self._open.clear()
            if changed:
                provider.prepare(sample)
            opened = self._ask_provider(provider, list(self._column) if changed else reanchored, touched)
            everything = everything or opened
        self._new.clear()
        self._afresh = False
        if everything:
            return self._show(sample, np.arange(self._capacity, dtype=np.int32), gone)
        return self._show(sample, np.unique(np.concatenate(touched)), gone) if touched else _NOTHING

    def visible(self, connection: int) -> Slots:
        """What a connection sees, sorted. KeyError for an unknown one."""
        return self._shown.column(self._column[connection])

    def audience(self, slots: Slots) -> dict[int, Flags]:
        """By connection: which of these slots it sees, [slots]."""
        sees = unpack(self._shown.of(slots))
        return {connection: sees[:, column] for connection, column in self._column.items()}

    def position(self, slot: int) -> Position | None:
        """Where an entity is in the newest sample; None without a position."""
        sample = self._sample
        if sample is None or not sample.placed[slot]:
            return None
        return float(sample.x[slot]), float(sample.y[slot]), float(sample.z[slot])

    def anchors(self, connection: int) -> Slots:
        """What a connection owns that has a position, sorted. KeyError for an unknown connection."""
        return self._anchors[connection]

    def close(self) -> None:
        """Dispose of the provider. Idempotent."""
        self._replace(None, None)

    def _replace(self, policy: Policy | None, provider: InterestProvider | None) -> None:
        if policy is self._policy and provider is self._provider:
            return
        old = self._provider
        self._policy, self._provider, self._afresh = policy, provider, True
        if old is not None and old is not provider:
            old.dispose()

    def _follow(self, sample: Sample, afresh: bool, changed: bool) -> tuple[list[Slots], list[int]]:
        """Note owners and anchors. Gives slots that may be visible to others now, and whose anchors are others."""
        touched = [sample.reowned]
        if changed:
            replaced = sample.moved[sample.placed.take(sample.moved) != self._placed.take(sample.moved)]
            touched += [sample.spawned, sample.despawned, replaced]
        slots = np.concatenate(touched)
        if not (len(slots) or afresh or self._new):
            return [], []
        if afresh:
            concerned = set(self._column)
            np.copyto(self._owner, sample.owner)
            np.copyto(self._placed, sample.placed)
        else:
            concerned = set(np.unique(np.concatenate([self._owner[slots], sample.owner[slots]])).tolist())
            concerned = (concerned & self._column.keys()) | self._new
            self._owner[slots] = sample.owner[slots]
            self._placed[slots] = sample.placed[slots]
        reanchored = sorted(self._new)
        for connection in sorted(concerned):
            anchors = np.flatnonzero((sample.owner == connection) & sample.placed).astype(np.int32)
            if not np.array_equal(anchors, self._anchors[connection]):
                self._anchors[connection] = anchors
                if connection not in self._new:
                    reanchored.append(connection)
        return touched, reanchored

    def _bury(self, despawned: Slots) -> list[tuple[Slots, Index]]:
        """Nobody sees any more what has gone, whatever is in its slot now. Gives who saw it: (slot, column)."""
        if not len(despawned):
            return []
        rows, columns = set_bits(self._shown.of(despawned))
        self._shown.clear(despawned)
        return [(despawned[rows], columns)]

    def _ask_policy(self, policy: Policy, sample: Sample) -> Packed:
        live = np.flatnonzero(sample.live)
        slots = live.tolist()
        sees = np.zeros((self._capacity, self._near.columns), np.bool_)
        for connection, column in self._column.items():
            sees[live, column] = [bool(policy(connection, slot)) for slot in slots]
        return pack(sees)

    def _ask_provider(self, provider: InterestProvider, asked: list[int], touched: list[Slots]) -> bool:
        """Bring `_near` up to date, and append what changed to `touched`. Gives whether anybody's all has changed.

        That is so for who has lost all anchors, or got the first one.
        """
        opened = False
        entered, left = [], []
        for connection in asked:
            column, anchors = self._column[connection], self._anchors[connection]
            if not len(anchors):
                if connection not in self._open:
                    opened = True
                    self._open.add(connection)
                    provider.forget(connection)
                    self._near.clear_column(column)
                continue
            if connection in self._open:
                opened = True
                self._open.remove(connection)
            answer = provider.query(connection, anchors)
            if answer is not UNCHANGED:
                entered.append((answer.enter, column))
                left.append((answer.leave, column))
        for pieces, change in ((left, self._near.unset), (entered, self._near.set)):
            if pieces:
                slots = np.concatenate([piece for piece, _ in pieces])
                change(slots, np.repeat([column for _, column in pieces], [len(piece) for piece, _ in pieces]))
                touched.append(slots)
        return opened

    def _show(self, sample: Sample, rows: Slots, gone: list[tuple[Slots, Index]]) -> Mapping[int, Answer]:
        """Work out who sees these slots now; the changes, with what has gone."""
        wanted = self._wanted(sample, rows)
        which, columns = set_bits(wanted ^ self._shown.of(rows))
        slots = rows[which]
        gains = ~self._shown.test(slots, columns)
        self._shown.words[rows] = wanted
        entered = Grouped([(slots[gains], columns[gains])], self._capacity, self._shown.columns)
        left = Grouped([(slots[~gains], columns[~gains]), *gone], self._capacity, self._shown.columns)
        changes = {}
        for connection, column in self._column.items():
            enter, leave = entered.of(column), left.of(column)
            if len(enter) or len(leave):
                changes[connection] = Answer(enter, leave)
        return changes

    def _wanted(self, sample: Sample, rows: Slots) -> Packed:
        """Who is to see these slots, as rows of `_shown`."""
        everybody = self._mask(list(self._column))
        if self._policy is None and self._provider is None:
            wanted = np.repeat(everybody, len(rows), axis=0)
        else:
            wanted = self._near.of(rows)
        if self._provider is not None:
            wanted |= self._mask([connection for connection, anchors in self._anchors.items() if not len(anchors)])
            wanted[~sample.placed[rows]] = everybody
        owner = sample.owner[rows]
        owned = np.flatnonzero(owner != NOBODY)
        if len(owned):
            owners, which = np.unique(owner[owned], return_inverse=True)
            masks = [self._mask([one] if one in self._column else []) for one in owners.tolist()]
            wanted[owned] |= np.concatenate(masks)[which]
        wanted[~sample.live[rows]] = 0
        return wanted

    def _mask(self, connections: list[int]) -> Packed:
        """One row with the bits of these connections."""
        flags = np.zeros((1, self._shown.columns), np.bool_)
        flags[0, [self._column[connection] for connection in connections]] = True
        return pack(flags)
