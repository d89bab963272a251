"""A room on literal times: no socket, no clock, every message read back from its bytes."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import random
from typing import Any

import msgspec
import pytest

from game.binary import pack_command
from game.sim.arena import CROSSFIRE
from game.sim.command import Command
from game.sim.constants import RUN_SPEED
from game.sim.crowd import BATCH_FROM
from game.sim.grid import direction
from game.sim.movement import move_avatar
from game.sim.state import Avatar
from game.wire import (
    DEFAULT_COLORS,
    AvatarFields,
    Bye,
    ClockSample,
    Hello,
    Input,
    InputFields,
    Profile,
    Roster,
    Welcome,
    pack_input,
    unpack_avatar,
)
from net.envelope import WireError
from server.engine import Frame
from server.room import CAPACITY, MANY, Closing, Room


class Peer:
    """What one player was sent."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def send(self, frame: Frame) -> None:
        self.frames.append(frame.payload)

    def send_bytes(self, data: bytes) -> None:
        raise AssertionError("nobody here takes binary frames")

    def said(self, kind: str) -> list[Any]:
        envelopes = [json.loads(frame) for frame in self.frames]
        assert all(envelope["from"] == "server" and set(envelope) == {"from", "data"} for envelope in envelopes)
        return [envelope["data"] for envelope in envelopes if envelope["data"]["t"] == kind]


def enter(room: Room, peer_id: str, **hello: Any) -> Peer:
    peer = Peer()
    assert room.join(peer_id, peer, Hello(protocol=1, **hello)) is None
    return peer


def run(room: Room, ticks: int, start: float = 0.0, each: Any = None) -> float:
    """Tick at 60 Hz from `start`; `each(i)` before each tick. The time after."""
    for i in range(ticks):
        if each is not None:
            each(i)
        room.tick(start + i / 60)
    return start + ticks / 60


RIGHT = Command(dx=127)


def distance(room: Room, peer_id: str) -> float:
    avatar = room.avatars()[peer_id]
    spawn = CROSSFIRE.spawns[0]
    return math.hypot(avatar.x - spawn[0], avatar.z - spawn[1]) / 1024


# -- many at once


@pytest.mark.parametrize("players", [MANY, BATCH_FROM, 90])
def test_a_crowd_that_is_heard_at_once_plays_as_if_each_was_heard_alone(players: int):
    """With commands that come late, twice, in bunches, lasting, or not at all; with text in between, and nonsense."""
    chance = random.Random(players)
    alone, together = Room(), Room()
    for number in range(players):
        for room in (alone, together):
            enter(room, f"p{number}")
    seqs = [0] * players
    unheard = 0
    for tick in range(1, 200):
        said: list[tuple[int, bytes]] = []
        for slot in range(players):
            for _ in range(chance.choice([1] * 40 + [0, 0, 2, 5])):
                seqs[slot] += chance.choice([1] * 30 + [0, 2])
                wish = direction(chance.randrange(-127, 128), chance.randrange(-127, 128))
                command = Command(*wish, tick % 65536, tick % 30 == 0, chance.random() < 0.02, False)
                if chance.random() < 0.02:
                    command = msgspec.structs.replace(command, ticks=3)
                message = pack_command(max(1, seqs[slot]), command)
                said.append((slot, message if chance.random() < 0.99 else message[:7]))
        said = chance.sample(said, len(said)) if chance.random() < 0.2 else said
        if chance.random() < 0.1:
            seqs[3] += 1
            for room in (alone, together):
                room.receive("p3", Input(seqs[3], InputFields(1.0, 0.0), 1000 / 60), tick / 60)
        for slot, message in said:
            with contextlib.suppress(WireError):
                alone.hear(slot, message)
        for index in together.hear_all([slot for slot, _ in said], [message for _, message in said], tick / 60):
            unheard += 1
            with contextlib.suppress(WireError):
                together.hear(*said[index])
        alone.tick(tick / 60)
        together.tick(tick / 60)
        assert together.avatars() == alone.avatars()
        assert together._inputs.last_seqs() == alone._inputs.last_seqs()
    batched = players >= BATCH_FROM
    assert together.crowd.batched is batched
    assert (unheard < sum(seqs) / 2) is batched


