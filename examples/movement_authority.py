"""A second game on the server's parts: the protocol's reference movement, for any client that predicts it."""

import math
import sys
from typing import Annotated, Any

import msgspec

from net.clock import MonotonicClock
from net.envelope import WireError, decode, encode
from net.sync.inputs import InputBuffer
from server.engine import Connection, Frame, Limits, text_frame
from server.guard import Guard, Verdict
from server.program import Parser, Service, run
from server.room_path import room_of
from server.ticker import Ticker

SPEED, EDGE = 5.0, 50.0  # units a second; units from the middle, each way
STATE_TICKS, WORLD_TICKS = 3, 6  # between two: 20 Hz and 10 Hz
MS = 1_000_000  # simulated time is bought by the nanosecond, so that any dtMs costs what it is


class Wish(msgspec.Struct):
    dx: float
    dz: float


class Input(msgspec.Struct, tag="input", tag_field="t", rename="camel"):
    seq: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    input: Wish
    dt_ms: float


class Player:
    def __init__(self, connection: Connection) -> None:
        self.connection, self.guard, self.room = connection, Guard(), room_of(connection.path)
        self.peer_id: str | None = None  # until its first envelope, and it is told nothing before
        self.state = {"x": 0.0, "z": 0.0}
        self.inputs = InputBuffer[Input](rate=1000 * MS, slack=250 * MS, bank=1000 * MS, limit=1000 * MS)

    def move(self, wish: Wish, dt_ms: float) -> None:
        """Each axis clamped, then the direction shortened: clients predict exactly if they calculate in this order."""
        dx, dz = clamp(wish.dx, -1, 1), clamp(wish.dz, -1, 1)
        length, seconds = max(1.0, math.sqrt(dx * dx + dz * dz)), clamp(dt_ms, 0, 100) / 1000
        for axis, way in (("x", dx), ("z", dz)):
            self.state[axis] = clamp(self.state[axis] + way / length * SPEED * seconds, -EDGE, EDGE)


class Movement(Service):  # the engine's handler, and the ticks beside it
    def __init__(self) -> None:
        super().__init__(self, Limits(max_size=16_384))
        self.clock, self.ticks, self.players = MonotonicClock(), 0, dict[Connection, Player]()

    def start(self) -> None:
        Ticker(self.clock, self.tick)

    def opened(self, connection: Connection) -> None:
        self.players[connection] = Player(connection)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        del self.players[connection]

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        player, now = self.players[connection], self.clock.now()
        verdict, code, why = player.guard.message(now), "rate", "you send too many messages"
        if verdict is Verdict.PASS:
            try:
                envelope = decode(b"" if binary else message)
                return self.take(player, envelope.sender, envelope.data)
            except ValueError as error:  # WireError and what msgspec raises
                verdict, code, why = player.guard.malformed(now, silent=not player.peer_id), "bad_message", str(error)
        if verdict is Verdict.TELL:
            connection.send(frame(t="error", code=code, message=why))
        elif verdict is Verdict.CLOSE:
            connection.close(1008, code)

    def take(self, player: Player, sender: str, data: Any) -> None:
        if player.peer_id is None:
            taken = any((other.room, other.peer_id) == (player.room, sender) for other in self.players.values())
            if taken or sender in ("", "server") or len(sender) > 64:
                number, code = (4001, "id_taken") if taken else (4002, "bad_id")
                player.connection.send(frame(t="error", code=code, message=f"{sender:.64}: this cannot be your id"))
                return player.connection.close(number, code)
            player.peer_id = sender
        if sender != player.peer_id:
            raise WireError(f"you are {player.peer_id}, and stay so")
        if isinstance(data, dict) and data.get("t") == "input":
            command = msgspec.convert(data, Input)
            player.inputs.push(command.seq, command, max(1, round(clamp(command.dt_ms, 0, 100) * MS)))

    def tick(self, now: float) -> None:
        self.ticks += 1
        rooms: dict[str, dict[str, Player]] = {}
        for player in self.players.values():
            for command in player.inputs.take(now):
                player.move(command.input, command.dt_ms)
            if player.peer_id:
                rooms.setdefault(player.room, {})[player.peer_id] = player
                if self.ticks % STATE_TICKS == 0:
                    player.connection.send(frame(t="state", state=player.state, lastSeq=player.inputs.last_seq))
        for room in rooms.values() if self.ticks % WORLD_TICKS == 0 else ():
            world = frame(t="world", players={peer_id: player.state for peer_id, player in room.items()})
            for player in room.values():
                player.connection.send(world)


def clamp(value: float, low: float, high: float) -> float:
    return max(low, min(high, value))


def frame(**data: Any) -> Frame:
    return text_frame(encode("server", data))


if __name__ == "__main__":
    parser = Parser("movement_authority", "The reference movement authority of the protocol.", 8788)
    sys.exit(run(parser, parser.parse_args(), lambda log: Movement()))
