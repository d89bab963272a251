"""Decoder: what the body of a frame says, checked against the world that it is said to, which then becomes so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from net.envelope import WireError
from net.replication.bits import BitReader
from net.replication.rice import read_rice, unzigzag
from net.replication.schema import GENERATION, KEY, Component
from net.replication.shapes import SLOT_BITS, Codes, Text
from net.replication.world import NO_SLOTS, Flags, Slots, Table, World, expected

_NO_CODES: Final[Codes] = np.zeros(0, np.int64)


@dataclass(slots=True)
class Column:
    """What one field of some slots holds from now on."""

    field: int
    slots: Slots
    codes: Codes
    """what it holds; of a text, nothing"""
    steps: Codes
    """the steps of a predicted field, otherwise empty"""
    texts: list[str | None]
    """what a text holds, otherwise empty"""


@dataclass(slots=True)
class TableChange:
    """What a body says about one table."""

    removed: Slots = field(default_factory=lambda: NO_SLOTS)
    added: Slots = field(default_factory=lambda: NO_SLOTS)
    changed: Slots = field(default_factory=lambda: NO_SLOTS)
    """who was told late or in time: all whose row changed"""
    columns: list[Column] = field(default_factory=list)
    """what was told absolutely, and texts"""
    rows: Slots = field(default_factory=lambda: NO_SLOTS)
    """who was told in time"""
    codes: Codes = field(default_factory=lambda: _NO_CODES)
    """[fields, rows] what they hold now; texts apart"""
    steps: Codes = field(default_factory=lambda: _NO_CODES)
    """[fields, rows]"""

    def ids(self) -> Codes:
        """The ids of who was born, where this is about the identity."""
        for column in self.columns:
            if column.field == GENERATION:
                return column.codes << SLOT_BITS | column.slots
        return _NO_CODES


def read_body(reader: BitReader, world: World) -> tuple[Slots, list[TableChange]]:
    """Who leaves, and what happens to each table, checked against `world`, which stays as it is.

    Raises WireError for whatever could not be said to somebody who knows just this world.
    """
    leave = read_slots(reader, world.capacity)
    if len(leave) and not world.identity.present[leave].all():
        raise WireError("a frame takes away what is not there")
    changes = [TableChange() for _ in world.tables]
    there = world.identity.present
    for number, (table, change) in enumerate(zip(world.tables, changes, strict=True)):
        if not reader.flag():
            if not number and len(leave):
                there = _without(there, leave)
            continue
        component = table.component
        present = _without(table.present, leave) if len(leave) else table.present
        if number:
            change.removed = read_slots(reader, world.capacity)
            if len(change.removed) and not present[change.removed].all():
                raise WireError("a frame takes a component away that is not there")
        change.added = read_slots(reader, world.capacity)
        if len(change.added) and present[change.added].any():
            raise WireError("a frame adds what is there already")
        change.columns += _read_absolute(reader, component, change.added, False)
        late = read_slots(reader, world.capacity)
        change.columns += _read_absolute(reader, component, late, True)
        _read_changed(reader, table, change)
        change.changed = np.union1d(late, change.rows) if len(late) else change.rows
        staying = _without(present, change.removed) if len(change.removed) else present
        if len(change.changed) < len(late) + len(change.rows) or not staying[change.changed].all():
            raise WireError("a frame changes what is not there, or twice")
        if number:
            if len(change.added) and not there[change.added].all():
                raise WireError("a frame adds a component to nobody")
        else:
            if len(change.added):
                present = present.copy()
                present[change.added] = True
            there = present
            _check_identity(table, change)
    reader.finish()
    return leave, changes


def _without(flags: Flags, slots: Slots) -> Flags:
    flags = flags.copy()
    flags[slots] = False
    return flags


def _check_identity(table: Table, change: TableChange) -> None:
    """Nobody is born as nothing, and nobody becomes another one in life."""
    if len(change.rows) and not np.array_equal(change.codes[GENERATION], table.codes[GENERATION, change.rows]):
        raise WireError("a frame has another entity in the place of one that lives")
    for column in change.columns:
        born = len(column.slots) == len(change.added) and np.array_equal(column.slots, change.added)
        if column.field == GENERATION and not (born and column.codes.all()):
            raise WireError("a frame has an entity without a generation")
        if column.field == KEY and not born:
            raise WireError("a frame changes an archetype")


def apply_body(world: World, leave: Slots, changes: Sequence[TableChange]) -> None:
    """Let `world` be as a body says."""
    if len(leave):
        world.ids[leave] = 0
        for table in world.tables:
            table.present[leave] = False
    for table, change in zip(world.tables, changes, strict=True):
        if len(change.removed):
            table.present[change.removed] = False
        if len(change.added):
            table.present[change.added] = True
        if len(change.rows):
            table.codes[:, change.rows] = change.codes
            table.steps[:, change.rows] = change.steps
        for column in change.columns:
            if len(column.codes):
                table.codes[column.field, column.slots] = column.codes
            if len(column.steps):
                table.steps[column.field, column.slots] = column.steps
            if column.texts:
                texts = table.texts[column.field]
                for slot, text in zip(column.slots.tolist(), column.texts, strict=True):
                    texts[slot] = text
    if len(changes[0].added):
        world.name(changes[0].added)


def _read_absolute(reader: BitReader, component: Component, slots: Slots, partly: bool) -> list[Column]:
    columns: list[Column] = []
    if not len(slots):
        return columns
    for number, width in enumerate(component.widths):
        chosen = slots
        if partly:
            chosen = slots[_read_which(reader, len(slots))]
            if not len(chosen):
                if component.predicted[number, 0]:
                    columns.append(_at_rest(number, slots))
                continue
        if number in component.texts:
            texts = _read_texts(reader, component.texts[number], len(chosen))
            columns.append(Column(number, chosen, _NO_CODES, _NO_CODES, texts))
            continue
        codes = _checked(component, number, read_rice(reader, len(chosen), width))
        steps = _NO_CODES
        if component.predicted[number, 0]:
            steps = np.zeros(len(chosen), np.int64)
            if reader.flag():
                steps = unzigzag(read_rice(reader, len(chosen), width + 1))
                if int(np.abs(steps).max()) > component.shapes[number].limit:
                    raise WireError("a frame has a step that is too long")
            if len(chosen) < len(slots):
                columns.append(_at_rest(number, slots))
        columns.append(Column(number, chosen, codes, steps, []))
    return columns


def _read_changed(reader: BitReader, table: Table, change: TableChange) -> None:
    """Read into `change` who was told in time, and what."""
    component = table.component
    slots = change.rows = read_slots(reader, len(table.present))
    count = len(slots)
    if not count:
        return
    differences = np.zeros((len(component.shapes), count), np.int64)
    told = np.zeros(differences.shape, np.bool_)
    for number, width in enumerate(component.step_widths):
        if not reader.flag():
            continue
        if number in component.texts:
            chosen = slots[_read_which(reader, count)]
            texts = _read_texts(reader, component.texts[number], len(chosen))
            change.columns.append(Column(number, chosen, _NO_CODES, _NO_CODES, texts))
        elif reader.flag():
            many = reader.count() + 1
            if many > count:
                raise WireError("a frame changes more fields than rows")
            which = _ascending(read_rice(reader, many, count.bit_length()), count)
            differences[number][which] = read_rice(reader, many, width)
            told[number][which] = True
        else:
            differences[number] = read_rice(reader, count, width)
            told[number] = True
    old = table.codes.take(slots, axis=1)
    codes = expected(component, old, table.steps.take(slots, axis=1))
    codes += unzigzag(differences)
    codes &= component.masks
    # Who was not told stays where it was, and at rest.
    codes = np.where(told, codes, old)
    # As unsigned numbers, those below 0 are beyond any limit too.
    wrong = codes.view(np.uint64) > component.limits.view(np.uint64)
    if wrong.any():
        raise WireError(f"a frame has a value that a field of {component.name!r} cannot hold")
    change.codes, change.steps = codes, (codes - old) * component.predicted


def _at_rest(number: int, slots: Slots) -> Column:
    """A predicted field that was not named: it did not move."""
    return Column(number, slots, _NO_CODES, np.zeros(len(slots), np.int64), [])


def _checked(component: Component, number: int, codes: Codes) -> Codes:
    if len(codes) and (int(codes.min()) < 0 or int(codes.max()) > component.shapes[number].limit):
        raise WireError(f"a frame has a value that {component.name}.{list(component.fields)[number]} cannot hold")
    return codes


def _read_texts(reader: BitReader, shape: Text, count: int) -> list[str | None]:
    different = reader.count()
    if different > count:
        raise WireError("a frame has more texts than rows")
    texts: list[str | None] = [None] if shape.nullable else []
    for _ in range(different):
        data = reader.octets(_bounded(reader.count(), reader))
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise WireError("a frame has a text that is no UTF-8") from error
        if len(text) > shape.length:
            raise WireError("a frame has a text that is too long")
        texts.append(text)
    if different == count:
        return texts[1:] if shape.nullable else texts
    if not texts:
        raise WireError("a frame has rows without a text")
    numbers = reader.numbers(count, (len(texts) - 1).bit_length())
    if int(numbers.max()) >= len(texts):
        raise WireError("a frame names a text that it has not")
    return [texts[number] for number in numbers.tolist()]


def _read_which(reader: BitReader, count: int) -> Codes:
    many = reader.count()
    if many > count:
        raise WireError("a frame changes more fields than rows")
    return _ascending(read_rice(reader, many, count.bit_length()), count) if many else _NO_CODES


def read_slots(reader: BitReader, capacity: int) -> Slots:
    """The slots again, all below `capacity`."""
    if not reader.flag():
        return NO_SLOTS
    count = reader.count() + 1
    return _ascending(read_rice(reader, _bounded(count, reader), SLOT_BITS), capacity).astype(np.int32)


def _ascending(left_out: Codes, end: int) -> Codes:
    """Numbers from their gaps. WireError unless all are below `end`."""
    # Gaps are blocks of SLOT_BITS at most, so below 2^25 each, and no frame has so many that their sum were too large.
    numbers: Codes = left_out.cumsum()
    numbers += np.arange(len(numbers))
    if numbers[-1] >= end:
        raise WireError("a frame names something beyond the end")
    return numbers


def _bounded(count: int, reader: BitReader) -> int:
    """A count of things that take at least a bit each."""
    if count > reader.left:
        raise WireError("a frame counts more than it can hold")
    return count
