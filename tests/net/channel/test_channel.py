"""NetChannel on in-process transports and a manual clock, rows NC-01 to NC-13."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.channel import (
    BusyError,
    ChannelClosedError,
    ChannelError,
    HandlerError,
    InvalidPayloadError,
    NetChannel,
    NoHandlerError,
    Request,
    RequestTimeoutError,
)
from net.clock import ManualClock
from net.envelope import Envelope, encode
from net.transport.base import ConnectionStatus, TransportState
from net.transport.endpoint import Endpoint
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import PairTransport, connect, pair
from net.transport.wire import Delivery


class Chat(msgspec.Struct):
    text: str
    loud: bool = False


class Both:
    """Two channels on a wire."""

    def __init__(self, delivery: Delivery = Delivery.SEND) -> None:
        self.clock = ManualClock(50.0)
        self.transports = pair("ann", "bob", delivery)
        self.ann, self.bob = (NetChannel(transport, self.clock) for transport in self.transports)

    def poll(self) -> None:
        for transport in self.transports:
            transport.poll()


class Raw:
    """A channel whose other end is the test itself: frames as JSON."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.sent: list[Any] = []
        self.transport, self.end = connect("me")
        self.end.attach(self._took, lambda code, reason: None)
        self.channel = NetChannel(self.transport, self.clock, **options)

    def _took(self, frame: bytes, binary: bool) -> None:
        self.sent.append(frame if binary else json.loads(frame)["data"])

    def hear(self, sender: str = "ann", **data: Any) -> None:
        self.end.push(encode(sender, {"t": "channel", **data}), False)


def room(count: int) -> tuple[ManualClock, list[NetChannel]]:
    hub, clock = LocalHub(), ManualClock()
    return clock, [NetChannel(LocalTransport(hub, f"peer {n}"), clock) for n in range(count)]


def error_of(request: Request[Any]) -> ChannelError:
    assert request.done
    assert request.error is not None
    with pytest.raises(type(request.error)):
        request.result()
    return request.error


def test_nc01_the_wire() -> None:
    raw = Raw()
    raw.channel.send("chat", {"text": "hi"})
    raw.channel.send("chat", to="bob")
    raw.channel.request("join", [1])
    raw.channel.request("join", to="bob")
    raw.channel.handle("add", lambda numbers, sender: sum(numbers))
    raw.hear(k="req", type="add", id=7, d=[1, 2])
    raw.hear(k="req", type="mul", id=8, d=[1, 2])
    assert raw.sent == [
        {"t": "channel", "k": "event", "type": "chat", "d": {"text": "hi"}},
        {"t": "channel", "k": "event", "type": "chat", "d": None, "to": "bob"},
        {"t": "channel", "k": "req", "type": "join", "id": 1, "d": [1]},
        {"t": "channel", "k": "req", "type": "join", "id": 2, "d": None, "to": "bob"},
        {"t": "channel", "k": "res", "id": 7, "d": 3, "to": "ann"},
        {"t": "channel", "k": "res", "id": 8, "e": "nobody handles mul", "code": "no_handler", "to": "ann"},
    ]


def test_nc02_messages_reach_every_handler_of_their_type_in_order() -> None:
    both = Both()
    heard: list[Any] = []
    both.bob.on("chat", lambda payload, sender: heard.append(("first", payload, sender)))
    end = both.bob.on("chat", lambda payload, sender: heard.append(("second", payload, sender)))
    both.ann.send("other", 1)
    both.ann.send("chat", {"text": "hi"})
    end()
    end()
    both.ann.send("chat")
    assert heard == [
        ("first", {"text": "hi"}, "ann"),
        ("second", {"text": "hi"}, "ann"),
        ("first", None, "ann"),
    ]


def test_nc02_a_handler_that_raises_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    both = Both()
    heard: list[Any] = []

    def raises(payload: Any, sender: str) -> None:
        raise RuntimeError("broken")

    both.bob.on("chat", raises)
    both.bob.on("chat", lambda payload, sender: heard.append(payload))
    with caplog.at_level(logging.ERROR):
        both.ann.send("chat", 1)
    assert heard == [1]
    assert "'chat'" in caplog.text


