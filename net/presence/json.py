"""Presence as JSON: `presence` and `bye` of the wire page, and one-shots as its `event`."""

from __future__ import annotations

from typing import Any

import msgspec

from net.envelope import Envelope
from net.presence.codec import Beat, Heard, Message, is_shot_value
from net.presence.record import LocalPresence, PeerPresence, Pose, as_number, as_position


class JsonCodec:
    """Transforms, whole in each packet, that any client of the wire page understands.

    A one-shot goes as `event` of its name, behind a packet that introduces its sender: relays of events in other
    clients emit it on their bus. It arrives once where the transport delivers once.
    """

    interval = 0.1
    keepalive_every = 5

    def __init__(self) -> None:
        self._sent = b""

    def restart(self, peer_id: str) -> None:
        """The next packet is sent, changed or not. The id stands in the envelope."""
        self._sent = b""

    def write(self, local: LocalPresence, beat: Beat) -> list[Message]:
        """The packet if it is due, then the one-shots. Newcomers wait for the keepalive, as the wire page has it."""
        packet: dict[str, Any] = {
            "t": "presence",
            "position": _short(local.position),
            "rotationY": _short(local.rotation_y),
        }
        if local.meta is not None:
            packet["meta"] = _short(local.meta)
        encoded = msgspec.json.encode(packet)
        if encoded == self._sent and not beat.keepalive and not beat.shots:
            return []
        self._sent = encoded
        return [packet, *({"t": "event", "event": name, "payload": value} for name, value in beat.shots)]

    def farewell(self) -> list[Message]:
        """`bye`."""
        return [{"t": "bye"}]

    def read(self, message: Envelope | bytes, now: float) -> Heard[PeerPresence] | None:
        """A packet needs a position of three finite numbers. What else is wrong in it does not count."""
        if isinstance(message, bytes) or not isinstance(message.data, dict):
            return None
        data, sender = message.data, message.sender
        kind = data.get("t")
        if kind == "bye":
            return Heard(sender, bye=True)
        if kind == "event":
            name, value = data.get("event"), data.get("payload")
            return Heard(sender, shots=((name, value),)) if isinstance(name, str) and is_shot_value(value) else None
        position = as_position(data.get("position")) if kind == "presence" else None
        if position is None:
            return None
        meta = data.get("meta")
        rotation = as_number(data.get("rotationY")) or 0.0
        return Heard(sender, PeerPresence(sender, now, position, rotation, meta if isinstance(meta, dict) else None))

    def forget(self, peer_id: str) -> None:
        """Nothing: each packet says everything."""

    def pose(self, peer: PeerPresence) -> Pose:
        """Position and rotation as they stand."""
        return Pose(peer.position, peer.rotation_y)


def _short(value: Any) -> Any:
    """Whole numbers without a point, as JavaScript writes them: the same bytes from peers in any language."""
    if isinstance(value, float):
        return int(value) if abs(value) < 1e21 and value.is_integer() else value
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list | tuple) else value
