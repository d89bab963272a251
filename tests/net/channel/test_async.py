"""Awaiting requests, and async handlers, on an event loop and without one."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any

import pytest

from net.channel import BusyError, ChannelClosedError, HandlerError, NetChannel, NoHandlerError, RequestTimeoutError
from net.channel.answers import RUNNING_PER_PEER
from net.clock import ManualClock
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import pair


class Both:
    """Two channels on a wire."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.transports = pair("ann", "bob")
        self.ann, self.bob = (NetChannel(transport, self.clock) for transport in self.transports)


def run(play: Coroutine[Any, Any, None]) -> None:
    """In a loop of its own. What hangs fails."""
    asyncio.run(asyncio.wait_for(play, 10))


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_nc04_an_async_handler_answers_when_it_is_done() -> None:
    async def play() -> None:
        both = Both()
        go = asyncio.Event()

        async def add(numbers: list[int], sender: str) -> int:
            await go.wait()
            return sum(numbers)

        both.bob.handle("add", add)
        request = both.ann.request("add", [1, 2])
        await turns()
        assert not request.done
        go.set()
        assert await request == 3
        assert await request == 3, "and again"

    run(play())


def test_nc05_an_async_handler_that_raises_rejects() -> None:
    async def play() -> None:
        both = Both()

        async def add(numbers: Any, sender: str) -> None:
            await asyncio.sleep(0)
            raise ValueError("too small")

        both.bob.handle("add", add)
        with pytest.raises(HandlerError, match="too small"):
            await both.ann.request("add")

    run(play())


def test_nc08_async_requests_finish_in_any_order() -> None:
    async def play() -> None:
        both = Both()
        gates = [asyncio.Event() for _ in range(4)]
        finished: list[int] = []

        async def wait(n: int, sender: str) -> int:
            await gates[n].wait()
            return n

        both.bob.handle("wait", wait)
        requests = [
            both.ann.request("wait", n, then=lambda request: finished.append(request.result())) for n in range(4)
        ]
        for n in (2, 0, 3, 1):
            gates[n].set()
            await turns()
        assert await asyncio.gather(*requests) == [0, 1, 2, 3]
        assert finished == [2, 0, 3, 1]

    run(play())


def test_awaiting_raises_what_the_request_ended_with() -> None:
    async def play() -> None:
        both = Both()
        with pytest.raises(NoHandlerError):
            await both.ann.request("x", to="bob")
        both.transports[1].subscribe(lambda envelope: None)
        both.bob.dispose()
        waiting = asyncio.ensure_future(both.ann.request("x", timeout=2.0))
        await turns()
        both.clock.advance(2.0)
        both.ann.update()
        with pytest.raises(RequestTimeoutError):
            await waiting
        waiting = asyncio.ensure_future(both.ann.request("x"))
        await turns()
        both.ann.dispose()
        with pytest.raises(ChannelClosedError):
            await waiting

    run(play())


def test_whoever_stops_awaiting_harms_neither_the_request_nor_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        both = Both()
        go = asyncio.Event()

        async def slow(payload: Any, sender: str) -> str:
            await go.wait()
            return "done"

        both.bob.handle("slow", slow)
        request = both.ann.request("slow")
        waiting = asyncio.ensure_future(request)
        await turns()
        waiting.cancel()
        await turns()
        go.set()
        assert await request == "done"

    run(play())
    assert caplog.records == []


def test_a_future_of_ones_own_is_as_good_as_a_coroutine() -> None:
    async def play() -> None:
        both = Both()
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        both.bob.handle("f", lambda payload, sender: future)
        request = both.ann.request("f")
        future.set_result(4)
        assert await request == 4

    run(play())


def test_without_a_loop_an_async_handler_is_refused_in_words(
    caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    both = Both()

    async def add(numbers: Any, sender: str) -> int:
        return 1

    both.bob.handle("add", add)
    request = both.ann.request("add")
    assert type(request.error) is HandlerError
    assert "event loop" in str(request.error)
    assert "'add'" in caplog.text
    gc.collect()
    assert not recwarn.list, "a coroutine that was never awaited"


def test_messages_have_no_async_handlers() -> None:
    async def heard(payload: Any, sender: str) -> None: ...

    with pytest.raises(TypeError, match="async"):
        Both().bob.on("chat", heard)


def test_nc10_dispose_cancels_what_runs_and_nothing_is_answered() -> None:
    async def play() -> None:
        both = Both()
        ended: list[str] = []

        async def forever(payload: Any, sender: str) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        both.bob.handle("forever", forever)
        request = both.ann.request("forever")
        await turns()
        both.bob.dispose()
        await turns()
        assert ended == ["cancelled"]
        assert not request.done

    run(play())


def test_one_peer_can_keep_only_so_many_handlers_busy_and_others_are_served() -> None:
    async def play() -> None:
        hub, clock = LocalHub(), ManualClock()
        server, eve, ann = (NetChannel(LocalTransport(hub, name), clock) for name in ("server", "eve", "ann"))
        go = asyncio.Event()

        async def slow(payload: Any, sender: str) -> str:
            await go.wait()
            return sender

        server.handle("slow", slow)
        flood = [eve.request("slow", to="server") for _ in range(RUNNING_PER_PEER + 5)]
        assert [type(request.error) for request in flood[RUNNING_PER_PEER:]] == [BusyError] * 5
        mine = ann.request("slow", to="server")
        assert not mine.done
        go.set()
        assert await mine == "ann"
        assert await flood[0] == "eve"
        await turns()
        assert not server._answers._per_peer, "whoever invents ids costs no memory"
        go.clear()
        again = eve.request("slow", to="server")
        assert not again.done, "there is room again"

    run(play())


def test_all_peers_together_can_keep_only_so_many_handlers_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("net.channel.answers.RUNNING_LIMIT", 3)

    async def play() -> None:
        hub, clock = LocalHub(), ManualClock()
        server, *others = (NetChannel(LocalTransport(hub, str(n)), clock) for n in range(6))
        server.handle("slow", lambda payload, sender: asyncio.Event().wait())
        requests = [channel.request("slow", to="0") for channel in others]
        assert [type(request.error) for request in requests] == [type(None)] * 3 + [BusyError] * 2
        server.dispose()
        await turns()

    run(play())
