"""Broken, truncated and forged frames: the documented outcome and nothing else, whatever a peer sends."""

import random
import zlib

import numpy as np
import pytest

from net.envelope import WireError
from net.replication.authority import Authority
from net.replication.bits import BitReader, BitWriter
from net.replication.decoder import read_body
from net.replication.encoder import write_slots
from net.replication.frame import FIRST, Head, check_of, read_head, write_head
from net.replication.mirror import Mirror
from net.replication.schema import Component, Schema
from net.replication.shapes import Bool, Fixed, Int, Text
from net.replication.world import World

BROKEN = 160_000
FORGED = 40_000


def busy(schema, count=6):
    """Frames of a short life with everything in it."""
    authority, frames = Authority(schema, 64), []
    authority.attach(1, frames.append)
    authority.greet(1, schema.greeting())
    authority.tell(1, b"private")
    entities = [
        authority.spawn("bot", owner=n, body={"x": n}, player={"name": f"n{n}", "score": n}, carrier={})
        for n in range(count)
    ]
    for tick in range(8):
        for n, entity in enumerate(entities):
            authority.set(entity, "body", x=n + tick / 7, yaw=tick)
        authority.set(entities[2], "player", name=f"tick {tick}", title="x" if tick % 2 else None)
        authority.set(entities[0], "carrier", target=entities[tick % len(entities)], load=tick % 3)
        if tick == 3:
            authority.despawn(entities.pop(1))
            authority.remove(entities[1], "carrier")
        if tick == 5:
            entities.append(authority.spawn("bot", body={}, parent=entities[0]))
            authority.add(entities[1], "carrier", target=entities[-1])
        authority.acknowledge(1, 3 * tick)
        authority.sample(3 * tick)
    return authority, frames


def mangle(dice, frame):
    """A frame that is not that one."""
    data = bytearray(frame)
    kind = dice.randrange(5)
    if kind == 0:
        return bytes(data[: dice.randrange(len(data))])
    if kind == 1:
        return bytes(data) + dice.randbytes(dice.randint(1, 4))
    if kind == 2:
        return bytes(FIRST | byte & 15 if n == 0 else byte for n, byte in enumerate(dice.randbytes(dice.randrange(40))))
    for _ in range(dice.randint(1, 3)):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def test_broken_frames_change_nothing(schema, equal):
    """What is broken on its way is noticed, and the world stays as it was until the full frame comes."""
    authority, frames = busy(schema)
    dice = random.Random(1)
    mirror = Mirror(schema, {"bot": lambda entity: {}})
    for frame in frames:
        assert mirror.apply(frame) is not None
    equal(authority, mirror)
    for _ in range(BROKEN):
        frame = dice.choice(frames)
        broken = mangle(dice, frame)
        if broken == frame:
            continue
        mirror.needs_resync = False
        before = mirror.tick, mirror.acknowledged, len(mirror)
        assert mirror.apply(broken) is None
        assert mirror.needs_resync
        assert isinstance(mirror.fault, WireError)
        assert (mirror.tick, mirror.acknowledged, len(mirror)) == before
    equal(authority, mirror)
    mirror.needs_resync = True
    authority._receivers[1].send = mirror.apply
    authority.resync(1)
    for tick in range(100, 112):
        authority.sample(tick)
    assert not mirror.needs_resync
    equal(authority, mirror)


def test_forged_bodies_are_a_world_or_a_wire_error(schema, monkeypatch):
    """An authority that makes the checks right, and the rest wrong, gets no further than its own world."""
    _, frames = busy(schema)
    dice = random.Random(2)
    mirror = Mirror(schema, {"bot": lambda entity: {}})
    for frame in frames:
        assert mirror.apply(frame) is not None
    last = mirror._world
    forged = []
    bodies = [read_head(frame)[2] for frame in frames]
    outcomes = {"fine": 0, "refused": 0}
    for _ in range(FORGED):
        body = bytearray(mangle(dice, dice.choice(bodies)))
        try:
            leave, changes = read_body(BitReader(bytes(body)), last)
        except WireError:
            outcomes["refused"] += 1
            continue
        outcomes["fine"] += 1
        forged.append(bytes(body))
        for table, change in zip(last.tables, changes, strict=True):
            for slots in (leave, change.added, change.removed, change.changed):
                assert slots.size == 0 or (slots.min() >= 0 and slots.max() < last.capacity)
            if len(change.rows):
                assert (change.codes >= 0).all()
                assert (change.codes <= table.component.limits).all()
            for column in change.columns:
                if len(column.codes):
                    assert column.codes.min() >= 0
                    assert column.codes.max() <= table.component.shapes[column.field].limit
    assert outcomes["fine"] > FORGED / 1000
    assert outcomes["refused"] > FORGED / 2
    monkeypatch.setattr("net.replication.mirror.check_of", lambda start, check: b"good")
    for body in forged[:200]:
        fooled = Mirror(schema, {"bot": lambda entity: {}})
        for frame in frames:
            fooled.apply(frame[:-4] + b"good")
        assert fooled.apply(write_head(Head(counter=fooled._counter, has_body=True)) + body + b"good") is not None
        for entity in fooled.entities():
            for component in schema.components:
                for field in component.fields if fooled.has(entity, component.name) else ():
                    fooled.get(entity, component.name, field)
            fooled.parent_of(entity)


