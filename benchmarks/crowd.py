"""A crowd of players for benchmarks: many binary clients in one process, light enough to leave a server its core.

They walk as the players of the yardstick do: in one of eight directions, another one every 0.3 to 1.5 s and before any
wall. Each sends a command of one tick 30 times a second, in 16 phases of that period, and takes whatever frames come.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
from random import Random

from game.binary import AVATAR, SCHEMA, pack_command, unpack_own
from game.sim.arena import CROSSFIRE
from game.sim.command import Command
from game.sim.grid import direction
from game.sim.movement import move_avatar
from game.sim.state import Avatar
from game.wire import PROTOCOL
from net.replication import Mirror

RATE = 30
"""commands a second and player"""
PHASES = 16
PATIENCE = 10.0
"""seconds that joining may take"""
KEEP = 60
"""newest predictions that are kept: two seconds of them"""
_DIRECTIONS = [direction(127 * dx, 127 * dz) for dx in (-1, 0, 1) for dz in (-1, 0, 1) if dx or dz]


class Walker:
    """Keys that somebody holds, and where they lead by the game's own rules."""

    def __init__(self, number: int) -> None:
        self._random = Random(number + 1)
        self._left = 0
        self._command = Command()

    def next(self, avatar: Avatar) -> tuple[Command, Avatar]:
        """The next command, and what becomes of the avatar."""
        self._left -= 1
        if self._left < 0:
            self._choose()
        for _ in range(30):
            moved = move_avatar(avatar, self._command, CROSSFIRE)
            # the simulation takes the speed away from whoever meets a wall
            if (moved.vx or not self._command.dx) and (moved.vz or not self._command.dz):
                break
            self._choose()
        return self._command, moved

    def _choose(self) -> None:
        self._left = int(RATE * self._random.uniform(0.3, 1.5))
        dx, dz = self._random.choice(_DIRECTIONS)
        self._command = Command(dx, dz, self._random.randrange(65_536))


class Player:
    """One client: a socket, what it has received, and a prediction that every frame can be held to."""

    def __init__(self, port: int, number: int, watching: bool) -> None:
        """A player who is `watching` decodes every frame; the others count them, for that is a client's own cost."""
        self.bytes = self.frames = 0
        self.seq = 0
        self.corrections = 0
        self.mirror = Mirror(SCHEMA, {AVATAR: lambda _: {}})
        self._watching = watching
        self._walker = Walker(number)
        self._predicted: dict[int, Avatar] = {}
        self._unread = b""
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(
            b"GET /crowd HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self.socket.recv(1)
        hello = {"t": "hello", "protocol": PROTOCOL, "name": f"P{number}", "schema": SCHEMA.greeting()}
        self._send(0x81, json.dumps({"from": f"player-{number}", "data": hello}).encode())
        while not self._predicted:
            self.read()
        self.socket.setblocking(False)

    def play(self) -> None:
        """Send the next command."""
        command, avatar = self._walker.next(self._predicted[self.seq])
        self.seq += 1
        self._predicted[self.seq] = avatar
        self._predicted.pop(self.seq - KEEP, None)
        self._send(0x82, pack_command(self.seq, command))

    def read(self) -> None:
        """Take what has come."""
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("the server has closed a connection")
        self.bytes += len(data)
        data, at = self._unread + data, 0
        while len(data) - at >= 2:
            size, start = data[at + 1], at + 2
            if size >= 126:
                wide = 2 if size == 126 else 8
                size, start = int.from_bytes(data[start : start + wide], "big"), start + wide
            if start + size > len(data):
                break
            if data[at] == 0x82:
                self.frames += 1
                if self._watching or not self._predicted:
                    self._take(data[start : start + size])
            at = start + size
        self._unread = data[at:]

    def _take(self, frame: bytes) -> None:
        mirror = self.mirror
        update = mirror.apply(frame)
        assert update is not None, mirror.fault
        own = unpack_own(mirror.private)
        if self._predicted:
            self.corrections += own != self._predicted[mirror.acknowledged]
        else:
            self._predicted[0] = own

    def _send(self, first: int, payload: bytes) -> None:
        size = len(payload)
        head = bytes((first, 0x80 | size)) if size < 126 else bytes((first, 0xFE)) + size.to_bytes(2, "big")
        key = b"\x5a\x3c\x96\xf1"
        pad = (key * (size // 4 + 1))[:size]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big")
        self.socket.sendall(head + key + masked)


class Crowd:
    """Players who all play in one room."""

    def __init__(self, port: int, players: int, watching: int) -> None:
        """Everybody joins; the first of them are watching."""
        self.players = [Player(port, number, number < watching) for number in range(players)]
        self._selector = selectors.DefaultSelector()
        for player in self.players:
            self._selector.register(player.socket, selectors.EVENT_READ, player)
        self._phase = 0
        self._next = time.perf_counter()

    def play(self, seconds: float) -> None:
        """Let everybody play that long."""
        end = time.perf_counter() + seconds
        while (now := time.perf_counter()) < end:
            while self._next <= now:
                for player in self.players[self._phase % PHASES :: PHASES]:
                    player.play()
                self._phase += 1
                self._next += 1 / RATE / PHASES
            for key, _ in self._selector.select(max(0.0, self._next - time.perf_counter())):
                key.data.read()

    def close(self) -> None:
        """Everybody leaves."""
        self._selector.close()
        for player in self.players:
            player.socket.close()
