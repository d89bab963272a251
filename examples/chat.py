"""A chat in the terminal, on NetChannel over a relay. Start it twice and type; /who asks everybody, /quit leaves."""

import argparse
import asyncio
import itertools
import sys
import threading

import msgspec

from net.channel import NetChannel
from net.clock import MonotonicClock
from net.transport.base import ConnectionStatus, TransportState
from net.transport.websocket import WebSocketTransport


class Card(msgspec.Struct):
    name: str
    said: int = 0


def show(*words: object) -> None:
    """What others write may hold anything, and a terminal must not obey it."""
    print(*("".join(c if c.isprintable() else "?" for c in str(word)) for word in words), flush=True)


def read_lines(put: "asyncio.Queue[str]", loop: asyncio.AbstractEventLoop) -> None:
    """In a thread of its own: not every system lets asyncio wait for a terminal."""
    for line in itertools.chain(sys.stdin, ["/quit"]):
        loop.call_soon_threadsafe(put.put_nowait, line.strip())


async def chat(relay: str, name: str) -> None:
    transport = WebSocketTransport(relay)
    channel = NetChannel(transport, MonotonicClock())
    me, names = Card(name), dict[str, str]()

    def greeted(other: str, sender: str) -> None:
        if sender not in names:
            show("*", other, "is here")
            channel.send("hello", name, to=sender)  # so that a newcomer knows us, too
        names[sender] = other

    def status_changed(status: ConnectionStatus) -> None:
        show("*", status.state, status.reason)
        if status.state is TransportState.OPEN:
            channel.send("hello", name)

    async def frames() -> None:
        while True:
            transport.poll()
            channel.update()
            await asyncio.sleep(0.02)

    transport.subscribe_status(status_changed)
    channel.on("hello", greeted, type=str)
    channel.on("say", lambda text, sender: show(f"{names.get(sender, sender)}:", text), type=str)
    channel.on("bye", lambda _, sender: show("*", names.pop(sender, sender), "has left"))
    channel.handle("who", lambda _, sender: me)
    polling, lines = asyncio.create_task(frames()), asyncio.Queue[str]()
    threading.Thread(target=read_lines, args=(lines, asyncio.get_running_loop()), daemon=True).start()
    while (line := await lines.get()) != "/quit":
        if line == "/who":
            asked = (channel.request("who", to=peer, type=Card, timeout=2) for peer in names)
            for card in await asyncio.gather(*asked, return_exceptions=True):
                show("*", f"{card.name} has said {card.said} lines" if isinstance(card, Card) else card)
        elif line:
            channel.send("say", line)
            me.said += 1
    channel.send("bye")
    polling.cancel()
    transport.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relay", default="ws://127.0.0.1:8787/chat", help="the path is the room")
    parser.add_argument("--name", default="somebody")
    asyncio.run(chat(**vars(parser.parse_args())))
