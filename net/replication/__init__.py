"""Replication: an authority's world, mirrored at each client in few bytes. docs/protocol.md has the layout."""

from net.replication.authority import Authority
from net.replication.mirror import Archetype, Mirror, Update
from net.replication.schema import Component, Schema
from net.replication.shapes import Angle, Bool, EntityRef, Fixed, Int, Optional, Shape, Text

__all__ = [
    "Angle",
    "Archetype",
    "Authority",
    "Bool",
    "Component",
    "EntityRef",
    "Fixed",
    "Int",
    "Mirror",
    "Optional",
    "Schema",
    "Shape",
    "Text",
    "Update",
]
