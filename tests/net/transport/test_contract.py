"""What every transport must do, run over each of them."""

from __future__ import annotations

import itertools
import logging
import math
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from net.clock import ManualClock
from net.envelope import Envelope
from net.transport.base import ConnectionStatus, Transport, TransportState
from net.transport.broadcast import BroadcastTransport
from net.transport.conditioner import ConditionedTransport, Conditions
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import pair
from net.transport.websocket import WebSocketTransport
from net.transport.wire import Delivery


class Room:
    """Some transports that hear each other. `step` lets a little time pass for all of them."""

    size = 3
    """how many fit in"""

    def __init__(self, make: Callable[[str | None], Transport], step: Callable[[], object] = lambda: None) -> None:
        self._make = make
        self._step = step
        self.members: list[Transport] = []
        self.wait: Callable[..., None]
        self.ready: Callable[[], object] = lambda: True

    def join(self, peer_id: str | None = None) -> Transport:
        transport = self._make(peer_id)
        self.members.append(transport)
        self.until(lambda: transport.status.state is TransportState.OPEN)
        self.until(self.ready)
        return transport

    def poll(self) -> None:
        self._step()
        for transport in self.members:
            transport.poll()

    def until(self, condition: Callable[[], object]) -> None:
        self.wait(condition, self.poll)


def local(request: pytest.FixtureRequest) -> Room:
    hub = LocalHub()
    return Room(lambda peer_id: LocalTransport(hub, peer_id))


def conditioned(request: pytest.FixtureRequest) -> Room:
    hub = LocalHub()
    clock = ManualClock()
    up = Conditions(latency=0.05, jitter=0.04, loss=0.1)
    down = Conditions(latency=0.02, jitter=0.01, distribution="heavy", bandwidth=1e6)
    seeds = itertools.count()
    return Room(
        lambda peer_id: ConditionedTransport(LocalTransport(hub, peer_id), clock, up, down, next(seeds)),
        lambda: clock.advance(0.01),
    )


def conditioned_perfectly(request: pytest.FixtureRequest) -> Room:
    hub = LocalHub()
    return Room(lambda peer_id: ConditionedTransport(LocalTransport(hub, peer_id), ManualClock()))


def paired(delivery: Delivery) -> Callable[[pytest.FixtureRequest], Room]:
    def make(request: pytest.FixtureRequest) -> Room:
        free: list[Any] = []

        def join(peer_id: str | None) -> Transport:
            if not free:
                free.extend(pair(peer_id, f"{peer_id}'s friend" if peer_id else None, delivery))
            return free.pop(0)

        room = Room(join)
        room.size = 2
        return room

    return make


def websocket(request: pytest.FixtureRequest) -> Room:
    relay = request.getfixturevalue("relay")
    room = Room(lambda peer_id: WebSocketTransport(relay.url, peer_id=peer_id))
    room.ready = lambda: (
        len(relay.connections) == sum(member.status.state is TransportState.OPEN for member in room.members)
    )
    return room


def broadcast(request: pytest.FixtureRequest) -> Room:
    channel = str(uuid.uuid4())  # tests may run beside each other
    return Room(lambda peer_id: BroadcastTransport(channel, peer_id=peer_id))


AS_OBJECTS = {"local": local, "conditioned perfectly": conditioned_perfectly}
"""nothing is encoded here: the very objects are handed over"""
ENCODED = {
    "conditioned": conditioned,
    "pair": paired(Delivery.SEND),
    "pair polled": paired(Delivery.POLL),
    "broadcast": broadcast,
    "websocket": websocket,
}
ROOMS = AS_OBJECTS | ENCODED
encoded = pytest.mark.parametrize("room", ENCODED, indirect=True)


@pytest.fixture(params=ROOMS)
def room(request: pytest.FixtureRequest, wait: Callable[..., None]) -> Iterator[Room]:
    room = ROOMS[request.param](request)
    room.wait = wait
    yield room
    for transport in room.members:
        transport.close()


def heard_by(transport: Transport) -> list[Any]:
    """What arrives from now on: data of text messages, and bytes."""
    heard: list[Any] = []
    transport.subscribe(lambda envelope: heard.append(envelope.data))
    transport.subscribe_bytes(heard.append)
    return heard


def test_it_is_a_transport(room: Room) -> None:
    transport = room.join()
    assert isinstance(transport, Transport)
    assert isinstance(transport.reliable_ordered, bool)


