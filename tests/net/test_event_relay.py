"""Events between the buses of several peers, rows ER-01 to ER-11."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from net.envelope import encode
from net.event_relay import relay_events
from net.events import EventBus
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import connect, pair


class Peer:
    """A bus bound to a transport, and all that happened on it."""

    def __init__(self, transport: Any, *names: str) -> None:
        self.bus = EventBus()
        self.happened: list[tuple[str, Any]] = []
        self.bus.on_any(lambda name, payload: self.happened.append((name, payload)))
        self.transport = transport
        self.unbind = relay_events(self.bus, transport, names)


def room(count: int, *names: str) -> list[Peer]:
    hub = LocalHub()
    return [Peer(LocalTransport(hub, f"peer {n}"), *names) for n in range(count)]


def on_wire(*names: str) -> tuple[Peer, list[Any], Callable[[Any], None]]:
    """A peer, what it sends as JSON, and a function that lets it hear data."""
    transport, end = connect("me")
    sent: list[Any] = []
    end.attach(lambda frame, binary: sent.append(json.loads(frame)["data"]), lambda code, reason: None)
    return Peer(transport, *names), sent, lambda data: end.push(encode("ann", data), False)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_er01_er02_one_emit_happens_once_at_every_peer(count: int) -> None:
    peers = room(count, "hit")
    peers[0].bus.emit("hit", {"by": [1, 2]})
    for peer in peers:
        assert peer.happened == [("hit", {"by": [1, 2]})]


def test_er03_unlisted_events_stay_here_and_are_not_taken() -> None:
    talks, listens = pair("a", "b")
    a, b = Peer(talks, "hit", "jump"), Peer(listens, "hit")
    a.bus.emit("private")
    a.bus.emit("jump")
    a.bus.emit("hit")
    assert b.happened == [("hit", None)]


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        "event",
        ["event"],
        {},
        {"t": "presence", "event": "hit"},
        {"t": "event"},
        {"t": "event", "event": None},
        {"t": "event", "event": 3},
        {"t": "event", "event": ["hit"]},
        {"t": ["event"], "event": "hit"},
    ],
)
def test_er04_junk_and_other_kinds_are_ignored(data: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer, _, hear = on_wire("hit")
    hear(data)
    assert peer.happened == []
    assert caplog.records == []


def test_er05_what_a_listener_emits_at_once_during_a_replay_stays_local() -> None:
    one, two, three = room(3, "hit", "scream")
    two.bus.on("hit", lambda payload: two.bus.emit("scream", "ouch"))
    one.bus.emit("hit")
    assert sorted(two.happened) == [("hit", None), ("scream", "ouch")]
    assert one.happened == three.happened == [("hit", None)]


def test_er06_what_a_listener_emits_later_goes_out() -> None:
    one, two = room(2, "hit", "scream")
    later: list[Callable[[], None]] = []
    two.bus.on("hit", lambda payload: later.append(lambda: two.bus.emit("scream")))
    one.bus.emit("hit")
    later[0]()
    assert one.happened == [("hit", None), ("scream", None)]


def test_er07_a_listener_that_raises_keeps_no_event_from_leaving() -> None:
    one, two = room(2, "hit")
    order: list[str] = []

    def raises(payload: Any) -> None:
        order.append("local")
        raise RuntimeError("broken")

    one.bus.on("hit", raises)
    two.bus.on("hit", lambda payload: order.append("remote"))
    one.bus.emit("hit")
    assert order == ["local", "remote"]


def test_er08_what_json_cannot_hold_is_logged_and_the_emitter_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    peer, sent, _ = on_wire("hit")
    with caplog.at_level(logging.ERROR):
        peer.bus.emit("hit", object())
        peer.bus.emit("hit", float("nan"))
    assert sent == []
    assert len(peer.happened) == 2
    assert len(caplog.records) == 2


def test_er09_unbind_ends_both_directions_and_may_be_repeated() -> None:
    one, two = room(2, "hit")
    one.unbind()
    one.unbind()
    one.bus.emit("hit", 1)
    two.bus.emit("hit", 2)
    assert one.happened == [("hit", 1)]
    assert two.happened == [("hit", 2)]


def test_er10_a_payload_that_is_left_out_is_none() -> None:
    peer, _, hear = on_wire("hit")
    hear({"t": "event", "event": "hit"})
    assert peer.happened == [("hit", None)]


def test_er11_the_wire_form() -> None:
    peer, sent, _ = on_wire("hit")
    peer.bus.emit("hit", [1, "a"])
    peer.bus.emit("hit")
    assert sent == [
        {"t": "event", "event": "hit", "payload": [1, "a"]},
        {"t": "event", "event": "hit", "payload": None},
    ]


def test_a_bus_on_two_transports_is_a_bridge_without_an_echo() -> None:
    left, right = LocalHub(), LocalHub()
    a, b = Peer(LocalTransport(left, "a"), "hit"), Peer(LocalTransport(right, "b"), "hit")
    middle = Peer(LocalTransport(left, "m"), "hit")
    relay_events(middle.bus, LocalTransport(right, "m"), ["hit"])
    a.bus.emit("hit", 1)
    assert a.happened == middle.happened == b.happened == [("hit", 1)]
