"""The authority through connections within the process, on a ManualClock: what goes in is raw frames."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game.binary import pack_command
from game.sim.command import Command
from game.sim.crowd import BATCH_FROM
from game.wire import Bye, ClockSample, Hello, pack_input
from net.clock import ManualClock
from net.transport.base import TransportState
from net.transport.pair import PairTransport
from server.authority import Authority
from server.engine import Frame
from server.inprocess import connect
from server.room import CAPACITY, Room


class World:
    """An authority, its clock and its log."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.events: list[dict[str, Any]] = []
        self.authority = Authority(self.clock, self.log, **options)

    def log(self, event: str, /, **fields: Any) -> None:
        self.events.append({"event": event, **json.loads(json.dumps(fields))})

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.authority.tick(self.clock.advance(1 / 60))

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.events if entry["event"] == event]

    def enter(self, peer_id: str | None = None, path: str = "/") -> Client:
        """A client that says hello."""
        client = Client(self, peer_id, path)
        client.transport.send(Hello(protocol=1, name=f"name of {peer_id}"))
        return client


class Client:
    """A transport, and everything that came out of it."""

    def __init__(self, world: World, peer_id: str | None = None, path: str = "/") -> None:
        self.transport: PairTransport = connect(world.authority, path, peer_id)
        self.heard: list[Any] = []
        self.transport.subscribe(lambda envelope: self.heard.append(envelope.data))

    def push(self, frame: str | bytes, binary: bool = False) -> None:
        """A raw frame, below the transport."""
        self.transport.end.push(frame.encode() if isinstance(frame, str) else frame, binary)

    def say(self, sender: Any, data: Any) -> None:
        self.push(json.dumps({"from": sender, "data": data}))

    def said(self, kind: str) -> list[Any]:
        self.transport.poll()
        return [data for data in self.heard if data["t"] == kind]

    def errors(self) -> list[str]:
        return [error["code"] for error in self.said("error")]

    def closed(self) -> tuple[int | None, str] | None:
        self.transport.poll()
        status = self.transport.status
        return (status.code, status.reason) if status.state is TransportState.CLOSED else None


# -- binding


NO_ENVELOPES = [
    *("", "x", "null", "[]", "7", '"a"', "{}", '{"from":"a"}', '{"data":1}'),
    *('{"from":7,"data":1}', '{"from":null,"data":1}', '{"from":"a","data":1}x'),
    *('{"from":"a","data":NaN}', '{"from":"a","data":Infinity}', '{"from":"a","data":' + "[" * 9000),
]


@pytest.mark.parametrize("frame", NO_ENVELOPES)
def test_as_02_as_03_a_connection_that_says_nothing_valid_gets_nothing_and_stays_open(frame):
    world = World()
    client = Client(world, "ada")
    client.push(frame)
    world.run(60)
    client.transport.poll()
    assert client.heard == []
    assert client.closed() is None
    assert world.authority.rooms == {}
    client.transport.send(Hello(protocol=1))
    assert client.said("welcome")


@pytest.mark.parametrize(
    "data", [None, 0, "x", [], {}, {"t": 1}, {"t": "presence"}, {"t": "event", "event": "e"}, {"t": ""}]
)
def test_as_04_as_08_any_valid_envelope_joins_and_the_server_speaks_as_server(data):
    world = World()
    client = Client(world, "ada")
    senders = []
    client.transport.subscribe(lambda envelope: senders.append(envelope.sender))
    client.transport.send(data)
    world.run(6)
    assert [state["lastSeq"] for state in client.said("state")] == [0, 0]
    assert client.errors() == []
    assert set(senders) == {"server"}
    assert world.logged("join") == [{"event": "join", "room": "/", "peer": "ada", "name": "ada", "players": 1}]


@pytest.mark.parametrize("peer_id", ["", "server", "x" * 65, "a\x00b", "a\nb", "\x7f"])
def test_an_id_that_nobody_may_have_is_refused(peer_id):
    world = World()
    client = Client(world, "ada")
    client.say(peer_id, {"t": "hello", "protocol": 1})
    assert client.closed()[0] == 4002
    assert client.errors() == ["bad_id"]
    assert world.authority.rooms == {}
    assert [event["code"] for event in world.logged("refused")] == [4002]


def test_as_18_as_19_an_id_that_is_taken_is_refused_and_its_owner_notices_nothing():
    world = World()
    first = world.enter("ada")
    second = world.enter("ada")
    assert second.closed() == (4001, "id taken")
    assert second.errors() == ["id_taken"]
    world.run(6)
    assert len(first.said("state")) == 2
    first.transport.close()
    third = world.enter("ada")
    world.run(6)
    assert third.said("welcome")
    assert third.closed() is None


