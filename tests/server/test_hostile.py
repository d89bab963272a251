"""The real server against everything that a peer must not do, beside an honest player who notices nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import msgspec

from game.sim.arena import CROSSFIRE
from game.sim.bot import bot_command
from game.sim.movement import move_avatar
from game.wire import AvatarFields, pack_input, unpack_avatar
from net.envelope import encode

BAD_JSON = [
    b"",
    b"{",
    b"null",
    b"[1,2",
    b'{"from":"evil"}',
    b'{"from":"evil","data":NaN}',
    b'{"from":1,"data":2}',
    b"\x00" * 50,
]
BAD_INPUTS = [
    b'"seq":1,"input":{"dx":NaN,"dz":0},"dtMs":16',
    b'"seq":1,"input":{"dx":1e999,"dz":0},"dtMs":16',
    b'"seq":' + b"9" * 4000 + b',"input":{"dx":1,"dz":0},"dtMs":16',
    b'"seq":-1,"input":{"dx":1,"dz":0},"dtMs":16',
    b'"seq":1,"input":"run","dtMs":16',
    b'"seq":1,"input":{"dx":{},"dz":[]},"dtMs":null',
    b'"seq":1,"input":' + b'{"dx":' * 2000,
    b'"seq":1,"input":{"dx":1,"dz":0,"z":' + b"[" * 4000 + b"]" * 4000 + b'},"dtMs":16',
]


class Honest:
    """Plays a bot's game, at most one command a sixtieth, and compares every answer with what it predicted."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.states: dict[int, Any] = {}
        self.seq = 0
        self.acknowledged = -1
        self.compared = 0
        self.corrections = 0

    async def play(self, stop: asyncio.Event) -> None:
        self.client.say("honest", {"t": "hello", "protocol": 1, "name": "Honest"})
        await self.client.hear("welcome")
        first = await self.client.hear("state")
        self.states[0] = self.read(first)
        reading = asyncio.create_task(self.listen())
        while not stop.is_set() or self.seq < 120:
            avatar = self.states[self.seq]
            command = bot_command(avatar, self.seq, 7, CROSSFIRE)
            self.seq += 1
            self.states[self.seq] = move_avatar(avatar, command, CROSSFIRE)
            self.client.send(0x1, encode("honest", pack_input(self.seq, command)))
            await asyncio.sleep(1 / 60)
        await reading

    async def listen(self) -> None:
        while self.acknowledged < self.seq or self.seq < 120:
            state = await self.client.hear("state")
            self.acknowledged = state["lastSeq"]
            self.compared += 1
            self.corrections += self.read(state) != self.states[self.acknowledged]

    @staticmethod
    def read(state: Any) -> Any:
        return unpack_avatar(msgspec.convert(state["state"], AvatarFields))


def test_as_03_as_13_as_15_as_18_hostile_peers_hurt_nobody_else(start_server, raw, opcodes, engine):
    server = start_server("--port", "0", "--log", "json", "--engine", engine.name)
    port = server.event("listening")["port"]

    async def joined(peer_id: str) -> Any:
        client = await raw.open(port)
        client.say(peer_id, {"t": "hello", "protocol": 1})
        await client.hear("welcome")
        return client

    async def speaks_nonsense() -> None:
        client = await joined("nonsense")
        for frame in BAD_JSON:
            client.send(opcodes.TEXT, frame)
        for fields in BAD_INPUTS:
            client.send(opcodes.TEXT, b'{"from":"nonsense","data":{"t":"input",' + fields + b"}}")
        client.send(opcodes.BINARY, b"\xde\xad\xbe\xef")
        assert (await client.hear("error"))["code"] == "bad_message"
        await client.hear("state", lastSeq=0)
        for _ in range(50):
            client.send(opcodes.TEXT, b"nonsense")
        assert await client.end() == (1008, "too many malformed messages")

    async def sends_a_megabyte() -> None:
        client = await joined("megabyte")
        with contextlib.suppress(ConnectionError):
            client.send(opcodes.TEXT, b"x" * (1 << 20))
            await client.writer.drain()
        assert (await client.end())[0] in (1009, 1006)

    async def trickles_a_megabyte() -> None:
        client = await joined("trickle")
        client.send(opcodes.TEXT, b"x" * 200, fin=False)
        with contextlib.suppress(ConnectionError):
            for _ in range(5000):
                client.send(opcodes.CONT, b"x" * 200, fin=False)
                await client.writer.drain()
        assert (await client.end())[0] in (1009, 1006)

    async def floods() -> None:
        client = await joined("flood")
        frame = client.frame(opcodes.TEXT, encode("flood", {"t": "clock", "id": 1, "clientMs": 0}))
        with contextlib.suppress(ConnectionError):
            for _ in range(400):
                client.writer.write(frame * 100)
                await client.writer.drain()
        assert await client.end() in ((1008, "flood"), (1006, ""))

    async def takes_an_id() -> None:
        client = await raw.open(port)
        client.say("honest", {"t": "hello", "protocol": 1})
        assert await client.end() == (4001, "id taken")

    async def speaks_for_another() -> None:
        client = await joined("liar")
        for seq in range(10_000, 10_020):
            client.say("honest", {"t": "input", "seq": seq, "input": {"dx": 1, "dz": 1}, "dtMs": 100})
        client.say("honest", {"t": "bye"})
        assert (await client.hear("error"))["code"] == "id_changed"

    async def breaks_the_protocol() -> None:
        for first in (b"\x00" * 4096, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000):
            client = await raw.plain(port)
            client.writer.write(first)
            client.writer.close()
        for opcode, payload, masked in ((1, b"\xff\xfe", True), (3, b"", True), (1, b"{}", False)):
            client = await raw.open(port)
            client.send(opcode, payload, masked=masked)
            assert (await client.end())[0] in (1002, 1007)
        client = await raw.open(port)
        client.writer.write(client.frame(opcodes.TEXT, b"half of it")[:-3])
        client.writer.close()

    async def races_ahead() -> None:
        client = await joined("racer")
        for seq in range(1, 400):
            client.say("racer", {"t": "input", "seq": seq, "input": {"dx": 1e6, "dz": 0}, "dtMs": 1e6})
        await client.hear("state")

    async def everything() -> Honest:
        honest = Honest(await raw.open(port))
        stop = asyncio.Event()
        playing = asyncio.create_task(honest.play(stop))
        while honest.acknowledged < 1:
            await asyncio.sleep(0.01)
        await asyncio.gather(
            *(speaks_nonsense(), sends_a_megabyte(), trickles_a_megabyte(), floods(), takes_an_id()),
            *(speaks_for_another(), breaks_the_protocol(), races_ahead()),
        )
        stop.set()
        await playing
        return honest

    honest = asyncio.run(asyncio.wait_for(everything(), 50))
    assert honest.corrections == 0
    assert honest.compared > 10
    assert honest.acknowledged == honest.seq >= 120
    assert server.popen.poll() is None
    server.popen.kill()
    out, err = server.end()[1:]
    assert err == ""
    refused = {
        event["peer"]: event["code"] for event in map(json.loads, out.splitlines()) if event["event"] == "refused"
    }
    assert refused["nonsense"] == refused["flood"] == 1008
    assert refused["honest"] == 4001
