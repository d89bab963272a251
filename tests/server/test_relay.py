"""The relay on connections that are none: who gets what, and who is let in."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.engine import Frame
from server.relay import Relay


class Fake:
    """A connection that keeps what it is sent."""

    def __init__(self, path: str = "/", address: str = "a") -> None:
        self.path, self.address = path, address
        self.frames: list[Frame] = []
        self.ending: tuple[int, str] | None = None

    def send(self, frame: Frame) -> None:
        self.frames.append(frame)

    def close(self, code: int, reason: str = "") -> None:
        self.ending = code, reason

    @property
    def got(self) -> list[tuple[bytes, bool]]:
        return [(frame.payload, frame.binary) for frame in self.frames]


def enter(relay: Relay, path: str = "/", address: str = "a") -> Fake:
    connection = Fake(path, address)
    relay.opened(connection)
    return connection


@pytest.mark.parametrize("payload", [b"no JSON", b"", b'{"from":"x","data":NaN}', "é\x00".encode()])
def test_rs_01_rs_02_text_goes_unchanged_to_room_mates_and_to_nobody_else(payload):
    relay = Relay()
    sender, mate, stranger = enter(relay), enter(relay), enter(relay, "/other")
    relay.received(sender, payload, False)
    assert (sender.got, mate.got, stranger.got) == ([], [(payload, False)], [])


def test_rs_02_binary_stays_binary():
    relay = Relay()
    sender, mate = enter(relay), enter(relay)
    relay.received(sender, b"\xff\x00", True)
    assert mate.got == [(b"\xff\x00", True)]
    assert mate.frames[0].wire == b"\x82\x02\xff\x00"


def test_a_frame_is_encoded_once_for_the_whole_room():
    relay = Relay()
    sender, *mates = (enter(relay) for _ in range(5))
    relay.received(sender, b"x" * 200, False)
    assert {id(mate.frames[0]) for mate in mates} == {id(mates[0].frames[0])}
    assert mates[0].frames[0].wire == b"\x81\x7e\x00\xc8" + b"x" * 200


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("/", "/"),
        ("/lobby", "/lobby"),
        ("/Lobby", "/Lobby"),
        ("/lobby/", "/lobby/"),
        ("/a/./b/../c", "/a/c"),
        ("//host/a", "/a"),
        ("/é", "/%C3%A9"),
        ("/%C3%A9", "/%C3%A9"),
        ("/%61", "/%61"),
    ],
)
def test_rs_05_rs_06_rs_07_the_path_is_the_room(path, room):
    relay = Relay()
    enter(relay, path)
    assert relay.rooms() == {room: 1}


@pytest.mark.parametrize("option", ["/ws", "/ws/", "ws", "/x/../ws"])
def test_rs_08_below_the_base_path_are_the_rooms(option):
    relay = Relay(base_path=option)
    for path in ("/ws", "/ws/", "/ws/lobby", "/ws/lobby/"):
        assert enter(relay, path).ending is None
    assert relay.rooms() == {"/": 2, "/lobby": 1, "/lobby/": 1}


@pytest.mark.parametrize("path", ["/wsx", "/", "/WS", "/ws/../other", "/w"])
def test_rs_09_outside_of_the_base_path_a_connection_is_closed_and_counts_nowhere(path):
    calls: list[Any] = []
    relay = Relay(base_path="/ws", on_join=lambda *call: calls.append(call), on_leave=lambda *call: calls.append(call))
    stray = enter(relay, path)
    assert stray.ending == (1008, "wrong path")
    assert relay.rooms() == {}
    relay.closed(stray, 1008, "wrong path")
    assert calls == []


def test_rs_14_rs_15_callbacks_come_after_the_change_in_order_and_once():
    calls: list[Any] = []
    relay = Relay(
        on_join=lambda room, count: calls.append(("join", room, count, relay.rooms().get(room))),
        on_leave=lambda room, count: calls.append(("leave", room, count, relay.rooms().get(room))),
    )
    first, second = enter(relay, "/r"), enter(relay, "/r")
    other = enter(relay, "/s")
    relay.closed(first, 1000, "")
    relay.closed(other, 1006, "")
    relay.closed(second, 1006, "")
    assert calls == [
        ("join", "/r", 1, 1),
        ("join", "/r", 2, 2),
        ("join", "/s", 1, 1),
        ("leave", "/r", 1, 1),
        ("leave", "/s", 0, None),
        ("leave", "/r", 0, None),
    ]


def test_rs_15_the_listing_is_a_copy_and_empty_rooms_vanish():
    relay = Relay()
    connection = enter(relay, "/r")
    rooms = relay.rooms()
    rooms["/r"] = 7
    rooms["/invented"] = 1
    assert relay.rooms() == {"/r": 1}
    relay.closed(connection, 1000, "")
    assert relay.rooms() == {}


def test_rs_28_nobody_is_told_of_who_leaves():
    relay = Relay()
    leaving, staying = enter(relay), enter(relay)
    relay.closed(leaving, 1006, "")
    assert staying.frames == []
    relay.received(staying, b"alone", False)
    assert leaving.frames == []


def test_rooms_are_bounded_and_who_is_refused_is_in_none():
    relay = Relay(max_rooms=2)
    first = enter(relay, "/1")
    enter(relay, "/2")
    refused = enter(relay, "/3")
    assert refused.ending == (1013, "too many rooms")
    assert enter(relay, "/2").ending is None
    relay.closed(refused, 1013, "")
    assert relay.rooms() == {"/1": 1, "/2": 2}
    relay.closed(first, 1000, "")
    assert enter(relay, "/3").ending is None


def test_connections_of_one_address_are_bounded():
    relay = Relay(max_per_address=2)
    first, _, third, other = (enter(relay, address=address) for address in ("a", "a", "a", "b"))
    assert third.ending == (1013, "too many connections from your address")
    assert other.ending is None
    assert relay.rooms() == {"/": 3}
    for gone in (third, first):
        relay.closed(gone, 1006, "")
    assert enter(relay, address="a").ending is None


def test_rs_22_the_log_has_a_line_for_coming_and_going_and_none_for_messages():
    lines: list[Any] = []
    relay = Relay(log=lambda event, **fields: lines.append((event, fields["room"], fields.get("count"))))
    sender, mate = enter(relay, "/r"), enter(relay, "/r")
    relay.received(sender, b"x", False)
    relay.closed(mate, 1006, "")
    assert lines == [("connect", "/r", 1), ("connect", "/r", 2), ("disconnect", "/r", 1)]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("enter"), st.sampled_from(["/a", "/b", "/c"])),
            st.tuples(st.just("leave"), st.integers(0, 20)),
            st.tuples(st.just("say"), st.integers(0, 20)),
        ),
        max_size=60,
    )
)
def test_rs_01_rs_03_everybody_gets_what_his_room_mates_said_while_he_was_there_in_order(script):
    relay = Relay()
    here: list[Fake] = []
    expected: dict[Fake, list[tuple[bytes, bool]]] = defaultdict(list)
    everyone: list[Fake] = []
    for number, (what, who) in enumerate(script):
        if what == "enter":
            here.append(enter(relay, str(who)))
            everyone.append(here[-1])
        elif here:
            actor = here[int(who) % len(here)]
            if what == "leave":
                here.remove(actor)
                relay.closed(actor, 1000, "")
            else:
                relay.received(actor, b"%d" % number, bool(number % 2))
                for mate in here:
                    if mate is not actor and mate.path == actor.path:
                        expected[mate].append((b"%d" % number, bool(number % 2)))
    assert all(connection.got == expected[connection] for connection in everyone)
    counts: dict[str, int] = defaultdict(int)
    for connection in here:
        counts[connection.path] += 1
    assert relay.rooms() == counts
