"""Connecting, disconnecting and waiting, with and without asyncio: rows GS-01 to GS-10 over the real thing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from net.envelope import encode
from net.transport.base import ConnectionStatus, TransportState
from net.transport.websocket import RetryPolicy, WebSocketTransport

Wait = Callable[..., None]
ONCE = RetryPolicy(tries=0, first=0.0)
OPEN, CONNECTING = TransportState.OPEN, TransportState.CONNECTING
CLOSING, CLOSED = TransportState.CLOSING, TransportState.CLOSED
LIMIT = 10.0
"""seconds: whoever waits longer has failed"""


def texts(relay: Any) -> list[Any]:
    return [json.loads(frame)["data"] for frame in relay.frames if isinstance(frame, str)]


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "websocket"]


def test_gs01_nothing_connects_until_asked(relay: Any, client: Any) -> None:
    ann = client(relay.url, autoconnect=False, policy=RetryPolicy.plain())
    assert ann.transport.status == ConnectionStatus(CLOSED, attempts=3)
    ann.transport.poll()
    assert threads() == []
    ann.transport.connect()
    assert ann.transport.status == ConnectionStatus(CONNECTING, attempts=3)
    assert ann.statuses == [], "callbacks wait for poll"
    ann.until_state(OPEN)
    assert ann.story == [("connecting", 0), ("open", 0)]
    assert ann.events == ["open"]
    assert len(relay.seen) == 1


def test_the_policy_is_backoff_unless_given(client: Any, dead_url: str) -> None:
    assert WebSocketTransport(dead_url, autoconnect=False).status.attempts == RetryPolicy.backoff().tries


def test_gs02_what_waits_leaves_before_what_the_open_event_sends(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url, autoconnect=False)
    ann.transport.on_open(lambda: ann.transport.send("opened"))
    for n in range(3):
        ann.transport.send(n)
    ann.transport.connect()
    ann.transport.send("while connecting")
    ann.until_state(OPEN)
    wait(lambda: len(relay.frames) == 5)
    assert texts(relay) == [0, 1, 2, "while connecting", "opened"]


def test_gs03_connect_while_there_is_a_connection_has_no_effect(relay: Any, client: Any) -> None:
    ann = client(relay.url, autoconnect=False)
    for _ in range(3):
        ann.transport.connect()
    ann.until_state(OPEN)
    ann.transport.connect()
    ann.transport.disconnect()
    ann.transport.connect()
    assert ann.transport.status.state is CLOSING, "not before it is closed"
    ann.until_state(CLOSED)
    assert ann.story == [("connecting", 0), ("open", 0), ("closing", 0), ("closed", 0)]
    assert len(relay.seen) == 1


def test_gs04_gs05_disconnect_moves_to_closing_and_its_end_to_closed(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url, peer_id="ann")
    ann.until_state(OPEN)
    for round_ in range(1, 4):
        ann.transport.disconnect()
        ann.transport.disconnect()
        assert ann.transport.status.state is CLOSING
        ann.until_state(CLOSED)
        assert ann.transport.status == ConnectionStatus(CLOSED, 0, 1000, 1000, "")
        assert ann.events == ["open", (1000, "")] * round_
        assert len(relay.seen) == round_, "no reconnect"
        ann.transport.connect()
        ann.until_state(OPEN)
    assert relay.endings == [(1000, "")] * 3
    relay.send(encode("bob", "still subscribed").decode())
    ann.until(lambda: ann.heard)
    assert ann.heard == ["still subscribed"]


def test_gs05_a_close_event_carries_code_and_reason_of_the_server(relay: Any, client: Any) -> None:
    ann = client(relay.url, policy=ONCE)
    ann.until_state(OPEN)
    relay.close(4321, "we are full")
    ann.until_state(CLOSED)
    assert ann.events == ["open", (4321, "we are full")]
    ann.transport.connect()
    ann.until_state(OPEN)
    relay.cut()
    ann.until_state(CLOSED)
    assert [event[0] for event in ann.events[3:]] == [1006]


def test_gs06_what_is_sent_after_a_disconnect_waits_for_the_next_connect(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    said = threading.Event()
    ann.transport._link._loop.call_soon_threadsafe(said.wait, LIMIT)  # the thread is slow, and finds all of it at once
    for n in range(50):
        ann.transport.send(n)
    ann.transport.disconnect()
    ann.transport.send("closing")
    said.set()
    ann.until_state(CLOSED)
    ann.transport.send("closed")
    wait(lambda: relay.endings)
    assert texts(relay) == [*range(50)], "what was sent before still left, what was sent after did not"
    ann.transport.connect()
    wait(lambda: len(relay.frames) == 52, ann.transport.poll)
    assert texts(relay)[50:] == ["closing", "closed"]
    assert ann.transport.traffic.dropped == 0


def test_without_queueing_what_is_sent_after_a_disconnect_is_dropped(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url, queue_while_away=False)
    ann.until_state(OPEN)
    ann.transport.send("before")
    ann.transport.disconnect()
    ann.transport.send("closing")
    ann.until_state(CLOSED)
    ann.transport.send("closed")
    ann.transport.connect()
    ann.transport.send("connecting")
    ann.until_state(OPEN)
    ann.transport.send("open")
    wait(lambda: len(relay.frames) == 2)
    assert (texts(relay), ann.transport.traffic.dropped) == (["before", "open"], 3)


def test_gs07_a_connection_that_cannot_be_made_is_an_error_event_and_no_close_event(client: Any, dead_url: str) -> None:
    ann = client(dead_url, autoconnect=False, policy=RetryPolicy(tries=2, first=0.001))
    ann.transport.connect()
    ann.until_state(CLOSED)
    sentence = f"nobody answers at {dead_url[5:-1]}"
    assert ann.events == [sentence] * 3
    ann.transport.connect()
    ann.until_state(CLOSED)
    assert ann.events == [sentence] * 6


def test_tw17_a_loss_is_one_close_event_and_each_try_that_fails_an_error_event(relay: Any, client: Any) -> None:
    ann = client(relay.url, policy=RetryPolicy(tries=2, first=0.001))
    ann.until_state(OPEN)
    relay.stop(1001)
    ann.until_state(CLOSED)
    assert ann.events[:2] == ["open", (1001, "")]
    assert [type(event) for event in ann.events[2:]] == [str, str]
    assert ann.story == [("open", 0), ("connecting", 1), ("connecting", 2), ("closed", 2)]
    relay.start()
    ann.transport.connect()
    ann.until_state(OPEN)
    assert ann.events[-1] == "open"


def test_gs08_disconnect_before_connect_has_no_effect(relay: Any, client: Any) -> None:
    ann = client(relay.url, autoconnect=False)
    ann.transport.disconnect()
    ann.transport.poll()
    assert (ann.statuses, ann.transport.status.state, threads()) == ([], CLOSED, [])
    ann.transport.connect()
    ann.until_state(OPEN)


def test_disconnect_ends_the_tries_at_once(client: Any, dead_url: str) -> None:
    ann = client(dead_url, policy=RetryPolicy(tries=5, first=600.0))
    ann.until(lambda: ann.statuses)
    ann.transport.disconnect()
    ann.until_state(CLOSED)
    assert ann.story == [("connecting", 1), ("closing", 0), ("closed", 0)]
    assert ann.events[1:] == [(1000, "")]


@pytest.mark.parametrize("late", [False, True])
def test_disconnect_and_connect_in_quick_turns_end_as_the_last_one_says(
    relay: Any, client: Any, wait: Wait, late: bool
) -> None:
    ann = client(relay.url, policy=ONCE)
    for _ in range(30):
        if late:
            wait(lambda: len(ann.transport._link.inbox) == (2 if ann.statuses else 1))  # open, and nobody has looked
        ann.transport.disconnect()
        ann.until_state(CLOSED)
        ann.transport.connect()
    ann.until_state(OPEN)
    assert ann.story.count(("closed", 0)) == ann.story.count(("closing", 0)) == 30
    assert ann.story.count(("open", 0)) == 1
    assert ann.story[-1] == ("open", 0)
    wait(lambda: len(relay._connections) == 1)


def test_a_connection_that_ends_by_itself_while_disconnecting_closes_once(relay: Any, client: Any, wait: Wait) -> None:
    ann = client(relay.url, policy=ONCE)
    ann.until_state(OPEN)
    relay.close(4000, "bye")
    wait(lambda: ann.transport._link.inbox)  # it is over, and nobody has looked yet
    ann.transport.disconnect()
    assert ann.transport.status.state is CLOSING
    ann.until_state(CLOSED)
    for _ in range(3):
        ann.transport.poll()
    assert ann.story == [("open", 0), ("closed", 0)]
    assert ann.events == ["open", (4000, "bye")]
    ann.transport.connect()
    ann.until_state(OPEN)


def test_connect_and_disconnect_after_close_have_no_effect(relay: Any, client: Any) -> None:
    for autoconnect in (False, True):
        ann = client(relay.url, autoconnect=autoconnect)
        ann.transport.close()
        ann.transport.connect()
        ann.transport.disconnect()
        ann.transport.poll()
        assert (ann.statuses, ann.events, ann.transport.status.state) == ([], [], CLOSED)
    assert threads() == []


def test_close_while_a_disconnect_is_under_way_ends_the_thread(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.until_state(OPEN)
    ann.transport.disconnect()
    ann.transport.close()
    assert threads() == []


def test_gs10_listeners_run_once_end_one_by_one_and_harm_nobody(relay: Any, client: Any) -> None:
    ann = client(relay.url, autoconnect=False)
    calls: list[str] = []

    def raises(*arguments: object) -> None:
        calls.append("raises")
        raise RuntimeError("broken listener")

    def listener(*arguments: object) -> None:
        calls.append("listener")

    def gone(*arguments: object) -> None:
        calls.append("gone")

    for subscribe in (ann.transport.on_open, ann.transport.on_close):
        subscribe(raises)
        subscribe(listener)
        subscribe(listener)
        end = subscribe(gone)
        end()
        end()
    ann.transport.connect()
    ann.until_state(OPEN)
    assert calls == ["raises", "listener"]
    ann.transport.disconnect()
    ann.until_state(CLOSED)
    assert calls == ["raises", "listener"] * 2


def test_waiting_in_plain_code_returns_with_the_connection_open_and_the_news_told(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.transport.wait_open_blocking(LIMIT)
    assert (ann.transport.status.state, ann.events) == (OPEN, ["open"])
    ann.transport.wait_open_blocking(0.0)
    ann.transport.disconnect()
    with pytest.raises(ConnectionError, match="no connection"):
        ann.transport.wait_open_blocking(LIMIT)
    ann.transport.connect()
    ann.transport.wait_open_blocking(LIMIT)
    assert ann.events == ["open", (1000, ""), "open"]


@pytest.mark.parametrize("wait_in", ["plain code", "asyncio"])
def test_waiting_for_a_connection_that_never_comes(client: Any, dead_url: str, wait_in: str) -> None:
    def wait_open(transport: WebSocketTransport, timeout: float) -> None:
        if wait_in == "asyncio":
            asyncio.run(transport.wait_open(timeout))
        else:
            transport.wait_open_blocking(timeout)

    refused = client(dead_url, policy=ONCE)
    with pytest.raises(ConnectionError, match="nobody answers at"):
        wait_open(refused.transport, LIMIT)
    patient = client(dead_url, policy=RetryPolicy(tries=5, first=600.0))
    patient.until(lambda: patient.statuses)
    with pytest.raises(TimeoutError, match=r"no connection within 0\.02 s: nobody answers at"):
        wait_open(patient.transport, 0.02)
    idle = client(dead_url, autoconnect=False)
    with pytest.raises(ConnectionError, match="nobody has asked"):
        wait_open(idle.transport, LIMIT)
    idle.transport.close()
    with pytest.raises(ConnectionError):
        wait_open(idle.transport, LIMIT)
    assert not patient.transport._link.watchers


def test_waiting_inside_a_callback_is_an_error_and_no_deadlock(
    relay: Any, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ann = client(relay.url)
    ann.transport.on_open(lambda: ann.transport.wait_open_blocking(LIMIT))
    ann.until_state(OPEN)
    assert "a callback cannot wait" in caplog.text


def test_connect_and_pump_inside_a_running_loop(relay: Any) -> None:
    """Two transports on one asyncio loop, no frame loop: callbacks run on the loop's thread as messages arrive."""

    async def main() -> list[Any]:
        heard: list[Any] = []
        done = asyncio.Event()
        a, b = (WebSocketTransport(relay.url, peer_id=name, autoconnect=False) for name in "ab")
        me = threading.current_thread()

        def answer(envelope: Any) -> None:
            assert threading.current_thread() is me
            b.send(envelope.data + 1)

        def note(envelope: Any) -> None:
            heard.append(envelope.data)
            if envelope.data < 50:
                a.send(envelope.data + 1)
            else:
                done.set()

        b.subscribe(answer)
        a.subscribe(note)
        pumps = [asyncio.create_task(transport.pump()) for transport in (a, b)]
        for transport in (a, b):
            transport.connect()
            await transport.wait_open(LIMIT)
        a.send(1)
        async with asyncio.timeout(LIMIT):
            await done.wait()
        a.close()
        await asyncio.to_thread(b.close)
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*pumps)  # they end with their transports
        return heard

    assert asyncio.run(main()) == list(range(2, 51, 2))
    assert threads() == []


