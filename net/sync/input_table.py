"""Input table: the input buffers of many players, of which most need no buffer in most ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from net.sync.inputs import InputBuffer

C = TypeVar("C")

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class InputTable(Generic[C]):
    """One `InputBuffer` for each player, by slot; all by the same policy.

    A command that may be applied as soon as it comes, and waits behind no other, needs only three numbers of a buffer.
    `take_at_once` keeps these in columns, for all such players together. Whoever's turn is another one gets his buffer
    back, with the numbers in it; so either way comes to the same, to the bit.
    """

    def __init__(self, capacity: int, make: Callable[[], InputBuffer[C]]) -> None:
        """`make` makes a new player's buffer. Slots are 0 to capacity - 1."""
        self._make = make
        self._buffers: dict[int, InputBuffer[C]] = {}
        self._alone: dict[int, InputBuffer[C]] = {}
        """those that are up to date; the other players' numbers are in the columns"""
        self._terms: InputBuffer[C] | None = None
        """any of them: all have the same rate, slack and bank"""
        self._together = np.zeros(capacity, np.bool_)
        self._start = np.zeros(capacity)
        self._spent = np.zeros(capacity)
        self._highest = np.zeros(capacity, np.int64)

    def enter(self, slot: int) -> None:
        """A new player, with a new buffer."""
        self._terms = self._buffers[slot] = self._alone[slot] = self._make()

    def leave(self, slot: int) -> None:
        """He has left. KeyError if nobody was there."""
        del self._buffers[slot]
        self._alone.pop(slot, None)
        self._together[slot] = False

    def buffer(self, slot: int) -> InputBuffer[C]:
        """A player's buffer, to push to. KeyError if nobody is there."""
        buffer = self._alone.get(slot)
        if buffer is None:
            buffer = self._alone[slot] = self._buffers[slot]
            self._together[slot] = False
            buffer.settle(float(self._spent[slot]), int(self._highest[slot]))
        return buffer

    def last_seqs(self) -> list[int]:
        """By slot, up to `capacity`: the newest command of each player that was dealt with."""
        seqs: list[int] = self._highest.tolist()
        for slot, buffer in self._alone.items():
            seqs[slot] = buffer.last_seq
        return seqs

    def take(self, now: float) -> dict[int, list[C]]:
        """By slot, what is to be applied at `now`; once a tick. `take_at_once` has said the rest."""
        return {slot: taken for slot, buffer in self._alone.items() if (taken := buffer.take(now))}

    def take_at_once(self, now: float, slots: NDArray[np.intp], seqs: Integers, single: Flags) -> Flags:
        """[n] which of these commands are to be applied at `now`; they are dealt with then. Before `take`, once a tick.

        `slots` and `seqs` say whose they are and their numbers, `single` whether one can be: it lasts for one tick. All
        others are to be pushed to their players' buffers, in their order.
        """
        alone: Flags = np.bincount(slots).take(slots) == 1
        alone &= single
        if self._alone:
            together = self._together.take(slots)
            for place in np.flatnonzero(alone & ~together).tolist():
                together[place] = self._join(int(slots[place]))
            alone &= together
        alone &= seqs > self._highest.take(slots)
        # As `InputBuffer.take` has it, in the same order: these are floats.
        terms = self._terms
        assert terms is not None
        spent = self._spent.take(slots)
        credit = terms.slack + (now - self._start.take(slots)) * terms.rate - spent
        spent += np.maximum(credit - terms.bank, 0.0)
        alone &= credit >= 1
        spent += 1
        if alone.all():
            self._spent[slots] = spent
            self._highest[slots] = seqs
        else:
            taken = slots[alone]
            self._spent[taken] = spent[alone]
            self._highest[taken] = seqs[alone]
        return alone

    def _join(self, slot: int) -> bool:
        """Put a player's numbers into the columns, if they are all that there is to him."""
        buffer = self._alone[slot]
        start = buffer.start
        if start is None or not buffer.at_rest:
            return False
        del self._alone[slot]
        self._together[slot] = True
        self._start[slot], self._spent[slot], self._highest[slot] = start, buffer.spent, buffer.last_seq
        return True
