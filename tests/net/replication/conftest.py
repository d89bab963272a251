"""An authority and mirrors in one process, and what both ends must agree on."""

import pytest

from net.replication.authority import Authority
from net.replication.frame import FIRST
from net.replication.mirror import Mirror
from net.replication.schema import Component, Schema
from net.replication.shapes import Angle, Bool, EntityRef, Fixed, Int, Optional, Text

SCHEMA = Schema(
    [
        Component("body", x=Fixed(-25, 25, 1 / 256), y=Fixed(0, 8, 1 / 256), z=Fixed(-25, 25, 1 / 256), yaw=Angle(10)),
        Component("player", name=Text(24), score=Int(0, 65535), alive=Bool(), title=Optional(Text(8))),
        Component("carrier", target=EntityRef(), cargo=Optional(EntityRef()), load=Optional(Int(-3, 3))),
    ]
)


class Client:
    """One connection: its mirror, and all that came."""

    def __init__(self, authority, connection, archetypes=None, slots=65536):
        self.authority = authority
        self.connection = connection
        self.mirror = Mirror(authority.schema, archetypes, slots=slots)
        self.frames = []
        self.updates = []

    def connect(self):
        self.mirror.clear()
        self.authority.attach(self.connection, self.receive)
        assert self.authority.greet(self.connection, self.mirror.schema.greeting()) is None

    def receive(self, frame):
        self.frames.append(frame)
        update = self.mirror.apply(frame)
        if update is None:
            self.authority.resync(self.connection)
        else:
            self.updates.append(update)

    @property
    def last(self):
        return self.updates[-1]

    @property
    def said(self):
        """The frames that tell more than the tick."""
        return [frame for frame in self.frames if frame[0] != FIRST]


def contents(end, schema, entities):
    """All that one end knows, by entity."""
    told = {}
    for entity in entities:
        parts = {
            component.name: {field: end.get(entity, component.name, field) for field in component.fields}
            for component in schema.components
            if end.has(entity, component.name)
        }
        told[entity] = (end.owner_of(entity), end.parent_of(entity), parts)
    return told


@pytest.fixture
def schema():
    return SCHEMA


@pytest.fixture
def authority(schema):
    return Authority(schema, 64, position=("body", ("x", "y", "z")))


@pytest.fixture
def join(authority):
    """join(connection, archetypes=None): a client that is ready."""

    def joiner(connection, archetypes=None):
        client = Client(authority, connection, archetypes)
        client.connect()
        return client

    return joiner


@pytest.fixture
def equal():
    """equal(authority, mirror, sees=None): whether the mirror shows exactly what it should."""

    def check(authority, mirror, sees=None):
        entities = [entity for entity in authority.entities() if sees is None or entity in sees]
        assert mirror.entities() == entities
        wanted = contents(authority, authority.schema, entities)
        if sees is not None:  # what is not shown cannot be referred to
            for entity, (owner, parent, parts) in wanted.items():
                for component, values in parts.items():
                    for field, shape in authority.schema[component].fields.items():
                        if shape.refers and values[field] not in sees:
                            values[field] = None
                wanted[entity] = (owner, parent if parent in sees else None, parts)
        assert contents(mirror, authority.schema, entities) == wanted

    return check
