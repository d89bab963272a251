"""Interest that is switched and connections that are cut, over every network: nothing left over, nothing missing.

Two clients and 30 entities that move, come, go and change hands, for a minute. Whenever a frame has come, the mirror
must be what the policy of that tick shows of the world of that tick; where tiers held something back, of a tick not
long before. In between there are quiet moments: at their end everything must be exact.
"""

import random
from dataclasses import dataclass

import numpy as np
import pytest

from net.clock import ManualClock
from net.replication import Angle, Authority, Component, EntityRef, Fixed, Int, Mirror, Optional, Schema, Text
from net.replication.interest import CellProvider, RadiusProvider, TierPlan, radius_interest
from net.transport.base import TransportState
from net.transport.conditioner import PRESETS, OrderedConditionedTransport
from net.transport.pair import pair

TICK = 1 / 60
EVERY = 3
SECONDS = 60
BUSY = 50
"""samples from one quiet moment to the next"""
SETTLED = 8
"""samples after which nothing is under way that tiers have held back"""
LONGEST_QUIET = 600
"""samples; by then the worst network has delivered everything"""
COUNT = 30
CAPACITY = 40
PRECISION = 1 / 256
RADIUS = 15.0
PLAN = TierPlan((6.0, 12.0), (1, 2, 4))
SCHEMA = Schema(
    [
        Component("body", x=Fixed(-32, 32, PRECISION), z=Fixed(-32, 32, PRECISION), yaw=Angle(8)),
        Component("tag", name=Text(12), score=Int(0, 1000), target=EntityRef(), title=Optional(Text(5))),
    ]
)
BODY = ("x", "z", "yaw")
KINDS = ["none", "radius", "odd", "policy", "cells", "nothing"]


@dataclass
class Moment:
    """The world at one sample, and who was shown what of it."""

    ids: np.ndarray
    """[CAPACITY] 0 for nobody"""
    has_body: np.ndarray
    body: np.ndarray
    """[3, CAPACITY] codes"""
    shown: dict[int, np.ndarray]
    """[CAPACITY] by connection"""
    tiers: bool


