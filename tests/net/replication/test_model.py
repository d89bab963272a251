"""Random histories: after each sample every mirror shows what the authority has, to the declared precision."""

import math

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from net.replication.authority import Authority
from net.replication.interest import CellProvider, RadiusProvider, TierPlan, radius_interest
from net.replication.mirror import Mirror
from net.replication.schema import Component, Schema
from net.replication.shapes import Angle, Bool, EntityRef, Fixed, Int, Optional, Text

SCHEMA = Schema(
    [
        Component("body", x=Fixed(-25, 25, 1 / 256), z=Fixed(-25, 25, 1 / 64), yaw=Angle(6)),
        Component("player", name=Text(6), score=Int(-5, 2**40), alive=Bool(), title=Optional(Text(3))),
        Component("carrier", target=EntityRef(), cargo=Optional(EntityRef()), load=Optional(Fixed(0, 1, 0.25))),
    ]
)
ARCHETYPES = {"bot": lambda entity: {"hat": {"color": "red"}}}
CAPACITY = 40
RADIUS = 12.0
PERIOD = 4
CONNECTIONS = (1, 2, 3)

places = st.floats(-25, 25)
values = {
    "body": st.fixed_dictionaries({}, optional={"x": places, "z": places, "yaw": st.floats(-9, 9)}),
    "player": st.fixed_dictionaries(
        {},
        optional={
            "name": st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
            "score": st.integers(-5, 2**40),
            "alive": st.booleans(),
            "title": st.none() | st.text("ab", max_size=3),
        },
    ),
    "carrier": st.fixed_dictionaries({}, optional={"load": st.none() | st.sampled_from([0, 0.25, 1])}),
}
parts = st.fixed_dictionaries({}, optional=values)


class Plain:
    """The model: entities as dicts of what was set, no codes and no bits."""

    def __init__(self):
        self.entities = {}

    def defaults(self, component):
        plain = {"x": 0, "z": 0, "yaw": 0, "name": "", "score": 0, "alive": False, "title": None}
        return {field: plain.get(field) for field in SCHEMA[component].fields}