JUNK = [
    None,
    3,
    "channel",
    [],
    {},
    {"t": "channel"},
    {"t": "channel", "k": None},
    {"t": "channel", "k": "what", "type": "chat"},
    {"t": "channel", "k": ["event"], "type": "chat"},
    {"t": "channel", "k": "event"},
    {"t": "channel", "k": "event", "type": ["chat"]},
    {"t": "channel", "k": "event", "type": "chat", "to": "somebody else"},
    {"t": "channel", "k": "event", "type": "chat", "to": ["me"]},
    {"t": "chan", "k": "event", "type": "chat"},
    {"t": "channel", "k": "req", "type": "chat"},
    {"t": "channel", "k": "req", "id": 1},
    {"t": "channel", "k": "req", "type": "chat", "id": "1"},
    {"t": "channel", "k": "req", "type": "chat", "id": True},
    {"t": "channel", "k": "req", "type": "chat", "id": 1.5},
    {"t": "channel", "k": "res"},
    {"t": "channel", "k": "res", "id": "1"},
    {"t": "channel", "k": "res", "id": True, "d": 1},
    {"t": "channel", "k": "res", "id": 99, "d": 1},
]


@pytest.mark.parametrize("data", JUNK)
def test_nc03_what_is_malformed_or_unknown_is_ignored(data: Any, caplog: pytest.LogCaptureFixture) -> None:
    raw = Raw()
    heard: list[Any] = []
    raw.channel.on("chat", lambda payload, sender: heard.append(payload))
    raw.channel.handle("chat", lambda payload, sender: heard.append(payload))
    asked = raw.channel.request("x")
    del raw.sent[:]
    raw.end.push(encode("ann", data), False)
    assert (heard, raw.sent, asked.done) == ([], [], False)
    assert caplog.records == []


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["chat", "me"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {"t": st.just("channel"), "k": st.sampled_from(["event", "req", "res"]) | junk},
        optional={
            "type": st.just("chat") | junk,
            "id": st.just(1) | junk,
            "d": junk,
            "e": junk,
            "code": st.sampled_from(["failed", "no_handler"]) | junk,
            "to": st.just("me") | junk,
        },
    )
)
def test_nc03_whatever_a_peer_says_nothing_is_raised(data: dict[str, Any]) -> None:
    channel = NetChannel(LocalTransport(LocalHub(), "me"), ManualClock())
    heard: list[Chat] = []
    channel.on("chat", lambda chat, sender: heard.append(chat), type=Chat)
    channel.handle("chat", lambda chat, sender: chat.text, type=Chat)
    channel.request("x", type=Chat)
    channel._heard(Envelope("ann", data))  # directly: a transport would log what it raises
    assert all(type(chat.text) is str for chat in heard)


def test_nc04_a_request_resolves_with_the_result() -> None:
    both = Both(Delivery.POLL)
    both.bob.handle("add", lambda numbers, sender: {"sum": sum(numbers), "for": sender})
    request = both.ann.request("add", [1, 2, 3])
    assert not request.done
    with pytest.raises(RuntimeError, match="not answered"):
        request.result()
    both.poll()
    both.poll()
    assert request.result() == {"sum": 6, "for": "ann"}
    assert request.error is None


def test_nc04_callbacks_run_once_when_it_is_done_or_at_once_if_it_is() -> None:
    both = Both(Delivery.POLL)
    both.bob.handle("add", lambda numbers, sender: sum(numbers))
    called: list[Any] = []
    request = both.ann.request("add", [1, 2], then=lambda request: called.append(("then", request.result())))
    assert request.then(lambda request: called.append(("later", request.result()))) is request
    both.poll()
    both.poll()
    request.then(lambda request: called.append(("at once", request.result())))
    assert called == [("then", 3), ("later", 3), ("at once", 3)]


def test_a_callback_that_raises_is_logged_and_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    both = Both()
    called: list[Any] = []

    def raises(request: Request[Any]) -> None:
        raise RuntimeError("broken")

    with caplog.at_level(logging.ERROR):
        both.ann.request("add", then=raises, to="bob").then(called.append)
    assert len(called) == 1
    assert "'add'" in caplog.text


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("too small"), "too small"),
        (KeyError("x"), "'x'"),
        (RuntimeError(), ""),
        (ValueError("\ud800"), "?"),
        (ValueError("x" * 10_000), "x" * 500),
    ],
)
def test_nc05_nc13_a_handler_that_raises_rejects_with_its_message(raised: Exception, text: str) -> None:
    both = Both()

    def handler(payload: Any, sender: str) -> None:
        raise raised

    both.bob.handle("add", handler)
    error = error_of(both.ann.request("add"))
    assert type(error) is HandlerError
    assert str(error) == text


