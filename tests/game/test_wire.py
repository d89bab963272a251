"""The messages: exact both ways, and nothing but WireError for what a peer may write."""

import contextlib
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from game.sim.command import Command
from game.sim.grid import direction
from game.sim.state import Avatar
from game.wire import (
    NAME_LIMIT,
    Event,
    Input,
    State,
    WorldState,
    clean_color,
    clean_name,
    emote_of,
    pack_avatar,
    pack_input,
    parse,
    parse_raw,
    unpack_avatar,
    unpack_input,
)
from net.envelope import WireError

PLACE, SPEED = st.integers(-60_000, 60_000), st.integers(-500, 500)
avatars = st.builds(
    Avatar,
    PLACE,
    PLACE,
    PLACE,
    SPEED,
    SPEED,
    SPEED,
    st.integers(0, 65535),
    st.integers(0, 9),
    st.integers(0, 72),
    st.booleans(),
)
commands = st.builds(
    lambda dx, dz, yaw, j, d, f, ticks: Command(*direction(dx, dz), yaw, j, d, f, ticks),
    st.integers(-127, 127),
    st.integers(-127, 127),
    st.integers(0, 65535),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(1, 6),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TAGS = ["hello", "profile", "input", "clock", "bye", "welcome", "state", "world", "roster", "error", "unknown"]
FIELDS = [
    "protocol",
    "seq",
    "input",
    "dtMs",
    "dx",
    "dz",
    "yaw",
    "players",
    "state",
    "lastSeq",
    "name",
    "id",
    "clientMs",
]


@given(avatars, st.integers(0, 10**9))
def test_an_avatar_comes_back_from_the_wire_to_the_bit(avatar: Avatar, seq: int):
    frame = msgspec.json.encode(State(pack_avatar(avatar), seq, 5))
    raw, built = parse_raw(msgspec.Raw(frame)), parse(msgspec.json.decode(frame))
    assert isinstance(raw, State)
    assert raw == built
    assert unpack_avatar(raw.state) == avatar
    assert raw.last_seq == seq


@given(commands, st.integers(1, 2**53 - 1))
def test_a_command_comes_back_from_the_wire_to_the_bit(command: Command, seq: int):
    message = parse_raw(msgspec.Raw(msgspec.json.encode(pack_input(seq, command))))
    assert isinstance(message, Input)
    assert (message.seq, unpack_input(message)) == (seq, command)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dx": 50, "dz": 0}, Command(dx=127)),  # AS-10
        ({"dx": -1e300, "dz": 1e300}, Command(dx=-90, dz=90)),
        ({"dx": 1, "dz": 1}, Command(dx=90, dz=90)),
        ({"dx": 0, "dz": 0, "yaw": -math.pi / 2}, Command(yaw=49152)),
        ({"dx": 0, "dz": 0, "yaw": 1e30}, Command(yaw=0)),
    ],
)
def test_what_a_peer_writes_is_clamped_onto_the_grid(fields: dict[str, float], expected: Command):
    message = parse({"t": "input", "seq": 1, "input": fields, "dtMs": 1000 / 60})
    assert isinstance(message, Input)
    assert unpack_input(message) == expected


@pytest.mark.parametrize(
    ("dt_ms", "ticks"), [(16.667, 1), (0, 1), (-50, 1), (1e300, 6), (100, 6), (33.3, 2), (45, 3), (24.9, 1), (25.1, 2)]
)
def test_a_time_step_is_rounded_to_one_to_six_ticks(dt_ms: float, ticks: int):
    message = parse({"t": "input", "seq": 1, "input": {"dx": 0, "dz": 0}, "dtMs": dt_ms})
    assert isinstance(message, Input)
    assert unpack_input(message).ticks == ticks


@pytest.mark.parametrize(
    "data",
    [
        b'{"t":"input","seq":0,"input":{"dx":0,"dz":0},"dtMs":16}',
        b'{"t":"input","seq":-1,"input":{"dx":0,"dz":0},"dtMs":16}',
        b'{"t":"input","seq":1.5,"input":{"dx":0,"dz":0},"dtMs":16}',  # AS-13
        b'{"t":"input","seq":"1","input":{"dx":0,"dz":0},"dtMs":16}',
        b'{"t":"input","seq":9007199254740992,"input":{"dx":0,"dz":0},"dtMs":16}',
        b'{"t":"input","seq":1,"input":{"dx":"0","dz":0},"dtMs":16}',  # AS-14
        b'{"t":"input","seq":1,"input":{"dx":1e999,"dz":0},"dtMs":16}',
        b'{"t":"input","seq":1,"input":{"dx":NaN,"dz":0},"dtMs":16}',
        b'{"t":"input","seq":1,"input":null,"dtMs":16}',
        b'{"t":"input","seq":1,"input":{"dx":0,"dz":0}}',
        b'{"t":"hello","protocol":"1"}',
        b'{"t":"hello","protocol":1,"name":"\\ud800"}',
        b'{"t":"profile","away":"yes"}',
        b'{"t":"clock","id":1}',
    ],
)
def test_a_malformed_message_is_a_wire_error(data: bytes):
    with pytest.raises(WireError):
        parse_raw(msgspec.Raw(data))


@pytest.mark.parametrize("data", [None, 5, "x", [], {}, {"t": 5}, {"t": "presence"}, {"t": None}, {"T": "input"}])
def test_what_is_not_ours_is_ignored(data: object):
    assert parse(data) is None
    assert parse_raw(msgspec.Raw(msgspec.json.encode(data))) is None


@given(st.sampled_from(TAGS), st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_no_fields_raise_anything_else(tag: str, fields: dict[str, object]):
    data = {"t": tag, **fields}
    for reader, value in ((parse, data), (parse_raw, None)):
        try:
            message = reader(value if value is not None else msgspec.Raw(msgspec.json.encode(data)))
            if isinstance(message, Input):
                unpack_input(message)
            if isinstance(message, State):
                unpack_avatar(message.state)
            if isinstance(message, WorldState):
                for player in message.players.values():
                    unpack_avatar(player)
        except WireError:
            pass


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(junk: bytes):
    with contextlib.suppress(WireError):
        parse_raw(msgspec.Raw(junk))


@given(st.text(st.characters(), max_size=6000))
def test_any_name_becomes_one_that_can_be_shown(name: str):
    cleaned = clean_name(name)
    assert 1 <= len(cleaned) <= NAME_LIMIT
    assert cleaned == clean_name(cleaned)
    cleaned.encode()
    assert not any(ord(c) < 32 for c in cleaned)


def test_names_keep_their_script_and_lose_what_hides_in_them():
    assert clean_name("  桜\u202eさ\x00くら\n ") == "桜 さ くら"
    assert clean_name("\ud800\x00") == "Player"
    assert clean_name("a" * 5000) == "a" * NAME_LIMIT


def test_colours_that_nobody_could_see_or_read_are_replaced():
    assert clean_color("#22D3EE", "#ffffff") == "#22d3ee"
    for bad in ("", "#000000", "#10101", "22d3ee", "#22d3eg", "#２2d3ee", "red"):
        assert clean_color(bad, "#ffffff") == "#ffffff"


@pytest.mark.parametrize("payload", [None, -1, 4, 1.0, True, "1", [1], {"a": 1}, 10**30])
def test_an_event_that_is_no_emote_of_ours_says_nothing(payload: object):
    message = parse({"t": "event", "event": "emote", "payload": payload})
    assert isinstance(message, Event)
    assert emote_of(message) is None
    assert emote_of(Event("wave", 1)) is None
    assert emote_of(Event("emote", 3)) == 3
