"""The protobuf codec: what a frame holds, lossy and unordered transports, and peers that send anything."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.clock import ManualClock
from net.presence import FIRED, JOINED, LocalPresence, OneShot, PeerFields, PresenceSync
from net.presence.codec import NAME_LIMIT, TEXT_LIMIT, Beat
from net.presence.fields import BOOL, DOUBLE, FIELD_LIMIT, FIXED, INT, ITEM_LIMIT, LIST, TEXT, message_type
from net.presence.frame import FRAME_LIMIT, Frame, pack_shot
from net.presence.protobuf import FIELDS, TRANSFORM, ProtobufCodec
from net.transport.conditioner import ConditionedTransport
from net.transport.conditions import Conditions
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import pair

KEEPALIVE = Beat(keepalive=True)


class Ends:
    """A writer and a reader without anything between them: frames are carried by hand."""

    def __init__(self, **options: Any) -> None:
        self.writer = ProtobufCodec(FIELDS, **options)
        self.reader = ProtobufCodec(FIELDS)
        self.writer.restart("ann")
        self.now = 0.0

    def write(self, fields: Any, **beat: Any) -> bytes:
        frames = self.writer.write(fields, Beat(**beat))
        assert len(frames) == 1
        assert isinstance(frames[0], bytes)
        return frames[0]

    def read(self, frame: bytes) -> dict[str, Any] | None:
        """The fields as of this frame; None if it brings no record."""
        self.now += 1.0
        heard = self.reader.read(frame, self.now)
        return None if heard is None or heard.peer is None else dict(heard.peer.fields)

    def shots(self, frame: bytes) -> list[Any]:
        heard = self.reader.read(frame, self.now)
        assert heard is not None
        return [value for _, value in heard.shots]


def fields_in(frame: bytes) -> Any:
    return Frame.FromString(frame)


def test_the_sender_stands_in_front_and_a_full_frame_has_the_table() -> None:
    ends = Ends()
    encoded = ends.write({"position": (1.5, 0, -2), "name": "Ann", "team": 3, "away": False, "tags": ["a"]})
    assert encoded.startswith(b"\x0a\x03ann")
    frame = fields_in(encoded)
    assert frame.seq == 1
    assert [(field.name, field.number, field.code) for field in frame.table.fields] == [
        ("position", 1, FIXED | LIST),
        ("name", 2, TEXT),
        ("team", 3, INT),
        ("away", 4, BOOL),
        ("tags", 5, TEXT | LIST),
    ]
    assert frame.table.decimals == 3


def test_only_what_has_changed_is_sent_and_nothing_when_nothing_has() -> None:
    ends = Ends()
    before = {"position": (1.0, 2.0, 3.0), "name": "Ann", "away": True, "score": 5}
    ends.read(ends.write(before))
    assert ends.writer.write(before, Beat()) == []
    after = {**before, "away": False, "score": 0}
    delta = ends.write(after)
    assert not fields_in(delta).HasField("table")
    state = message_type(((1, FIXED | LIST), (2, TEXT), (3, BOOL), (4, INT))).FromString(fields_in(delta).state)
    assert [entry.name for entry, _ in state.ListFields()] == ["f3", "f4"], "zero and false are values too"
    assert ends.read(delta) == after


def test_a_delta_is_small() -> None:
    ends = Ends()
    where = {"position": (10.0, 0.0, 10.0), "rotation_y": 1.0, "name": "Ann"}
    ends.write(where)
    delta = ends.write({**where, "position": (10.123, 0.0, 10.2), "rotation_y": 1.1})
    assert len(delta) <= len("ann") + 26


@pytest.mark.parametrize(
    ("decimals", "value", "shown"),
    [(3, 0.12345, 0.123), (3, -0.0004, 0.0), (0, 7.6, 8.0), (9, 0.123456789, 0.123456789), (1, -3.25, -3.2)],
)
def test_floats_are_rounded_to_the_chosen_decimals(decimals: int, value: float, shown: float) -> None:
    ends = Ends(decimals=decimals)
    assert ends.read(ends.write({"x": value, "l": [value, 1]})) == {"x": shown, "l": (shown, 1.0)}


def test_what_rounds_to_the_same_is_no_change() -> None:
    ends = Ends()
    ends.write({"x": 1.0001})
    assert ends.writer.write({"x": 1.0004}, Beat()) == []
    assert ends.writer.write({"x": 1.0006}, Beat()) != []


def test_a_field_widens_once_and_does_not_flutter() -> None:
    ends = Ends()
    streams = []
    for value in (1, 0.5, 2, 1e300, 3, 0.5):
        frame = ends.write({"x": value}, keepalive=True)
        streams.append((fields_in(frame).stream, fields_in(frame).table.fields[0].code))
        assert ends.read(frame) == {"x": float(value)}
    assert [code for _, code in streams] == [INT, FIXED, FIXED, DOUBLE, DOUBLE, DOUBLE]
    assert len({stream for stream, _ in streams}) == 3


@pytest.mark.parametrize("huge", [2**60, -(2**60), 10**30, 1e15])
def test_a_number_that_is_too_large_for_the_grid_still_travels(huge: float) -> None:
    ends = Ends()
    for value in (0.5, huge):
        assert ends.read(ends.write({"x": value, "l": [0.5, value]})) == {"x": float(value), "l": (0.5, float(value))}


def test_fields_that_come_go_or_change_their_kind_bring_a_new_table_at_once() -> None:
    ends = Ends()
    for fields in (
        {"a": 1},
        {"a": 1, "b": "x"},
        {"b": "x"},
        {"b": True},
        {"b": [1]},
        {"b": ["x"]},
        {"b": None, "c": 1.5},
        {},
    ):
        assert ends.read(ends.write(fields)) == {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
            if value is not None
        }


def test_the_order_of_names_does_not_matter() -> None:
    ends = Ends()
    ends.read(ends.write({"a": 1, "b": 2}))
    assert ends.writer.write({"b": 2, "a": 1}, Beat()) == []
    assert ends.read(ends.write({"b": 3, "a": 1})) == {"a": 1, "b": 3}


@pytest.mark.parametrize("items", [[1, 2], [0.5], ["a"], [True]])
def test_lists_that_become_empty_and_full_again(items: list[Any]) -> None:
    ends = Ends()
    for value in (items, [], items, [], []):
        frames = ends.writer.write({"l": value}, Beat())
        for frame in frames:
            assert isinstance(frame, bytes)
            assert ends.read(frame) == {"l": tuple(value)}


def test_a_struct_is_as_good_as_a_mapping() -> None:
    class Hero(msgspec.Struct):
        position: tuple[float, float, float]
        name: str
        mount: str | None = None

    ends = Ends()
    assert ends.read(ends.write(Hero((1, 2, 3), "Ann"))) == {"position": (1, 2, 3), "name": "Ann"}
    assert ends.read(ends.write(Hero((1, 2, 3), "Ann", "horse")))["mount"] == "horse"  # type: ignore[index]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"x": math.nan}, ValueError),
        ({"x": -math.inf}, ValueError),
        ({"x": [1.0, math.nan]}, ValueError),
        ({"x": 10**400}, ValueError),
        ({"x": "\ud800"}, ValueError),
        ({"x": "a" * (TEXT_LIMIT + 1)}, ValueError),
        ({"x": ["a" * 100] * 6}, ValueError),
        ({"x": [1] * (ITEM_LIMIT + 1)}, ValueError),
        ({"": 1}, ValueError),
        ({"x" * (NAME_LIMIT + 1): 1}, ValueError),
        ({f"x{n}": n for n in range(FIELD_LIMIT + 1)}, ValueError),
        ({f"x{n}": "ß" * TEXT_LIMIT for n in range(20)}, ValueError),
        ({"x": {}}, TypeError),
        ({"x": b"a"}, TypeError),
        ({"x": [1, "a"]}, TypeError),
        ({"x": [True, 1]}, TypeError),
        ({"x": [[1]]}, TypeError),
        ({"x": [None]}, TypeError),
    ],
)
def test_what_no_peer_would_take_is_refused_and_the_stream_goes_on(fields: Any, error: type[Exception]) -> None:
    ends = Ends()
    ends.read(ends.write({"a": 1}))
    with pytest.raises(error):
        ends.writer.write(fields, KEEPALIVE)
    assert ends.read(ends.write({"a": 2})) == {"a": 2}


@pytest.mark.parametrize("options", [{"decimals": -1}, {"decimals": 10}, {"repeats": -1}, {"repeats": 4}])
def test_options_have_limits(options: Any) -> None:
    with pytest.raises(ValueError, match="to"):
        ProtobufCodec(FIELDS, **options)


@pytest.mark.parametrize("peer_id", ["", "x" * 257, "\0x", "\ud800"])
def test_a_peer_id_has_limits(peer_id: str) -> None:
    with pytest.raises(ValueError, match=r"peerId|surrogates"):
        ProtobufCodec(FIELDS).restart(peer_id)


@pytest.mark.parametrize(
    ("peer_id", "size"),
    [
        ("0b6ad5b8-5a63-4d3c-9a3b-0123456789ab", 17),
        ("0B6AD5B8-5A63-4D3C-9A3B-0123456789AB", 36),
        ("0b6ad5b85a634d3c9a3b0123456789ab", 32),
        ("sixteen letters.", 16),
        ("ß🎉\n", 7),
    ],
)
def test_a_uuid_travels_in_17_bytes_and_any_other_id_as_it_is(peer_id: str, size: int) -> None:
    ends = Ends()
    ends.writer.restart(peer_id)
    frame = ends.write({"a": 1})
    assert len(fields_in(frame).sender) == size
    heard = ends.reader.read(frame, 0.0)
    assert heard is not None
    assert heard.peer_id == peer_id


values = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.lists(st.floats(-1e6, 1e6), max_size=5),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=5),
    st.lists(st.booleans(), max_size=5),
)
locals_ = st.dictionaries(st.sampled_from(["a", "b", "position", "x.y", "ß"]), values, max_size=5)


def close(read: Any, written: Any) -> bool:
    if isinstance(written, list):
        return len(read) == len(written) and all(map(close, read, written))
    if isinstance(written, str | bool):
        return bool(read == written and type(read) is type(written))
    return math.isclose(read, written, rel_tol=1e-12, abs_tol=0.00051)


@given(st.lists(st.tuples(locals_, st.booleans()), min_size=1, max_size=6))
def test_whatever_fields_do_the_reader_sees_the_same(story: list[tuple[dict[str, Any], bool]]) -> None:
    ends = Ends()
    seen: dict[str, Any] | None = None
    for fields, keepalive in story:
        for frame in ends.writer.write(fields, Beat(keepalive=keepalive)):
            assert isinstance(frame, bytes)
            seen = ends.read(frame)
        assert seen is not None
        assert seen.keys() == fields.keys()
        assert all(close(seen[name], value) for name, value in fields.items())


def test_a_delta_of_an_unknown_stream_only_says_that_somebody_is_there() -> None:
    ends = Ends()
    full = ends.write({"a": 1, "b": 1})
    delta = ends.write({"a": 2, "b": 1})
    heard = ends.reader.read(delta, 1.0)
    assert heard is not None
    assert (heard.peer_id, heard.peer, heard.shots) == ("ann", None, ())
    assert ends.read(full) == {"a": 1, "b": 1}
    assert ends.read(delta) == {"a": 2, "b": 1}
    ends.reader.forget("ann")
    assert ends.read(ends.write({"a": 3, "b": 1})) is None
    assert ends.read(ends.write({"a": 3, "b": 1}, newcomer=True)) == {"a": 3, "b": 1}


def test_in_any_order_the_newest_value_of_each_field_stays() -> None:
    story = [{"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 1}, {"a": 3, "b": 2, "c": 1}]
    for order in itertools.permutations(range(1, 4)):
        ends = Ends()
        frames = [ends.write(fields) for fields in story]
        for n in (0, *order, *order):
            ends.read(frames[n])
        heard = ends.reader.read(frames[3], 99.0)
        assert heard is not None
        assert ends.reader._streams["ann"].values == story[-1]


def test_a_late_frame_does_not_make_a_peer_younger() -> None:
    ends = Ends()
    frames = [ends.write({"a": 1, "b": 1}), ends.write({"a": 1, "b": 2}), ends.write({"a": 2, "b": 2})]
    ends.reader.read(frames[0], 1.0)
    ends.reader.read(frames[2], 2.0)
    late = ends.reader.read(frames[1], 9.0)
    assert late is not None
    assert late.peer == PeerFields("ann", 2.0, {"a": 2, "b": 2})
    again = ends.reader.read(frames[2], 9.0)
    assert again is not None
    assert again.peer is None


def test_a_lost_delta_is_made_good_by_the_keepalive() -> None:
    ends = Ends()
    ends.read(ends.write({"a": 1, "b": 1}))
    ends.write({"a": 2, "b": 1})
    assert ends.read(ends.write({"a": 2, "b": 2})) == {"a": 1, "b": 2}
    assert ends.read(ends.write({"a": 2, "b": 2}, keepalive=True)) == {"a": 2, "b": 2}


@pytest.mark.parametrize("lost", [{1}, {1, 2}, {2, 3}])
def test_a_one_shot_survives_as_many_losses_as_it_has_repeats(lost: set[int]) -> None:
    ends = Ends(repeats=2)
    frames = [ends.write({"a": 0}), ends.write({"a": 0}, shots=(("emote", 1), ("emote", 2)))]
    frames += [ends.write({"a": 0}), ends.write({"a": 0})]
    assert ends.writer.write({"a": 0}, Beat()) == [], "and then it is over"
    heard = [value for n, frame in enumerate(frames) if n not in lost for value in ends.shots(frame)]
    assert heard == [1, 2]


def test_one_shots_in_any_order_and_doubled_are_heard_once() -> None:
    ends = Ends()
    frames = [ends.write({"a": 0})]
    frames += [ends.write({"a": n}, shots=(("emote", n),)) for n in range(1, 6)]
    shuffled = frames[1:] * 3
    random.Random(5).shuffle(shuffled)
    heard = [value for frame in (frames[0], *shuffled) for value in ends.shots(frame)]
    assert sorted(heard) == [1, 2, 3, 4, 5]


def test_without_repeats_a_one_shot_is_in_one_frame() -> None:
    ends = Ends(repeats=0)
    ends.write({"a": 0}, shots=(("emote", 1),))
    assert ends.writer.write({"a": 0}, Beat()) == []


def test_over_a_network_that_loses_doubles_and_reorders_presence_and_one_shots_come_through() -> None:
    hub, clock = LocalHub(), ManualClock()
    bad = Conditions(latency=0.05, jitter=0.04, loss=0.05, duplicate=0.2, ordered=False)
    here = {"position": (0.0, 0.0, 0.0), "mood": "glad"}
    far = ConditionedTransport(LocalTransport(hub, "ann"), clock, up=bad, seed=3)
    ann = PresenceSync(far, lambda: here, clock, ProtobufCodec(FIELDS, repeats=3), one_shots=("emote",))
    bob = PresenceSync(
        LocalTransport(hub, "bob"), lambda: {"position": (1, 1, 1)}, clock, ProtobufCodec(FIELDS), one_shots=("emote",)
    )
    heard: list[OneShot] = []
    bob.bus.on(FIRED, heard.append)
    bob.start()
    ann.start()
    fired = 0
    for step in range(600):
        clock.advance(0.02)
        if step < 500:
            here["position"] = (step / 7, 0.0, 1.0)
            here["mood"] = ("glad", "sad")[step // 40 % 2]
        if 50 < step < 500 and step % 9 == 0:
            fired += 1
            ann.fire("emote", fired)
        for sync in (ann, bob):
            sync.update()
        far.poll()
    assert sorted(shot.value for shot in heard) == list(range(1, fired + 1))  # type: ignore[type-var]
    assert bob.peers()[0].fields == {"position": (round(499 / 7, 3), 0.0, 1.0), "mood": "glad"}


def test_a_newcomer_is_told_at_the_next_beat_and_a_crowd_of_them_in_one_go() -> None:
    hub, clock = LocalHub(), ManualClock()
    watch = LocalTransport(hub, "watch")
    frames: list[Any] = []
    watch.subscribe_bytes(lambda frame: frames.append(Frame.FromString(frame)))
    ann = PresenceSync(LocalTransport(hub, "ann"), lambda: {"a": 1}, clock, ProtobufCodec(FIELDS), keepalive_every=1000)
    ann.start()
    clock.advance(1.0)
    ann.update()
    frames.clear()
    for n in range(20):
        stranger = ProtobufCodec(FIELDS)
        stranger.restart(f"stranger {n}")
        (hello,) = stranger.write({}, Beat())
        assert isinstance(hello, bytes)
        watch.send_bytes(hello)
        clock.advance(0.036)
        ann.update()
    assert 6 <= len(frames) <= 8, "20 newcomers in 0.72 s, one answer each 0.1 s"
    assert all(frame.HasField("table") for frame in frames)


def test_35_ms_and_half_a_second_are_the_rates_unless_chosen() -> None:
    here, there = pair("ann", "bob")
    clock = ManualClock()
    sync = PresenceSync(here, lambda: {"t": clock.now()}, clock, ProtobufCodec(FIELDS))
    full: list[bool] = []
    there.subscribe_bytes(lambda frame: full.append(Frame.FromString(frame).HasField("table")))
    sync.start()
    for _ in range(2 * 140):
        clock.advance(0.0175)
        sync.update()
    assert len(full) == 141
    assert [beat for beat, has_table in enumerate(full) if has_table] == list(range(0, 141, 14))


def test_fields_with_a_position_can_be_sampled_and_others_not() -> None:
    codec = ProtobufCodec(FIELDS)
    assert codec.pose(PeerFields("a", 0.0, {"position": (1.0, 2, 3.0)})) == ((1, 2, 3), 0.0)
    assert codec.pose(PeerFields("a", 0.0, {"position": (1.0, 2, 3.0), "rotation_y": 2.5})) == ((1, 2, 3), 2.5)
    for fields in ({}, {"position": (1.0, 2.0)}, {"position": ("a", "b", "c")}, {"position": 1}):
        assert codec.pose(PeerFields("a", 0.0, fields)) is None


def test_pr09_transforms_need_a_position_of_three_numbers() -> None:
    reader = ProtobufCodec(TRANSFORM)
    ends = Ends()
    for position in ((1.0, 2.0), ("a", "b", "c"), (True, False, True), 7.0, ()):
        heard = reader.read(ends.write({"position": position}, keepalive=True), 1.0)
        assert heard is not None
        assert heard.peer is None
    assert reader._streams == {}


def test_pr10_a_rotation_of_another_type_does_not_count() -> None:
    reader, ends = ProtobufCodec(TRANSFORM), Ends()
    heard = reader.read(ends.write({"position": (1, 2, 3), "rotation_y": "north", "wings": 2}), 1.0)
    assert heard is not None
    assert heard.peer is not None
    assert (heard.peer.position, heard.peer.rotation_y, heard.peer.meta) == ((1, 2, 3), 0.0, None)


# Peers that send anything.


def hand_made(table: list[tuple[str, int, int]], state: bytes = b"", **fields: Any) -> bytes:
    frame = Frame(**{"sender": b"ann", "stream": 5, "seq": 1, "state": state, **fields})
    frame.table.decimals = 3
    for name, number, code in table:
        frame.table.fields.add(name=name, number=number, code=code)
    encoded: bytes = frame.SerializeToString()
    return encoded


def state(types: list[tuple[int, int]], **fields: Any) -> bytes:
    return message_type(tuple(types))(**fields).SerializeToString()


def test_of_an_unknown_version_only_what_is_unknown_is_ignored() -> None:
    table = [("a", 1, INT), ("new", 2, 99), ("far", 5000, INT), ("none", 0, INT), ("a", 3, INT), ("b", 1, TEXT)]
    table += [("", 4, INT), ("x" * (NAME_LIMIT + 1), 5, INT), ("c", 6, BOOL), ("map", 7, 6 | LIST)]
    sent = state([(1, INT), (2, TEXT), (3, INT), (6, BOOL), (40, TEXT)], f1=4, f2="?", f3=5, f6=True, f40="?")
    assert Ends().read(hand_made(table, sent) + b"\x92\x3f\x03new") == {"a": 4, "c": True}


def test_of_values_beyond_the_limits_only_those_are_ignored() -> None:
    table = [("long", 1, TEXT), ("items", 2, INT | LIST), ("words", 3, TEXT | LIST), ("nan", 4, DOUBLE)]
    table += [("nans", 5, DOUBLE | LIST), ("good", 6, FIXED)]
    types = [(number, code) for _, number, code in table]
    sent = state(
        types, f1="x" * (TEXT_LIMIT + 1), f2=[1] * (ITEM_LIMIT + 1), f3=["x" * 300] * 2, f4=math.nan, f5=[1.0, math.inf]
    )
    good = state(types, f6=1500)
    read = Ends().read(hand_made(table, sent + good))
    assert read == {"good": 1.5}


def test_a_field_of_another_wire_type_than_the_table_says_is_ignored() -> None:
    assert Ends().read(hand_made([("a", 1, INT), ("b", 2, INT)], state([(1, TEXT), (2, INT)], f1="x", f2=7))) == {
        "b": 7
    }


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x0a",
        b"\x43\x00chat",
        hand_made([], sender=b""),
        hand_made([], sender=b"x" * 257),
        hand_made([], sender=b"\xff"),
        hand_made([], sender=b"\0" * 16),
        hand_made([], seq=0),
        hand_made([("a", 1, TEXT)], b"\x0a\x01\xff"),
        hand_made([], b"\xff"),
        b"\x0a\x01\xff",
        hand_made([]) + b"\x0a",
        hand_made([]) + b"\x92\x3f\xff\x7f" + b"x" * FRAME_LIMIT,
    ],
)
def test_malformed_frames_are_ignored_as_a_whole(message: bytes) -> None:
    ends = Ends()
    heard = ends.reader.read(message, 1.0)
    assert heard is None
    assert ends.reader._streams == {}


def test_hostile_one_shots_are_dropped_and_memory_stays_bounded() -> None:
    ends = Ends()
    ends.reader.read(hand_made([]), 0.0)
    for seq in range(2, 200):
        frame = Frame(sender=b"ann", stream=5, seq=seq)
        frame.shots.extend(pack_shot(seq * 1000 + n, ("emote", n)) for n in range(100))
        frame.shots.add(number=2**32 - 1 - seq, name="x" * 100)
        frame.shots[0].text = "x" * 2000
        frame.shots[1].real = math.nan
        heard = ends.reader.read(frame.SerializeToString(), 0.0)
        assert heard is not None
        assert len(heard.shots) <= 30
    assert len(ends.reader._streams["ann"]._shots) <= 64


def test_somebody_who_burns_all_numbers_is_heard_again_once_he_has_gone_stale() -> None:
    hub, clock = LocalHub(), ManualClock()
    sync = PresenceSync(LocalTransport(hub, "me"), lambda: {}, clock, ProtobufCodec(FIELDS))
    sync.start()
    ann = LocalTransport(hub, "ann")
    ann.send_bytes(hand_made([("a", 1, INT)], state([(1, INT)], f1=1), seq=2**32 - 1))
    for seq in range(2, 110):
        clock.advance(0.05)
        ann.send_bytes(hand_made([("a", 1, INT)], state([(1, INT)], f1=seq), seq=seq))
        sync.update()
    assert sync.peers()[0].fields == {"a": 109}


def test_a_bye_of_an_earlier_stream_does_not_remove_who_came_back() -> None:
    ends = Ends()
    ends.write({"a": 1})
    (bye,) = ends.writer.farewell()
    ends.writer.restart("ann")
    ends.read(ends.write({"a": 2}))
    assert isinstance(bye, bytes)
    assert ends.reader.read(bye, 1.0) is None
    assert ends.read(ends.write({"a": 3})) == {"a": 3}


def test_invented_tables_cost_no_memory() -> None:
    ends = Ends()
    for n in range(300):
        table = [(f"f{k}", k + 1, (BOOL, INT)[n >> k & 1]) for k in range(9)]
        ends.read(hand_made(table, stream=n))
    assert len(ends.reader._streams) == 1
    info = message_type.cache_info()
    assert info.maxsize is not None
    assert info.currsize <= info.maxsize


def check_bytes_are_harmless(message: bytes) -> None:
    """Into a fresh reader, into one that knows the stream, and through a whole sync."""
    known = ProtobufCodec(FIELDS)
    known.read(GOOD_FULL, 0.0)
    hub = LocalHub()
    sync = PresenceSync(
        LocalTransport(hub, "me"),
        lambda: LocalPresence((0.0, 0.0, 0.0)),
        ManualClock(),
        ProtobufCodec(TRANSFORM),
        interpolate=0.0,
        one_shots=("emote",),
    )
    sync.start()
    sync._heard(message)  # directly: a transport would log what it raises
    for reader in (ProtobufCodec(FIELDS), known):
        heard = reader.read(message, 1.0)
        if heard is None or heard.peer is None:
            continue
        assert len(heard.peer.fields) <= FIELD_LIMIT
        for name, value in heard.peer.fields.items():
            assert 0 < len(name) <= NAME_LIMIT
            for item in value if isinstance(value, tuple) else (value,):
                assert isinstance(item, bool | int | float | str)
                assert not isinstance(item, float) or math.isfinite(item)
    for peer in sync.peers():
        assert all(math.isfinite(value) for value in (*peer.position, peer.rotation_y))
        sync.sample(peer.peer_id)


_ends = Ends()
GOOD_FULL = _ends.write({"position": (1.0, 2.0, 3.0), "name": "Ann", "tags": ["a"], "big": 1e300, "on": True, "n": 3})
GOOD_DELTA = _ends.write(
    {"position": (1.0, 2.5, 3.0), "name": "Ann", "tags": ["a"], "big": 1e300, "on": True, "n": 4},
    shots=(("emote", 1), ("emote", "x"), ("emote", 0.5), ("emote", None)),
)


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda rest: b"\x0a\x03ann" + rest))
def test_random_bytes_are_harmless(message: bytes) -> None:
    check_bytes_are_harmless(message)


@pytest.mark.parametrize("good", [GOOD_FULL, GOOD_DELTA])
def test_truncated_frames_are_harmless(good: bytes) -> None:
    for length in range(len(good)):
        check_bytes_are_harmless(good[:length])


@given(
    st.sampled_from([GOOD_FULL, GOOD_DELTA]),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6),
    st.binary(max_size=8),
)
def test_mutated_frames_are_harmless(good: bytes, changes: list[tuple[int, int]], tail: bytes) -> None:
    mutated = bytearray(good)
    for place, byte in changes:
        mutated[place % len(mutated)] = byte
    check_bytes_are_harmless(bytes(mutated) + tail)


@given(
    st.lists(st.tuples(st.text(max_size=4), st.integers(0, 80), st.integers(0, 20)), max_size=8),
    st.binary(max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_any_table_over_any_state_is_harmless(table: list[tuple[str, int, int]], sent: bytes, seq: int) -> None:
    check_bytes_are_harmless(hand_made(table, sent, seq=seq))


def test_joined_comes_before_the_one_shot_of_the_same_frame() -> None:
    hub, clock = LocalHub(), ManualClock()
    sync = PresenceSync(LocalTransport(hub, "me"), lambda: {}, clock, ProtobufCodec(FIELDS), one_shots=("emote",))
    order: list[str] = []
    sync.bus.on_any(lambda name, payload: order.append(name))
    sync.start()
    ends = Ends()
    LocalTransport(hub, "ann").send_bytes(ends.write({}, shots=(("emote", 1),)))
    assert order == [JOINED, FIRED]
