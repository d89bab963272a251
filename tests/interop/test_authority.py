"""Peers of others in our arena: the plain protocol, without a greeting."""

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from game.session.base import Link
from game.session.online import OnlineSession
from game.session.pilot import BotPilot
from net.clock import MonotonicClock
from net.transport.websocket import WebSocketTransport

TICK_MS = 1000 / 60


@pytest.fixture
def room(our_authority: str) -> str:
    return f"{our_authority}/interop-{next(_numbers)}"


_numbers: Iterator[int] = itertools.count()


def command(seq: Any, dx: Any = 0, dz: Any = 0, dt_ms: Any = TICK_MS, **more: Any) -> dict[str, Any]:
    return {"t": "input", "seq": seq, "input": {"dx": dx, "dz": dz, **more}, "dtMs": dt_ms}


def heard(peers: Any, peer: str, kind: str, **fields: Any) -> Any:
    """The data of the next envelope of that kind whose data has these fields."""
    while True:
        news = peers.until(peer, "envelope")
        data = news["data"]
        if data["t"] == kind and all(data.get(name) == value for name, value in fields.items()):
            assert news["from"] == "server"
            return data


def test_nobody_is_told_anything_before_he_has_said_something(peers: Any, room: str):
    """AS-02, AS-03, AS-04, AS-06 to AS-08."""
    mute, speaker = peers.open(room), peers.open(room)
    for text in ("", "NaN", "null", "[]", '{"from":7,"data":1}', '{"from":"x"}'):
        peers.do(mute, "text", text)
    peers.do(speaker, "say", {"t": "whatever"})
    assert heard(peers, speaker, "state")["lastSeq"] == 0
    world = heard(peers, speaker, "world")
    assert list(world["players"]) == [speaker]
    assert not peers.told(mute, "envelope")
    peers.do(mute, "say", None)
    assert heard(peers, mute, "state")["lastSeq"] == 0
    assert set(heard(peers, speaker, "world", **{})["players"]) >= {speaker}


def test_its_inputs_move_it_and_each_counts_once(peers: Any, room: str):
    """IC-01, IC-02, AS-09, AS-12, AS-22."""
    mover, repeater, witness = (peers.open(room) for _ in range(3))
    states = {}
    for peer in (mover, repeater, witness):
        peers.do(peer, "say", {"t": "hi"})
        states[peer] = heard(peers, peer, "state")["state"]
    for seq in range(1, 13):
        peers.do(mover, "say", command(seq, dx=1))
        for _ in range(3):
            peers.do(repeater, "say", command(seq, dx=1))
        peers.do(repeater, "say", command(max(1, seq - 1), dx=-1))
    went = {}
    for peer in (mover, repeater):
        state = heard(peers, peer, "state", lastSeq=12)["state"]
        went[peer] = state["x"] - states[peer]["x"]
    assert went[mover] == went[repeater] > 0.5
    world = heard(peers, witness, "world")
    while world["players"][mover]["x"] - states[mover]["x"] != went[mover]:
        world = heard(peers, witness, "world")
    assert set(world["players"]) == {mover, repeater, witness}