@pytest.mark.parametrize("result", [object(), math.nan, {1: {"a": math.inf}}, "\ud800"])
def test_nc05_a_result_that_json_cannot_hold_rejects_too(result: Any) -> None:
    both = Both()
    both.bob.handle("add", lambda payload, sender: result)
    assert type(error_of(both.ann.request("add"))) is HandlerError


@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        ({"e": ""}, HandlerError, ""),
        ({"e": "why"}, HandlerError, "why"),
        ({"e": None}, HandlerError, "None"),
        ({"e": {"a": 1}}, HandlerError, "{'a': 1}"),
        ({"e": "x", "code": "invalid"}, InvalidPayloadError, "x"),
        ({"e": "x", "code": "busy"}, BusyError, "x"),
        ({"e": "x", "code": "from the future"}, HandlerError, "x"),
        ({"e": "x", "code": ["busy"]}, HandlerError, "x"),
        ({"e": "x", "d": 5}, HandlerError, "x"),
        ({"e": "x" * 9000}, HandlerError, "x" * 500),
    ],
)
def test_nc05_nc13_any_e_is_a_rejection_whatever_stands_in_it(said: Any, kind: type[ChannelError], text: str) -> None:
    raw = Raw()
    request = raw.channel.request("add")
    raw.hear(k="res", id=1, **said)
    error = error_of(request)
    assert type(error) is kind
    assert str(error) == text


def test_nc06_without_a_handler_the_one_who_was_asked_says_so() -> None:
    both = Both()
    error = error_of(both.ann.request("add", to="bob"))
    assert type(error) is NoHandlerError
    assert "add" in str(error)


def test_nc06_of_everybody_the_first_with_a_handler_answers() -> None:
    _, (ann, *others) = room(4)
    others[1].handle("who is host", lambda payload, sender: "me")
    request = ann.request("who is host")
    assert request.result() == "me"
    others[2].handle("who is host", lambda payload, sender: "no, me")
    assert ann.request("who is host").result() == "me"


def test_nc06_if_nobody_of_everybody_has_a_handler_a_moment_decides() -> None:
    clock, (ann, *_) = room(4)
    request, endless = ann.request("who is host"), ann.request("who is host", timeout=None)
    brief = ann.request("who is host", timeout=0.1)
    ann.update()
    assert not request.done
    clock.advance(0.1)
    ann.update()
    assert brief.done
    assert not request.done
    clock.advance(0.15)
    ann.update()
    for asked in (request, endless, brief):
        assert type(error_of(asked)) is NoHandlerError


def test_a_flood_of_requests_to_everybody_is_not_answered_by_a_flood() -> None:
    raw = Raw()
    for n in range(100):
        raw.hear(k="req", type="x", id=n)
    assert len(raw.sent) == 20
    for n in range(100):
        raw.hear(k="req", type="x", id=n, to="me")
    assert len(raw.sent) == 120, "who asks us alone gets each answer"
    raw.clock.advance(1.0)
    raw.hear(k="req", type="x", id=1)
    assert len(raw.sent) == 121


def test_nc07_a_timeout_rejects_and_names_type_and_time_and_a_late_answer_is_ignored() -> None:
    raw = Raw()
    request, quick, patient = (raw.channel.request("add", timeout=seconds) for seconds in (10.0, 0.5, None))
    raw.clock.advance(0.4)
    raw.channel.update()
    assert not quick.done
    raw.clock.advance(0.1)
    raw.channel.update()
    error = error_of(quick)
    assert type(error) is RequestTimeoutError
    assert isinstance(error, TimeoutError)
    assert str(error) == "no answer to 'add' within 0.5 s"
    raw.hear(k="res", id=2, d=5)
    assert quick.error is error
    raw.clock.advance(9.4)
    raw.channel.update()
    assert not request.done
    raw.clock.advance(0.1)
    raw.channel.update()
    assert type(error_of(request)) is RequestTimeoutError
    raw.clock.advance(1e6)
    raw.channel.update()
    assert not patient.done
    raw.hear(k="res", id=3, d=5)
    assert patient.result() == 5