# -- time


def test_as_06_every_player_gets_his_own_state_every_third_tick_moved_or_not():
    room = Room()
    ada, bob = enter(room, "ada"), enter(room, "bob")
    run(room, 30)
    for peer, spawn in ((ada, CROSSFIRE.spawns[0]), (bob, CROSSFIRE.spawns[1])):
        states = peer.said("state")
        assert [state["tick"] for state in states] == list(range(3, 31, 3))
        assert {state["lastSeq"] for state in states} == {0}
        assert {(state["state"]["x"], state["state"]["z"]) for state in states} == {(spawn[0] / 1024, spawn[1] / 1024)}
        assert states[0]["timeMs"] == 50.0, "the room's time: tick / 60 s"


@pytest.mark.parametrize("rate", [1.0, 10.0, 20.0, 23.5, 60.0])
def test_as_07_everybody_gets_the_world_with_himself_in_it_at_the_rate_that_was_set(rate):
    room = Room(world_rate=rate)
    ada, bob = enter(room, "ada"), enter(room, "bob")
    run(room, 600)
    worlds = ada.said("world")
    assert len(worlds) == round(rate * 10)
    assert worlds == bob.said("world")
    assert set(worlds[0]["players"]) == {"ada", "bob"}
    gaps = {b["tick"] - a["tick"] for a, b in itertools.pairwise(worlds)}
    assert gaps <= {math.floor(60 / rate), math.ceil(60 / rate)}


@pytest.mark.parametrize("rate", [0.0, -1.0, 60.5, math.nan, math.inf])
def test_a_world_rate_that_cannot_be_is_refused(rate):
    with pytest.raises(ValueError, match="world rate"):
        Room(world_rate=rate)


def test_a_world_is_encoded_once_for_all():
    room = Room()
    ada, bob = enter(room, "ada"), enter(room, "bob")
    run(room, 3)
    (first,) = [frame for frame in ada.frames if b'"world"' in frame]
    (second,) = [frame for frame in bob.frames if b'"world"' in frame]
    assert first is second


def test_an_empty_room_ticks_in_silence():
    room = Room()
    ada = enter(room, "ada")
    run(room, 3)
    room.leave("ada")
    room.leave("ada")
    ada.frames.clear()
    run(room, 60, 1.0)
    assert ada.frames == []
    assert len(room) == 0


# -- commands


def test_as_22_each_command_is_run_once_in_order_and_acknowledged_with_the_state_that_it_led_to():
    room = Room()
    ada, bob = enter(room, "ada"), enter(room, "bob")
    spawn = CROSSFIRE.spawns[0]
    states = [Avatar(x=spawn[0], z=spawn[1], yaw=spawn[2])]

    def each(i: int) -> None:
        command = Command(dx=127 if i % 40 < 30 else -90, dz=(i % 7) * 10, yaw=i * 900 % 65536, jump=i % 50 == 9)
        command = Command(command.dx, 0, command.yaw, command.jump, dash=i % 80 == 40)
        room.receive("ada", pack_input(i + 1, command), i / 60)
        states.append(move_avatar(states[-1], command, CROSSFIRE))

    run(room, 300, each=each)
    told = ada.said("state")
    assert [state["lastSeq"] for state in told] == list(range(3, 301, 3))
    for state in told:
        fields = {key: state["state"][key] for key in ("x", "y", "z", "vx", "vy", "vz", "yaw")}
        expected = states[state["lastSeq"]]
        again = unpack_avatar(
            AvatarFields(
                **fields,
                dash_ms=state["state"]["dashMs"],
                cooldown_ms=state["state"]["cooldownMs"],
                jump_held=state["state"]["jumpHeld"],
            )
        )
        assert again == expected
    assert {state["lastSeq"] for state in bob.said("state")} == {0}


