"""Presence, events and channels through a real relay on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from net.channel import ChannelClosedError, NetChannel, NoHandlerError
from net.clock import MonotonicClock
from net.event_relay import relay_events
from net.events import EventBus
from net.presence import FIRED, JOINED, LEFT, JsonCodec, LocalPresence, OneShot, PresenceSync
from net.presence.protobuf import TRANSFORM, ProtobufCodec
from net.transport.base import TransportState
from net.transport.websocket import RetryPolicy, WebSocketTransport

Wait = Callable[..., None]


@pytest.fixture
def ends(relay: Any, wait: Wait) -> Iterator[list[WebSocketTransport]]:
    """Three clients of one room, all connected."""
    policy = RetryPolicy(tries=1000, first=0.01)
    transports = [WebSocketTransport(relay.url, peer_id=name, policy=policy) for name in ("ann", "bob", "cid")]
    wait(lambda: all(end.status.state is TransportState.OPEN for end in transports), lambda: poll(transports))
    assert len(relay.connections) == 3
    yield transports
    for end in transports:
        end.close()


def poll(transports: list[WebSocketTransport]) -> None:
    for end in transports:
        end.poll()


@pytest.mark.parametrize("codec", [JsonCodec, lambda: ProtobufCodec(TRANSFORM)], ids=["json", "protobuf"])
def test_peers_come_move_wave_survive_a_restart_and_go(
    relay: Any, ends: list[WebSocketTransport], wait: Wait, codec: Callable[[], Any]
) -> None:
    clock = MonotonicClock()
    where = [LocalPresence((float(n), 0.0, 0.0), 0.5, {"name": f"Ö{n}"}) for n in range(3)]
    events: list[Any] = []
    # Nobody may go stale while a slow machine starts the relay again.
    syncs = [
        PresenceSync(
            end,
            lambda n=n: where[n],  # type: ignore[misc]
            clock,
            codec(),
            interval=0.02,
            stale_after=60.0,
            one_shots=("wave",),
        )
        for n, end in enumerate(ends)
    ]
    bob = syncs[1]
    bob.bus.on(JOINED, lambda peer: events.append(("joined", peer.peer_id)))
    bob.bus.on(LEFT, lambda peer: events.append(("left", peer.peer_id)))
    bob.bus.on(FIRED, events.append)
    for sync in syncs:
        sync.start()

    def step() -> None:
        poll(ends)
        for sync in syncs:
            sync.update()

    def seen(n: int) -> Any:
        peer = bob.store.get().get(ends[n].peer_id)
        return peer and (peer.position, peer.rotation_y, peer.meta)

    def told(n: int) -> Any:
        return (where[n].position, where[n].rotation_y, where[n].meta)

    wait(lambda: seen(0) == told(0) and seen(2) == told(2), step)
    where[0] = LocalPresence((7.25, 1.0, -3.5), -1.0, {"name": "Ann"})
    syncs[0].fire("wave", 2)
    wait(lambda: seen(0) == told(0) and OneShot("ann", "wave", 2) in events, step)
    relay.stop()
    wait(lambda: all(end.status.state is TransportState.CONNECTING for end in ends), step)
    relay.start()
    wait(lambda: all(end.status.state is TransportState.OPEN for end in ends), step)
    where[0] = LocalPresence((8.0, 1.0, -3.5), -1.0, {"name": "Ann"})
    wait(lambda: seen(0) == told(0), step)
    syncs[0].stop()
    wait(lambda: ("left", "ann") in events, lambda: poll(ends))
    assert sorted(map(str, events)) == sorted(
        map(str, [("joined", "ann"), ("joined", "cid"), OneShot("ann", "wave", 2), ("left", "ann")])
    )


def test_er01_er02_an_event_happens_once_at_each_peer(ends: list[WebSocketTransport], wait: Wait) -> None:
    buses = [EventBus() for _ in ends]
    happened: list[list[Any]] = [[] for _ in ends]
    for bus, end, heard in zip(buses, ends, happened, strict=True):
        bus.on_any(lambda name, payload, heard=heard: heard.append((name, payload)))  # type: ignore[misc]
        relay_events(bus, end, ["hit", "done"])
    buses[0].emit("hit", {"damage": 3})
    buses[0].emit("done")
    wait(lambda: all(("done", None) in heard for heard in happened), lambda: poll(ends))
    assert happened == [[("hit", {"damage": 3}), ("done", None)]] * 3


def test_requests_are_awaited_answered_and_lost(relay: Any, ends: list[WebSocketTransport]) -> None:
    async def play() -> None:
        clock = MonotonicClock()
        ann, bob, cid = (NetChannel(end, clock) for end in ends)
        loud: list[Any] = []
        cid.on("chat", lambda payload, sender: loud.append((sender, payload)))

        async def add(numbers: list[int], sender: str) -> int:
            await asyncio.sleep(0)
            return sum(numbers)

        bob.handle("add", add, type=list[int])
        bob.handle("never", lambda payload, sender: asyncio.Event().wait())

        async def frames() -> None:
            while True:
                poll(ends)
                for channel in (ann, bob, cid):
                    channel.update()
                await asyncio.sleep(0.001)

        loop = asyncio.ensure_future(frames())
        try:
            async with asyncio.timeout(10):
                requests = [ann.request("add", [n, 1], to="bob") for n in range(20)]
                assert await asyncio.gather(*requests) == list(range(1, 21))
                assert await ann.request("add", [4, 5]) == 9
                with pytest.raises(NoHandlerError, match="mul"):
                    await ann.request("mul", to="cid")
                ann.send("chat", "hi")
                while not loud:
                    await asyncio.sleep(0.001)
                assert loud == [("ann", "hi")]
                lost = ann.request("never", to="bob")
                await asyncio.to_thread(relay.close, 1012, "restarting")
                with pytest.raises(ChannelClosedError, match="lost"):
                    await lost
        finally:
            loop.cancel()
            for channel in (ann, bob, cid):
                channel.dispose()

    asyncio.run(play())
