"""The hub in one process: what the contract leaves open, rows TL-01 to TL-11."""

from __future__ import annotations

import math
from typing import Any

from net.envelope import Envelope
from net.transport.local import LocalHub, LocalTransport


def test_tl02_delivery_ends_before_send_returns() -> None:
    hub = LocalHub()
    a, b = LocalTransport(hub), LocalTransport(hub)
    heard: list[Any] = []
    b.subscribe(heard.append)
    b.subscribe_bytes(heard.append)
    a.send(1)
    a.send_bytes(b"2")
    assert heard == [Envelope(a.peer_id, 1), b"2"]


def test_tl06_the_very_object_arrives_whatever_it_is() -> None:
    hub = LocalHub()
    a, b = LocalTransport(hub), LocalTransport(hub)
    heard: list[Any] = []
    b.subscribe(lambda envelope: heard.append(envelope.data))
    cycle: list[Any] = [math.nan, print]
    cycle.append(cycle)
    a.send(cycle)
    assert heard[0] is cycle


def test_tl08_a_transport_closed_while_a_message_goes_round_does_not_get_it_and_the_rest_do() -> None:
    hub = LocalHub()
    a, b, c, d = (LocalTransport(hub) for _ in range(4))
    heard: list[str] = []
    b.subscribe(lambda envelope: c.close())
    c.subscribe(lambda envelope: heard.append("c"))
    d.subscribe(lambda envelope: heard.append("d"))
    a.send(1)
    assert heard == ["d"]


def test_tl08_a_transport_that_joins_while_a_message_goes_round_does_not_get_it() -> None:
    hub = LocalHub()
    a, b = LocalTransport(hub), LocalTransport(hub)
    heard: list[Any] = []

    def joins(envelope: Envelope) -> None:
        LocalTransport(hub).subscribe(heard.append)

    b.subscribe(joins)
    a.send(1)
    assert heard == []
    a.send(2)
    assert [envelope.data for envelope in heard] == [2]


def test_tl09_the_sender_is_excluded_not_its_id() -> None:
    hub = LocalHub()
    a, twin = LocalTransport(hub, "x"), LocalTransport(hub, "x")
    heard: list[Any] = []
    twin.subscribe(heard.append)
    a.send(1)
    assert heard == [Envelope("x", 1)]


def test_hubs_do_not_hear_each_other() -> None:
    a, stranger = LocalTransport(LocalHub()), LocalTransport(LocalHub())
    heard: list[Any] = []
    stranger.subscribe(heard.append)
    a.send(1)
    assert heard == []


def test_a_ping_pong_of_thousands_does_not_exhaust_the_stack() -> None:
    hub = LocalHub()
    a, b = LocalTransport(hub), LocalTransport(hub)
    a.subscribe(lambda envelope: a.send(envelope.data + 1) if envelope.data < 5000 else None)
    b.subscribe(lambda envelope: b.send(envelope.data + 1) if envelope.data < 5000 else None)
    a.send(0)
    assert a.traffic.messages_up + b.traffic.messages_up == 5001
