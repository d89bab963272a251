"""The in-process wire and the transports on it, rows IP-01 to IP-06, EN-06 and EN-08."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from net.envelope import encode
from net.transport.base import ConnectionStatus, TransportState
from net.transport.pair import PairTransport, connect, pair
from net.transport.wire import Delivery, WireEnd, wire


class Taken:
    """What a server's end of a wire is handed."""

    def __init__(self, end: WireEnd) -> None:
        self.items: list[tuple[Any, Any]] = []
        end.attach(lambda frame, binary: self.items.append((frame, binary)), lambda *why: self.items.append(why))


def test_ip01_by_default_everything_arrives_inside_send() -> None:
    a, b = pair("a", "b")
    heard: list[Any] = []
    b.subscribe(lambda envelope: heard.append((envelope.sender, envelope.data)))
    b.subscribe_bytes(heard.append)
    a.send({"x": (1, 2)})
    a.send_bytes(b"2")
    assert heard == [("a", {"x": [1, 2]}), b"2"], "as it would come off a socket: the tuple is a list now"


def test_ip02_polled_frames_wait_and_come_in_order_at_most_so_many() -> None:
    a, b = pair("a", "b", Delivery.POLL)
    heard: list[Any] = []
    b.subscribe(lambda envelope: heard.append(envelope.data))
    for n in range(5):
        a.send(n)
    assert heard == []
    assert b.end.pending == 5
    b.end.poll(2)
    assert heard == [0, 1]
    assert b.end.pending == 3
    b.poll()
    assert heard == [0, 1, 2, 3, 4]
    assert b.end.pending == 0


def test_polled_frames_that_a_callback_causes_wait_for_the_next_poll() -> None:
    a, b = pair("a", "b", Delivery.POLL)
    heard: list[Any] = []
    b.subscribe(lambda envelope: heard.append(envelope.data))
    b.subscribe(lambda envelope: a.send(envelope.data + 1))
    a.send(0)
    b.poll()
    assert heard == [0]
    b.poll()
    assert heard == [0, 1]


def test_ip03_dropped_frames_are_gone_and_a_close_is_not() -> None:
    transport, end = connect("a", Delivery.POLL)
    heard: list[Any] = []
    transport.subscribe(heard.append)
    end.push(encode("server", 1), False)
    end.close(1001, "going away")
    transport.end.drop()
    transport.poll()
    assert heard == []
    assert transport.status.state is TransportState.CLOSED


def test_ip04_an_end_without_a_partner_loses_what_it_sends() -> None:
    alone = PairTransport(WireEnd(Delivery.SEND))
    alone.send(1)
    alone.send_bytes(b"1")
    alone.poll()
    alone.close()
    assert alone.traffic.messages_up == 2


def test_ip05_what_is_sent_before_the_other_end_is_attached_waits() -> None:
    transport, end = connect("a")
    transport.send(1)
    transport.send_bytes(b"2")
    transport.close()
    taken = Taken(end)
    assert taken.items == [(b'{"from":"a","data":1}', False), (b"2", True), (1000, "")]


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xff", b"null", b'{"from":1,"data":2}', b'{"from":"x"}', b'{"from":"x","data":NaN}', b"[" * 100_000],
)
def test_ip06_en01_frames_that_are_no_envelopes_are_ignored(frame: bytes) -> None:
    transport, end = connect("a")
    heard: list[Any] = []
    transport.subscribe(heard.append)
    transport.subscribe_bytes(heard.append)
    end.push(frame, False)
    end.push(encode("server", "still alive"), False)
    assert [envelope.data for envelope in heard] == ["still alive"]
    assert transport.traffic.messages_down == 2


def test_en06_own_id_is_ignored_and_en08_a_binary_envelope_is_bytes() -> None:
    transport, end = connect("a")
    envelopes: list[Any] = []
    binaries: list[bytes] = []
    transport.subscribe(envelopes.append)
    transport.subscribe_bytes(binaries.append)
    end.push(encode("a", 1), False)
    end.push(encode("server", 1), True)
    assert envelopes == []
    assert binaries == [encode("server", 1)]


@pytest.mark.parametrize("delivery", Delivery)
def test_a_server_that_closes_is_a_status_after_the_last_frame_with_code_and_reason(delivery: Delivery) -> None:
    transport, end = connect("a", delivery)
    order: list[Any] = []
    transport.subscribe(lambda envelope: order.append(envelope.data))
    transport.subscribe_status(order.append)
    end.push(encode("server", "last words"), False)
    end.close(4001, "full")
    end.close(1000, "again")
    transport.poll()
    assert order == ["last words", ConnectionStatus(TransportState.CLOSED, code=4001, reason="full")]
    assert transport.status == order[1]
    transport.send("not sent")
    end.push(encode("server", "too late"), False)
    transport.poll()
    assert len(order) == 2
    transport.close()
    assert transport.status.code == 4001


@pytest.mark.parametrize("delivery", Delivery)
def test_a_client_that_closes_is_noticed_after_its_last_frame(delivery: Delivery) -> None:
    transport, end = connect("a", delivery)
    taken = Taken(end)
    transport.send("bye")
    transport.close()
    transport.close()
    end.poll()
    assert taken.items == [(b'{"from":"a","data":"bye"}', False), (1000, "")]
    assert not end.open


def test_traffic_counts_encoded_bytes() -> None:
    a, b = pair("a", "b")
    a.send("é")
    a.send_bytes(b"123")
    size = len('{"from":"a","data":"é"}'.encode()) + 3
    assert (a.traffic.bytes_up, a.traffic.messages_up) == (size, 2)
    assert (b.traffic.bytes_down, b.traffic.messages_down) == (size, 2)


def test_what_is_attached_may_raise_and_the_wire_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    a, b = wire()
    taken: list[bytes] = []

    def takes(frame: bytes, binary: bool) -> None:
        taken.append(frame)
        raise RuntimeError("broken server")

    b.attach(takes, lambda code, reason: None)
    with caplog.at_level(logging.ERROR):
        a.push(b"1", True)
        a.push(b"2", True)
    assert taken == [b"1", b"2"]
    assert "broken server" in caplog.text


def test_a_ping_pong_of_thousands_does_not_exhaust_the_stack() -> None:
    a, b = pair("a", "b")
    a.subscribe(lambda envelope: a.send(envelope.data + 1) if envelope.data < 5000 else None)
    b.subscribe(lambda envelope: b.send(envelope.data + 1) if envelope.data < 5000 else None)
    a.send(0)
    assert a.traffic.messages_up + b.traffic.messages_up == 5001