def test_one_id_may_play_in_two_rooms():
    world = World()
    here, there = world.enter("ada", "/a"), world.enter("ada", "/b")
    world.run(3)
    assert here.closed() is None
    assert there.closed() is None
    assert len(world.authority.rooms) == 2


def test_as_05_a_later_envelope_under_another_id_is_told_and_ignored():
    world = World()
    victim, evil = world.enter("victim"), world.enter("evil")
    before = world.authority.rooms["/"].avatars()
    for i in range(5):
        evil.say("victim", {"t": "input", "seq": i + 1, "input": {"dx": 1, "dz": 0}, "dtMs": 16.7})
    evil.say("victim", {"t": "bye"})
    world.run(6)
    assert world.authority.rooms["/"].avatars() == before
    assert evil.errors() == ["id_changed"]
    assert victim.closed() is None
    assert {state["lastSeq"] for peer in (victim, evil) for state in peer.said("state")} == {0}


# -- rooms


def test_rs_05_rs_06_rooms_hear_nothing_of_each_other_and_are_told_apart_by_case_and_slash():
    world = World()
    paths = ["/", "/a", "/A", "/a/", "/a?q=1"]
    clients = [world.enter(f"p{i}", path) for i, path in enumerate(paths)]
    world.run(3)
    assert set(world.authority.rooms) == {"/", "/a", "/A", "/a/"}
    seen = [set(client.said("roster")[-1]["players"]) for client in clients]
    assert seen == [{"p0"}, {"p1", "p4"}, {"p2"}, {"p3"}, {"p1", "p4"}]


def test_rs_15_as_17_an_empty_room_vanishes_and_departures_are_logged_with_the_new_count():
    world = World()
    ada, bob = world.enter("ada"), world.enter("bob")
    ada.transport.close()
    bob.transport.send(Bye())
    assert bob.closed() == (1000, "bye")
    assert world.authority.rooms == {}
    assert [(entry["peer"], entry["players"], entry["code"], entry["reason"]) for entry in world.logged("leave")] == [
        ("ada", 1, 1000, ""),
        ("bob", 0, 1000, "bye"),
    ]
    assert [entry["players"] for entry in world.logged("join")] == [1, 2]


def test_another_protocol_is_refused_with_a_typed_error_and_4000():
    world = World()
    client = Client(world, "ada")
    client.transport.send(Hello(protocol=99))
    assert client.closed()[0] == 4000
    assert client.errors() == ["version"]
    assert world.authority.rooms == {}
    assert world.logged("join") == []


def test_a_full_room_a_full_server_and_a_full_address_refuse_with_their_codes():
    world = World(max_rooms=2)
    for i in range(CAPACITY):
        world.enter(f"p{i}", "/a")
    assert world.enter("late", "/a").closed() == (4013, "room full")
    world.enter("x", "/b")
    late = world.enter("x", "/c")
    assert late.closed() == (1013, "too many rooms")
    assert late.errors() == ["too_many_rooms"]
    world.enter("y", "/b")
    assert set(world.authority.rooms) == {"/a", "/b"}


class FakeConnection:
    """A connection that notes how it was closed."""

    def __init__(self, address: str) -> None:
        self.path, self.address = "/", address
        self.ending: tuple[int, str] | None = None

    def send(self, frame: Frame) -> None:
        pass

    def send_text(self, text: bytes) -> None:
        pass

    def send_bytes(self, data: bytes) -> None:
        pass

    def buffered(self) -> int:
        return 0

    def close(self, code: int, reason: str = "") -> None:
        self.ending = (code, reason)


def test_one_address_has_a_bounded_number_of_connections_and_gets_them_back():
    world = World(max_per_address=2)
    first, second, third, other = (FakeConnection(address) for address in ("a", "a", "a", "b"))
    for connection in (first, second, third, other):
        world.authority.opened(connection)
    assert [c.ending and c.ending[0] for c in (first, second, third, other)] == [None, None, 1013, None]
    world.authority.closed(third, 1006, "")
    world.authority.closed(first, 1006, "")
    again = FakeConnection("a")
    world.authority.opened(again)
    assert again.ending is None


# -- bad input


