"""The mirror in JavaScript beside ours, on the same frames of an authority that uses all that the protocol has."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest

from net.replication.authority import Authority
from net.replication.interest import TierPlan, radius_interest
from net.replication.mirror import Mirror
from net.replication.schema import Component, Schema
from net.replication.shapes import Angle, Bool, EntityRef, Fixed, Int, Optional, Text

SCHEMA = Schema(
    [
        Component("body", x=Fixed(-25, 25, 1 / 256), z=Fixed(-25, 25, 1 / 64), yaw=Angle(6), up=Fixed(0, 2.5, 1)),
        Component("player", name=Text(6), score=Int(-5, 2**40), alive=Bool(), title=Optional(Text(3))),
        Component("carrier", target=EntityRef(), cargo=Optional(EntityRef()), load=Optional(Fixed(0, 1, 0.25))),
        Component("größe\n\ud83d", lean=Optional(Angle(3)), flag=Optional(Bool()), tiny=Fixed(0, 1e-05, 1e-07)),
    ]
)
ODD = SCHEMA.components[-1].name
TEXTS = ["", "a", "ab", "Zoë", "🎈🎈", "\ufeffx"]
RADIUS = 12.0
SAMPLES = 150


class Game:
    """Entities that live at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.authority = Authority(SCHEMA, 48, position=("body", ("x", "z")))
        for _ in range(24):
            self._spawn()

    def _values(self, component: str) -> dict[str, Any]:
        pick, entities = self.random, [None, *self.authority.entities()]
        values = {
            "x": pick.uniform(-25, 25), "z": pick.uniform(-25, 25), "yaw": pick.uniform(-9, 9),
            "up": pick.uniform(0, 2),
            "name": pick.choice(TEXTS), "score": pick.choice([-5, 0, 7, 2**40, pick.randrange(2**40)]),
            "alive": pick.random() < 0.5, "title": pick.choice([None, "", "x", "üü"]),
            "target": pick.choice(entities), "cargo": pick.choice(entities), "load": pick.choice([None, 0, 0.25, 1]),
            "lean": pick.choice([None, 0, 3]), "flag": pick.choice([None, False, True]), "tiny": pick.uniform(0, 1e-5),
        }  # fmt: skip
        fields = SCHEMA[component].fields
        return {field: values[field] for field in fields if pick.random() < 0.7}

    def _spawn(self) -> None:
        entities = self.authority.entities()
        if len(entities) < 48:
            names = [component.name for component in SCHEMA.components if self.random.random() < 0.7]
            owner, parent = self.random.randrange(4), self.random.choice([None, *entities])
            given = {name: self._values(name) for name in names}
            self.authority.spawn(self.random.choice(["", "bot"]), owner=owner, parent=parent, **given)

    def live(self) -> None:
        """What happens between two samples."""
        authority, pick = self.authority, self.random
        for slot in authority.present("body").tolist():  # everybody walks on, so that steps are foreseen
            for field, limit in (("x", 12800), ("z", 3200)):
                column = authority.column("body", field)
                column[slot] = min(max(int(column[slot]) + slot % 7 - 3, 0), limit)
        if pick.random() < 0.3:
            return
        for entity in pick.sample(authority.entities(), 4):
            name = pick.choice([component.name for component in SCHEMA.components])
            if not authority.has(entity, name):
                authority.add(entity, name, **self._values(name))
            elif pick.random() < 0.2:
                authority.remove(entity, name)
            else:
                authority.set(entity, name, **self._values(name))
        if pick.random() < 0.3:
            authority.despawn(pick.choice(authority.entities()))
        for _ in range(pick.randrange(3)):
            self._spawn()
        entity = pick.choice(authority.entities())
        authority.set_owner(entity, pick.randrange(4))
        roots = [other for other in authority.entities() if other != entity and authority.parent_of(other) is None]
        authority.set_parent(entity, pick.choice([None, *roots]))
        if pick.random() < 0.1:
            sees = radius_interest(RADIUS, authority.anchors, authority.position)
            authority.set_policy(pick.choice([None, sees]))
        if pick.random() < 0.1:
            authority.set_tiers(pick.choice([None, TierPlan((4.0, 9.0), (1, 2, 4))]))


