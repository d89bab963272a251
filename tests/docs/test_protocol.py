"""docs/protocol.md: the numbers in it are those in the code."""

from pathlib import Path

import pytest

from game import binary
from game.sim.crowd import OWN
from net.channel import channel, questions
from net.presence import fields, frame, protobuf, sync
from net.presence.codec import NAME_LIMIT, SHOT_TEXT_LIMIT, TEXT_LIMIT
from net.presence.json import JsonCodec
from net.transport import broadcast
from server import authority, relay, relay_program, room
from server.authority_program import PORT as AUTHORITY_PORT
from server.engine import Limits

TEXT = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8")
WORDS = " ".join(TEXT.split())


@pytest.mark.parametrize(
    "claim",
    [
        f"The authority (port {AUTHORITY_PORT})",
        f"| `room_full` | 4013 | {room.CAPACITY} players",
        f"a frame over {authority.MAX_SIZE // 1024} KiB",
        f"no more rooms ({authority.MAX_ROOMS})",
        f"too many connections from one address ({authority.MAX_PER_ADDRESS})",
        f"at most one every {room.EMOTE_EVERY} s",
        f"The relay (port {relay_program.PORT})",
        f"| one frame | {relay.MAX_SIZE:,} bytes",
        f"does not read | {relay.MAX_BUFFERED // 2**20} MiB",
        f"a ping every {relay.HEARTBEAT:g} s",
        f"| {Limits().max_control_frames} a second | 1008 |",
        f"connections from one address | {relay.MAX_PER_ADDRESS} |",
        f"| rooms | {relay.MAX_ROOMS:,} | 1013 |",
        f"A beat every {JsonCodec.interval * 1000:g} ms",
        f"At most {sync.PEER_LIMIT} peers are kept",
        f"a text of up to {SHOT_TEXT_LIMIT} characters",
        f"in UTF-8, 1 to {frame.ID_LIMIT} characters",
        f"of fields of code {fields.FIXED}, at most {fields.DECIMALS_LIMIT}",
        f"up to {TEXT_LIMIT} characters",
        f"code + {fields.LIST} |",
        f"up to {fields.ITEM_LIMIT} of them",
        f"At most {fields.FIELD_LIMIT} fields, numbered 1 to {fields.FIELD_LIMIT}, with names of 1 to {NAME_LIMIT}",
        f"and {frame.FRAME_LIMIT // 1024} KiB a frame",
        f"every {protobuf.ProtobufCodec.keepalive_every}th beat of {protobuf.ProtobufCodec.interval * 1000:g} ms",
        f"if no other comes within {questions.GRACE * 1000:g} ms",
        f"the byte 0x{channel.BINARY.hex()}",
        f"up to {broadcast.LARGEST:,} bytes",
    ],
)
def test_it_says_what_is(claim: str):
    assert claim in WORDS


def test_the_games_components_and_layouts_are_those_that_are_used():
    for component in binary.SCHEMA.components:
        assert f"| `{component.name}` |" in TEXT
        for field, shape in component.describe():
            assert f"`{field}`" in TEXT
            assert f"`{shape}`" in TEXT
    assert f"{OWN.size} bytes, little-endian" in WORDS
    assert f"0x{binary.COMMAND:02X}" in TEXT


@pytest.mark.parametrize("code", sorted(questions._ERRORS))
def test_every_refusal_of_a_channel_is_there(code: str):
    assert f"`{code}`" in TEXT


def test_the_frame_is_the_one_that_is_used():
    """Every field of the messages that are made at run time, with its number, stands on the page."""
    kinds = {
        frame.Frame.DESCRIPTOR.fields_by_name["table"].message_type.fields_by_name["fields"].message_type,
        frame.Frame.DESCRIPTOR.fields_by_name["table"].message_type,
        frame.ShotMessage.DESCRIPTOR,
        frame.Frame.DESCRIPTOR,
    }
    for kind in kinds:
        for field in kind.fields:
            assert f" {field.name} = {field.number};" in WORDS, (kind.name, field.name)