def test_as_12_a_seq_is_never_applied_twice_and_never_backwards():
    once, twice = Room(), Room()
    enter(once, "ada")
    enter(twice, "ada")
    for i in range(20):
        now = i / 60
        message = pack_input(i + 1, RIGHT)
        once.receive("ada", message, now)
        for again in (message, message, pack_input(max(1, i - 3), RIGHT)):
            twice.receive("ada", again, now)
        once.tick(now)
        twice.tick(now)
    assert once.avatars() == twice.avatars()
    assert distance(once, "ada") > 0.5


def test_an_avatar_whose_player_sends_nothing_stands_still_in_its_own_time():
    room = Room()
    enter(room, "ada")

    def each(i: int) -> None:
        if i < 5:
            room.receive("ada", pack_input(i + 1, Command(dx=127, jump=True)), i / 60)

    after = run(room, 5, each=each)
    moving = room.avatars()["ada"]
    assert moving.vx > 0
    assert moving.y > 0
    run(room, 100, after)
    assert room.avatars()["ada"] == moving


@pytest.mark.parametrize(("a_tick", "ticks"), [(1, 1), (2, 1), (10, 1), (1, 6), (8, 6)])
def test_as_15_as_21_a_flooder_moves_no_faster_than_real_time_and_the_slack_of_250_ms(a_tick, ticks):
    room = Room()
    enter(room, "ada")
    furthest = 0
    for i in range(120):
        for k in range(a_tick):
            room.receive("ada", pack_input(i * a_tick + k + 1, Command(dx=127, ticks=ticks)), i / 60)
        room.tick(i / 60)
        furthest = room.crowd.avatar(0).x - CROSSFIRE.spawns[0][0]
        assert furthest <= (i + 15) * RUN_SPEED
    assert furthest >= 110 * RUN_SPEED


def test_commands_that_arrive_late_together_are_all_run():
    room = Room()
    enter(room, "ada")
    run(room, 60)
    for i in range(12):
        room.receive("ada", pack_input(i + 1, RIGHT), 1.0)
    room.tick(1.0)
    expected = Avatar(*CROSSFIRE.spawns[0][:1], 0, CROSSFIRE.spawns[0][1], yaw=CROSSFIRE.spawns[0][2])
    for _ in range(12):
        expected = move_avatar(expected, RIGHT, CROSSFIRE)
    assert room.avatars()["ada"] == expected


def test_as_10_as_11_inputs_are_clamped():
    wild, tame = Room(), Room()
    enter(wild, "ada")
    enter(tame, "ada")
    for i in range(10):
        wild.receive("ada", Input(i + 1, InputFields(dx=50.0, dz=-1e300, yaw=1e300), -5.0), i / 60)
        tame.receive("ada", Input(i + 1, InputFields(dx=1.0, dz=-1.0, yaw=0.0), 1000 / 60), i / 60)
        wild.tick(i / 60)
        tame.tick(i / 60)
    assert wild.avatars() == tame.avatars()
    room = Room()
    ada = enter(room, "ada")
    room.receive("ada", Input(1, InputFields(dx=0.0, dz=0.0, yaw=1.0), 1e12), 0.0)
    run(room, 3)
    assert ada.said("state")[0]["lastSeq"] == 1


# -- who is here