def entities_of(mirror: Mirror) -> list[Any]:
    """What ours holds, as the JavaScript one tells it."""
    told = []
    for entity in sorted(mirror.entities()):
        parts: dict[str, Any] = {
            component.name: {field: mirror.get(entity, component.name, field) for field in component.fields}
            for component in SCHEMA.components
            if mirror.has(entity, component.name)
        }
        parts |= {"owner": mirror.owner_of(entity), "parent": mirror.parent_of(entity)}
        told.append([entity, parts])
    return told


def entities_in(told: dict[str, Any]) -> list[Any]:
    entities = sorted(told["entities"])
    for _, parts in entities:
        assert parts.pop("archetype") in ("", "bot")
        del parts["generation"]
    return entities


def _on_the_way(frame: bytes, pick: random.Random) -> bytes | None:
    """The frame, now and then lost, cut off, or with a bit flipped."""
    luck = pick.random()
    if luck < 0.02:
        return None
    if luck < 0.03:
        return frame[: pick.randrange(len(frame))]
    if luck < 0.06:
        at, bit = pick.randrange(len(frame)), pick.randrange(8)
        return frame[:at] + bytes([frame[at] ^ (1 << bit)]) + frame[at + 1 :]
    return frame


@pytest.mark.parametrize("seed", range(3))
def test_both_read_the_same_in_every_frame_and_refuse_the_same(start_node: Any, seed: int):
    """RE-03 between languages: all shapes, all parts of a frame, interest, tiers, lost and damaged frames."""
    game, program = Game(seed), start_node("decode.mjs")
    authority, pick = game.authority, game.random
    ours: dict[int, Mirror] = {}
    frames: dict[int, list[bytes]] = {1: [], 2: [], 3: []}
    refused = kept = 0

    def ask(**what: Any) -> dict[str, Any]:
        program.tell(**what)
        answer = program.line()
        assert answer is not None
        return answer

    def join(connection: int) -> None:
        ours[connection] = Mirror(SCHEMA, {"bot": lambda entity: {}})
        greeting = SCHEMA.greeting()
        greeting["fingerprint"] = ask(mirror=connection, components=greeting["components"])["fingerprint"]
        assert greeting["fingerprint"] == SCHEMA.fingerprint
        authority.attach(connection, frames[connection].append)
        assert authority.greet(connection, greeting) is None

    for connection in frames:
        join(connection)
    for tick in range(0, SAMPLES * 3, 3):
        game.live()
        for connection in frames:
            if pick.random() < 0.5:
                authority.acknowledge(connection, tick + pick.randrange(3))
            if pick.random() < 0.5:
                authority.tell(connection, pick.randbytes(pick.randrange(200)))
        authority.sample(tick)
        for connection, came in frames.items():
            for sent in came:
                frame = _on_the_way(sent, pick)
                if frame is None:
                    continue
                mirror = ours[connection]
                taken = mirror.apply(frame) is not None
                theirs = ask(mirror=connection, frame=base64.b64encode(frame).decode())
                assert theirs["isTaken"] == taken, (mirror.fault, theirs["fault"])
                assert entities_in(theirs) == entities_of(mirror), (tick, connection)
                assert theirs["tick"] == mirror.tick
                assert (theirs["acknowledged"], theirs["connection"]) == (mirror.acknowledged, mirror.connection)
                assert base64.b64decode(theirs["own"]) == mirror.private
                kept += taken
                refused += not taken
                if not taken:
                    authority.resync(connection)
            came.clear()
        if pick.random() < 0.02:
            connection = pick.choice(list(frames))
            authority.detach(connection)
            join(connection)
    assert kept > SAMPLES
    assert refused > 5