class Game:
    """The authority's side, with a plain idea of who sees what."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.many = np.random.default_rng(len(seed))
        self.authority = Authority(SCHEMA, CAPACITY, position=("body", ("x", "z")))
        self.kind, self.tiers = "none", False
        self.number = 0
        self.moments = {}
        for _ in range(COUNT):
            self.spawn()

    def spawn(self):
        dice, body = self.dice, {"x": self.dice.uniform(-32, 32), "z": self.dice.uniform(-32, 32)}
        parts = {} if dice.random() < 0.1 else {"body": body}
        parent = dice.choice([None, *self.authority.entities()])
        self.authority.spawn(parent=parent, **parts)

    def greet(self, transport, greeting):
        """Somebody comes, with a number that nobody had before, and gets two entities."""
        self.number += 1
        number = self.number

        def send(frame):
            if transport.status.state is not TransportState.OPEN:
                raise ConnectionResetError
            transport.send_bytes(frame)

        self.authority.attach(number, send)
        assert self.authority.greet(number, greeting) is None
        for entity in self.dice.sample(self.authority.entities(), 2):
            self.authority.set_owner(entity, number)

    def step(self):
        authority, dice = self.authority, self.dice
        slots = authority.present("body")
        for name, reach in zip(BODY, (200, 200, 9), strict=True):
            column = authority.column("body", name)
            limit = SCHEMA["body"].fields[name].limit
            column[slots] = np.clip(column[slots] + self.many.integers(-reach, reach, len(slots)), 0, limit)
        entity = dice.choice(authority.entities())
        match dice.randrange(12):
            case 0 if len(authority.entities()) > COUNT - 5:
                authority.despawn(entity)
                if dice.random() < 0.5:
                    self.spawn()
            case 1 if len(authority.entities()) < COUNT + 5:
                self.spawn()
            case 2:
                authority.add(entity, "tag", name=f"n{dice.randrange(99)}", target=dice.choice(authority.entities()))
            case 3 if authority.has(entity, "tag"):
                authority.remove(entity, "tag")
            case 4 if authority.has(entity, "tag"):
                authority.set(entity, "tag", score=dice.randrange(1000), title=dice.choice([None, "a", "b"]))
            case 5 if authority.has(entity, "body"):
                authority.remove(entity, "body")
            case 6:
                authority.add(entity, "body", x=dice.uniform(-32, 32), z=dice.uniform(-32, 32))
            case 7:
                authority.set_owner(entity, dice.choice([0, *authority.connections]))
            case 8:
                authority.set_parent(entity, None)
            case 9 if authority.parent_of(entity) is None:
                free = [one for one in authority.entities() if one != entity and authority.parent_of(one) is None]
                authority.set_parent(entity, dice.choice([None, *free]))

    def switch(self):
        authority = self.authority
        self.kind = self.dice.choice([kind for kind in KINDS if kind != self.kind])
        if self.kind == "radius":
            authority.set_provider(RadiusProvider(CAPACITY, RADIUS))
        elif self.kind == "cells":
            authority.set_provider(CellProvider(CAPACITY, RADIUS))
        elif self.kind == "none":
            self.dice.choice([authority.set_policy, authority.set_provider])(None)
        else:
            authority.set_policy(
                {
                    "odd": lambda connection, slot: (connection + slot) % 2 == 0,
                    "policy": radius_interest(RADIUS, authority.anchors, authority.position),
                    "nothing": lambda connection, slot: False,
                }[self.kind]
            )
        self.tiers = self.dice.random() < 0.4
        authority.set_tiers(PLAN if self.tiers else None)

    def sample(self, tick):
        authority = self.authority
        ids = np.zeros(CAPACITY, np.int64)
        entities = np.array(authority.entities())
        ids[entities & 0xFFFFF] = entities
        has_body = np.zeros(CAPACITY, bool)
        has_body[authority.present("body")] = True
        body = np.array([authority.column("body", name) for name in BODY])
        at = body[:2] * PRECISION - 32
        shown = {}
        for number in authority.connections:
            owned = np.isin(ids, authority.owned(number))
            shown[number] = (ids != 0) & (owned | self.sees(number, at, has_body, at[:, has_body & owned].T))
        self.moments[tick] = Moment(ids, has_body, body, shown, self.tiers)
        authority.sample(tick)

    def sees(self, number, at, has_body, anchors):
        """[CAPACITY] what is shown whoever owns it."""
        if self.kind in ("none", "nothing"):
            return np.full(CAPACITY, self.kind == "none")
        if self.kind == "odd":
            return (np.arange(CAPACITY) + number) % 2 == 0
        if not len(anchors):
            return np.full(CAPACITY, True)
        near = np.zeros(CAPACITY, bool)
        for anchor in anchors:
            if self.kind == "cells":
                cells = np.floor(at / RADIUS), np.floor(anchor / RADIUS)[:, None]
                near |= (np.abs(cells[0] - cells[1]) <= 1).all(axis=0)
            else:
                near |= ((at - anchor[:, None]) ** 2).sum(axis=0) <= RADIUS**2
        return near | ~has_body


class Client:
    """One person, who may come and go: the same mirror through all of it."""

    def __init__(self, game, clock, preset, seed):
        self.game, self.clock, self.preset, self.seed = game, clock, preset, seed
        self.mirror = Mirror(SCHEMA)
        self.transport = None
        self.inbox = []
        self.compared = self.joined = 0

    def join(self):
        """RE-35, RE-37: a new connection starts from nothing, under a new number."""
        self.mirror.clear()
        assert self.mirror.entities() == []
        assert (self.mirror.connection, self.mirror.tick, self.mirror.acknowledged) == (0, 0, 0)
        server, inner = pair()
        server.subscribe(lambda envelope: self.game.greet(server, envelope.data))
        conditions = PRESETS[self.preset]
        self.joined += 1
        self.transport = OrderedConditionedTransport(
            inner, self.clock, conditions, conditions, 100 * self.seed + self.joined
        )
        self.transport.subscribe_bytes(self.inbox.append)
        self.transport.send(SCHEMA.greeting())

    def cut(self):
        """Gone in the middle of everything. Nobody tells the authority: it finds out when it sends."""
        self.transport.close()
        self.transport = None
        self.inbox.clear()

    def poll(self):
        if self.transport is not None:
            self.transport.poll()
        for frame in self.inbox:
            self.receive(frame)
        self.inbox.clear()

    def receive(self, frame):
        mirror, game = self.mirror, self.game
        update = mirror.apply(frame)
        assert update is not None, mirror.fault
        moment = game.moments[mirror.tick]
        shown = moment.shown[mirror.connection]
        assert mirror.entities() == moment.ids[shown].tolist()
        moments = [moment]
        if moment.tiers:
            moments = [game.moments[t] for t in range(mirror.tick, max(0, mirror.tick - 4 * EVERY), -EVERY)]
        else:
            slots = np.flatnonzero(shown & moment.has_body)
            assert mirror.slots("body").tolist() == slots.tolist()
        slots = mirror.slots("body")
        for number, name in enumerate(BODY):
            codes = mirror.column("body", name)[slots]
            assert np.any([codes == one.body[number, slots] for one in moments], axis=0).all()
        self.compared += 1

    def is_exact(self):
        """All that the policy shows now, all of it as it is, and nothing else."""
        mirror, authority = self.mirror, self.game.authority
        moment = self.game.moments[max(self.game.moments)]
        wanted = moment.ids[moment.shown[mirror.connection]].tolist()
        assert mirror.entities() == wanted
        assert len(mirror) == len(wanted)
        assert mirror.owned() == [one for one in wanted if authority.owner_of(one) == mirror.connection]
        for entity in wanted:
            parent = authority.parent_of(entity)
            assert mirror.parent_of(entity) == (parent if parent in wanted else None)
            assert mirror.owner_of(entity) == authority.owner_of(entity)
            for component in SCHEMA.components:
                assert mirror.has(entity, component.name) == authority.has(entity, component.name)
                for field, shape in component.fields.items() if mirror.has(entity, component.name) else ():
                    value = authority.get(entity, component.name, field)
                    value = None if shape.refers and value not in wanted else value
                    assert mirror.get(entity, component.name, field) == value


@pytest.mark.parametrize("preset", PRESETS)
def test_after_each_quiet_moment_everybody_has_exactly_what_the_policy_shows(preset):
    """IN-02, IN-11, RE-06, RE-07, RE-26, RE-29: through switches, cuts and joins."""
    clock = ManualClock()
    game = Game(preset)
    clients = [Client(game, clock, preset, seed) for seed in (1, 2)]
    dice = random.Random(7)
    tick = samples = quiet = 0
    kinds = set()

    def run_sample():
        nonlocal tick, samples
        for _ in range(EVERY):
            clock.advance(TICK)
            tick += 1
            for client in clients:
                client.poll()
        samples += 1
        game.sample(tick)

    while tick * TICK < SECONDS:
        for n in range(BUSY):
            if n % 17 == 16:
                game.switch()
            for client in clients:
                if client.transport is None:
                    client.join()
                elif n < BUSY - 5 and dice.random() < 0.01:
                    client.cut()
            game.step()
            run_sample()
        since, waited = tick, 0
        while any(client.mirror.tick < since + SETTLED * EVERY for client in clients):
            run_sample()
            waited += 1
            assert waited < LONGEST_QUIET
        for client in clients:
            client.is_exact()
        kinds.add((game.kind, game.tiers))
        quiet += 1
    assert quiet > 5
    assert len(kinds) > 3
    for client in clients:
        assert client.joined > 2
        assert client.compared > 600
