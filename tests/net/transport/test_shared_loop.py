"""All WebSocket transports of a process share one thread, and none of them is another one's trouble."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.protocol import State

from net.clock import ManualClock
from net.envelope import encode
from net.transport.base import TransportState
from net.transport.link import FAIR_SHARE, Link
from net.transport.outbox import Outbox, Outgoing
from net.transport.shared_loop import SharedLoop
from net.transport.websocket import RetryPolicy

ROOT = Path(__file__).parents[3]
Wait = Callable[..., None]
OPEN, CLOSED = TransportState.OPEN, TransportState.CLOSED


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "websocket"]


def test_many_transports_have_one_thread_which_ends_with_the_last_and_starts_again(relay: Any, client: Any) -> None:
    for _ in range(2):
        crowd = [client(relay.url) for _ in range(20)]
        for one in crowd:
            one.until_state(OPEN)
        assert len(threads()) == 1
        for one in crowd[1:]:
            one.transport.close()
        assert len(threads()) == 1
        relay.send(encode("server", "still there").decode())
        crowd[0].until(lambda: crowd[0].heard)  # noqa: B023 - it is called here and now
        crowd[0].transport.close()
        crowd[0].transport.close()
        assert threads() == []


def test_a_transport_that_waits_for_its_farewell_holds_up_no_other(
    relay: Any, client: Any, listen: Any, wait: Wait
) -> None:
    """The one that closes has a server that takes what it is sent, and never answers."""

    bob = client(relay.url)
    bob.until_state(OPEN)
    silent = client(listen(shake_hands).url)
    silent.until_state(OPEN)
    closing = threading.Thread(target=silent.transport.close)
    closing.start()
    heard = 0
    while closing.is_alive():
        relay.send(encode("server", heard).decode())
        bob.until(lambda: len(bob.heard) > heard)  # noqa: B023 - it is called here and now
        heard += 1
    closing.join()
    assert heard > 1, "a whole round trip while the other one waited for half a second"
    assert bob.transport.status.state is OPEN


def shake_hands(connection: Any) -> None:
    """Answer the handshake of a WebSocket, and say no more."""
    from websockets.http11 import Request
    from websockets.server import ServerProtocol

    protocol = ServerProtocol()
    while True:
        protocol.receive_data(connection.recv(4096))
        for event in protocol.events_received():
            assert isinstance(event, Request)
            protocol.send_response(protocol.accept(event))
            for data in protocol.data_to_send():
                connection.sendall(data)
            return


def test_a_transport_that_fails_inside_harms_no_other(
    relay: Any, client: Any, dead_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(RetryPolicy):
        def delay(self, attempt: int, chance: float = 0.5) -> float:
            raise RuntimeError("broken policy")

    bob = client(relay.url)
    bob.until_state(OPEN)
    broken = client(dead_url, policy=Broken(tries=3, first=0.0))
    broken.until_state(CLOSED)
    assert broken.transport.status.reason == "internal error"
    assert "broken policy" in caplog.text
    relay.send(encode("server", 1).decode())
    bob.until(lambda: bob.heard)
    started = time.monotonic()
    broken.transport.close()
    assert time.monotonic() - started < 0.5, "there is nothing to wait for"


def test_whoever_has_much_to_send_lets_others_have_their_turn() -> None:
    class Eager:
        """A connection that never makes its sender wait."""

        state = State.OPEN

        async def send(self, frame: bytes, text: bool) -> None: ...

    async def main() -> int:
        outbox = Outbox(10_000, 10**9)
        for _ in range(10 * FAIR_SHARE):
            outbox.put(Outgoing(0, b"", False))
        dialer: Any = None
        connection: Any = Eager()
        link = Link(dialer, RetryPolicy.plain(), outbox, ManualClock(), keep=True)
        flush = asyncio.create_task(link._flush(connection))
        turns = 0
        while not flush.done():
            await asyncio.sleep(0)
            turns += 1
        assert link.messages_up == 10 * FAIR_SHARE
        return turns

    assert asyncio.run(main()) >= 10


def test_users_may_come_and_leave_on_many_threads_at_once() -> None:
    shared = SharedLoop()
    failures: list[BaseException] = []

    def use() -> None:
        try:
            for _ in range(50):
                loop = shared.enter()
                answered = threading.Event()
                loop.call_soon_threadsafe(answered.set)
                assert answered.wait(10), "it runs for as long as anybody uses it"
                shared.leave(loop)
        except BaseException as error:
            failures.append(error)

    users = [threading.Thread(target=use) for _ in range(8)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert failures == []
    assert threads() == []


def test_what_still_runs_when_the_last_user_leaves_is_cancelled() -> None:
    shared = SharedLoop()
    loop = shared.enter()
    ends: list[str] = []

    async def stay() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")

    started = threading.Event()
    asyncio.run_coroutine_threadsafe(stay(), loop)
    assert started.wait(10)
    shared.leave(loop)
    assert ends == ["cancelled"]
    assert loop.is_closed()
    shared.leave(loop)
    assert not shared.owns(loop)


FAMILY = """
import multiprocessing, sys
from net.transport.base import TransportState
from net.transport.websocket import WebSocketTransport

inherited = None

def child(url):
    if inherited is not None:
        inherited.close()
    transport = WebSocketTransport(url, peer_id="child")
    transport.wait_open_blocking(10)
    transport.send("from the child")
    transport.close()

if __name__ == "__main__":
    method, url = sys.argv[1:]
    inherited = WebSocketTransport(url, peer_id="parent")
    inherited.wait_open_blocking(10)
    heard = []
    inherited.subscribe(lambda envelope: heard.append(envelope.data))
    process = multiprocessing.get_context(method).Process(target=child, args=(url,))
    process.start()
    process.join(20)
    assert process.exitcode == 0, process.exitcode
    inherited.send("from the parent")
    while not heard:
        inherited.poll()
    assert inherited.status.state is TransportState.OPEN
    inherited.close()
    print(heard)
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_child_process_has_a_thread_of_its_own_and_leaves_its_parents_alone(
    relay: Any, wait: Wait, tmp_path: Path, method: str
) -> None:
    script = tmp_path / "family.py"
    script.write_text(FAMILY, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(script), method, relay.url],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "['from the child']\n"), run.stderr
    wait(lambda: len(relay.frames) == 2)
    assert encode("parent", "from the parent").decode() in relay.frames
