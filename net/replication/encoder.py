"""Encoder: the body of a frame. What it says about one component after the other, packed to the bit.

A body is made for all receivers who know the same, from arrays of slots: who leaves, and for each table who loses it,
who gets it (all its fields, absolute), who is told late (fields, absolute), and who changed (differences to what was
sent last; a predicted field's to where its last step would have led). docs/protocol.md draws the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from net.replication.bits import FEW, BitWriter
from net.replication.rice import ESCAPE, plan, write_rice, zigzag
from net.replication.schema import Component
from net.replication.shapes import SLOT_BITS, Codes, Text
from net.replication.world import Flags, Slots, Table, World


@dataclass(slots=True)
class Rows:
    """How the rows of one table differ from what was sent last: made once a sample, written for many receivers."""

    slots: Slots
    differs: Flags
    """[fields, rows] which fields"""
    residuals: Codes
    """[fields, rows] zigzag: how far from where it was expected"""


@dataclass(slots=True)
class Selection:
    """What of one table some receivers are told."""

    removed: Slots
    added: Slots
    late: Slots
    late_fields: Flags
    """[fields, late]"""
    rows: Codes | None
    """which of `Rows`, ascending; None for all"""


def residuals(component: Component, codes: Codes, base: Codes) -> Codes:
    """[fields, rows] zigzag differences of codes to what was expected, the short way round where codes wrap."""
    differences = codes - base
    differences += component.halves
    differences &= component.masks
    differences -= component.halves
    return zigzag(differences)


def write_body(
    writer: BitWriter, world: World, leave: Slots, rows: Sequence[Rows], selections: Sequence[Selection]
) -> None:
    """Write all of it. `world` is what was sent, this sample included."""
    write_slots(writer, leave)
    for number, (table, changes, chosen) in enumerate(zip(world.tables, rows, selections, strict=True)):
        which = chosen.rows
        count = len(changes.slots) if which is None else len(which)
        if not (len(chosen.removed) or len(chosen.added) or len(chosen.late) or count):
            writer.number(0, 1)
            continue
        writer.number(1, 1)
        if number:
            write_slots(writer, chosen.removed)
        write_slots(writer, chosen.added)
        _write_absolute(writer, table, chosen.added, None)
        write_slots(writer, chosen.late)
        _write_absolute(writer, table, chosen.late, chosen.late_fields)
        _write_changed(writer, table, changes, which)


def write_slots(writer: BitWriter, slots: Slots) -> None:
    """Ascending slots: whether there are any, how many, and the gaps between them."""
    if not len(slots):
        writer.number(0, 1)
        return
    writer.number(1, 1)
    writer.count(len(slots) - 1)
    write_rice(writer, gaps(slots), SLOT_BITS)


def gaps(ascending: Slots | Codes) -> Codes:
    """How many numbers are left out before each one."""
    numbers = ascending.astype(np.int64)
    numbers[1:] -= ascending[:-1] + 1
    return numbers


def _write_absolute(writer: BitWriter, table: Table, slots: Slots, fields: Flags | None) -> None:
    """The codes of these slots; of those fields only that are flagged, [fields, slots]."""
    if not len(slots):
        return
    component = table.component
    for number, width in enumerate(component.widths):
        chosen = slots
        if fields is not None:
            which = np.flatnonzero(fields[number])
            _write_which(writer, which, len(slots))
            chosen = slots[which]
            if not len(chosen):
                continue
        if number in component.texts:
            texts = table.texts[number]
            _write_texts(writer, component.texts[number], [texts[slot] for slot in chosen.tolist()])
            continue
        write_rice(writer, table.codes[number, chosen], width)
        if component.predicted[number, 0]:
            steps = table.steps[number, chosen]
            moving = bool(steps.any())
            writer.number(moving, 1)
            if moving:
                write_rice(writer, zigzag(steps), width + 1)


def _write_changed(writer: BitWriter, table: Table, rows: Rows, which: Codes | None) -> None:
    slots = rows.slots if which is None else rows.slots[which]
    write_slots(writer, slots)
    count = len(slots)
    if not count:
        return
    component = table.component
    everything = rows.residuals if which is None else rows.residuals.take(which, axis=1)
    differs = rows.differs if which is None else rows.differs.take(which, axis=1)
    counts = np.add.reduce(differs, axis=1).tolist()
    # Blocks of few numbers are written by loops, which take lists.
    values: list[list[int]] | Codes = everything.tolist() if count < FEW else everything
    for number, many in enumerate(counts):
        writer.number(many > 0, 1)
        if not many:
            continue
        if number in component.texts:
            changed = differs[number].nonzero()[0]
            _write_which(writer, changed, count)
            texts = table.texts[number]
            _write_texts(writer, component.texts[number], [texts[slot] for slot in slots[changed].tolist()])
            continue
        mine, width = values[number], component.step_widths[number]
        k, bits = plan(mine, width)
        # To leave out fewer bits than the gaps take can't pay off.
        if many < count and _bits_of(everything[number], ~differs[number], k) > _COUNT + min(count, 2 * many):
            changed = differs[number].nonzero()[0]
            between, some = gaps(changed), everything[number].take(changed)
            gap_k, gap_bits = plan(between, count.bit_length())
            some_k, some_bits = plan(some, width)
            if _COUNT + gap_bits + some_bits < bits:
                writer.number(1, 1)
                writer.count(many - 1)
                write_rice(writer, between, count.bit_length(), gap_k)
                write_rice(writer, some, width, some_k)
                continue
        writer.number(0, 1)
        write_rice(writer, mine, width, k)


def _bits_of(values: Codes, chosen: Flags, k: int) -> int:
    """How many bits the chosen ones take of a block, but for what follows an escape."""
    if len(values) < FEW:
        some: list[int] = values[chosen].tolist()
        return sum([min(value >> k, ESCAPE) for value in some]) + len(some) * (k + 1)
    rests = np.minimum(values >> k, ESCAPE)
    rests += k + 1
    return int(np.add.reduce(rests * chosen))


_COUNT: Final = 5
"""bits that a count takes, more or less: it only decides which way is shorter"""


def _write_which(writer: BitWriter, which: Codes, count: int) -> None:
    """Some of `count` rows, ascending: how many, and the gaps."""
    writer.count(len(which))
    write_rice(writer, gaps(which), count.bit_length())


def _write_texts(writer: BitWriter, shape: Text, texts: list[str | None]) -> None:
    """Each different text once, in order of appearance; and unless all differ, which one each row has."""
    order: dict[str | None, int] = {None: 0} if shape.nullable else {}
    numbers = [order.setdefault(text, len(order)) for text in texts]
    different = [text for text in order if text is not None]
    writer.count(len(different))
    for text in different:
        data = text.encode()
        writer.count(len(data))
        writer.octets(data)
    if len(different) < len(texts):
        writer.numbers(numbers, (len(order) - 1).bit_length())
