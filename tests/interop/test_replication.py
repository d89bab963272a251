"""Binary replication as others read it: a mirror in JavaScript, written from docs/protocol.md alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest

PATIENCE = 60.0
"""seconds after which a condition is given up: far beyond what any machine needs"""
PRECISION = 1 / 256
"""units"""
TURN, ANGLES = 65536, 1024
"""steps that are simulated, and that are shown"""
PRIVATE_BYTE, BODY_BYTE = 6, -5
"""of a frame: within the private bytes, which mean nothing to the decoder, and the last one of the body"""


class Player:
    """The JavaScript player, and all that it told."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self.news: list[dict[str, Any]] = []

    def do(self, verb: str, **more: Any) -> None:
        self._program.tell(do=verb, **more)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [news for news in self.news if news["on"] == kind]

    def own(self) -> list[dict[str, Any]]:
        """The frames that said something in private."""
        return [frame for frame in self.of("frame") if frame["own"] is not None]

    def until(self, condition: Callable[[dict[str, Any]], object], since: int = 0) -> dict[str, Any]:
        """The first news that the condition holds for, of what was told from `since` on or comes now."""
        end = time.monotonic() + PATIENCE
        at = since
        while True:
            for news in self.news[at:]:
                if condition(news):
                    return news
            at = len(self.news)
            line = self._program.line(max(0.0, end - time.monotonic()))
            assert line is not None, f"it never came; the last was {self.news[-1:]}"
            self.news.append(line)

    def until_frame(self, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The first frame from now on that the condition holds for."""
        return self.until(lambda news: news["on"] == "frame" and condition(news), len(self.news))


def players_in(frame: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The entities of people and bots, by peerId."""
    return {entity["player"]["peer"]: entity for entity in frame["entities"] if "player" in entity}


def simulated(avatar: dict[str, Any]) -> dict[str, Any]:
    """An avatar of a text message in the whole numbers that were simulated: what a frame says in private."""
    return {
        **{axis: round(avatar[axis] * 1024) for axis in "xyz"},
        **{speed: round(avatar[speed] * 1024 / 60) for speed in ("vx", "vy", "vz")},
        "yaw": round(avatar["yaw"] / math.tau * TURN) % TURN,
        "dashTicks": round(avatar["dashMs"] * 60 / 1000),
        "cooldownTicks": round(avatar["cooldownMs"] * 60 / 1000),
        "jumpHeld": avatar["jumpHeld"],
    }


def assert_same(frame: dict[str, Any], world: dict[str, Any], me: str) -> None:
    """A frame and the `world` of its tick say the same, to the declared precision, and of our own to the last bit."""
    shown = players_in(frame)
    assert shown.keys() == world["players"].keys(), frame["tick"]
    for peer, avatar in world["players"].items():
        exact, seen = simulated(avatar), shown[peer]["avatar"]
        for axis in "xyz":
            assert abs(seen[axis] * 1024 - exact[axis]) <= 1024 * PRECISION / 2, (frame["tick"], peer, axis)
        turned = round(seen["yaw"] / math.tau * TURN) - exact["yaw"]
        assert abs(math.remainder(turned, TURN)) <= TURN / ANGLES / 2, (frame["tick"], peer)
        assert seen["dashing"] == (exact["dashTicks"] > 0)
        assert (shown[peer]["owner"] == frame["connection"]) == (peer == me)
    if frame["own"] is not None:
        assert frame["own"] == simulated(world["players"][me]), frame["tick"]


@pytest.fixture
def room(start_ours: Callable[..., str]) -> str:
    return f"{start_ours('run_server.py', 'authority', '--bots', '6')}/replication"


def said(peers: Any, peer: str, kind: str) -> list[dict[str, Any]]:
    return [news["data"] for news in peers.told(peer, "envelope") if news["data"]["t"] == kind]


def test_a_client_of_others_sees_what_the_authority_says(peers: Any, start_node: Any, room: str, wait: Any):
    """AS-09 in binary: each frame beside the `world` of the same tick, with people who come, change and go."""
    witness = peers.open(room)
    peers.do(witness, "say", {"t": "hello", "protocol": 1, "name": "Wit", "color": "#ff0080"})
    js = Player(start_node("arena.mjs", room, "Zoë", "#12ab34"))
    me = js.until(lambda news: news["on"] == "welcome")["you"]
    first = js.until(lambda news: news["on"] == "frame")
    assert first["full"]
    js.do("drive")

    guest = peers.open(room)
    peers.do(guest, "say", {"t": "hello", "protocol": 1, "name": "Gast", "color": "#00ff01"})
    spawn = js.until(lambda news: news["on"] == "spawn" and news.get("player", {}).get("peer") == guest)
    assert (spawn["archetype"], spawn["parent"]) == ("avatar", None)
    assert spawn["player"] == {"peer": guest, "name": "Gast", "color": 0x00FF01, "away": False}
    peers.do(guest, "say", {"t": "profile", "name": "Gäst 🎈", "away": True, "rttMs": 87})
    changed = {"peer": guest, "name": "Gäst 🎈", "color": 0x00FF01, "away": True}
    js.until_frame(lambda frame: players_in(frame)[guest]["player"] == changed and "link" in players_in(frame)[guest])
    js.until_frame(lambda frame: players_in(frame)[guest]["link"] == {"rtt": 87})

    last = js.until_frame(lambda frame: frame["acknowledged"] >= 150 and len(js.own()) >= 40)
    wait(lambda: any(world["tick"] >= last["tick"] for world in said(peers, witness, "world")), lambda: None)
    roster = said(peers, witness, "roster")[-1]["players"]
    people = {peer: entity["player"] for peer, entity in players_in(last).items()}
    assert len(people) == 9
    for peer, person in people.items():
        assert person["name"] == roster[peer]["name"]
        assert f"#{person['color']:06x}" == roster[peer]["color"].lower()
        assert person["away"] == roster[peer]["away"]
    assert (people[me]["name"], people[me]["color"]) == ("Zoë", 0x12AB34)

    peers.do(guest, "leave")
    gone = js.until(lambda news: news["on"] == "despawn")
    assert gone["id"] == spawn["id"]
    js.until_frame(lambda frame: guest not in players_in(frame))

    worlds = {world["tick"]: world for world in said(peers, witness, "world")}
    frames = [frame for frame in js.of("frame") if frame["tick"] in worlds]
    for frame in frames:
        assert_same(frame, worlds[frame["tick"]], me)
    acknowledged = [frame["acknowledged"] for frame in js.of("frame")]
    assert acknowledged == sorted(acknowledged)
    own = [frame["own"] for frame in frames if frame["own"] is not None]
    assert len(own) >= 20
    assert max(abs(avatar["vx"]) + abs(avatar["vz"]) for avatar in own) > 50, "it has moved"
    assert [frame["full"] for frame in js.of("frame")] == [True] + [False] * (len(acknowledged) - 1)
    assert not js.of("resync") + js.of("error") + js.of("close")


@pytest.mark.parametrize("byte", [PRIVATE_BYTE, BODY_BYTE])
def test_a_damaged_frame_is_found_and_healed_by_one_resync(
    peers: Any, start_node: Any, room: str, wait: Any, byte: int
):
    witness = peers.open(room)
    peers.do(witness, "say", {"t": "hello", "protocol": 1})
    js = Player(start_node("arena.mjs", room, "Zoë", "#12ab34"))
    me = js.until(lambda news: news["on"] == "welcome")["you"]
    js.do("drive")
    js.until(lambda news: news["on"] == "frame" and news["acknowledged"] >= 10)
    js.do("damage", at=byte)
    fault = js.until(lambda news: news["on"] == "resync")["fault"]
    if byte == PRIVATE_BYTE:
        assert fault == "the check fails"
    healed = js.until_frame(lambda frame: True)
    assert healed["full"]
    seen = len(js.own())
    last = js.until_frame(lambda frame: len(js.own()) >= seen + 10)
    wait(lambda: any(world["tick"] >= last["tick"] for world in said(peers, witness, "world")), lambda: None)
    worlds = {world["tick"]: world for world in said(peers, witness, "world")}
    after = [frame for frame in js.of("frame") if frame["tick"] in worlds and frame["tick"] >= healed["tick"]]
    assert len(after) >= 5
    for frame in after:
        assert_same(frame, worlds[frame["tick"]], me)
    assert len(js.of("resync")) == 1
    assert sum(frame["full"] for frame in js.of("frame")) == 2
    assert not js.of("despawn") + js.of("error")