def test_tl01_every_other_gets_it_once_with_the_senders_id_and_the_sender_does_not(room: Room) -> None:
    peers = [room.join() for _ in range(room.size)]
    heard: list[list[tuple[str, Any]]] = [[] for _ in peers]
    for peer, arrived in zip(peers, heard, strict=True):
        peer.subscribe(lambda envelope, arrived=arrived: arrived.append((envelope.sender, envelope.data)))  # type: ignore[misc]
    peers[0].send({"t": "x", "n": [1, None, 2.5]})
    peers[0].send("end")
    room.until(lambda: all(arrived and arrived[-1][1] == "end" for arrived in heard[1:]))
    for arrived in heard[1:]:
        assert arrived == [(peers[0].peer_id, {"t": "x", "n": [1, None, 2.5]}), (peers[0].peer_id, "end")]
    assert heard[0] == []


def test_text_and_binary_arrive_in_the_order_in_which_they_were_sent(room: Room) -> None:
    a, b = room.join(), room.join()
    heard = heard_by(b)
    sent: list[Any] = [n if n % 3 else bytes([n]) for n in range(200)]
    for message in sent:
        if isinstance(message, bytes):
            a.send_bytes(message)
        else:
            a.send(message)
    room.until(lambda: len(heard) >= len(sent))
    assert heard == sent


@pytest.mark.parametrize(
    "value", [None, False, 0, "", [], {}, {"t": "unknown"}, "\x00\u2028😀" * 2000, 2**53, -1.5e-300]
)
def test_en10_any_json_value_passes(room: Room, value: Any) -> None:
    a, b = room.join(), room.join()
    heard = heard_by(b)
    a.send(value)
    room.until(lambda: heard)
    assert heard == [value]
    assert type(heard[0]) is type(value)


def test_any_bytes_pass(room: Room) -> None:
    a, b = room.join(), room.join()
    heard = heard_by(b)
    for message in (b"", bytes(range(256)), b'{"from":"x","data":1}'):
        a.send_bytes(message)
    room.until(lambda: len(heard) == 3)
    assert heard == [b"", bytes(range(256)), b'{"from":"x","data":1}']


@pytest.mark.parametrize("bad", [bytearray(b"x"), memoryview(b"x"), "x", None, [1]])
def test_a_binary_message_is_bytes_and_nothing_else(room: Room, bad: Any) -> None:
    a, b = room.join(), room.join()
    heard = heard_by(b)
    with pytest.raises(TypeError):
        a.send_bytes(bad)
    a.send("still alive")
    room.until(lambda: heard)
    assert heard == ["still alive"]


@encoded
def test_en09_what_json_cannot_hold_is_refused_at_send_and_harms_nothing(room: Room) -> None:
    a, b = room.join(), room.join()
    heard = heard_by(b)
    for bad in (math.nan, {"x": [math.inf]}, object(), "\ud800", {(1,): 1}):
        with pytest.raises((TypeError, ValueError)):
            a.send(bad)
    a.send("still alive")
    room.until(lambda: heard)
    assert heard == ["still alive"]


@encoded
def test_what_is_sent_may_be_changed_afterwards(room: Room) -> None:
    a, b = room.join(), room.join()
    heard = heard_by(b)
    value = {"n": 1}
    a.send(value)
    value["n"] = 2
    room.until(lambda: heard)
    assert heard == [{"n": 1}]


def test_tl03_after_unsubscribing_nothing_is_delivered_and_doing_it_twice_is_harmless(room: Room) -> None:
    a, b = room.join(), room.join()
    gone: list[Any] = []
    ends = [b.subscribe(gone.append), b.subscribe_bytes(gone.append), b.subscribe_status(gone.append)]
    for end in ends * 2:
        end()
    heard = heard_by(b)
    a.send(1)
    a.send_bytes(b"2")
    room.until(lambda: len(heard) == 2)
    assert gone == []


def test_tl10_the_same_callback_twice_runs_once_and_either_end_removes_it(room: Room) -> None:
    a, b = room.join(), room.join()
    heard: list[Any] = []
    b.subscribe(heard.append)
    end = b.subscribe(heard.append)
    a.send(1)
    room.until(lambda: heard)
    end()
    others = heard_by(b)
    a.send(2)
    room.until(lambda: others)
    assert [envelope.data for envelope in heard] == [1]


def test_tl11_unsubscribing_inside_a_callback_skips_nobody(room: Room) -> None:
    a, b = room.join(), room.join()
    heard: list[str] = []

    def first(envelope: Envelope) -> None:
        heard.append("first")
        end()

    end = b.subscribe(first)
    b.subscribe(lambda envelope: heard.append("second"))
    a.send(1)
    a.send(2)
    room.until(lambda: len(heard) >= 3)
    assert heard == ["first", "second", "second"]