def test_a_cancelled_pump_loses_nothing_and_leaves_nothing(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.transport.wait_open_blocking(LIMIT)

    async def main() -> None:
        for n in range(100):
            pump = asyncio.create_task(ann.transport.pump())
            await asyncio.sleep(0)
            if n % 2:
                bob.send(n)
            pump.cancel()
            with pytest.raises(asyncio.CancelledError):
                await pump
            assert not ann.transport._link.watchers
        bob.send("end")
        pump = asyncio.create_task(ann.transport.pump())
        async with asyncio.timeout(LIMIT):
            while "end" not in ann.heard:
                await asyncio.sleep(0)
        pump.cancel()

    bob = WebSocketTransport(relay.url)
    bob.wait_open_blocking(LIMIT)
    asyncio.run(main())
    bob.close()
    assert ann.heard == [*range(1, 100, 2), "end"]


def test_a_pump_sleeps_while_nothing_arrives_and_lets_others_run_while_much_does(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.transport.wait_open_blocking(LIMIT)
    polls = []
    poll = ann.transport.poll

    def counting() -> None:
        polls.append(1)
        poll()

    ann.transport.poll = counting

    async def main() -> None:
        pump = asyncio.create_task(ann.transport.pump())
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(polls) == 1, "nothing arrived, so it has looked once"
        ann.transport.subscribe(lambda envelope: ann.transport._link.put(frame) if len(ann.heard) < 10_000 else None)
        ann.transport._link.put(frame)  # and each message brings the next, so that the inbox is hardly ever empty
        for _ in range(100):
            await asyncio.sleep(0)
        pump.cancel()

    frame = encode("bob", 1).decode()
    asyncio.run(asyncio.wait_for(main(), LIMIT))
    assert 30 < len(ann.heard) < 300


def test_a_loop_that_ended_while_a_pump_waited_harms_nobody(relay: Any, client: Any) -> None:
    ann = client(relay.url)
    ann.transport.wait_open_blocking(LIMIT)
    loop = asyncio.new_event_loop()
    pump = loop.create_task(ann.transport.pump())
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    assert len(ann.transport._link.watchers) == 1
    loop.close()
    relay.send(encode("bob", 1).decode())
    ann.until(lambda: ann.heard)
    relay.send(encode("bob", 2).decode())
    ann.until(lambda: len(ann.heard) == 2)
    assert ann.transport.status.state is OPEN
    pump._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_pump_that_waits_without_a_connection_ends_with_close(client: Any, dead_url: str) -> None:
    ann = client(dead_url, autoconnect=False)

    async def main() -> None:
        pump = asyncio.create_task(ann.transport.pump())
        await asyncio.sleep(0)
        assert len(ann.transport._link.watchers) == 1
        ann.transport.close()
        async with asyncio.timeout(LIMIT):
            await pump

    asyncio.run(main())
