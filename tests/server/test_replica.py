"""Rooms in which some take binary frames and some read text: literal times, every frame read back from its bytes."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from game.binary import SCHEMA, pack_command, unpack_own
from game.sim.bot import bot_command
from game.sim.command import Command
from game.wire import Hello, Profile, Resync, pack_avatar, unpack_avatar
from net.envelope import WireError
from net.replication import Component, Fixed, Int, Mirror, Schema
from server.engine import Frame
from server.room import Closing, Room


class Peer:
    """What one player was sent, and the mirror that it feeds."""

    def __init__(self) -> None:
        self.text: list[Any] = []
        self.sizes: list[int] = []
        self.mirror = Mirror(SCHEMA, {"avatar": lambda entity: {}})
        self.deaf = False

    def send(self, frame: Frame) -> None:
        self.text.append(json.loads(frame.payload)["data"])

    def send_bytes(self, data: bytes) -> None:
        self.sizes.append(len(data))
        if not self.deaf:
            self.mirror.apply(data)

    def said(self, kind: str) -> list[Any]:
        return [data for data in self.text if data["t"] == kind]

    def people(self) -> dict[str, tuple[str, bool]]:
        get, mirror = self.mirror.get, self.mirror
        return {
            get(entity, "player", "peer"): (get(entity, "player", "name"), get(entity, "player", "away"))
            for entity in mirror.entities()
        }

    def places(self) -> dict[str, tuple[float, float, float]]:
        get = self.mirror.get
        return {
            get(entity, "player", "peer"): tuple(get(entity, "avatar", axis) for axis in "xyz")
            for entity in self.mirror.entities()
        }


def enter(room: Room, peer_id: str, *, binary: bool = True) -> Peer:
    peer = Peer()
    hello = Hello(protocol=1, name=peer_id.title(), schema=SCHEMA.greeting() if binary else None)
    assert room.join(peer_id, peer, hello) is None
    return peer


def play(room: Room, ticks: int, *peers: str, start: int = 0) -> int:
    """Every player strolls by binary commands; the tick after."""
    for tick in range(start + 1, start + ticks + 1):
        for seed, peer_id in enumerate(peers):
            room.hear(
                room.slot(peer_id), pack_command(tick, bot_command(room.avatars()[peer_id], tick, seed + 1, room.arena))
            )
        room.tick(tick / 60)
    return start + ticks


def assert_true(room: Room, peer: Peer) -> None:
    """What is shown is what is, to half a step, at a tick at which everybody is told."""
    avatars = room.avatars()
    assert set(peer.places()) == set(avatars)
    for peer_id, place in peer.places().items():
        avatar = avatars[peer_id]
        assert place == pytest.approx((avatar.x / 1024, avatar.y / 1024, avatar.z / 1024), abs=1 / 512)


def test_binary_and_text_players_see_each_other_in_one_room():
    room = Room(bots=2)
    ada, bob = enter(room, "ada"), enter(room, "bob", binary=False)
    assert ada.said("welcome")[0]["binary"] is True
    assert "binary" not in bob.said("welcome")[0]
    play(room, 180, "ada", "bob")
    assert_true(room, ada)
    assert set(ada.people()) == {"ada", "bob", "bot-1", "bot-2"}
    assert {kind["t"] for kind in ada.text} == {"welcome"}, "no world, no state, no roster in text"
    assert bob.sizes == [], "nothing binary for who has not asked for it"
    world = bob.said("world")[-1]
    assert world["tick"] == 180
    assert {peer_id: unpack_avatar(_fields(fields)) for peer_id, fields in world["players"].items()} == room.avatars()
    assert bob.said("state")[-1]["lastSeq"] == 180
    assert len(bob.said("world")) == len(ada.sizes) == 60, "20 Hz"


def _fields(fields: dict[str, Any]) -> Any:
    import msgspec

    return msgspec.convert(fields, type(pack_avatar(Room(bots=1).avatars()["bot-1"])))


def test_the_own_avatar_comes_exactly_and_with_the_command_that_it_is_after():
    room = Room()
    ada = enter(room, "ada")
    for tick in range(1, 61):
        room.hear(room.slot("ada"), pack_command(tick, Command(dx=90, dz=-90, yaw=1234, jump=tick == 9)))
        room.tick(tick / 60)
        if tick % 3 == 0:
            assert unpack_own(ada.mirror.private) == room.avatars()["ada"]
            assert ada.mirror.acknowledged == tick
            assert ada.mirror.tick == tick
    assert ada.mirror.owned() == ada.mirror.entities()


@pytest.mark.parametrize(
    ("schema", "difference"),
    [
        (Schema([Component("avatar", x=Int(0, 9))]).greeting(), "1 replicated components, but here are 3"),
        (
            Schema(
                [
                    Component("avatar", x=Fixed(-64, 64, 1 / 128)),
                    Component("link", rtt=Int(0, 1)),
                    Component("player", peer=Int(0, 1)),
                ]
            ).greeting(),
            "field avatar.x is 'fixed -64.0 to 64.0 by 0.0078125', but here it is 'fixed -64.0 to 64.0 by 0.00390625'",
        ),
        ({"protocol": 99}, "replication protocol 99, but here it is 1"),
        ("nonsense", "the greeting is no object"),
        ([[[[]]]], "the greeting is no object"),
    ],
)
def test_hs_another_schema_is_refused_with_the_first_difference(schema: Any, difference: str):
    room, peer = Room(), Peer()
    closing = room.join("ada", peer, Hello(protocol=1, schema=schema))
    assert closing == Closing(4000, difference)
    assert peer.said("error") == [{"t": "error", "code": "schema", "message": difference}]
    assert len(room) == 0


def test_who_asks_again_for_frames_gets_them_once():
    room = Room()
    ada = enter(room, "ada", binary=False)
    play(room, 3, "ada")
    again = Hello(protocol=1, name="Ada", schema=SCHEMA.greeting())
    assert room.receive("ada", again, 0.0) is None
    assert room.receive("ada", again, 0.0) is None
    heard = len(ada.said("world"))
    play(room, 30, "ada", start=3)
    assert len(ada.said("world")) == heard
    assert len(ada.sizes) == 10
    assert_true(room, ada)


def test_people_are_replicated_as_they_change_and_go():
    room = Room()
    ada, bob = enter(room, "ada"), enter(room, "bob")
    play(room, 3)
    assert ada.people() == {"ada": ("Ada", False), "bob": ("Bob", False)}
    room.receive("bob", Profile(name="Bobby", away=True, rtt_ms=41.6), 0.0)
    play(room, 3, start=3)
    assert ada.people()["bob"] == ("Bobby", True)
    entity = next(e for e in ada.mirror.entities() if ada.mirror.get(e, "player", "peer") == "bob")
    assert ada.mirror.get(entity, "link", "rtt") == 42
    room.leave("bob")
    bits = len(bob.sizes)
    play(room, 3, start=6)
    assert set(ada.people()) == {"ada"}
    assert len(bob.sizes) == bits, "who has left is sent nothing more"
    eve = enter(room, "eve")
    play(room, 12, "eve", start=9)
    assert ada.people() == eve.people() == {"ada": ("Ada", False), "eve": ("Eve", False)}
    assert_true(room, ada)


def test_a_lost_frame_is_followed_by_one_full_one():
    room = Room(bots=3)
    ada = enter(room, "ada")
    tick = play(room, 60, "ada")
    ada.deaf = True
    tick = play(room, 3, "ada", start=tick)
    ada.deaf = False
    tick = play(room, 3, "ada", start=tick)
    assert ada.mirror.needs_resync
    for _ in range(50):
        room.receive("ada", Resync(), 0.0)
    count = len(ada.sizes)
    play(room, 30, "ada", start=tick)
    assert not ada.mirror.needs_resync
    assert_true(room, ada)
    ordinary = sorted(ada.sizes[count:])
    assert ordinary[-1] > 2 * ordinary[-2], "one full frame, however often it was asked for"


def test_what_is_no_command_is_a_wire_error_and_changes_nothing():
    room = Room()
    enter(room, "ada")
    before = room.avatars()
    for data in (b"", b"\xa0", bytes(10), b"I" * 10_000):
        with pytest.raises(WireError):
            room.hear(room.slot("ada"), data)
    room.tick(1 / 60)
    assert room.avatars() == before


def test_a_room_at_rest_tells_the_time_and_little_else():
    """Under 60 bytes a second and client, WebSocket headers (2 bytes a frame) included, though all send commands."""
    room = Room()
    ada, bob = enter(room, "ada"), enter(room, "bob")
    for tick in range(1, 61 * 60):
        for peer_id in ("ada", "bob"):
            room.hear(room.slot(peer_id), pack_command(tick, Command()))
        room.tick(tick / 60)
        if tick == 60:
            ada.sizes.clear()
    assert sum(size + 2 for size in ada.sizes) / 60 < 60
    assert 60 * 5 <= len(ada.sizes) <= 60 * 5 + 2, "five a second"
    assert ada.mirror.acknowledged >= 61 * 60 - 13
    assert bob.mirror.tick == ada.mirror.tick


def test_what_stops_is_said_to_have_stopped_at_once():
    """The frame after the last one with news says nothing, and so that nothing moves any more."""
    room = Room()
    ada = enter(room, "ada")
    for tick in range(1, 31):
        room.hear(room.slot("ada"), pack_command(tick, Command(dx=127)))
        room.tick(tick / 60)
    for tick in range(31, 61):
        room.hear(room.slot("ada"), pack_command(tick, Command()))
        room.tick(tick / 60)
    before = len(ada.sizes)
    moved = [a != b for a, b in itertools.pairwise(places_of(room, ada, 30))]
    assert not any(moved)
    assert len(ada.sizes) - before <= 4, "half a second of rest: a beat or three, and no more"


def places_of(room: Room, peer: Peer, ticks: int) -> list[Any]:
    places = []
    for _ in range(ticks):
        room.tick(2.0 + room.crowd.tick / 60)
        places.append(peer.places())
    return places