def test_tl07_tw20_a_callback_that_raises_harms_nobody_and_is_logged(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = room.join(), room.join()

    def raises(message: object) -> None:
        raise RuntimeError("broken subscriber")

    b.subscribe(raises)
    b.subscribe_bytes(raises)
    heard = heard_by(b)
    with caplog.at_level(logging.ERROR):
        a.send(1)
        a.send_bytes(b"2")
        a.send(3)
        room.until(lambda: len(heard) == 3)
    assert heard == [1, b"2", 3]
    assert caplog.text.count("broken subscriber") >= 3


def test_callbacks_run_on_the_thread_that_polls(room: Room) -> None:
    a, b = room.join(), room.join()
    threads: list[threading.Thread] = []
    b.subscribe(lambda envelope: threads.append(threading.current_thread()))
    a.send(1)
    room.until(lambda: threads)
    assert threads == [threading.current_thread()]


def test_an_answer_from_inside_a_callback_arrives(room: Room) -> None:
    a, b = room.join(), room.join()
    order: list[str] = []

    def answers(envelope: Envelope) -> None:
        order.append(f"b first {envelope.data}")
        if envelope.data < 3:
            b.send(envelope.data)

    def goes_on(envelope: Envelope) -> None:
        a.send(envelope.data + 1)

    b.subscribe(answers)
    b.subscribe(lambda envelope: order.append(f"b second {envelope.data}"))
    a.subscribe(goes_on)
    a.send(1)
    room.until(lambda: len(order) >= 6)
    assert order == [f"b {who} {n}" for n in (1, 2, 3) for who in ("first", "second")]


def test_polling_inside_a_callback_keeps_the_order(room: Room) -> None:
    a, b = room.join(), room.join()
    order: list[str] = []

    def polls(envelope: Envelope) -> None:
        b.poll()
        order.append(f"first {envelope.data}")

    b.subscribe(polls)
    b.subscribe(lambda envelope: order.append(f"second {envelope.data}"))
    for n in range(3):
        a.send(n)
    room.until(lambda: len(order) >= 6)
    assert order == [f"{who} {n}" for n in range(3) for who in ("first", "second")]


def test_tl04_a_closed_transport_neither_sends_nor_hears_and_closing_twice_is_fine(room: Room) -> None:
    peers = [room.join() for _ in range(room.size)]
    heard = [heard_by(peer) for peer in peers]
    peers[1].close()
    peers[1].close()
    assert peers[1].status.state is TransportState.CLOSED
    peers[1].send("not sent")
    peers[1].send_bytes(b"not sent")
    peers[0].send("hello")
    peers[1].poll()
    if room.size > 2:
        room.until(lambda: heard[2])
        assert heard[2] == ["hello"]
    for _ in range(3):
        room.poll()
    assert heard[0] == []
    assert heard[1] == []


def test_tl08_nothing_reaches_a_transport_that_closed_itself_inside_a_callback(room: Room) -> None:
    a, b = room.join(), room.join()
    heard: list[Any] = []

    def closes(envelope: Envelope) -> None:
        heard.append(envelope.data)
        b.close()

    b.subscribe(closes)
    for n in range(5):
        a.send(n)
    room.until(lambda: heard)
    for _ in range(50):
        room.poll()
    assert heard == [0]


def test_tl05_ids_are_given_or_made_and_differ(room: Room) -> None:
    a, b = room.join("ann"), room.join()
    assert a.peer_id == "ann"
    assert len({a.peer_id, b.peer_id}) == 2
    assert b.peer_id


def test_status_is_open_and_closed_is_final(room: Room) -> None:
    a = room.join()
    seen: list[ConnectionStatus] = []
    a.subscribe_status(seen.append)
    assert a.status.state is TransportState.OPEN
    a.close()
    a.poll()
    assert a.status.state is TransportState.CLOSED
    assert seen == [], "whoever closes knows it"


def test_traffic_counts_what_has_passed(room: Room) -> None:
    a, b = room.join(), room.join()
    heard = heard_by(b)
    a.send("é")
    a.send_bytes(b"12345")
    room.until(lambda: len(heard) == 2)
    up, down = a.traffic, b.traffic
    room.until(lambda: a.traffic.messages_up == 2)
    assert (up.messages_up, up.messages_down, down.messages_up, down.messages_down) == (2, 0, 0, 2)
    assert up.bytes_up == down.bytes_down
    assert up.bytes_up >= 5
    assert up.dropped == 0