def forge(mirror, body, **head):
    """A frame with that body and a check that fits, if no entity comes or goes."""
    filled = Head(counter=mirror._counter or 0, has_body=bool(body), **head)
    start = write_head(filled)
    return start + body + check_of(start, zlib.crc32(body, mirror._digest))


@pytest.fixture
def mirror(schema):
    _, frames = busy(schema)
    mirror = Mirror(schema, {"bot": lambda entity: {}})
    for frame in frames:
        assert mirror.apply(frame) is not None
    return mirror


def test_frames_before_the_first_full_one_are_ignored(schema):
    _, frames = busy(schema)
    mirror = Mirror(schema)
    assert mirror.apply(frames[1]) is None
    assert not mirror.needs_resync
    assert mirror.apply(b"") is None
    assert mirror.needs_resync


def test_a_frame_that_comes_twice_or_is_missing_is_noticed(schema):
    _, frames = busy(schema)
    for order in ([0, 1, 1], [0, 2], [0, 1, 3]):
        mirror = Mirror(schema, {"bot": lambda entity: {}})
        results = [mirror.apply(frames[n]) for n in order]
        assert results[-1] is None
        assert None not in results[:-1]
        assert "missing" in str(mirror.fault)
        assert mirror.apply(frames[3]) is None
        assert mirror.apply(frames[0]) is not None
        assert not mirror.needs_resync


def test_a_frame_about_another_world_is_noticed(schema, mirror):
    """The very same head and body, made for somebody who knows one entity more."""
    frame = forge(mirror, b"")
    assert mirror.apply(frame) is not None
    mirror._digest ^= 1
    assert mirror.apply(forge(mirror, b"")) is not None
    frame = forge(mirror, b"")
    mirror._digest ^= 1
    assert mirror.apply(frame) is None
    assert "check" in str(mirror.fault)


def bits(*pairs):
    writer = BitWriter()
    for value, width in pairs:
        writer.number(value, width)
    return writer.finish()


def slots(writer, *which):
    write_slots(writer, np.array(which, np.int32))


@pytest.mark.parametrize("which", [[63], [0, 63], [64], [2**20 - 1]])
def test_who_is_not_there_cannot_leave(mirror, which):
    writer = BitWriter()
    slots(writer, *which)
    writer.number(0, 4)
    assert mirror.apply(forge(mirror, writer.finish())) is None
    assert mirror.needs_resync


def test_the_slots_of_an_authority_are_bounded(schema):
    for capacity in (0, 65, 10**6, 2**60):
        mirror = Mirror(schema, slots=64)
        start = write_head(Head(full=True, capacity=capacity, connection=1, has_body=True))
        body = bytes(1)
        assert mirror.apply(start + body + check_of(start, zlib.crc32(body, 0))) is None
        assert mirror.needs_resync
        assert mirror._world.capacity == 1


def test_huge_counts_cost_nothing(mirror):
    """A count is bounded by the bits that are left, before anything is made of that size."""
    body = bits((1, 1), (31, 5), (31, 5), (31, 5), (31, 5), (31, 5), (31, 5), (31, 5), (15, 5), (0, 40))
    with pytest.raises(WireError):
        read_body(BitReader(body), mirror._world)
    assert mirror.apply(forge(mirror, body)) is None


def test_a_frame_beyond_all_bounds_is_refused_unread(mirror):
    assert mirror.apply(bytes([FIRST]) + bytes(5 << 20)) is None


@pytest.mark.parametrize("private", [b"", b"x" * 300])
def test_heads_go_round(private):
    for head in (
        Head(True, 255, 2**40, 2**31, 65536, 2**50, private, False),
        Head(False, 0, 0, 0, 0, 0, None, True),
        Head(False, 7, 3, 0, 0, 1, private, True),
    ):
        body = b"body" if head.has_body else b""
        start = write_head(head)
        assert read_head(start + body + b"1234") == (head, start, body)


def test_wrong_values_steps_and_texts_are_refused():
    """A value that its field cannot hold is refused, however it comes in."""
    narrow = Schema([Component("c", a=Int(0, 4), b=Fixed(0, 5, 1), t=Text(3))])
    wide = Schema([Component("c", a=Int(0, 7), b=Fixed(0, 7, 1), t=Text(9))])
    for values in ({"a": 5}, {"b": 6}, {"t": "abcd"}):
        for late in (False, True):
            frames = []
            authority, mirror = Authority(wide, 8), Mirror(narrow)
            authority.attach(1, frames.append)
            authority.greet(1, wide.greeting())
            entity = authority.spawn(c={} if late else values)
            authority.sample(0)
            if late:
                authority.set(entity, "c", **values)
                authority.sample(1)
            results = [mirror.apply(frame) for frame in frames]
            assert results[-1] is None
            assert mirror.needs_resync


def test_a_component_for_nobody_and_a_ghost_that_becomes_another_are_refused():
    schema = Schema([Component("c", it=Bool())])
    world = World(schema, 8)
    writer = BitWriter()
    writer.number(0, 2)  # nobody leaves, nobody comes
    writer.number(0b10, 2)  # one table: nobody loses it
    slots(writer, 3)
    writer.number(0, 1)
    writer.number(0b1, 1)
    writer.number(0, 2)
    with pytest.raises(WireError, match="nobody"):
        read_body(BitReader(writer.finish()), world)