@pytest.mark.parametrize(
    "wrong",
    [
        command(0), command(-1), command(1.5), command("1"), command(None), command(2**53),
        command(1, dx="1"), command(1, dz=None), command(1, dt_ms="16"), command(1, jump=1),
        {"t": "input", "seq": 1, "dtMs": 16}, {"t": "input", "seq": 1, "input": None, "dtMs": 16},
        {"t": "input", "seq": 1, "input": {}, "dtMs": 16}, {"t": "input", "input": {"dx": 0, "dz": 0}, "dtMs": 16},
        {"t": "input", "seq": 1, "input": {"dx": 1, "dz": 0}}, {"t": "input"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_malformed_is_refused_in_words_and_changes_nothing(peers: Any, room: str, wrong: Any):
    """IC-03, AS-11, AS-13, AS-14: not acknowledged, and the number stays free."""
    theirs = peers.open(room)
    peers.do(theirs, "say", {"t": "hi"})
    start = heard(peers, theirs, "state")["state"]
    peers.do(theirs, "say", wrong)
    assert heard(peers, theirs, "error")["code"] == "bad_message"
    peers.do(theirs, "say", command(1))
    assert heard(peers, theirs, "state", lastSeq=1)["state"]["x"] == start["x"]


def test_binary_frames_and_texts_that_are_none_are_refused(peers: Any, room: str):
    """AS-16."""
    theirs = peers.open(room)
    peers.do(theirs, "say", {"t": "hi"})
    heard(peers, theirs, "state")
    envelope = json.dumps({"from": theirs, "data": command(1, dx=1)}).encode()
    peers.do(theirs, "bytes", base64.b64encode(envelope).decode())
    assert heard(peers, theirs, "error")["code"] == "bad_message"
    peers.do(theirs, "text", f'{{"from":"{theirs}","data":{{"t":"input","seq":1,"input":{{"dx":NaN,"dz":0}}}}}}')
    peers.do(theirs, "say", command(2))
    heard(peers, theirs, "state", lastSeq=2)


def test_two_of_one_name_are_not_one_player(peers: Any, room: str):
    """AS-18, AS-19, AS-05."""
    theirs = peers.open(room)
    peers.do(theirs, "say", {"t": "hi"})
    heard(peers, theirs, "state")
    double = peers.open(room)
    peers.do(double, "text", json.dumps({"from": theirs, "data": {"t": "hi"}}))
    assert peers.until(double, "close")["code"] == 4001
    peers.do(theirs, "text", json.dumps({"from": "somebody else", "data": command(1)}))
    assert heard(peers, theirs, "error")["code"] == "id_changed"
    peers.do(theirs, "say", command(2, dx=1))
    heard(peers, theirs, "state", lastSeq=2)


@pytest.mark.parametrize(("size", "passes"), [(16_384, True), (16_385, False), (65_536, False), (65_537, False)])
def test_longer_frames_than_any_honest_one_end_the_connection(peers: Any, room: str, size: int, passes: bool):
    theirs = peers.open(room)
    peers.do(theirs, "say", {"t": "hi"})
    heard(peers, theirs, "state")
    peers.do(theirs, "fill", size)
    if passes:
        peers.do(theirs, "say", command(1))
        heard(peers, theirs, "state", lastSeq=1)
    else:
        assert peers.until(theirs, "close")["code"] == 1009


def test_which_paths_are_one_match(peers: Any, room: str):
    """RS-05, RS-06 at the authority."""
    plain, query, slash = (peers.open(room + end) for end in ("", "?token=1", "/"))
    for peer in (plain, query, slash):
        peers.do(peer, "say", {"t": "hi"})
        heard(peers, peer, "state")
    world = heard(peers, plain, "world")
    while len(world["players"]) < 2:
        world = heard(peers, plain, "world")
    assert set(world["players"]) == {plain, query}
    assert set(heard(peers, slash, "world")["players"]) == {slash}


def test_it_plays_beside_one_of_our_own(peers: Any, room: str, wait: Any):
    """AS-17: and when it leaves, it is gone at once."""
    clock = MonotonicClock()
    session = OnlineSession(lambda: WebSocketTransport(room, peer_id="ours"), clock, name="Zoë")
    pilot = BotPilot(1, session.arena)
    frames: list[Any] = []

    def step() -> None:
        frames[:] = [session.update(clock.now(), pilot)]

    def here() -> set[str]:
        return {avatar.peer_id for avatar in frames[0].avatars} if frames else set()

    try:
        theirs = peers.open(room)
        peers.do(theirs, "listen", ["emote"])
        peers.do(theirs, "say", {"t": "hi"})
        wait(lambda: here() == {"ours", theirs}, step)
        wait(lambda: session.presence.get().keys() == {"ours", theirs}, step)
        session.emote(2)
        assert peers.until(theirs, "event", step)["payload"] == 2
        peers.do(theirs, "emit", {"event": "emote", "payload": 1})
        wait(lambda: any(avatar.emote for avatar in frames[0].avatars if avatar.peer_id == theirs), step)
        peers.do(theirs, "leave")
        assert peers.until(theirs, "close")["code"] == 1000
        wait(lambda: here() == {"ours"}, step)
        assert session.status.get().link is Link.CONNECTED
        assert session.report().corrections == 0
    finally:
        session.close()