def test_nc07_ten_seconds_unless_told_otherwise() -> None:
    raw = Raw()
    request = raw.channel.request("add")
    raw.clock.advance(9.99)
    raw.channel.update()
    assert not request.done
    raw.clock.advance(0.01)
    raw.channel.update()
    assert request.done


@pytest.mark.parametrize("timeout", [0, -1, math.nan])
def test_nc07_a_timeout_is_above_zero_or_none(timeout: float) -> None:
    raw = Raw()
    with pytest.raises(ValueError, match="timeout"):
        raw.channel.request("add", timeout=timeout)
    assert raw.sent == []


def test_a_callback_may_ask_again_while_others_expire() -> None:
    raw = Raw()
    again: list[Request[Any]] = []
    for _ in range(3):
        raw.channel.request("add", timeout=1.0, then=lambda request: again.append(raw.channel.request("add")))
    raw.clock.advance(1.0)
    raw.channel.update()
    assert len(again) == 3
    assert not any(request.done for request in again)


@given(st.permutations(range(6)))
def test_nc08_each_request_resolves_to_its_own_answer_in_any_order(order: list[int]) -> None:
    raw = Raw()
    requests = [raw.channel.request("add", n) for n in range(6)]
    for n in order:
        raw.hear(k="res", id=n + 1, d=n * 10)
        raw.hear(k="res", id=n + 1, d="repeated")
        raw.hear(k="res", id=n + 1, e="repeated")
    assert [request.result() for request in requests] == [0, 10, 20, 30, 40, 50]


def test_an_answer_from_somebody_who_was_not_asked_is_ignored() -> None:
    raw = Raw()
    asked = raw.channel.request("add", to="bob")
    raw.hear("eve", k="res", id=1, d="lies")
    raw.hear("eve", k="res", id=1, e="lies")
    assert not asked.done
    raw.hear("bob", k="res", id=1, d="truth")
    assert asked.result() == "truth"


def test_only_the_one_who_is_addressed_hears_and_answers() -> None:
    _, (ann, bob, cid) = room(3)
    heard: list[str] = []
    for name, channel in (("bob", bob), ("cid", cid)):
        channel.on("chat", lambda payload, sender, name=name: heard.append(name))
        channel.handle("name", lambda payload, sender, name=name: name)
    ann.send("chat", to="peer 2")
    assert heard == ["cid"]
    assert ann.request("name", to="peer 2").result() == "cid"
    ann.send("chat")
    assert heard == ["cid", "bob", "cid"]


def test_to_of_the_channel_is_the_default() -> None:
    raw = Raw(to="server")
    raw.channel.send("a")
    raw.channel.send("a", to="bob")
    raw.channel.request("a")
    assert [message["to"] for message in raw.sent] == ["server", "bob", "server"]
    raw.hear("eve", k="res", id=1, d="lies")
    raw.hear("server", k="res", id=1, e="none", code="no_handler")
    assert [message["k"] for message in raw.sent] == ["event", "event", "req"]


def test_nc09_the_later_handler_replaces_and_the_earlier_ones_end_does_nothing() -> None:
    both = Both()
    end_first = both.bob.handle("add", lambda payload, sender: "first")
    end_second = both.bob.handle("add", lambda payload, sender: "second")
    end_first()
    assert both.ann.request("add").result() == "second"
    end_second()
    end_second()
    assert type(error_of(both.ann.request("add", to="bob"))) is NoHandlerError


def test_nc10_dispose_rejects_everything_and_hears_nothing_more() -> None:
    raw = Raw()
    heard: list[Any] = []
    raw.channel.on("chat", lambda payload, sender: heard.append(payload))
    raw.channel.handle("add", lambda payload, sender: heard.append(payload))
    raw.channel.on_bytes(1, heard.append)
    requests = [raw.channel.request("add") for _ in range(3)]
    raw.channel.dispose("going home")
    raw.channel.dispose("twice")
    for request in requests:
        assert type(error_of(request)) is ChannelClosedError
        assert str(request.error) == "going home"
    del raw.sent[:]
    raw.hear(k="event", type="chat", d=1)
    raw.hear(k="req", type="add", id=1)
    raw.end.push(b"\x43\x01x", True)
    raw.channel.send("chat")
    raw.channel.send_bytes(1, b"x")
    raw.channel.update()
    later = raw.channel.request("add")
    assert str(error_of(later)) == "going home"
    assert (heard, raw.sent) == ([], [])
    assert raw.transport.status.state is TransportState.OPEN


