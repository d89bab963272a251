"""Presence as protobuf: named fields whose schema is found at run time, only changes sent, in binary frames."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final, Generic

from google.protobuf.message import DecodeError, Message

from net.envelope import Envelope
from net.presence.codec import NAME_LIMIT, SHOTS_A_BEAT, Beat, Heard, P, Shot
from net.presence.fields import (
    DECIMALS_LIMIT,
    FIELD_LIMIT,
    LIST,
    Field,
    code_of,
    from_raw,
    message_type,
    readable,
    to_raw,
)
from net.presence.frame import FIRST_BYTE, FRAME_LIMIT, Frame, pack_id, pack_shot, unpack_id, unpack_shot
from net.presence.record import Pose, Value
from net.presence.shape import FIELDS, TRANSFORM, L, Shape

__all__ = ["FIELDS", "TRANSFORM", "ProtobufCodec", "Shape"]

REPEATS_LIMIT: Final = 3
"""so that no frame has more than SHOTS_A_BEAT * (1 + REPEATS_LIMIT) one-shots"""
SHOT_WINDOW: Final = 64
"""one-shots, back from the newest, within which a late one is still told from a repeated one"""


class ProtobufCodec(Generic[L, P]):
    """Fields by name in frames of net/presence/frame.py. Floats are rounded to `decimals` places.

    A full frame, with the table of names and kinds and every field, goes out first, as keepalive, for newcomers, with
    a fresh one-shot, when the table changes and when a list becomes empty; other beats send only what has changed.
    A frame that comes late never overwrites a field that a later one has set. What is lost is made good by the next
    full frame. A one-shot rides along in `repeats` more frames, and its number lets each receiver hear it once.
    """

    interval = 0.035
    keepalive_every = 14

    def __init__(self, shape: Shape[L, P], *, decimals: int = 3, repeats: int = 2) -> None:
        """`shape`: FIELDS for a mapping or struct of one's own, TRANSFORM for LocalPresence.

        Raises ValueError for `decimals` outside 0 to DECIMALS_LIMIT, or `repeats` outside 0 to REPEATS_LIMIT.
        """
        if not 0 <= decimals <= DECIMALS_LIMIT:
            raise ValueError(f"floats are rounded to 0 to {DECIMALS_LIMIT} decimals, not {decimals}")
        if not 0 <= repeats <= REPEATS_LIMIT:
            raise ValueError(f"a one-shot is repeated 0 to {REPEATS_LIMIT} times, not {repeats}")
        self._shape = shape
        self._writer = _Writer(decimals, repeats)
        self._streams: dict[str, _Stream] = {}

    def restart(self, peer_id: str) -> None:
        """The next frame is a full one of a new stream. Raises ValueError for an id that cannot travel."""
        self._writer.restart(pack_id(peer_id))

    def write(self, local: L, beat: Beat) -> list[bytes | dict[str, Any]]:
        """One frame, or none. Raises TypeError or ValueError for data that is not of the shape or beyond the limits."""
        frame = self._writer.write(self._shape.fields(local), beat)
        return [] if frame is None else [frame]

    def farewell(self) -> list[bytes | dict[str, Any]]:
        """A frame with `bye`."""
        return [self._writer.farewell()]

    def read(self, message: Envelope | bytes, now: float) -> Heard[P] | None:
        """A frame of a stream whose table is not known yet only says that its sender is there."""
        if not isinstance(message, bytes) or len(message) > FRAME_LIMIT or not message.startswith(FIRST_BYTE):
            return None
        try:
            frame = Frame.FromString(message)
        except DecodeError:
            return None
        sender = unpack_id(frame.sender)
        if sender is None or not frame.seq:
            return None
        stream = self._streams.get(sender)
        same = stream is not None and stream.number == frame.stream
        if frame.bye:
            return Heard(sender, bye=True) if same or stream is None else None
        if frame.HasField("table") and not same:
            stream, same = _Stream(frame), True
        if stream is None or not same:
            return Heard(sender)
        return self._take(sender, stream, frame, now)

    def forget(self, peer_id: str) -> None:
        """Its next frames are not understood until a full one comes."""
        self._streams.pop(peer_id, None)

    def pose(self, peer: P) -> Pose | None:
        """As the shape has it."""
        return self._shape.pose(peer)

    def _take(self, sender: str, stream: _Stream, frame: Any, now: float) -> Heard[P] | None:
        try:
            changes = stream.changes(frame)
        except DecodeError:
            return None
        newest = frame.seq > stream.seq
        peer = None
        if newest or changes:
            peer = self._shape.peer(sender, now if newest else stream.last_seen, {**stream.values, **changes})
            if peer is None:
                return Heard(sender)
            stream.take(frame.seq, changes, now)
            self._streams[sender] = stream
        return Heard(sender, peer, stream.new_shots(frame))


class _Writer:
    """What has been sent: the table under way, and each field as it last went out."""

    def __init__(self, decimals: int, repeats: int) -> None:
        self._decimals, self._scale, self._repeats = decimals, 10**decimals, repeats
        self._sender = b""
        self._codes: dict[str, int] = {}
        self._stream = self._seq = self._fired = 0
        self._sent: dict[str, Any] = {}
        self._riding: list[tuple[int, Message]] = []
        """(frames that it still goes into, one-shot), oldest first"""

    def restart(self, sender: bytes) -> None:
        self._sender = sender
        self._codes, self._sent, self._riding = {}, {}, []
        self._stream, self._seq = secrets.randbits(32), 0

    def write(self, fields: Mapping[str, Value], beat: Beat) -> bytes | None:
        codes = self._table(fields)
        stream, seq, sent = self._stream, self._seq, self._sent
        if codes != self._codes and seq:
            stream, seq, sent = secrets.randbits(32), 0, {}
        raw = {name: to_raw(fields[name], code, self._scale) for name, code in codes.items()}
        full = (
            beat.keepalive
            or beat.newcomer
            or bool(beat.shots)
            or not seq
            or any(value == [] and sent[name] != [] for name, value in raw.items())
        )
        changed = raw if full else {name: value for name, value in raw.items() if value != sent[name]}
        if not full and not changed and not self._riding:
            return None
        fresh = [pack_shot(self._fired + 1 + n, shot) for n, shot in enumerate(beat.shots)]
        table = [Field(name, number, code) for number, (name, code) in enumerate(codes.items(), start=1)]
        frame = Frame(sender=self._sender, stream=stream, seq=seq + 1, state=_state(table, changed))
        if full:
            frame.table.decimals, frame.table.fired = self._decimals, self._fired
            for field in table:
                frame.table.fields.add(name=field.name, number=field.number, code=field.code)
        frame.shots.extend([shot for _, shot in self._riding] + fresh)
        encoded: bytes = frame.SerializeToString()
        if len(encoded) > FRAME_LIMIT:
            raise ValueError(f"presence of {len(encoded)} bytes: a frame has up to {FRAME_LIMIT}")
        self._codes, self._stream, self._seq, self._sent = codes, stream, seq + 1, raw
        self._fired += len(fresh)
        self._riding = [(left - 1, shot) for left, shot in self._riding if left > 1]
        if self._repeats:
            self._riding += [(self._repeats, shot) for shot in fresh]
        return encoded

    def farewell(self) -> bytes:
        frame = Frame(sender=self._sender, stream=self._stream, seq=self._seq + 1, bye=True)
        encoded: bytes = frame.SerializeToString()
        return encoded

    def _table(self, fields: Mapping[str, Value]) -> dict[str, int]:
        """Codes by name. In the order of the table under way, if it has the same names: numbers must not move."""
        if len(fields) > FIELD_LIMIT:
            raise ValueError(f"presence has up to {FIELD_LIMIT} fields, not {len(fields)}")
        names = self._codes if self._codes.keys() == fields.keys() else fields
        for name in fields if names is fields else ():
            if not 0 < len(name) <= NAME_LIMIT:
                raise ValueError(f"the name of a field has 1 to {NAME_LIMIT} characters, not {len(name)}")
        return {name: code_of(fields[name], self._scale, self._codes.get(name, 0)) for name in names}


class _Stream:
    """What a peer has told since its table was heard. `values`: the newest of each field."""

    def __init__(self, frame: Any) -> None:
        table = frame.table
        self.number: int = frame.stream
        self.seq = 0
        self.last_seen = 0.0
        self.values: dict[str, Value] = {}
        self._fields = readable(
            [
                Field(field.name, field.number, field.code)
                for field in table.fields[:FIELD_LIMIT]
                if 0 < len(field.name) <= NAME_LIMIT
            ]
        )
        self._scale = 10 ** min(table.decimals, DECIMALS_LIMIT)
        self._type = message_type(tuple((field.number, field.code) for field in self._fields))
        self._set_at: dict[str, int] = {}
        self._shots_before: int = table.fired
        self._shots: set[int] = set()

    def changes(self, frame: Any) -> dict[str, Value]:
        """The fields that this frame brings, but for those that a later one has set. Raises DecodeError."""
        state = self._type.FromString(frame.state)
        full = frame.HasField("table")
        changes = {}
        for name, number, code in self._fields:
            raw = getattr(state, f"f{number}")
            there = full or len(raw) > 0 if code & LIST else state.HasField(f"f{number}")
            if there and frame.seq > self._set_at.get(name, 0):
                value = from_raw(raw, code, self._scale)
                if value is not None:
                    changes[name] = value
        return changes

    def take(self, seq: int, changes: dict[str, Value], now: float) -> None:
        """Make the changes of frame `seq` part of the state."""
        self.values.update(changes)
        for name in changes:
            self._set_at[name] = seq
        if seq > self.seq:
            self.seq, self.last_seen = seq, now

    def new_shots(self, frame: Any) -> tuple[Shot, ...]:
        """Those that were fired since we know the stream, and not heard before."""
        new = []
        for message in frame.shots[: SHOTS_A_BEAT * (1 + REPEATS_LIMIT)]:
            number = message.number
            if number <= self._shots_before or number in self._shots:
                continue
            self._shots.add(number)
            if number - SHOT_WINDOW > self._shots_before:
                self._shots_before = number - SHOT_WINDOW
                self._shots = {kept for kept in self._shots if kept > self._shots_before}
            shot = unpack_shot(message)
            if shot is not None:
                new.append(shot)
        return tuple(new)


def _state(table: list[Field], changed: dict[str, Any]) -> bytes:
    state = message_type(tuple((field.number, field.code) for field in table))()
    for name, number, code in table:
        if name not in changed:
            continue
        if code & LIST:
            getattr(state, f"f{number}").extend(changed[name])
        else:
            setattr(state, f"f{number}", changed[name])
    return state.SerializeToString()
