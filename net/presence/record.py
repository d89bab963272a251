"""What peers tell about themselves: the local side, the records of others, and where to draw them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from net.sync.angles import lerp_angle

JOINED: Final = "presence.joined"
"""event: somebody is here; payload: the record, already in the store"""
LEFT: Final = "presence.left"
"""event: somebody said good-bye or went silent; payload: the last record, no longer in the store"""
FIRED: Final = "presence.fired"
"""event: somebody who is here fired a one-shot; payload: the OneShot"""

Position = tuple[float, float, float]
"""x, y, z in units"""
Scalar = bool | int | float | str
Value = Scalar | tuple[Scalar, ...] | list[Scalar]
"""what a field may hold; lists are of one kind, numbers may be mixed"""
ShotValue = Scalar | None


class LocalPresence(msgspec.Struct, frozen=True):
    """What this peer tells about itself."""

    position: Position
    rotation_y: float = 0.0
    """radians"""
    meta: dict[str, Any] | None = None
    """left out if None. In JSON anything that it holds, in protobuf named fields of scalars or lists of them"""


class PeerRecord(Protocol):
    """What the records of every codec have."""

    @property
    def peer_id(self) -> str:
        """Whom it is about."""
        ...

    @property
    def last_seen(self) -> float:
        """When the peer was heard last, in seconds of the clock."""
        ...


class PeerPresence(msgspec.Struct, frozen=True):
    """What another peer has told last."""

    peer_id: str
    last_seen: float
    """when, in seconds of the clock"""
    position: Position
    rotation_y: float = 0.0
    meta: dict[str, Any] | None = None


class PeerFields(msgspec.Struct, frozen=True):
    """What another peer has told last, as fields of its own choice."""

    peer_id: str
    last_seen: float
    """when, in seconds of the clock"""
    fields: Mapping[str, Value]
    """by name; lists come as tuples"""


class OneShot(msgspec.Struct, frozen=True):
    """Something that a peer did once, such as an emote."""

    peer_id: str
    name: str
    value: ShotValue


class Pose(NamedTuple):
    """Where to draw somebody."""

    position: Position
    rotation_y: float
    """radians, not wrapped"""


def blend(a: Pose, b: Pose, t: float) -> Pose:
    """Between two poses. Weighted, not `a + (b - a) * t`: a difference of two finite numbers may be infinite."""
    (ax, ay, az), (bx, by, bz) = a.position, b.position
    s = 1 - t
    return Pose((ax * s + bx * t, ay * s + by * t, az * s + bz * t), lerp_angle(a.rotation_y, b.rotation_y, t))


def as_position(value: Any) -> Position | None:
    """Three finite numbers, or None."""
    if not isinstance(value, list | tuple) or len(value) != 3:
        return None
    x, y, z = (as_number(part) for part in value)
    return None if x is None or y is None or z is None else (x, y, z)


def as_number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