@pytest.mark.parametrize("reason", [None, ""])
def test_nc10_the_reason_has_a_default(reason: str | None) -> None:
    raw = Raw()
    request = raw.channel.request("add")
    raw.channel.dispose() if reason is None else raw.channel.dispose(reason)
    assert "closed" in str(error_of(request))


def test_a_callback_of_dispose_may_use_the_channel() -> None:
    raw = Raw()
    later: list[Request[Any]] = []
    raw.channel.request("add", then=lambda request: later.append(raw.channel.request("add")))
    raw.channel.dispose()
    assert type(error_of(later[0])) is ChannelClosedError


def test_a_lost_connection_rejects_at_once() -> None:
    raw = Raw()
    request = raw.channel.request("add")
    raw.end.close(1012, "restarting")
    error = error_of(request)
    assert type(error) is ChannelClosedError
    assert "restarting" in str(error)
    assert type(error_of(raw.channel.request("add"))) is ChannelClosedError


def test_a_transport_that_we_close_rejects_at_the_next_update() -> None:
    both = Both(Delivery.POLL)
    request = both.ann.request("add")
    both.transports[0].close()
    both.ann.update()
    assert type(error_of(request)) is ChannelClosedError


class Flaky(Endpoint):
    """A transport whose connection comes and goes as a test says."""

    def __init__(self) -> None:
        super().__init__("me", TransportState.CONNECTING)
        self.sent: list[Any] = []

    def send(self, data: Any) -> None:
        self.sent.append(data)

    def send_bytes(self, data: bytes) -> None:
        self.sent.append(data)

    def poll(self) -> None: ...

    def close(self) -> None:
        self._end()

    def become(self, state: TransportState, attempt: int = 0) -> None:
        self._change(ConnectionStatus(state, attempt=attempt))


def test_what_is_asked_before_the_first_connection_waits_for_it_and_a_loss_rejects() -> None:
    transport = Flaky()
    channel = NetChannel(transport, ManualClock())
    early = channel.request("a")
    transport.become(TransportState.CONNECTING, attempt=1)
    transport.become(TransportState.OPEN)
    assert not early.done
    transport.become(TransportState.CONNECTING, attempt=1)
    assert type(error_of(early)) is ChannelClosedError
    away = channel.request("b")
    transport.become(TransportState.OPEN)
    assert not away.done
    assert [message["id"] for message in transport.sent] == [1, 2]
    transport.become(TransportState.CONNECTING, attempt=1)
    given_up = channel.request("c")
    transport.become(TransportState.CLOSED)
    assert type(error_of(given_up)) is ChannelClosedError


def test_payloads_are_converted_to_their_type() -> None:
    both = Both()
    heard: list[Any] = []
    both.bob.on("chat", lambda chat, sender: heard.append(chat), type=Chat)
    both.bob.handle("chat", lambda chat, sender: Chat(chat.text.upper(), True), type=Chat)
    both.ann.send("chat", Chat("hi"))
    assert heard == [Chat("hi")]
    assert both.ann.request("chat", Chat("hi"), type=Chat).result() == Chat("HI", True)
    assert both.ann.request("chat", {"text": "hi"}).result() == {"text": "HI", "loud": True}


@pytest.mark.parametrize("wrong", [None, 3, [], {}, {"text": 3}, {"text": "hi", "loud": "yes"}])
def test_what_is_not_of_the_type_never_reaches_a_handler(wrong: Any) -> None:
    both = Both()
    heard: list[Any] = []
    both.bob.on("chat", lambda chat, sender: heard.append(chat), type=Chat)
    both.bob.handle("chat", lambda chat, sender: heard.append(chat), type=Chat)
    both.ann.send("chat", wrong)
    assert type(error_of(both.ann.request("chat", wrong))) is InvalidPayloadError
    assert heard == []


def test_an_answer_that_is_not_of_the_type_rejects() -> None:
    both = Both()
    both.bob.handle("chat", lambda payload, sender: {"text": 3})
    error = error_of(both.ann.request("chat", type=Chat))
    assert type(error) is InvalidPayloadError
    assert "text" in str(error)


