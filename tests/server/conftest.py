"""Shared by the server's tests: a WebSocket client that may break every rule, and the real server as a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from server.engines import NAMES, Engine, choose

TEXT, BINARY, CONT, CLOSE, PING, PONG = 0x1, 0x2, 0x0, 0x8, 0x9, 0xA
ROOT = Path(__file__).parents[2]


class RawClient:
    """A WebSocket over asyncio streams, frame by frame. Every read has a deadline of 10 s."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def plain(cls, port: int) -> RawClient:
        """Only the TCP connection."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    @classmethod
    async def open(cls, port: int, path: bytes | str = "/") -> RawClient:
        """A connection whose handshake has succeeded."""
        client = await cls.plain(port)
        client.writer.write(client.request(path))
        answer = await client.head()
        assert answer.startswith(b"HTTP/1.1 101 "), answer
        return client

    @staticmethod
    def request(path: bytes | str = "/") -> bytes:
        path = path.encode() if isinstance(path, str) else path
        return (
            b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )

    async def head(self) -> bytes:
        async with asyncio.timeout(10):
            return await self.reader.readuntil(b"\r\n\r\n")

    def frame(self, opcode: int, payload: bytes = b"", *, fin: bool = True, masked: bool = True) -> bytes:
        size = len(payload)
        flag = 0x80 if masked else 0
        first = bytes([opcode | (0x80 if fin else 0)])
        if size < 126:
            head = first + bytes([flag | size])
        elif size < 65_536:
            head = first + bytes([flag | 126]) + struct.pack(">H", size)
        else:
            head = first + bytes([flag | 127]) + struct.pack(">Q", size)
        # a key of zeros masks nothing, so that the payload can go out as it is
        return head + (bytes(4) if masked else b"") + payload

    def send(self, opcode: int, payload: bytes = b"", *, fin: bool = True, masked: bool = True) -> None:
        self.writer.write(self.frame(opcode, payload, fin=fin, masked=masked))

    def say(self, sender: Any, data: Any) -> None:
        """One envelope."""
        self.send(TEXT, json.dumps({"from": sender, "data": data}).encode())

    async def read(self) -> tuple[int, bytes] | None:
        """The next frame as (opcode, payload), None at the connection's end."""
        async with asyncio.timeout(10):
            try:
                first, size = await self.reader.readexactly(2)
                if size == 126:
                    (size,) = struct.unpack(">H", await self.reader.readexactly(2))
                elif size == 127:
                    (size,) = struct.unpack(">Q", await self.reader.readexactly(8))
                return first & 0x0F, await self.reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError):
                return None

    async def hear(self, kind: str, **fields: Any) -> Any:
        """Read envelopes until one has `t` = kind and these fields; its data."""
        while (frame := await self.read()) is not None:
            if frame[0] == TEXT:
                envelope = json.loads(frame[1])
                data = envelope["data"]
                if data["t"] == kind and all(data.get(key) == value for key, value in fields.items()):
                    return data
        raise AssertionError(f"the connection ended before a {kind} {fields}")

    async def end(self) -> tuple[int, str]:
        """Read to the connection's end: code and reason of the close frame, 1006 if there was none."""
        code, reason = 1006, ""
        while (frame := await self.read()) is not None:
            if frame[0] == CLOSE:
                code, reason = struct.unpack(">H", frame[1][:2])[0], frame[1][2:].decode()
                self.send(CLOSE, frame[1])
        self.writer.close()
        return code, reason


@pytest.fixture(params=NAMES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn; where picows is not offered, it is left out."""
    if request.param == "picows" and sys.platform == "win32":
        pytest.skip("uvloop does not run on Windows")
    return choose(request.param)


@pytest.fixture
def raw() -> type[RawClient]:
    return RawClient


@pytest.fixture
def opcodes() -> SimpleNamespace:
    return SimpleNamespace(TEXT=TEXT, BINARY=BINARY, CONT=CONT, CLOSE=CLOSE, PING=PING, PONG=PONG)


class ServerProcess:
    """run_server.py in a process of its own."""

    def __init__(self, *flags: str) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "run_server.py", *flags],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] | None = None

    def line(self) -> str:
        """The next line on stdout, "" at its end. Raises queue.Empty after 20 s without one."""
        if self._lines is None:
            self._lines = queue.Queue()
            threading.Thread(target=self._read, args=(self._lines,), daemon=True).start()
        return self._lines.get(timeout=20)

    def _read(self, lines: queue.Queue[str]) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            lines.put(line)
        lines.put("")

    def event(self, name: str) -> Any:
        """The next event of that name in the JSON log."""
        while line := self.line():
            event = json.loads(line)
            if event["event"] == name:
                return event
        raise AssertionError(f"the log ended before {name}")

    def end(self) -> tuple[int, str, str]:
        """Exit code, the rest of stdout, stderr."""
        assert self.popen.stderr is not None
        code = self.popen.wait(timeout=20)
        return code, "".join(iter(self.line, "")), self.popen.stderr.read()

    def stop(self) -> None:
        """End it, whatever it is doing."""
        self.popen.kill()
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


@pytest.fixture
def start_server() -> Iterator[Callable[..., ServerProcess]]:
    started: list[ServerProcess] = []

    def start(*flags: str) -> ServerProcess:
        started.append(ServerProcess(*flags))
        return started[-1]

    yield start
    for server in started:
        server.stop()