class Histories(RuleBasedStateMachine):
    @initialize(crowd=st.booleans())
    def begin(self, crowd):
        self.authority = Authority(SCHEMA, CAPACITY, position=("body", ("x", "z")))
        self.plain = Plain()
        self.mirrors = {}
        self.wire = {}
        self.interest = "none"
        self.tiers = False
        self.tick = 0
        self.samples = 0
        self.history = []
        self.drop = set()
        """whose next frame gets lost"""
        self.spoil = {}
        """whose next frame is broken, and how"""
        self.behind = set()
        """who lacks a frame and has not got a full one since"""
        for connection in CONNECTIONS[:2]:
            self.join_or_cut(connection)
        if crowd:  # enough of them that blocks go through numpy
            for number in range(30):
                self.spawn("", 0, {"body": {"x": number - 12.0, "z": 3.0}}, None)

    # -- what the game does

    def pick(self, data):
        return data.draw(st.sampled_from(sorted(self.plain.entities)))

    def spawn(self, archetype, owner, given, parent):
        if len(self.plain.entities) >= CAPACITY:
            return
        entity = self.authority.spawn(archetype, owner=owner, parent=parent, **given)
        assert entity not in self.plain.entities
        self.plain.entities[entity] = {
            "archetype": archetype,
            "owner": owner,
            "parent": parent,
            "parts": {name: self.plain.defaults(name) | fields for name, fields in given.items()},
        }

    @rule(archetype=st.sampled_from(["", "bot", "unknown"]), owner=st.integers(0, 3), given=parts, data=st.data())
    def spawn_one(self, archetype, owner, given, data):
        parent = self.pick(data) if self.plain.entities and data.draw(st.booleans()) else None
        self.spawn(archetype, owner, given, parent)

    @precondition(lambda self: self.plain.entities)
    @rule(data=st.data())
    def despawn(self, data):
        entity = self.pick(data)
        self.authority.despawn(entity)
        del self.plain.entities[entity]
        for other in self.plain.entities.values():
            other["parent"] = None if other["parent"] == entity else other["parent"]
            for values_ in other["parts"].values():
                values_.update({name: None for name in ("target", "cargo") if values_.get(name) == entity})

    @precondition(lambda self: self.plain.entities)
    @rule(data=st.data(), component=st.sampled_from(sorted(values)))
    def change(self, data, component):
        entity = self.pick(data)
        held = self.plain.entities[entity]["parts"]
        given = data.draw(values[component])
        if component == "carrier" and data.draw(st.booleans()):
            given |= {"target": self.pick(data), "cargo": data.draw(st.sampled_from([None, entity]))}
        if component in held:
            self.authority.set(entity, component, **given)
            held[component].update(given)
        else:
            self.authority.add(entity, component, **given)
            held[component] = self.plain.defaults(component) | given

    @rule(step=st.floats(-2, 2), yaw=st.integers(0, 63))
    def everybody_moves(self, step, yaw):
        slots = self.authority.present("body")
        x = self.authority.column("body", "x")
        shape = SCHEMA["body"].fields["x"]
        codes = (x[slots] + round(step * 256)).clip(0, shape.limit)
        x[slots] = codes
        self.authority.column("body", "yaw")[slots] = yaw
        for slot, code in zip(slots.tolist(), codes.tolist(), strict=True):
            body = self.plain.entities[self.authority.entity(slot)]["parts"]["body"]
            body.update(x=shape.value(code), yaw=yaw * math.tau / 64)

    @precondition(lambda self: self.plain.entities)
    @rule(data=st.data(), component=st.sampled_from(sorted(values)))
    def remove(self, data, component):
        entity = self.pick(data)
        held = self.plain.entities[entity]["parts"]
        if component in held:
            self.authority.remove(entity, component)
            del held[component]

    @precondition(lambda self: self.plain.entities)
    @rule(data=st.data(), owner=st.integers(0, 3))
    def give(self, data, owner):
        entity = self.pick(data)
        self.authority.set_owner(entity, owner)
        self.plain.entities[entity]["owner"] = owner

    @precondition(lambda self: self.plain.entities)
    @rule(data=st.data())
    def reparent(self, data):
        entity, parent = self.pick(data), data.draw(st.none() | st.sampled_from(sorted(self.plain.entities)))
        above = parent
        while above is not None and above != entity:
            above = self.plain.entities[above]["parent"]
        try:
            self.authority.set_parent(entity, parent)
        except ValueError:
            assert above == entity
        else:
            assert above is None
            self.plain.entities[entity]["parent"] = parent

    # -- connections

    @rule(connection=st.sampled_from(CONNECTIONS))
    def join_or_cut(self, connection):
        if connection in self.mirrors:
            self.authority.detach(connection)
            del self.mirrors[connection]
            return
        self.connect(connection, Mirror(SCHEMA, ARCHETYPES))

    def connect(self, connection, mirror):
        self.mirrors[connection] = mirror
        self.drop.discard(connection)
        self.spoil.pop(connection, None)
        self.behind.discard(connection)
        self.authority.attach(connection, lambda frame: self.deliver(connection, mirror, frame))
        assert self.authority.greet(connection, SCHEMA.greeting()) is None

    @precondition(lambda self: self.mirrors)
    @rule(data=st.data(), number=st.sampled_from(CONNECTIONS))
    def cut_and_rejoin(self, data, number):
        """The same mirror starts anew, mostly under another number (RE-35, RE-37)."""
        connection = data.draw(st.sampled_from(sorted(self.mirrors)))
        if number in self.mirrors and number != connection:
            return
        self.authority.detach(connection)
        mirror = self.mirrors.pop(connection)
        mirror.clear()
        assert (len(mirror), mirror.entities(), mirror.owned(), mirror.connection) == (0, [], [], 0)
        self.connect(number, mirror)

    @rule(connection=st.sampled_from(CONNECTIONS), really=st.integers(0, 3))
    def lose_a_frame(self, connection, really):
        """What no reliable transport does: it must be noticed."""
        if not really:
            self.drop.add(connection)

    @rule(connection=st.sampled_from(CONNECTIONS), where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 8))
    def spoil_a_frame(self, connection, where, bit):
        """One bit of it is another one, or it ends there."""
        self.spoil[connection] = (where, bit)

    def deliver(self, connection, mirror, frame):
        if connection in self.drop:
            self.drop.discard(connection)
            self.behind.add(connection)
            return
        if connection in self.spoil:
            where, bit = self.spoil.pop(connection)
            at = int(where * len(frame))
            frame = frame[:at] if bit == 8 else frame[:at] + bytes([frame[at] ^ 1 << bit]) + frame[at + 1 :]
            before = mirror.tick, mirror.entities(), mirror.owned()
            assert mirror.apply(frame) is None
            assert (mirror.tick, mirror.entities(), mirror.owned()) == before
            self.behind.add(connection)
            self.authority.resync(connection)
        elif (update := mirror.apply(frame)) is None:
            assert mirror.needs_resync or mirror.connection == 0
            self.authority.resync(connection)
        else:
            assert update.full or connection not in self.behind, "what is missing is noticed"
            self.behind.discard(connection)
            assert not mirror.needs_resync
            assert mirror.tick == self.tick

    # -- interest

    @rule(kind=st.sampled_from(["none", "policy", "radius", "cells", "odd"]))
    def see(self, kind):
        self.interest = kind
        if kind == "radius":
            self.authority.set_provider(RadiusProvider(CAPACITY, RADIUS))
        elif kind == "cells":
            self.authority.set_provider(CellProvider(CAPACITY, RADIUS))
        elif kind == "policy":
            self.authority.set_policy(radius_interest(RADIUS, self.authority.anchors, self.authority.position))
        elif kind == "odd":
            self.authority.set_policy(lambda connection, slot: (connection + slot) % 2 == 0)
        else:
            self.authority.set_policy(None)

    @rule(on=st.booleans())
    def tier(self, on):
        self.tiers = on
        self.authority.set_tiers(TierPlan((4.0, 9.0), (1, 2, PERIOD)) if on else None)

    # -- a sample

    @rule(step=st.floats(-2, 2), yaw=st.integers(0, 63), times=st.integers(1, 4))
    def move_and_sample(self, step, yaw, times):
        for _ in range(times):
            self.everybody_moves(step, yaw)
            self.sample(1, 1)

    @rule(ticks=st.integers(0, 3), times=st.sampled_from([1, 1, 1, 2, 12]))
    def sample(self, ticks, times):
        for _ in range(times):
            self.tick += ticks
            self.samples += 1
            self.authority.sample(self.tick)
            self.history = [*self.history[-PERIOD:], self.now()]
            self.compare()

    def now(self):
        """What everybody should be shown, by entity: to the precision of the shapes."""
        shown = {}
        for entity, held in self.plain.entities.items():
            parts_ = {}
            for name, fields in held["parts"].items():
                shapes = SCHEMA[name].fields
                parts_[name] = {
                    field: value if isinstance(shapes[field], Text) else shapes[field].value(shapes[field].code(value))
                    for field, value in fields.items()
                }
            shown[entity] = (held["owner"], held["parent"], parts_)
        return shown

    def sees(self, connection, entity):
        held = self.plain.entities[entity]
        if held["archetype"] == "unknown":
            return False
        if self.interest == "none" or held["owner"] == connection:
            return True
        slot = self.authority.slot(entity)
        if self.interest == "odd":
            return (connection + slot) % 2 == 0
        place = self.place(held)
        anchors = [self.place(other) for other in self.plain.entities.values() if other["owner"] == connection]
        anchors = [anchor for anchor in anchors if anchor is not None]
        if place is None or not anchors:
            return True
        if self.interest == "cells":
            side = RADIUS
            cell = [math.floor(c / side) for c in place]
            return any(
                all(abs(c - math.floor(a / side)) <= 1 for c, a in zip(cell, anchor, strict=True)) for anchor in anchors
            )
        return any((place[0] - a) ** 2 + (place[1] - b) ** 2 <= RADIUS * RADIUS for a, b in anchors)

    def place(self, held):
        body = held["parts"].get("body")
        if body is None:
            return None
        shapes = SCHEMA["body"].fields
        return tuple(shapes[axis].value(shapes[axis].code(body[axis])) for axis in ("x", "z"))

    def compare(self):
        for connection, mirror in self.mirrors.items():
            if mirror.connection == 0 or connection in self.behind:
                continue
            assert not mirror.needs_resync
            wanted = {entity for entity in self.plain.entities if self.sees(connection, entity)}
            assert set(mirror.entities()) == wanted
            for entity in wanted:
                held = self.plain.entities[entity]
                assert mirror.has(entity, "hat") == (held["archetype"] == "bot")
                owner, parent, parts_ = self.history[-1][entity]
                present = {name for name in values if mirror.has(entity, name)}
                assert present == set(parts_)
                for name, fields in parts_.items():
                    for field, value in fields.items():
                        refers = SCHEMA[name].fields[field].refers
                        self.same(mirror.get(entity, name, field), entity, (name, field), value, wanted, refers)
                self.same(mirror.parent_of(entity), entity, "parent", parent, wanted, True)
                self.same(mirror.owner_of(entity), entity, "owner", owner, wanted, False)
                assert mirror.owns(entity) == (mirror.owner_of(entity) == connection)

    def same(self, shown, entity, where, value, wanted, refers):
        """With tiers, what was true a little while ago is right too."""
        allowed = [value]
        if self.tiers:
            for moment in self.history[:-1]:
                if entity not in moment:
                    continue
                owner, parent, parts_ = moment[entity]
                old = {"owner": owner, "parent": parent}
                if where in old:
                    allowed.append(old[where])
                elif where[0] in parts_:
                    allowed.append(parts_[where[0]][where[1]])
        if refers:
            allowed = [one if one in wanted else None for one in allowed]
        assert shown in allowed

    @invariant()
    def nobody_is_invented(self):
        for mirror in getattr(self, "mirrors", {}).values():
            assert len(mirror) == len(mirror.entities()) <= CAPACITY


Histories.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestHistories = Histories.TestCase
