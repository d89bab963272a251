"""The WebSocket transport against a real server on loopback, rows TW-02 to TW-21."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from net.clock import MonotonicClock
from net.envelope import encode
from net.transport.base import ConnectionStatus, TransportState
from net.transport.websocket import RetryPolicy, WebSocketTransport

Wait = Callable[..., None]
QUICK = RetryPolicy(tries=3, first=0.01)
STUBBORN = RetryPolicy(tries=1000, first=0.01)
OPEN, CONNECTING = TransportState.OPEN, TransportState.CONNECTING
CLOSING, CLOSED = TransportState.CLOSING, TransportState.CLOSED


def shake_hands(connection: socket.socket) -> None:
    """Answer the handshake, and never read again."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(4096)
    key = next(line.split(b": ")[1] for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    connection.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + accept
        + b"\r\n\r\n"
    )


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "websocket"]


def texts(relay: Any) -> list[Any]:
    return [json.loads(frame)["data"] for frame in relay.frames if isinstance(frame, str)]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hello",
        "http://127.0.0.1/",
        "ws://",
        "ws:///room",
        "ws://host:port/",
        "ws://host:99999/",
        "ws://[::1/",
        "ws://a b/",
        "ws://host/a\r\nX: y",
        "ws://host/#room",
        "ws://user@host/",
        "ws://\ud800/",
        "ws://h\x00st/",
    ],
)
def test_tw02_a_malformed_url_is_a_value_error_with_one_sentence(url: str) -> None:
    with pytest.raises(ValueError, match="no WebSocket address") as error:
        WebSocketTransport(["ws://127.0.0.1/", url])
    assert "\n" not in str(error.value)
    assert threads() == []


def test_no_address_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="no address"):
        WebSocketTransport([])


def test_tw03_it_connects_at_once(relay: Any, client: Any, wait: Wait) -> None:
    client(relay.url)
    wait(lambda: len(relay.seen) == 1)
    assert relay.seen[0].request.path == "/plaza"


def test_tw04_tw05_what_is_sent_before_leaves_as_it_opens_in_order(relay: Any, client: Any, wait: Wait) -> None:
    relay.stop()
    ann = client(relay.url, peer_id="ann")
    ann.until(lambda: len(ann.statuses) > 2)
    ann.transport.send({"é": 1})
    ann.transport.send_bytes(b"2")
    ann.transport.send(3)
    relay.start()
    ann.until_state(OPEN)
    ann.transport.send(4)
    wait(lambda: len(relay.frames) == 4)
    assert relay.frames == [
        '{"from":"ann","data":{"é":1}}',
        b"2",
        '{"from":"ann","data":3}',
        '{"from":"ann","data":4}',
    ]


