"""Presence: who is here and where, for games without an authority. `net.presence.protobuf` has the binary codec."""

from net.presence.json import JsonCodec
from net.presence.record import (
    FIRED,
    JOINED,
    LEFT,
    LocalPresence,
    OneShot,
    PeerFields,
    PeerPresence,
    Pose,
)
from net.presence.sync import PEER_LIMIT, PresenceSync

__all__ = [
    "FIRED",
    "JOINED",
    "LEFT",
    "PEER_LIMIT",
    "JsonCodec",
    "LocalPresence",
    "OneShot",
    "PeerFields",
    "PeerPresence",
    "Pose",
    "PresenceSync",
]