def test_hello_is_answered_with_welcome_and_everybody_gets_the_roster_once():
    room = Room(world_rate=10.0)
    ada = enter(room, "ada", name=" Ada\x00\u202e ", color="#ABCDEF")
    assert ada.said("welcome") == [
        {
            "t": "welcome",
            "protocol": 1,
            "you": "ada",
            "arena": "crossfire",
            "tick": 0,
            "tickRate": 60,
            "worldRate": 10.0,
        }
    ]
    run(room, 60)
    assert ada.said("roster") == [
        {"t": "roster", "players": {"ada": {"name": "Ada", "color": "#abcdef", "rttMs": None, "away": False}}}
    ]
    enter(room, "bob")
    run(room, 60, 1.0)
    assert len(ada.said("roster")) == 2
    assert list(ada.said("roster")[1]["players"]) == ["ada", "bob"]
    room.leave("bob")
    run(room, 60, 2.0)
    assert [list(roster["players"]) for roster in ada.said("roster")] == [["ada"], ["ada", "bob"], ["ada"]]


def test_another_protocol_is_refused_before_and_after_joining():
    room = Room()
    peer = Peer()
    closing = room.join("ada", peer, Hello(protocol=2))
    assert closing == Closing(4000, "this server speaks protocol 1, you speak 2")
    assert [error["code"] for error in peer.said("error")] == ["version"]
    assert "ada" not in room
    room.join("ada", peer)
    assert room.receive("ada", Hello(protocol=0), 0.0) == Closing(4000, "this server speaks protocol 1, you speak 0")


def test_as_04_a_peer_of_the_plain_protocol_is_named_by_its_id_and_gets_no_welcome():
    room = Room()
    peer = Peer()
    assert room.join("b6c9-😀", peer) is None
    run(room, 3)
    assert peer.said("welcome") == []
    assert peer.said("roster")[0]["players"]["b6c9-😀"]["name"] == "b6c9-😀"
    assert peer.said("state")[0]["lastSeq"] == 0


def test_a_player_beyond_the_capacity_is_refused_and_slots_are_filled_from_the_lowest():
    room = Room()
    for i in range(CAPACITY):
        enter(room, f"p{i}")
    peer = Peer()
    assert room.join("late", peer) == Closing(4013, "room full")
    assert peer.said("error")[0]["code"] == "room_full"
    room.leave("p7")
    room.leave("p3")
    enter(room, "late")
    assert list(room.crowd.slots) == [slot for slot in range(CAPACITY) if slot != 7]
    late = room.avatars()["late"]
    assert (late.x, late.z) == CROSSFIRE.spawns[3][:2]


def test_as_17_who_comes_back_starts_anew():
    room = Room()
    enter(room, "ada")
    run(room, 10, each=lambda i: room.receive("ada", pack_input(i + 1, RIGHT), i / 60) and None)
    assert distance(room, "ada") > 0
    room.leave("ada")
    ada = enter(room, "ada")
    assert distance(room, "ada") == 0
    run(room, 3, 1.0)
    assert ada.said("state")[-1]["lastSeq"] == 0


def test_nobody_wears_a_colour_that_is_taken():
    room = Room()
    enter(room, "a", color=DEFAULT_COLORS[1])
    enter(room, "b")
    enter(room, "c", color=DEFAULT_COLORS[1])
    enter(room, "d", color="#000000")
    enter(room, "e", color="javascript:")
    colors = [room.person(peer_id).color for peer_id in "abcde"]
    assert colors[0] == DEFAULT_COLORS[1]
    assert len(set(colors)) == 5
    assert set(colors) <= set(DEFAULT_COLORS)
    room.receive("b", Profile(color=DEFAULT_COLORS[1]), 0.0)
    assert room.person("b").color == colors[1]
    room.receive("b", Profile(color="#ffffff"), 0.0)
    assert room.person("b").color == "#ffffff"
    for i in range(CAPACITY - 5):
        enter(room, f"p{i}")
    assert (
        len({room.person(f"p{i}").color for i in range(CAPACITY - 5)})
        == len(DEFAULT_COLORS) - len(set(DEFAULT_COLORS) & {room.person(p).color for p in "abcde"})
        or len(room) == CAPACITY
    )