def test_tw07_what_is_sent_while_away_leaves_on_the_next_connection(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    relay.stop()
    ann.until_state(CONNECTING)
    for n in range(5):
        ann.transport.send(n)
    relay.start()
    wait(lambda: len(relay.frames) == 5)
    assert texts(relay) == [0, 1, 2, 3, 4]
    assert ann.transport.traffic.dropped == 0


def test_tw08_tw09_gives_up_after_its_tries_and_says_so(client: Any, listen: Any) -> None:
    listener = listen(lambda connection: connection.close())
    ann = client(listener.url, policy=QUICK)
    assert ann.transport.status == ConnectionStatus(CONNECTING, 0, 3)
    ann.until_state(CLOSED)
    assert ann.story == [("connecting", 1), ("connecting", 2), ("connecting", 3), ("closed", 3)]
    assert all(status.attempts == 3 and status.reason for status in ann.statuses)
    assert len(listener.accepted) == 4


def test_nobody_there_is_said_in_plain_words(client: Any, dead_url: str) -> None:
    ann = client(dead_url, policy=RetryPolicy(tries=0, first=0.0))
    ann.until_state(CLOSED)
    assert ann.transport.status.reason == f"nobody answers at {dead_url[5:-1]}"
    assert ann.transport.status.code is None


def test_no_websocket_server_is_said_in_plain_words(client: Any, listen: Any) -> None:
    def refuse(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        connection.close()

    ann = client(listen(refuse).url, policy=RetryPolicy(tries=0, first=0.0))
    ann.until_state(CLOSED)
    assert "refused with HTTP 404" in ann.transport.status.reason

    def mumble(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"\x00\xff" * 1000)
        connection.close()

    bob = client(listen(mumble).url, policy=RetryPolicy(tries=0, first=0.0))
    bob.until_state(CLOSED)
    assert "no WebSocket server" in bob.transport.status.reason


def test_a_server_that_never_answers_the_handshake_is_given_up(client: Any, listen: Any) -> None:
    ann = client(listen(lambda connection: None).url, policy=RetryPolicy(tries=0, first=0.0), connect_timeout=0.05)
    ann.until_state(CLOSED)
    assert "no answer" in ann.transport.status.reason


def test_tw10_tw17_tw21_a_cut_is_one_loss_and_success_gives_all_tries_again(relay: Any, client: Any) -> None:
    ann = client(relay.url, peer_id="ann")
    for _ in range(3):
        ann.until_state(OPEN)
        relay.cut()
        ann.until_state(CONNECTING)
    ann.until_state(OPEN)
    assert ann.story == [("open", 0), ("connecting", 1)] * 3 + [("open", 0)]
    assert {status.code for status in ann.statuses if status.state is CONNECTING} == {1006}
    relay.send(encode("bob", "still subscribed").decode())
    ann.until(lambda: ann.heard)
    assert ann.heard == ["still subscribed"]
    assert ann.transport.peer_id == "ann"


@pytest.mark.parametrize("code", [1000, 1001, 1009, 1011, 1012, 3000])
def test_tw11_it_comes_back_after_an_accident(relay: Any, client: Any, code: int) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    relay.close(code, "why")
    ann.until(lambda: len(ann.statuses) >= 3)
    assert ann.statuses[1] == ConnectionStatus(CONNECTING, 1, 1000, code, "why")
    assert ann.statuses[2].state is OPEN


@pytest.mark.parametrize("code", [1008, 4000, 4999])
def test_tw11_it_does_not_come_back_after_a_refusal_until_told_to(
    relay: Any, client: Any, wait: Wait, code: int
) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    relay.close(code, "you are not welcome")
    ann.until_state(CLOSED)
    assert ann.transport.status == ConnectionStatus(CLOSED, 0, 1000, code, "you are not welcome")
    assert len(relay.seen) == 1
    ann.transport.connect()
    ann.transport.connect()
    ann.until_state(OPEN)
    assert ann.story == [("open", 0), ("closed", 0), ("connecting", 0), ("open", 0)]
    relay.close(code, "still not")
    ann.until_state(CLOSED)
    assert len(relay.seen) == 2


def test_gs03_connect_while_connected_or_closed_does_nothing(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.transport.connect()
    ann.until_state(OPEN)
    ann.transport.connect()
    relay.close(4000)
    ann.until_state(CLOSED)
    ann.transport.close()
    ann.transport.connect()
    assert len(relay.seen) == 1


def test_tw12_what_waits_is_bounded_and_what_does_not_fit_is_counted(relay: Any, client: Any, wait: Wait) -> None:
    relay.stop()
    ann = client(relay.url, queue_limit=3)
    bob = client(relay.url, queue_bytes=100)
    for n in range(10):
        ann.transport.send(n)
    bob.transport.send_bytes(bytes(60))
    bob.transport.send_bytes(bytes(60))
    bob.transport.send_bytes(bytes(40))
    assert (ann.transport.traffic.dropped, bob.transport.traffic.dropped) == (7, 1)
    relay.start()
    wait(lambda: len(relay.frames) == 5)
    assert texts(relay) == [0, 1, 2], "what was first is kept: a greeting, for one"


def test_tw12_sends_after_giving_up_neither_raise_nor_grow(client: Any, dead_url: str) -> None:
    ann = client(dead_url, policy=RetryPolicy(tries=0, first=0.0), queue_limit=10)
    ann.until_state(CLOSED)
    for n in range(1000):
        ann.transport.send(n)
    assert ann.transport.traffic.dropped == 990


def test_tw13_close_cancels_a_reconnect_that_is_pending(relay: Any, client: Any) -> None:
    ann = client(relay.url, policy=RetryPolicy(tries=3, first=60.0))
    ann.until_state(OPEN)
    relay.cut()
    ann.until_state(CONNECTING)
    ann.transport.close()
    assert threads() == []
    ann.transport.send(1)
    ann.transport.poll()
    assert len(relay.seen) == 1
    assert len(ann.statuses) == 2


def test_tw14_close_is_a_normal_close_without_a_reconnect_or_a_callback(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    relay.send(encode("bob", 1).decode())
    ann.transport.close()
    assert threads() == []
    wait(lambda: relay.endings)
    assert relay.endings == [(1000, "")]
    ann.transport.poll()
    assert ann.heard == []
    assert ann.transport.status.state is CLOSED
    assert len(relay.seen) == 1


def test_tw15_close_while_connecting_discards_what_waits(relay: Any, client: Any) -> None:
    relay.stop()
    ann = client(relay.url)
    ann.transport.send(1)
    ann.transport.close()
    relay.start()
    bob = client(relay.url)
    bob.until_state(OPEN)
    assert len(relay.seen) == 1
    assert relay.frames == []


def test_tw16_what_is_sent_right_before_close_still_arrives(relay: Any, client: Any, wait: Wait) -> None:
    bob = client(relay.url)
    bob.until_state(OPEN)
    ann = client(relay.url)
    ann.until_state(OPEN)
    for n in range(100):
        ann.transport.send(n)
    ann.transport.send({"t": "bye"})
    ann.transport.close()
    bob.until(lambda: len(bob.heard) == 101)
    assert bob.heard[-1] == {"t": "bye"}


def test_tw18_subprotocols_go_to_every_connection(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url, subprotocols=["one", "two"])
    ann.until_state(OPEN)
    relay.cut()
    wait(lambda: len(relay.seen) == 2)
    ann.until_state(OPEN)
    assert [connection.subprotocol for connection in relay.seen] == ["two", "two"]


def test_tw19_no_tries_no_reconnect(relay: Any, client: Any) -> None:
    ann = client(relay.url, policy=RetryPolicy(tries=0, first=0.0))
    ann.until_state(OPEN)
    relay.close(1001, "restart")
    ann.until_state(CLOSED)
    assert ann.transport.status == ConnectionStatus(CLOSED, 0, 0, 1001, "restart")


def test_a_greeting_in_the_status_callback_is_the_first_frame_of_each_connection(
    relay: Any, client: Any, wait: Wait
) -> None:
    ann = client(relay.url, queue_while_away=False)
    ann.transport.subscribe_status(
        lambda status: ann.transport.send(f"hello {len(relay.seen)}") if status.state is OPEN else None
    )
    ann.until_state(OPEN)
    ann.transport.send("command 1")
    wait(lambda: len(relay.frames) == 2)
    relay.stop()
    wait(lambda: relay.connections == [])
    ann.transport.send("the loss is not noticed yet")
    ann.until_state(CONNECTING)
    ann.transport.send("away")
    ann.transport.send_bytes(b"away")
    relay.start()
    wait(lambda: len(relay.seen) == 2)
    ann.transport.send("connected again, but nobody knows yet")
    ann.until_state(OPEN)
    ann.transport.send("command 2")
    wait(lambda: len(relay.frames) >= 4)
    assert texts(relay) == ["hello 1", "command 1", "hello 2", "command 2"]
    ann.until(lambda: ann.transport.traffic.dropped == 4)
    assert ann.transport.traffic.messages_up == 4


def test_without_queueing_what_is_sent_before_the_first_connection_still_waits(
    relay: Any, client: Any, wait: Wait
) -> None:
    relay.stop()
    ann = client(relay.url, queue_while_away=False)
    ann.until(lambda: len(ann.statuses) > 2)
    ann.transport.send("hello")
    relay.start()
    wait(lambda: relay.frames)
    assert texts(relay) == ["hello"]


def test_the_next_address_is_tried_while_none_was_reached_and_then_never_again(
    relay: Any, client: Any, listen: Any, dead_url: str
) -> None:
    hangs_up = listen(lambda connection: connection.close())
    ann = client([dead_url, hangs_up.url, relay.url], policy=RetryPolicy(tries=5, first=0.01))
    ann.until_state(OPEN)
    assert ann.story == [("open", 0)], "all addresses are one try"
    relay.cut()
    ann.until_state(CONNECTING)
    ann.until_state(OPEN)
    assert len(hangs_up.accepted) == 1
    assert len(relay.seen) == 2


def test_a_host_name_works_and_an_unknown_one_is_said_in_plain_words(
    relay: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = client(f"ws://localhost:{relay.port}/")
    ann.until_state(OPEN)

    def fail(*args: object, **options: object) -> None:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    bob = client("ws://nowhere.invalid/", policy=RetryPolicy(tries=0, first=0.0))
    bob.until_state(CLOSED)
    assert bob.transport.status.reason == "there is no host called nowhere.invalid"


def test_a_name_server_that_does_not_answer_holds_up_neither_close_nor_the_end(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def hang(*args: object, **options: object) -> list[Any]:
        asked.set()
        answer.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    ann = client("ws://nowhere.invalid/")
    assert asked.wait(10)
    ann.transport.close()
    assert threads() == []
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "resolve nowhere.invalid")
    answer.set()


def test_a_web_proxy_is_not_asked(relay: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ws_proxy", "all_proxy", "socks_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    client(relay.url).until_state(OPEN)


def test_a_mebibyte_arrives_and_more_is_refused(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    relay.send(bytes(2**20))
    ann.until(lambda: ann.heard)
    assert ann.heard == [bytes(2**20)]
    relay.send(bytes(2**20 + 1))
    ann.until_state(CONNECTING)
    ann.until_state(OPEN)
    assert len(ann.heard) == 1


def test_en01_to_en09_whatever_a_server_sends_nothing_but_envelopes_arrives(relay: Any, client: Any) -> None:
    ann = client(relay.url, peer_id="ann")
    ann.until_state(OPEN)
    for frame in (
        "",
        "null",
        "[]",
        '{"from":1,"data":1}',
        '{"from":"x"}',
        '{"from":"x","data":NaN}',
        '{"from":"ann","data":"own id"}',
        '{"from":"x","data":"\\ud800"}',
        "[" * 500_000,
        '{"from":"x","data":' + "[" * 400_000,
        "\x00" * 1000,
    ):
        relay.send(frame)
    relay.send(encode("bob", "still alive").decode())
    ann.until(lambda: ann.heard)
    assert ann.heard == ["still alive"]
    assert len(relay.seen) == 1


def test_text_that_is_no_utf8_costs_the_connection_and_nothing_else(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    relay.run(relay.connections[0].send(b"\xff\xfe", text=True))
    ann.until_state(CONNECTING)
    ann.until_state(OPEN)
    assert ann.heard == []


def test_compression_can_be_asked_for(relay: Any, client: Any) -> None:
    ann = client(relay.url, compression=True)
    ann.until_state(OPEN)
    assert "permessage-deflate" in relay.seen[0].request.headers["Sec-WebSocket-Extensions"]
    bob = client(relay.url)
    bob.until_state(OPEN)
    assert "Sec-WebSocket-Extensions" not in relay.seen[1].request.headers


def test_callbacks_wait_for_poll_and_messages_know_when_they_arrived(relay: Any, client: Any, wait: Wait) -> None:
    clock = MonotonicClock()
    ann = client(relay.url, clock=clock)
    ann.until_state(OPEN)
    stamps: list[float] = []
    ann.transport.subscribe(lambda envelope: stamps.append(envelope.at))
    before = clock.now()
    relay.send(encode("bob", 1).decode())
    wait(lambda: len(ann.transport._link.inbox) == 1)
    arrived = clock.now()
    assert ann.heard == []
    ann.transport.poll()
    assert ann.heard == [1]
    assert before <= stamps[0] <= arrived


def test_losing_the_connection_in_the_middle_of_sending_raises_nothing(relay: Any, client: Any) -> None:
    ann = client(relay.url, queue_limit=50)
    ann.until_state(OPEN)
    relay.cut()
    for n in range(2000):
        ann.transport.send(n)
        ann.transport.send_bytes(bytes(100))
        ann.transport.poll()
    ann.until_state(OPEN)
    ann.until(lambda: not len(ann.transport._outbox))
    ann.transport.send("last")
    ann.until(lambda: "last" in texts(relay))


@pytest.mark.parametrize("flood", [False, True])
def test_close_ends_within_a_second_though_the_server_never_answers(client: Any, listen: Any, flood: bool) -> None:
    silent = listen(shake_hands)
    ann = client(silent.url, queue_bytes=2**24)
    ann.until_state(OPEN)
    if flood:
        for _ in range(100):
            ann.transport.send_bytes(bytes(10**6))
        assert ann.transport.traffic.dropped > 0
    started = time.monotonic()
    ann.transport.close()
    assert time.monotonic() - started < 1.5
    assert threads() == []


def test_close_ends_at_once_though_the_handshake_is_never_answered(client: Any, listen: Any, wait: Wait) -> None:
    mute = listen(lambda connection: None)
    ann = client(mute.url)
    wait(lambda: mute.accepted)
    ann.transport.close()
    assert threads() == []


def test_close_right_after_construction_leaves_nothing(relay: Any, client: Any) -> None:
    for _ in range(20):
        client(relay.url).transport.close()
    assert threads() == []
