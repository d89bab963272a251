"""The reference movement: a client of others predicts it against examples/movement_authority.py."""

import itertools
import json
import math
import time
from typing import Any

import pytest

_numbers = itertools.count()


@pytest.fixture
def room(our_movement: str) -> str:
    return f"{our_movement}/movement-{next(_numbers)}"


def command(seq: Any, dx: Any, dz: Any = 0, dt_ms: Any = 50) -> dict[str, Any]:
    return {"t": "input", "seq": seq, "input": {"dx": dx, "dz": dz}, "dtMs": dt_ms}


def state_after(peers: Any, peer: str, last_seq: int) -> Any:
    while True:
        data = peers.until(peer, "envelope")["data"]
        if data["t"] == "state" and data["lastSeq"] >= last_seq:
            assert list(data) == ["t", "state", "lastSeq"]
            return data["state"]


def test_an_honest_client_is_never_corrected(peers: Any, room: str):
    """PD-03, AS-22, and AS-09 to the last bit: any directions and times, and the border."""
    theirs, witness = peers.open(room), peers.open(room)
    peers.do(witness, "say", None)
    road = [(math.cos(n) * 1.3, math.sin(n * 1.7), 1000 / 60 + n % 3) for n in range(40)]
    road += [(1, 0, 50)] * 10 + [(1, 1, 1000 / 60)] * 10 + [(0, 0, 0), (7, -9, 250), (0.25, 0, 33.4), (0, 0, -5)]
    peers.do(theirs, "drive", road)
    arrived = peers.until(theirs, "arrived")
    assert arrived["corrections"] == 0
    world = {"players": {}}
    while world["players"].get(theirs) != arrived["state"]:
        world = peers.until(witness, "envelope")["data"]
        world = world if world["t"] == "world" else {"players": {}}
    assert set(world["players"]) == {theirs, witness}


def test_twenty_inputs_to_the_right_are_five_units(peers: Any, room: str):
    """AS-22 as it was measured."""
    theirs = peers.open(room)
    peers.do(theirs, "drive", [(1, 0, 50)] * 20)
    arrived = peers.until(theirs, "arrived")
    assert (arrived["corrections"], arrived["state"]) == (0, {"x": 5, "z": 0})


def test_a_cheat_moves_no_faster(peers: Any, room: str):
    """AS-10, AS-11, AS-15, AS-21: a large direction counts 1, a long time 100 ms, and more time than passes nothing."""
    theirs = peers.open(room)
    peers.do(theirs, "say", command(1, dx=50, dt_ms=1000))
    assert state_after(peers, theirs, 1) == {"x": 0.5, "z": 0}
    began = time.monotonic()
    for seq in range(2, 60):
        peers.do(theirs, "say", command(seq, dx=1, dt_ms=100))
    state = state_after(peers, theirs, 59)
    assert state["x"] <= 0.5 + 5 * (0.25 + 1.0 + time.monotonic() - began), "in advance, and what was banked"
    assert state["x"] < 59 * 0.5, "what came too fast was dropped"


@pytest.mark.parametrize("seq", [1, 2])
def test_each_seq_counts_once(peers: Any, room: str, seq: int):
    """AS-12."""
    theirs = peers.open(room)
    for number in (1, 2, seq, seq, 3):
        peers.do(theirs, "say", command(number, dx=1, dt_ms=20))
    assert state_after(peers, theirs, 3)["x"] == pytest.approx(0.3)


def test_refusals_have_a_code(peers: Any, room: str):
    """AS-13, AS-14, AS-16, AS-18."""
    theirs = peers.open(room)

    def refused(code: str) -> None:
        news = peers.until(theirs, "envelope")
        while news["data"]["t"] != "error":
            news = peers.until(theirs, "envelope")
        assert (news["from"], news["data"]["code"]) == ("server", code)

    peers.do(theirs, "say", command(1.5, dx=1))
    refused("bad_message")
    peers.do(theirs, "text", json.dumps({"from": theirs, "data": command(1, dx=1)}))
    assert state_after(peers, theirs, 1)["x"] == 0.25
    double = peers.open(room)
    peers.do(double, "text", json.dumps({"from": theirs, "data": None}))
    assert peers.until(double, "envelope")["data"]["code"] == "id_taken"
    assert peers.until(double, "close")["code"] == 4001
    for number in range(60):
        peers.do(theirs, "text", f"nonsense {number}")
    assert peers.until(theirs, "close")["code"] == 1008


def test_rooms_hear_nothing_of_each_other(peers: Any, room: str):
    one, other = peers.open(room), peers.open(room + "/")
    for peer in (one, other):
        peers.do(peer, "say", None)
    for peer in (one, other):
        data = peers.until(peer, "envelope")["data"]
        while data["t"] != "world":
            data = peers.until(peer, "envelope")["data"]
        assert list(data["players"]) == [peer]
