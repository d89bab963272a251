"""A network between a transport and its owner, on one clock."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest

from net.clock import ManualClock
from net.envelope import Envelope, encode
from net.transport.base import ConnectionStatus, TransportState
from net.transport.conditioner import ConditionedTransport, Conditions
from net.transport.endpoint import Endpoint
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import connect
from net.transport.wire import Delivery

SLOW = Conditions(latency=0.1)


class Lab:
    """A conditioned client, and what reaches either side."""

    def __init__(self, up: Conditions | None = None, down: Conditions | None = None, seed: int = 0) -> None:
        self.clock = ManualClock()
        self.inner, self.end = connect("me", Delivery.POLL)
        self.transport = ConditionedTransport(self.inner, self.clock, up, down, seed)
        self.got: list[Any] = []
        self.sent: list[Any] = []
        self.transport.subscribe(lambda envelope: self.got.append(envelope.data))
        self.transport.subscribe_bytes(self.got.append)
        self.end.attach(lambda frame, binary: self.sent.append(frame), lambda code, reason: self.sent.append(code))

    def step(self, seconds: float = 0.0) -> None:
        self.clock.advance(seconds)
        self.end.poll()
        self.transport.poll()
        self.end.poll()

    def push(self, data: Any) -> None:
        self.end.push(encode("server", data), False)


class Fake(Endpoint):
    """A transport whose connection a test opens and loses."""

    reliable_ordered = True

    def __init__(self) -> None:
        super().__init__("me", TransportState.CONNECTING)
        self.sent: list[Any] = []
        self.waiting: list[ConnectionStatus] = []

    def send(self, data: Any) -> None:
        self.sent.append(data)

    def send_bytes(self, data: bytes) -> None:
        self.sent.append(data)

    def poll(self) -> None:
        while self.waiting:
            self._change(self.waiting.pop(0))

    def close(self) -> None:
        self._end()


def test_perfect_conditions_pass_straight_through_in_the_same_call() -> None:
    lab = Lab()
    lab.transport.send(1)
    lab.transport.send_bytes(b"2")
    lab.end.poll()
    assert lab.sent == [encode("me", 1), b"2"]
    lab.push(3)
    lab.transport.poll()
    assert lab.got == [3]


def test_perfect_conditions_hand_the_very_object_through_a_hub() -> None:
    hub = LocalHub()
    plain = LocalTransport(hub)
    conditioned = ConditionedTransport(LocalTransport(hub), ManualClock())
    heard: list[Any] = []
    plain.subscribe(lambda envelope: heard.append(envelope.data))
    value = {"x": 1}
    conditioned.send(value)
    assert heard[0] is value


def test_up_and_down_have_their_own_conditions() -> None:
    lab = Lab(up=Conditions(latency=0.2), down=Conditions(latency=0.05))
    lab.transport.send("up")
    lab.push("down")
    lab.step()
    assert (lab.sent, lab.got) == ([], [])
    lab.step(0.05)
    assert (lab.sent, lab.got) == ([], ["down"])
    lab.step(0.15)
    assert lab.sent == [encode("me", "up")]


def test_what_leaves_late_is_what_was_sent_and_is_checked_at_once() -> None:
    lab = Lab(up=SLOW)
    value = {"n": [1]}
    lab.transport.send(value)
    value["n"].append(2)
    for bad in (math.nan, object(), "\ud800"):
        with pytest.raises((TypeError, ValueError)):
            lab.transport.send(bad)
    lab.step(1.0)
    assert lab.sent == [encode("me", {"n": [1]})]


def test_better_conditions_while_running_keep_the_order_of_both_directions() -> None:
    lab = Lab(up=SLOW, down=SLOW)
    lab.transport.send(1)
    lab.push(1)
    lab.step()
    lab.transport.set(up=Conditions(), down=Conditions())
    lab.transport.send(2)
    lab.push(2)
    lab.step(0.05)
    assert (lab.sent, lab.got) == ([], [])
    lab.step(0.05)
    assert lab.sent == [encode("me", 1), encode("me", 2)]
    assert lab.got == [1, 2]
    lab.push(3)
    lab.step()
    assert lab.got == [1, 2, 3]


def test_set_leaves_alone_what_it_is_not_given() -> None:
    lab = Lab(up=SLOW, down=SLOW)
    lab.transport.set(down=Conditions())
    assert (lab.transport.up, lab.transport.down) == (SLOW, Conditions())


def test_a_lost_connection_is_told_at_once_and_loses_what_was_on_its_way() -> None:
    lab = Lab(up=SLOW, down=SLOW)
    seen: list[ConnectionStatus] = []
    lab.transport.subscribe_status(seen.append)
    lab.transport.send("never sent")
    lab.push("never heard")
    lab.step(0.01)
    lab.end.close(1011, "crashed")
    lab.step(0.01)
    assert seen == [ConnectionStatus(TransportState.CLOSED, code=1011, reason="crashed")]
    assert lab.transport.status == seen[0]
    lab.step(1.0)
    assert (lab.sent, lab.got) == ([], [])


def test_a_greeting_after_a_reconnect_is_not_overtaken_by_what_was_sent_while_away() -> None:
    clock = ManualClock()
    inner = Fake()
    transport = ConditionedTransport(inner, clock, SLOW, SLOW)
    transport.subscribe_status(
        lambda status: transport.send("greeting") if status.state is TransportState.OPEN else None
    )
    transport.send("before the first connection")
    assert inner.sent == ["before the first connection"], "the transport below queues or drops, as it was told"
    inner.waiting = [ConnectionStatus(TransportState.OPEN)]
    transport.poll()
    transport.send("on the first")
    inner.waiting = [ConnectionStatus(TransportState.CONNECTING, 1, 3)]
    transport.poll()
    transport.send("while away")
    inner.waiting = [ConnectionStatus(TransportState.OPEN)]
    transport.poll()
    transport.send("on the second")
    clock.advance(1.0)
    transport.poll()
    assert inner.sent == ["before the first connection", "while away", "greeting", "on the second"]


def test_closing_sends_what_was_on_its_way_and_then_nothing_arrives() -> None:
    lab = Lab(up=SLOW, down=SLOW)
    lab.push("too late")
    lab.step()
    lab.transport.send("bye")
    lab.transport.send_bytes(b"bye")
    lab.transport.close()
    lab.transport.close()
    lab.step(1.0)
    assert lab.sent == [encode("me", "bye"), b"bye", 1000]
    assert lab.got == []
    assert lab.inner.status.state is TransportState.CLOSED


def test_closing_inside_a_callback_ends_it() -> None:
    lab = Lab(down=SLOW)
    lab.transport.subscribe(lambda envelope: lab.transport.close())
    lab.push(1)
    lab.push(2)
    lab.step()
    lab.step(1.0)
    assert lab.got == [1]


def test_messages_are_stamped_with_their_arrival_not_with_the_poll() -> None:
    lab = Lab(down=SLOW)
    stamps: list[float | None] = []
    lab.transport.subscribe(lambda envelope: stamps.append(envelope.at))
    lab.push(1)
    lab.step()
    lab.step(0.13)
    assert stamps == [pytest.approx(0.1)]


def test_the_same_seed_and_calls_give_the_same_run() -> None:
    bad = Conditions(latency=0.05, jitter=0.04, distribution="heavy", loss=0.1)

    def run(seed: int) -> list[tuple[float, int, int]]:
        lab = Lab(bad, bad, seed)
        log = []
        for n in range(200):
            lab.transport.send(n)
            lab.push(n)
            lab.step(0.016)
            log.append((lab.clock.now(), len(lab.sent), len(lab.got)))
        return log

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_up_and_down_are_different_streams_of_chance() -> None:
    bad = Conditions(latency=0.05, jitter=0.04)
    lab = Lab(bad, bad)
    pattern = []
    for n in range(100):
        lab.transport.send(n)
        lab.push(n)
        lab.step(0.016)
        pattern.append((len(lab.sent), len(lab.got)))
    assert any(up != down for up, down in pattern)


def test_traffic_is_that_of_the_transport_below_and_drops_of_both() -> None:
    lab = Lab(up=Conditions(bandwidth=100.0), down=Conditions(bandwidth=100.0))
    for n in range(50):
        lab.transport.send_bytes(bytes(100))
        lab.push("x" * 100 + str(n))
        lab.step()
    traffic = lab.transport.traffic
    assert traffic.messages_down == lab.inner.traffic.messages_down == 50
    assert traffic.bytes_up == lab.inner.traffic.bytes_up
    assert 90 <= traffic.dropped < 100


def test_a_subscriber_that_raises_while_late_messages_arrive_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    lab = Lab(down=SLOW)

    def raises(envelope: Envelope) -> None:
        raise RuntimeError("broken")

    lab.transport.subscribe(raises)
    heard: list[Any] = []
    lab.transport.subscribe(lambda envelope: heard.append(envelope.data))
    lab.push(1)
    lab.push(2)
    lab.step()
    with caplog.at_level(logging.ERROR):
        lab.step(0.1)
    assert heard == [1, 2]
    assert caplog.text.count("RuntimeError: broken") == 2