def test_on_a_hub_payloads_are_copies_of_plain_values() -> None:
    _, (ann, bob) = room(2)
    heard: list[Any] = []
    bob.on("chat", lambda payload, sender: heard.append(payload))
    told = [1]
    ann.send("chat", told)
    ann.send("chat", Chat("hi"))
    told.append(2)
    assert heard == [[1], {"text": "hi", "loud": False}]


@pytest.mark.parametrize("payload", [object(), math.nan, "\ud800"])
def test_what_json_cannot_hold_is_the_senders_mistake(payload: Any) -> None:
    both = Both()
    with pytest.raises((TypeError, ValueError)):
        both.ann.send("chat", payload)
    with pytest.raises((TypeError, ValueError)):
        both.ann.request("chat", payload)
    assert len(both.ann._questions) == 0


def test_nc11_binary_messages_by_sub_channel() -> None:
    both = Both()
    heard: list[Any] = []
    end_first = both.bob.on_bytes(0, lambda payload: heard.append("replaced"))
    both.bob.on_bytes(0, lambda payload: heard.append((0, payload)))
    end = both.bob.on_bytes(255, lambda payload: heard.append((255, payload)))
    end_first()
    both.ann.send_bytes(0, b"abc")
    both.ann.send_bytes(255, b"")
    both.ann.send_bytes(7, b"nobody")
    end()
    both.ann.send_bytes(255, b"late")
    assert heard == [(0, b"abc"), (255, b"")]


def test_nc11_the_wire_and_other_binary_traffic() -> None:
    raw = Raw()
    heard: list[bytes] = []
    for channel in range(256):
        raw.channel.on_bytes(channel, heard.append)
    raw.channel.send_bytes(9, b"xyz")
    assert raw.sent == [b"\x43\x09xyz"]
    for frame in (b"", b"\x43", b"\x0a\x03ann", b"\x00\x01\x02"):
        raw.end.push(frame, True)
    assert heard == []
    raw.end.push(b"\x43\x09", True)
    assert heard == [b""]


@pytest.mark.parametrize("channel", [-1, 256])
def test_nc11_sub_channels_are_bytes(channel: int) -> None:
    raw = Raw()
    with pytest.raises(ValueError, match="0 to 255"):
        raw.channel.send_bytes(channel, b"")
    with pytest.raises(ValueError, match="0 to 255"):
        raw.channel.on_bytes(channel, print)


@pytest.mark.parametrize("delivery", list(Delivery))
def test_nc12_both_planes_keep_the_transports_order(delivery: Delivery) -> None:
    both = Both(delivery)
    heard: list[Any] = []
    both.bob.on("n", lambda payload, sender: heard.append(payload))
    both.bob.on_bytes(1, lambda payload: heard.append(int(payload)))
    for n in range(20):
        if n % 3:
            both.ann.send("n", n)
        else:
            both.ann.send_bytes(1, str(n).encode())
    both.poll()
    assert heard == list(range(20))


def test_a_handler_may_ask_back() -> None:
    both = Both(Delivery.POLL)
    both.ann.handle("name", lambda payload, sender: "Ann")
    greetings: list[str] = []
    both.bob.handle(
        "join",
        lambda payload, sender: (
            both.bob.request("name", to=sender, then=lambda request: greetings.append(request.result())) and "welcome"
        ),
    )
    request = both.ann.request("join")
    for _ in range(3):
        both.poll()
    assert request.result() == "welcome"
    assert greetings == ["Ann"]


def test_two_ends_that_ask_at_once_do_not_mix_up_their_numbers() -> None:
    both = Both(Delivery.POLL)
    for name, channel in (("ann", both.ann), ("bob", both.bob)):
        channel.handle("name", lambda payload, sender, name=name: name)
    from_ann, from_bob = both.ann.request("name"), both.bob.request("name")
    for _ in range(3):
        both.poll()
    assert (from_ann.result(), from_bob.result()) == ("bob", "ann")


def test_channels_of_pairs_are_typed() -> None:
    transport: PairTransport = pair()[0]
    channel = NetChannel(transport, ManualClock())
    request: Request[Chat] = channel.request("x", type=Chat)
    assert request.name == "x"
