"""Shapes: how a game's own data becomes named fields, and the fields of a peer a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from net.presence.codec import P
from net.presence.record import (
    LocalPresence,
    PeerFields,
    PeerPresence,
    Pose,
    Value,
    as_number,
    as_position,
)

L = TypeVar("L")

META: Final = "meta."
"""what the names of a LocalPresence's meta begin with as fields"""


@dataclass(frozen=True, slots=True)
class Shape(Generic[L, P]):
    """Three functions between a game's data and fields."""

    fields: Callable[[L], Mapping[str, Value]]
    """the local data by name"""
    peer: Callable[[str, float, dict[str, Value]], P | None]
    """(peerId, last seen, fields) to a record; None if they are not enough for one"""
    pose: Callable[[P], Pose | None]
    """where a record says that its peer is"""


def _fields(local: Mapping[str, Value] | msgspec.Struct) -> Mapping[str, Value]:
    named = msgspec.structs.asdict(local) if isinstance(local, msgspec.Struct) else local
    return {name: value for name, value in named.items() if value is not None}


def _pose_of_fields(peer: PeerFields) -> Pose | None:
    position = as_position(peer.fields.get("position"))
    return None if position is None else Pose(position, as_number(peer.fields.get("rotation_y")) or 0.0)


def _transform(local: LocalPresence) -> dict[str, Value]:
    fields: dict[str, Value] = {"position": local.position, "rotation_y": local.rotation_y}
    for name, value in (local.meta or {}).items():
        fields[META + name] = value
    return fields


def _presence(peer_id: str, last_seen: float, fields: dict[str, Value]) -> PeerPresence | None:
    position = as_position(fields.get("position"))
    if position is None:
        return None
    meta: dict[str, Any] = {name.removeprefix(META): value for name, value in fields.items() if name.startswith(META)}
    return PeerPresence(peer_id, last_seen, position, as_number(fields.get("rotation_y")) or 0.0, meta or None)


FIELDS: Final[Shape[Mapping[str, Value] | msgspec.Struct, PeerFields]] = Shape(_fields, PeerFields, _pose_of_fields)
"""Any mapping or msgspec struct; None leaves a field out. `position` and `rotation_y` are what can be sampled"""

TRANSFORM: Final[Shape[LocalPresence, PeerPresence]] = Shape(
    _transform, _presence, lambda peer: Pose(peer.position, peer.rotation_y)
)
"""The same records as in JSON; `meta` becomes the fields meta.<name>, and empty is as good as none"""