MALFORMED = [
    {"t": "input"},
    {"t": "input", "seq": 0, "input": {"dx": 0, "dz": 0}, "dtMs": 16},
    {"t": "input", "seq": 1.5, "input": {"dx": 0, "dz": 0}, "dtMs": 16},
    {"t": "input", "seq": "1", "input": {"dx": 0, "dz": 0}, "dtMs": 16},
    {"t": "input", "seq": 2**60, "input": {"dx": 0, "dz": 0}, "dtMs": 16},
    {"t": "input", "seq": 1, "input": {"dx": "0", "dz": 0}, "dtMs": 16},
    {"t": "input", "seq": 1, "input": [], "dtMs": 16},
    {"t": "input", "seq": 1, "input": {"dx": 0, "dz": 0, "jump": 1}, "dtMs": 16},
    {"t": "hello", "protocol": "1"},
    {"t": "profile", "rttMs": "fast"},
    {"t": "clock", "id": None, "clientMs": 0},
]


@pytest.mark.parametrize("data", MALFORMED)
def test_as_13_as_14_a_malformed_message_is_told_and_changes_nothing(data):
    world = World()
    client = world.enter("ada")
    before = world.authority.rooms["/"].avatars()
    client.say("ada", data)
    world.run(3)
    (error,) = client.said("error")
    assert error["code"] == "bad_message"
    assert error["message"].startswith(f"{data['t']}: ")
    assert world.authority.rooms["/"].avatars() == before
    assert client.said("state")[-1]["lastSeq"] == 0


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "9" * 400, "1e-999999"])
def test_numbers_beyond_numbers_never_reach_the_simulation(number):
    world = World()
    client = world.enter("ada")
    for data in ('"input","seq":1,"input":{"dx":NUMBER,"dz":0},"dtMs":16', '"profile","rttMs":NUMBER'):
        client.push('{"from":"ada","data":{"t":' + data.replace("NUMBER", number) + "}}")
    world.run(3)
    assert client.closed() is None
    assert abs(world.authority.rooms["/"].avatars()["ada"].vx) <= 1024 / 60


def test_as_16_a_binary_frame_is_told_of_once_joined_and_ignored_before():
    world = World()
    client = Client(world, "ada")
    client.push(b'{"from":"ada","data":{"t":"hello","protocol":1}}', binary=True)
    world.run(3)
    assert client.said("error") == []
    client.transport.send(Hello(protocol=1))
    client.transport.send_bytes(b"\x00")
    world.run(1)
    assert client.errors() == ["bad_message"]


def test_a_first_envelope_with_a_malformed_message_joins_and_is_told():
    world = World()
    client = Client(world, "ada")
    client.say("ada", {"t": "input", "seq": "x"})
    assert client.errors() == ["bad_message"]
    assert "ada" in world.authority.rooms["/"]


def test_complaints_come_once_a_second_and_fifty_malformed_messages_close():
    world = World()
    client = world.enter("ada")
    client.push("no envelope")
    for _ in range(48):
        client.say("ada", {"t": "hello", "protocol": None})
    assert client.errors() == ["bad_message"]
    world.run(70)
    client.say("ada", {"t": "hello", "protocol": None})
    assert client.closed() == (1008, "too many malformed messages")
    assert world.authority.rooms == {}


def test_fifty_invalid_envelopes_close_without_a_word():
    world = World()
    client = Client(world, "ada")
    for _ in range(50):
        client.push("nonsense")
    assert client.closed() == (1008, "too many malformed messages")
    assert client.heard == []


def test_a_flood_is_dropped_told_and_closed_and_the_others_play_on():
    world = World()
    flooder, honest = world.enter("flooder"), world.enter("honest")
    world.run(1)
    for i in range(600):
        flooder.transport.send(ClockSample(id=i, client_ms=0.0))
    assert flooder.errors() == ["rate"]
    assert len(flooder.said("clock")) == 480, "the tick has paid for the greeting"
    for i in range(2000):
        flooder.transport.send(ClockSample(id=i, client_ms=0.0))
    assert flooder.closed() == (1008, "flood")
    honest.transport.send(ClockSample(id=1, client_ms=0.0))
    world.run(7)
    assert len(honest.said("clock")) == 1
    assert set(honest.said("roster")[-1]["players"]) == {"honest"}


def test_two_seconds_of_stall_cost_an_honest_client_no_message():
    world = World()
    client = world.enter("ada")
    seq = 0
    for stall in (1, 1, 120, 1, 1):
        world.run(stall)
        for _ in range(stall):
            seq += 1
            client.transport.send(pack_input(seq, Command()))
    world.run(60)
    assert client.said("state")[-1]["lastSeq"] == seq
    assert client.errors() == []


