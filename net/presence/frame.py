"""Frame: the one binary message of presence, as its .proto would describe it.

syntax = "proto3";
message Frame {
  bytes sender = 1;          // peerId in UTF-8, or a zero byte and the 16 bytes of a UUID written in lower case;
                             // stands first, so that every frame begins with the byte 0x0A
  fixed32 stream = 2;        // chosen at random whenever the sender starts, or its table changes
  uint32 seq = 3;            // 1, 2, 3 ... in its stream
  bytes state = 4;           // a State: the fields of the stream's table, changed ones or all
  Table table = 5;           // makes it a full frame: every field is in `state`, and lists left out are empty
  repeated Shot shots = 6;
  bool bye = 7;
}
message Table {
  repeated Field fields = 1;
  uint32 decimals = 2;       // of the fields of code 3
  uint32 fired = 3;          // the number of the last one-shot fired before those that are new in this frame
}
message Field { string name = 1; uint32 number = 2; uint32 code = 3; }
message Shot {
  uint32 number = 1;         // 1, 2, 3 ... in the sender's life
  string name = 2;
  oneof value { bool flag = 3; sint64 whole = 4; double real = 5; string text = 6; }
}
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from net.presence.codec import NAME_LIMIT, Shot, is_shot_value
from net.presence.record import ShotValue

FRAME_LIMIT: Final = 16 * 1024
"""bytes: more passes neither an authority nor the reader"""
FIRST_BYTE: Final = b"\x0a"
"""the tag of `sender`"""
ID_LIMIT: Final = 256
"""characters in a peerId"""

_PACKED: Final = b"\0"
"""what a UUID in 16 bytes begins with"""

_Type = descriptor_pb2.FieldDescriptorProto


def _messages() -> tuple[Any, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="presence.proto", package="presence", syntax="proto3")

    def message(title: str, /, **fields: Any) -> Any:
        described = file.message_type.add(name=title)
        for number, (field, kind) in enumerate(fields.items(), start=1):
            entry = described.field.add(name=field, number=number, label=_Type.LABEL_OPTIONAL)
            if isinstance(kind, str):
                entry.type, entry.type_name = _Type.TYPE_MESSAGE, f".presence.{kind.removeprefix('*')}"
                entry.label = _Type.LABEL_REPEATED if kind.startswith("*") else _Type.LABEL_OPTIONAL
            else:
                entry.type = kind
        return described

    text, whole = _Type.TYPE_STRING, _Type.TYPE_UINT32
    message(
        "Frame",
        sender=_Type.TYPE_BYTES,
        stream=_Type.TYPE_FIXED32,
        seq=whole,
        state=_Type.TYPE_BYTES,
        table="Table",
        shots="*Shot",
        bye=_Type.TYPE_BOOL,
    )
    message("Table", fields="*Field", decimals=whole, fired=whole)
    message("Field", name=text, number=whole, code=whole)
    shot = message(
        "Shot",
        number=whole,
        name=text,
        flag=_Type.TYPE_BOOL,
        whole=_Type.TYPE_SINT64,
        real=_Type.TYPE_DOUBLE,
        text=text,
    )
    shot.oneof_decl.add(name="value")
    for entry in shot.field[2:]:
        entry.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    frame_type, shot_type = (pool.FindMessageTypeByName(f"presence.{name}") for name in ("Frame", "Shot"))
    return message_factory.GetMessageClass(frame_type), message_factory.GetMessageClass(shot_type)


Frame, ShotMessage = _messages()
"""message classes made at run time: no generated file that would have to match the installed library"""


def pack_id(peer_id: str) -> bytes:
    """A peerId as it travels. Raises ValueError if it is empty, beyond ID_LIMIT, no Unicode, or begins with NUL."""
    if not 0 < len(peer_id) <= ID_LIMIT or peer_id.startswith("\0"):
        raise ValueError(f"a peerId in presence has 1 to {ID_LIMIT} characters, the first not NUL")
    try:
        packed = UUID(peer_id)
    except ValueError:
        return peer_id.encode()
    return _PACKED + packed.bytes if str(packed) == peer_id else peer_id.encode()


def unpack_id(sender: bytes) -> str | None:
    """The peerId, or None for what `pack_id` never makes."""
    if sender.startswith(_PACKED):
        return str(UUID(bytes=sender[1:])) if len(sender) == 17 else None
    try:
        peer_id = sender.decode()
    except UnicodeDecodeError:
        return None
    return peer_id if 0 < len(peer_id) <= ID_LIMIT else None


def pack_shot(number: int, shot: Shot) -> Any:
    """A one-shot as it travels. Raises ValueError for a string that is no Unicode."""
    name, value = shot
    message = ShotMessage(number=number, name=name)
    if isinstance(value, bool):
        message.flag = value
    elif isinstance(value, int):
        message.whole = value
    elif isinstance(value, float):
        message.real = value
    elif value is not None:
        message.text = value
    return message


def unpack_shot(message: Any) -> Shot | None:
    """Name and value; None for what no writer of ours sends."""
    which = message.WhichOneof("value")
    value: ShotValue = getattr(message, which) if which else None
    named = 0 < len(message.name) <= NAME_LIMIT
    return (message.name, value) if named and is_shot_value(value) else None
