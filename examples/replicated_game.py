"""A whole small game on net/replication: players gather gems on a plain, and see no farther than 12 units.

    python examples/replicated_game.py serve
    python examples/replicated_game.py play --name Zoë

A player walks by itself to the nearest gem that it sees, or strolls, and ends with --gems of them.
"""

import math
import random
import sys
import time
from typing import Annotated, Any

import msgspec

from net.clock import MonotonicClock
from net.envelope import decode, encode
from net.replication import Authority, Component, Fixed, Int, Mirror, Schema, Text
from net.replication.interest import RadiusProvider
from net.transport.base import TransportState
from net.transport.websocket import WebSocketTransport
from server.engine import Connection, Limits
from server.program import Parser, Service, run
from server.ticker import Ticker

EDGE, SIGHT, REACH, STEP, GEMS, CAPACITY = 30.0, 12.0, 0.8, 8.0 / 60, 40, 200  # units, a step in a tick
AXIS = Fixed(-EDGE, EDGE, 1 / 64)
SCHEMA = Schema([Component("place", x=AXIS, z=AXIS), Component("player", name=Text(16), gems=Int(0, 9999))])


class Hello(msgspec.Struct, tag="hello", tag_field="t"):
    name: Annotated[str, msgspec.Meta(max_length=16)]
    schema: Any


class Go(msgspec.Struct, tag="go", tag_field="t"):
    course: float  # radians


class Resync(msgspec.Struct, tag="resync", tag_field="t"): ...


class Plain(Service):
    """The authority."""

    def __init__(self) -> None:
        super().__init__(self, Limits(max_size=16_384))
        self.world = Authority(SCHEMA, CAPACITY, position=("place", ("x", "z")))
        self.world.set_provider(RadiusProvider(CAPACITY, SIGHT))
        self.numbers, self.ticks, self.last = dict[Connection, int](), 0, 0
        self.courses = dict[int, float]()  # of players, by entity
        self.gems = {self.world.spawn("gem", place=anywhere()) for _ in range(GEMS)}

    def start(self) -> None:
        Ticker(MonotonicClock(), self.tick)

    def opened(self, connection: Connection) -> None:
        self.last += 1
        self.numbers[connection] = self.last
        self.world.attach(self.last, connection.send_bytes)

    def closed(self, connection: Connection, code: int, reason: str) -> None:
        number = self.numbers.pop(connection)
        self.world.detach(number)
        for entity in self.world.owned(number):
            self.world.despawn(entity)
            self.courses.pop(entity)

    def received(self, connection: Connection, message: bytes, binary: bool) -> None:
        number = self.numbers[connection]
        try:
            said = msgspec.convert(decode(b"" if binary else message).data, Hello | Go | Resync)
            mine = self.world.owned(number)
            if isinstance(said, Hello) and not mine and len(self.courses) < CAPACITY - GEMS:
                refusal = self.world.greet(number, said.schema)
                connection.send_text(encode("server", {"t": "welcome", "trouble": refusal}))
                if refusal is None:
                    entity = self.world.spawn("player", owner=number, place=anywhere(), player={"name": said.name})
                    self.courses[entity] = 0.0
            elif isinstance(said, Resync):
                self.world.resync(number)
            elif isinstance(said, Go):
                self.courses.update(dict.fromkeys(mine, said.course))
        except ValueError as error:  # WireError, what msgspec raises, and a name that cannot be sent
            connection.send_text(encode("server", {"t": "error", "trouble": str(error)}))

    def tick(self, now: float) -> None:
        world, self.ticks = self.world, self.ticks + 1
        for player, course in self.courses.items():
            x, z = where(world, player)
            world.set(player, "place", x=clamp(x + math.cos(course) * STEP), z=clamp(z + math.sin(course) * STEP))
            for gem in [gem for gem in self.gems if math.dist((x, z), where(world, gem)) < REACH]:
                world.despawn(gem)
                self.gems.symmetric_difference_update({gem, world.spawn("gem", place=anywhere())})
                world.set(player, "player", gems=min(9999, world.get(player, "player", "gems") + 1))
        if self.ticks % 3 == 0:  # 20 Hz
            world.sample(self.ticks)


def anywhere() -> dict[str, float]:
    return {axis: random.uniform(-EDGE, EDGE) for axis in "xz"}


def clamp(value: float) -> float:
    return max(-EDGE, min(EDGE, value))


def where(world: Authority | Mirror, entity: int) -> tuple[float, float]:
    return world.get(entity, "place", "x"), world.get(entity, "place", "z")


def play(url: str, name: str, wanted: int) -> int:
    mirror = Mirror(SCHEMA, {"gem": lambda entity: {}, "player": lambda entity: {}})
    transport, troubles, course, gems = WebSocketTransport(url), list[str](), 0.0, 0
    transport.subscribe_bytes(mirror.apply)
    transport.subscribe(lambda envelope: troubles.extend(filter(None, [envelope.data.get("trouble")])))
    transport.send({"t": "hello", "name": name, "schema": SCHEMA.greeting()})
    while gems < wanted and not troubles and transport.status.state is not TransportState.CLOSED:
        transport.poll()
        if mirror.needs_resync:
            transport.send({"t": "resync"})
        for me in mirror.owned():
            x, z = where(mirror, me)
            seen = [where(mirror, gem) for gem in mirror.entities() if mirror.archetype_of(gem) == "gem"]
            if gem := min(seen, key=lambda place: math.dist(place, (x, z)), default=None):
                course = math.atan2(gem[1] - z, gem[0] - x)
            elif max(abs(x), abs(z)) > EDGE - 1:
                course = math.atan2(-z, -x) + random.uniform(-1, 1)
            transport.send({"t": "go", "course": course})
            if (now := mirror.get(me, "player", "gems")) != gems:
                gems = now
                print(f"{name} has {gems} gems, sees {len(seen)} more", flush=True)
        time.sleep(1 / 20)
    transport.close()
    print(*troubles, f"{transport.traffic.bytes_down} bytes")
    return 0 if gems >= wanted else 2


if __name__ == "__main__":
    parser = Parser("replicated_game", "Players gather gems.", 8790)
    parser.add_argument("role", choices=("serve", "play"))
    parser.add_argument("--name", default="me")
    parser.add_argument("--gems", type=int, default=20)
    options = parser.parse_args()
    if options.role == "play":
        sys.exit(play(f"ws://{options.host}:{options.port}/", options.name, options.gems))
    sys.exit(run(parser, options, lambda log: Plain()))