def test_a_room_that_fails_is_closed_and_the_others_go_on(monkeypatch, caplog):
    world = World()
    broken, fine = world.enter("ada", "/broken"), world.enter("bob", "/fine")
    room = world.authority.rooms["/broken"]
    real = Room.tick

    def tick(self: Room, now: float) -> None:
        if self is room:
            raise RuntimeError("broken room")
        real(self, now)

    monkeypatch.setattr(Room, "tick", tick)
    world.run(3)
    assert broken.closed() == (1011, "internal error")
    assert "broken room" in caplog.text
    assert set(world.authority.rooms) == {"/fine"}
    assert fine.said("state")
    again = world.enter("ada", "/broken")
    world.run(3)
    assert again.said("state")


def test_a_handler_that_fails_on_one_message_loses_that_connection_alone(monkeypatch, caplog):
    world = World()
    ada, bob = world.enter("ada"), world.enter("bob")
    world.run(1)
    real = Room.receive

    def receive(self: Room, peer_id: str, message: Any, now: float) -> Any:
        if peer_id == "ada":
            raise RuntimeError("broken message")
        return real(self, peer_id, message, now)

    monkeypatch.setattr(Room, "receive", receive)
    ada.transport.send(ClockSample(id=1, client_ms=0.0))
    bob.transport.send(ClockSample(id=1, client_ms=0.0))
    assert ada.closed() == (1011, "internal error")
    assert bob.said("clock")
    assert set(world.authority.rooms["/"].avatars()) == {"bob"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
TAGS = st.sampled_from(
    ["hello", "profile", "input", "clock", "resync", "bye", "welcome", "state", "world", "roster", "error", "x"]
)
FIELDS = st.sampled_from(
    ["protocol", "name", "color", "schema", "seq", "input", "dtMs", "id", "clientMs", "rttMs", "away", "players"]
)
LIKELY = st.fixed_dictionaries({"t": TAGS}, optional={}).flatmap(
    lambda base: st.dictionaries(FIELDS, JSON, max_size=5).map(lambda extra: {**base, **extra})
)
FRAMES = (
    st.binary(max_size=200)
    | JSON.map(lambda value: json.dumps(value).encode())
    | (LIKELY | JSON).map(lambda data: json.dumps({"from": "evil", "data": data}).encode())
    | st.fixed_dictionaries({"from": JSON, "data": LIKELY | JSON}).map(lambda value: json.dumps(value).encode())
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(FRAMES, st.booleans()), max_size=30))
def test_whatever_a_peer_sends_nothing_raises_and_the_honest_player_notices_nothing(frames):
    world = World()
    honest, evil = world.enter("honest"), Client(world, "evil")
    honest.transport.send(pack_input(1, Command(dx=127)))
    world.run(1)
    avatar = world.authority.rooms["/"].avatars()["honest"]
    for frame, binary in frames:
        # the text frames that an engine lets through are UTF-8
        evil.push(frame, binary or frame != frame.decode(errors="ignore").encode())
    assert evil.closed() is None or evil.closed()[0] != 1011
    world.run(3)
    assert honest.closed() is None
    assert honest.said("state")[-1]["lastSeq"] == 1
    assert world.authority.rooms["/"].avatars()["honest"] == avatar


def test_a_flood_of_commands_is_dropped_told_and_closed_and_waits_in_no_memory():
    world = World()
    flooder, honest = world.enter("flooder"), world.enter("honest")
    for number in range(1, 20_001):
        flooder.transport.send_bytes(pack_command(number, Command()))
        if number % 500 == 0:
            inbox = world.authority._inboxes["/"]
            assert len(inbox.messages) <= 482, "one a tick is free, and a burst"
            honest.transport.send_bytes(pack_command(number, Command(dx=127)))
            world.run(1)
    assert flooder.errors()[:1] == ["rate"]
    assert flooder.closed() == (1008, "flood")
    world.run(3)
    assert honest.closed() is None
    assert honest.said("state")[-1]["lastSeq"] == 20_000


@pytest.mark.parametrize("others", [1, BATCH_FROM])
@pytest.mark.parametrize("taken", [False, True])
def test_what_somebody_said_who_has_left_since_moves_nobody(others: int, taken: bool, caplog: pytest.LogCaptureFixture):
    """Whether his seat is empty or another one sits there, in a room of objects or of columns."""
    world = World()
    ada, *rest = [world.enter(f"peer-{number}") for number in range(1 + others)]
    world.run(3)
    for player in (ada, *rest):
        player.transport.send_bytes(pack_command(1, Command(dx=127)))
    ada.transport.send(Bye())
    eve = world.enter("eve") if taken else None
    room = world.authority.rooms["/"]
    assert room.crowd.batched is (others > 1)
    before = room.avatars()
    world.run(3)
    assert {peer for peer, avatar in room.avatars().items() if avatar == before[peer]} == ({"eve"} if taken else set())
    assert eve is None or eve.said("state")[-1]["lastSeq"] == 0
    assert all(player.said("state")[-1]["lastSeq"] == 1 for player in rest)
    assert caplog.records == []


