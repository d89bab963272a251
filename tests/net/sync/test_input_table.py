"""An input table is so many input buffers, to the bit, whichever way a command takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from net.sync.input_table import InputTable
from net.sync.inputs import InputBuffer, Read

SLOTS = 6
POLICIES: list[dict[str, Any]] = [
    {},
    {"slack": 0, "bank": 1, "limit": 1},
    {"slack": 1, "bank": 3, "limit": 2, "rate": 30.0},
    {"read": Read.LATEST},
    {"repeat": 3},
    {"depth": 1, "catch_up": 1},
]


class Both:
    """A table, and the buffers that it must equal."""

    def __init__(self, policy: dict[str, Any]):
        self.make = lambda: InputBuffer[tuple[int, int]](**policy)
        self.table: InputTable[tuple[int, int]] = InputTable(SLOTS, self.make)
        self.buffers: dict[int, InputBuffer[tuple[int, int]]] = {}
        self.longest = min(policy.get("bank", 60), policy.get("limit", 60))
        self.at_once = 0

    def enter(self, slot: int) -> None:
        self.table.enter(slot)
        self.buffers[slot] = self.make()

    def leave(self, slot: int) -> None:
        self.table.leave(slot)
        del self.buffers[slot]

    def push(self, slot: int, seq: int, ticks: int = 1) -> None:
        """By itself, as text comes."""
        ticks = min(ticks, self.longest)
        pushed = self.table.buffer(slot).push(seq, (slot, seq), ticks)
        assert pushed is self.buffers[slot].push(seq, (slot, seq), ticks)

    def tick(self, now: float, said: list[tuple[int, int, int]]) -> dict[int, list[tuple[int, int]]]:
        """(slot, seq, ticks) of many together. What both say is to be applied."""
        said = [(slot, seq, min(ticks, self.longest)) for slot, seq, ticks in said if slot in self.buffers]
        taken: dict[int, list[tuple[int, int]]] = {}
        flags = np.zeros(0, np.bool_)
        if said:
            slots, seqs, ticks = (np.array(column, np.int64) for column in zip(*said, strict=True))
            flags = self.table.take_at_once(now, slots.astype(np.intp), seqs, ticks == 1)
        for (slot, seq, lasting), at_once in zip(said, flags.tolist(), strict=True):
            if at_once:
                assert slot not in taken
                taken[slot] = [(slot, seq)]
                self.at_once += 1
            else:
                self.table.buffer(slot).push(seq, (slot, seq), lasting)
            self.buffers[slot].push(seq, (slot, seq), lasting)
        for slot, commands in self.table.take(now).items():
            assert slot not in taken
            taken[slot] = commands
        wanted = {slot: commands for slot, buffer in self.buffers.items() if (commands := buffer.take(now))}
        assert taken == wanted
        seqs_by_slot = self.table.last_seqs()
        assert {slot: seqs_by_slot[slot] for slot in self.buffers} == {
            slot: buffer.last_seq for slot, buffer in self.buffers.items()
        }
        return taken

    def check(self) -> None:
        """Whoever asks for a buffer gets one with everything in it."""
        for slot, buffer in self.buffers.items():
            mine = self.table.buffer(slot)
            assert (mine.start, mine.spent, mine.last_seq, mine.waiting, mine._highest) == (
                buffer.start,
                buffer.spent,
                buffer.last_seq,
                buffer.waiting,
                buffer._highest,
            )


slots = st.integers(0, SLOTS - 1)
said = st.tuples(slots, st.integers(0, 3), st.sampled_from([1, 1, 1, 2, 6]))


@settings(max_examples=150)
@given(
    st.sampled_from(POLICIES),
    st.lists(
        st.tuples(
            st.sampled_from([1 / 60, 1 / 60, 1 / 60, 0.0, 0.5, -0.01]),
            st.lists(said, max_size=8),
            st.none() | said,
            st.none() | slots,
        ),
        max_size=40,
    ),
)
def test_a_table_is_so_many_buffers(policy: dict[str, Any], ticks: list[Any]):
    """(seconds, what comes together, what comes alone, who comes or goes); seqs rise by 0 to 3."""
    both, now = Both(policy), 5.0
    for slot in range(SLOTS // 2):
        both.enter(slot)
    highest = [0] * SLOTS
    for dt, together, alone, mover in ticks:
        if mover is not None:
            (both.leave if mover in both.buffers else both.enter)(mover)
            highest[mover] = 0
        if alone is not None and alone[0] in both.buffers:
            slot, rise, lasting = alone
            highest[slot] += rise
            both.push(slot, highest[slot], lasting)
        numbered = []
        for slot, rise, lasting in together:
            highest[slot] += rise
            numbered.append((slot, highest[slot], lasting))
        now += dt
        both.tick(now, numbered)
    both.check()


def test_whoever_plays_evenly_needs_no_buffer():
    both = Both({})
    for slot in range(SLOTS):
        both.enter(slot)
    for tick in range(1, 121):
        both.tick(tick / 60, [(slot, tick, 1) for slot in range(SLOTS)])
    assert both.at_once == 119 * SLOTS, "all but the first, for which time has to begin"
    both.check()


def test_somebody_who_stalls_costs_the_others_nothing():
    both = Both({})
    for slot in range(SLOTS):
        both.enter(slot)
    both.tick(0.0, [])
    for tick in range(1, 61):
        late = [(0, seq, 1) for seq in range(tick - 9, tick + 1)] if tick % 10 == 0 else []
        both.tick(tick / 60, late + [(slot, tick, 1) for slot in range(1, SLOTS)])
    assert both.at_once == 60 * (SLOTS - 1)
    both.check()


def test_nobody_has_no_buffer():
    table: InputTable[int] = InputTable(SLOTS, InputBuffer)
    with pytest.raises(KeyError):
        table.buffer(1)
    with pytest.raises(KeyError):
        table.leave(1)
