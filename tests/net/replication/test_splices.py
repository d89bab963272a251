"""Frames put together from others: of one connection and of two, of now and of before. Either they are the right one,
byte for byte, or nothing happens and a full frame has to come."""

import random

import numpy as np

from net.envelope import WireError
from net.replication import Authority, Mirror

SPLICES = 20_000
TICKS = 40


def live(schema):
    """What two connections, one of which does not see everything, were sent in a short life: frames by connection."""
    authority = Authority(schema, 32, position=("body", ("x", "y", "z")))
    frames = {1: [], 2: []}
    for connection, heard in frames.items():
        authority.attach(connection, heard.append)
        assert authority.greet(connection, schema.greeting()) is None
    authority.set_policy(lambda connection, slot: connection == 1 or slot % 3 > 0)
    dice = random.Random(4)
    for tick in range(TICKS):
        entities = authority.entities()
        if len(entities) < 12:
            authority.spawn(owner=dice.randrange(3), body={"x": dice.uniform(-9, 9)}, player={"name": f"n{tick}"})
        elif tick % 5 == 0:
            authority.despawn(dice.choice(entities))
        for entity in entities[::2]:
            if entity in authority:
                authority.set(entity, "body", x=dice.uniform(-9, 9), yaw=tick)
        if tick % 13 == 12:
            authority.resync(1 + tick % 2)
        authority.tell(1, bytes([tick]))
        authority.sample(tick)
    return frames


def splice(dice, pool):
    """The beginning of one frame and the end of another, or a piece of one within another."""
    one, other = dice.choice(pool), dice.choice(pool)
    start, end = dice.randrange(len(one) + 1), dice.randrange(len(other) + 1)
    kind = dice.randrange(3)
    if kind == 0:
        return one[:start] + other[end:]
    if kind == 1:  # of equal length, so that all that is counted fits
        start = min(start, len(other))
        return one[:start] + other[start:]
    length = dice.randrange(8)
    return one[:start] + other[end : end + length] + one[start + length :]


def state(mirror):
    """All that a mirror says, as something that can be compared."""
    columns = [
        np.where(mirror.ids > 0, mirror.column(*name), 0).tobytes()
        for name in (("body", "x"), ("body", "yaw"), ("player", "score"))
    ]
    return mirror.tick, mirror.connection, mirror.private, mirror.acknowledged, mirror.entities(), columns


def test_spliced_frames_are_the_right_one_or_nothing(schema):
    frames = live(schema)
    dice = random.Random(5)
    pool = frames[1] + frames[2]
    mirror = Mirror(schema)
    for position, frame in enumerate(frames[1]):
        before = state(mirror)
        for _ in range(SPLICES // TICKS):
            spliced = splice(dice, pool)
            if spliced == frame or (spliced in pool and spliced[0] & 1):
                continue  # a full frame is right at any time
            update = mirror.apply(spliced)
            assert update is None
            assert position == 0 or mirror.needs_resync
            assert mirror.fault is None or isinstance(mirror.fault, WireError)
            mirror.needs_resync = False
        assert state(mirror) == before
        assert mirror.apply(frame) is not None
    assert mirror.tick == TICKS - 1


def test_a_whole_frame_of_another_connection_or_of_another_time_is_not_taken(schema):
    frames = live(schema)
    others = [frame for frame in frames[1] + frames[2] if not frame[0] & 1]
    mirror = Mirror(schema)
    for frame in frames[1]:
        before = state(mirror)
        for wrong in others:
            if wrong != frame:
                assert mirror.apply(wrong) is None
                assert mirror.needs_resync or mirror.connection == 0
                mirror.needs_resync = False
        assert state(mirror) == before
        assert mirror.apply(frame) is not None
