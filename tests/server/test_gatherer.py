"""Gathering input, on a loop and a clock that do what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from websockets.asyncio.client import connect

from net.clock import ManualClock, MonotonicClock
from server.engine import Connection, Limits
from server.engines import NAMES, MissingEngineError, choose
from server.flusher import Flusher
from server.gatherer import CROWD, LONGEST, Gatherer
from server.websockets_engine import serve


class Turns:
    """A loop that is turned by hand."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def turn(self) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()


class Said:
    """Somebody who has something to write."""

    def __init__(self) -> None:
        self.flushed = 0

    def flush(self) -> None:
        self.flushed += 1


class Bench:
    """Ticks are due every 20 ms from 5.0 on, and happen when the clock is there."""

    def __init__(self, connections: int) -> None:
        self.clock, self.turns, self.slept = ManualClock(5.0), Turns(), list[float]()
        self.flusher = Flusher(cast(Any, self.turns))
        self.ticks = 1
        self.gatherer = Gatherer(cast(Any, self.turns), self.clock, self.due, self.flusher, self.sleep)
        self.gatherer.count(connections)

    def due(self) -> float:
        return 5.0 + self.ticks * 0.02

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.clock.advance(seconds)

    def input(self, at: float) -> None:
        """What a connection does when data comes, and the turn of the loop after that."""
        self.clock.advance(max(0.0, at - self.clock.now()))
        if self.gatherer.wants:
            self.gatherer.came()
        self.turns.turn()


def test_after_some_input_the_rest_waits_for_the_tick():
    bench = Bench(CROWD)
    bench.input(5.005)
    assert bench.slept == [0.015]
    bench.ticks += 1
    bench.input(5.021)  # read at 5.02 with whatever else had come; then nothing until 5.04
    assert bench.slept == [0.015, 0.019]
    assert bench.clock.now() == pytest.approx(5.04)


def test_a_tick_that_is_late_already_is_not_held_up():
    bench = Bench(CROWD)
    bench.input(5.021)
    bench.input(5.022)
    assert bench.slept == []


def test_no_tick_at_all_holds_input_up_for_a_moment_only():
    bench = Bench(CROWD)
    bench.ticks = 1000
    bench.input(5.0)
    assert bench.slept == [LONGEST]


def test_what_is_to_be_written_goes_first():
    """The tick's frames leave before the loop is stopped for the next one."""
    bench, writer = Bench(CROWD), Said()
    bench.gatherer.came()
    bench.flusher.add(writer)  # in the same turn, but after the input
    bench.turns.turn()
    assert bench.slept == []
    assert writer.flushed == 1
    bench.turns.turn()
    assert bench.slept == [0.02]


def test_a_few_wait_for_nothing_however_much_they_say():
    bench = Bench(CROWD - 1)
    for number in range(50):
        bench.input(5.0 + 0.0001 * number)
    assert bench.slept == []
    assert bench.turns.soon == []


def test_one_turn_waits_once_whoever_says_something_in_it():
    bench = Bench(CROWD)
    bench.input(5.0)
    for _ in range(10):
        if bench.gatherer.wants:
            bench.gatherer.came()
    assert len(bench.turns.soon) == 1


def test_a_crowd_that_leaves_while_its_input_waits_leaves_nobody_waiting():
    bench = Bench(CROWD)
    bench.gatherer.came()
    bench.gatherer.count(CROWD - 1)
    bench.turns.turn()
    assert not bench.gatherer.wants
    bench.gatherer.count(CROWD)
    assert bench.gatherer.wants


class Echo:
    def opened(self, connection: Connection) -> None:
        pass

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        connection.send_bytes(message)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        pass


@pytest.mark.parametrize("name", NAMES)
def test_a_crowd_is_heard_word_by_word_by_either_engine(name: str):
    try:
        engine = choose(name)
    except MissingEngineError as error:
        pytest.skip(str(error))
    rounds = 5

    async def talk(port: int, number: int) -> list[bytes]:
        async with connect(f"ws://127.0.0.1:{port}/", compression=None) as socket:
            for turn in range(rounds):
                await socket.send(bytes((number, turn)))
            return [bytes(await socket.recv(decode=False)) for _ in range(rounds)]

    clock = MonotonicClock()

    async def scene() -> list[list[bytes]]:
        listener = await serve(
            Echo(), "127.0.0.1", 0, Limits(gather=lambda: clock.now() + 0.002), kind=engine.connection
        )
        heard = await asyncio.gather(*(talk(listener.port, number) for number in range(CROWD + 8)))
        await listener.close()
        return heard

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        heard = runner.run(scene())
    assert heard == [[bytes((number, turn)) for turn in range(rounds)] for number in range(CROWD + 8)]
