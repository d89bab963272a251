"""Gathering input, on a loop and a clock that do what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from websockets.asyncio.client import connect

from net.clock import ManualClock
from server.engine import Connection, Limits
from server.engines import NAMES, MissingEngineError, choose
from server.gatherer import CROWD, Gatherer
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


class Bench:
    def __init__(self, connections: int) -> None:
        self.clock, self.turns, self.slept = ManualClock(5.0), Turns(), list[float]()
        self.gatherer = Gatherer(cast(Any, self.turns), self.clock, 0.002, self.sleep)
        self.gatherer.count(connections)

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.clock.advance(seconds)

    def input(self, at: float) -> None:
        """What a connection does when data comes, and the turn of the loop after that."""
        self.clock.advance(max(0.0, at - self.clock.now()))
        if self.gatherer.wants:
            self.gatherer.came()
        self.turns.turn()


def test_turns_that_follow_each_other_closely_are_spaced():
    bench = Bench(CROWD)
    for at in (5.0, 5.0005, 5.001, 5.0035):
        bench.input(at)
    # 5.000 is at once; 5.0005 waits until 5.002, so that 5.001 is read with it, and then until 5.004
    assert bench.slept == [0.0015, 0.002, 0.002]
    assert bench.clock.now() == pytest.approx(5.006)


def test_turns_that_lie_apart_wait_for_nothing():
    bench = Bench(CROWD)
    for number in range(50):
        bench.input(5.0 + 0.0021 * number)
    assert bench.slept == []


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

    async def scene() -> list[list[bytes]]:
        listener = await serve(Echo(), "127.0.0.1", 0, Limits(gather=0.002), kind=engine.connection)
        heard = await asyncio.gather(*(talk(listener.port, number) for number in range(CROWD + 8)))
        await listener.close()
        return heard

    with asyncio.Runner(loop_factory=engine.new_event_loop) as runner:
        heard = runner.run(scene())
    assert heard == [[bytes((number, turn)) for turn in range(rounds)] for number in range(CROWD + 8)]