def test_a_command_that_fails_loses_its_sender_alone(monkeypatch: Any):
    world = World()
    ada, bob = world.enter("ada"), world.enter("bob")
    real, broken = Room.hear, world.authority.rooms["/"].slot("ada")

    def hear(self: Room, slot: int, data: bytes) -> None:
        if slot == broken:
            raise RuntimeError("broken command")
        real(self, slot, data)

    monkeypatch.setattr(Room, "hear", hear)
    ada.transport.send_bytes(pack_command(1, Command()))
    bob.transport.send_bytes(pack_command(1, Command()))
    world.run(3)
    assert ada.closed() == (1011, "internal error")
    assert bob.said("state")[-1]["lastSeq"] == 1


def test_twenty_thousand_broken_commands_harm_nobody():
    """Random, truncated, lengthened and flipped commands: told, closed after fifty, and never a step from them."""
    world, chance = World(), random.Random(7)
    honest = world.enter("honest")
    evil = world.enter("evil")
    closings = 0
    for number in range(1, 20_001):
        if evil.closed() is not None:
            assert evil.closed() == (1008, "too many malformed messages")
            closings += 1
            evil = world.enter("evil")
        data = bytearray(pack_command(number, Command(dx=127)))
        match number % 4:
            case 0:
                data = bytearray(chance.randbytes(chance.randrange(40)))
            case 1:
                del data[chance.randrange(len(data)) :]
            case 2:
                data += chance.randbytes(1 + chance.randrange(20))
            case 3:
                data[0] ^= 1 << chance.randrange(8)
        evil.push(bytes(data), binary=True)
        if number % 100 == 0:
            honest.transport.send_bytes(pack_command(number, Command(dz=1)))
            world.clock.advance(1.0)
            before = world.authority.rooms["/"].avatars().get("evil")
            world.run(1)
            assert world.authority.rooms["/"].avatars().get("evil") in (before, None)
    world.run(3)
    assert closings > 100
    assert honest.closed() is None
    assert honest.said("state")[-1]["lastSeq"] == 20_000


# -- the log


def test_positions_are_logged_once_a_second_when_asked():
    world = World(log_positions=True)
    ada = world.enter("ada")
    world.run(180)
    events = world.logged("world")
    assert [event["tick"] for event in events] == [60, 120, 180]
    assert events[0]["room"] == "/"
    state = ada.said("state")[-1]["state"]
    told = events[-1]["players"]["ada"]
    assert told.pop("name") == "name of ada"
    assert told == state
    silent = World()
    silent.enter("ada")
    silent.run(180)
    assert silent.logged("world") == []


def test_the_wire_within_the_process_behaves_like_a_connection():
    world = World()
    client = world.enter("ada", "/plaza?seed=1")
    (connection,) = world.authority._links
    assert connection.path == "/plaza"
    waiting = connection.buffered()
    assert waiting > 0
    assert client.heard == []
    client.transport.poll()
    assert connection.buffered() == 0
    connection.close(1001, "server shutting down")
    connection.close(1001, "twice")
    connection.send_text(b"never sent")
    assert client.closed() == (1001, "server shutting down")
    assert world.authority._links == {}


def test_a_player_whose_old_connection_nobody_has_seen_dying_gets_his_seat_back():
    world = World()
    before, other = (Client(world, peer_id) for peer_id in ("ann", "bob"))
    before.transport.send(Hello(1, "Ann", token="secret"))
    other.transport.send(Hello(1, "Bob", token="another secret"))
    world.run(10)
    after = Client(world, "ann")
    after.transport.send(Hello(1, "Ann", token="secret"))
    world.run(10)
    before.transport.poll()
    assert before.transport.status.code == 4003
    after.transport.poll()
    assert after.transport.status.state is TransportState.OPEN
    assert sorted(world.authority.rooms["/"].avatars()) == ["ann", "bob"]


@pytest.mark.parametrize("token", ["", "wrong", "sécret"])
def test_nobody_takes_a_seat_with_another_token_or_none(token: str):
    world = World()
    client = Client(world, "ann")
    client.transport.send(Hello(1, "Ann", token="secret" if token else ""))
    thief = Client(world, "ann")
    thief.transport.send(Hello(1, "Ann", token=token))
    world.run(5)
    thief.transport.poll()
    client.transport.poll()
    assert thief.transport.status.code == 4001
    assert client.transport.status.state is TransportState.OPEN