def test_a_profile_is_cleaned_and_told_to_everybody():
    room = Room()
    ada, bob = enter(room, "ada", name="Ada"), enter(room, "bob")
    now = run(room, 12)
    room.receive("bob", Profile(name="B\nob" * 3000, away=True), now)
    run(room, 12, now)
    person = ada.said("roster")[-1]["players"]["bob"]
    assert len(person["name"]) <= 24
    assert person["name"].startswith("B ob")
    assert person["away"] is True
    assert ada.said("roster") == bob.said("roster")


@pytest.mark.parametrize(("sent", "kept"), [(-5.0, 0.0), (1e9, 60_000.0), (12.34, 12.3)])
def test_round_trips_are_clamped(sent, kept):
    room = Room()
    enter(room, "ada")
    room.receive("ada", Profile(rtt_ms=sent), 0.0)
    assert room.person("ada").rtt_ms == kept


@pytest.mark.parametrize("sent", [math.nan, math.inf, -math.inf])
def test_a_round_trip_that_is_no_number_changes_nothing(sent):
    room = Room()
    enter(room, "ada")
    room.receive("ada", Profile(rtt_ms=20.0), 0.0)
    room.receive("ada", Profile(rtt_ms=sent), 0.0)
    assert room.person("ada").rtt_ms == 20.0


def test_round_trips_alone_make_one_roster_a_second():
    room = Room()
    ada = enter(room, "ada")
    run(room, 600, each=lambda i: room.receive("ada", Profile(rtt_ms=float(i)), i / 60) and None)
    assert 10 <= len(ada.said("roster")) <= 11


def test_a_peer_that_changes_its_name_all_the_time_makes_ten_rosters_a_second_at_most():
    room = Room()
    ada = enter(room, "ada")
    run(room, 600, each=lambda i: room.receive("ada", Profile(name=f"n{i}"), i / 60) and None)
    assert 90 <= len(ada.said("roster")) <= 101


def test_a_clock_sample_is_answered_at_once_with_the_rooms_time():
    room = Room()
    ada = enter(room, "ada")
    assert room.receive("ada", ClockSample(id=6, client_ms=1.0), 4.0) is None
    assert ada.said("clock") == [], "a room that has never ticked does not know when its ticks are"
    for tick in range(1, 4):
        room.tick(4.0 + tick / 60)
    ada.frames.clear()
    assert room.receive("ada", ClockSample(id=7, client_ms=123.25), 4.0 + 3.5 / 60) is None
    (answer,) = ada.said("clock")
    assert answer.pop("serverMs") == pytest.approx(3.5 * 1000 / 60)
    assert answer == {"t": "clock", "id": 7, "clientMs": 123.25}


def test_bye_asks_for_a_close():
    room = Room()
    enter(room, "ada")
    assert room.receive("ada", Bye(), 0.0) == Closing(1000, "bye")


def test_what_only_an_authority_says_means_nothing_from_a_player():
    room = Room()
    ada = enter(room, "ada")
    ada.frames.clear()
    before = room.person("ada")
    assert room.receive("ada", Roster({}), 0.0) is None
    assert room.receive("ada", Welcome(1, "x", "y", 0, 0, 0.0), 0.0) is None
    assert ada.frames == []
    assert room.person("ada") == before


def test_bots_live_in_a_room_and_count_as_nobody():
    room = Room(bots=3)
    assert len(room) == 0
    ann = enter(room, "ann", name="Ann")
    before = room.avatars()
    for tick in range(1, 181):
        room.tick(tick / 60)
    assert sorted(before) == ["ann", "bot-1", "bot-2", "bot-3"]
    for peer_id, avatar in room.avatars().items():
        walked = math.hypot(avatar.x - before[peer_id].x, avatar.z - before[peer_id].z)
        assert (walked > 512) == (peer_id != "ann")
    roster = ann.said("roster")[-1]
    assert {person["name"] for person in roster["players"].values()} == {"Ann", "Bot 1", "Bot 2", "Bot 3"}
    assert len({person["color"] for person in roster["players"].values()}) == 4
    room.leave("ann")
    assert len(room) == 0
