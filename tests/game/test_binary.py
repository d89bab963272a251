"""The binary messages: back to the bit, and nothing but WireError for what a peer may send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game.binary import COMMAND, SCHEMA, SEQ_LIMIT, pack_command, unpack_command, unpack_commands, unpack_own
from game.sim.arena import CROSSFIRE
from game.sim.command import Command
from game.sim.constants import UNIT
from game.sim.crowd import OWN
from game.sim.grid import direction
from game.sim.state import Avatar
from net.envelope import WireError
from net.replication import Fixed

steps = st.integers(-127, 127)
commands = st.builds(
    lambda wish, yaw, jump, dash, fire, ticks: Command(*direction(*wish), yaw, jump, dash, fire, ticks),
    st.tuples(steps, steps),
    st.integers(0, 65535),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(1, 6),
)
i32, i16, u8 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**15), 2**15 - 1), st.integers(0, 255)
avatars = st.builds(
    Avatar, i32, st.integers(0, 65535), i32, i16, i16, i16, st.integers(0, 65535), u8, u8, st.booleans()
)


def as_bytes(a: Avatar) -> bytes:
    return OWN.pack(a.x, a.z, a.y, a.vx, a.vy, a.vz, a.yaw, a.dash_ticks, a.cooldown, a.jump_held)


@given(st.integers(1, SEQ_LIMIT), commands)
def test_a_command_comes_back_to_the_bit(seq: int, command: Command):
    data = pack_command(seq, command)
    assert len(data) == 10
    assert unpack_command(data) == (seq, command)


@given(
    st.lists(
        st.builds(pack_command, st.integers(1, SEQ_LIMIT), commands)
        | st.binary(max_size=12)
        | st.binary(min_size=9, max_size=9).map(lambda data: bytes([COMMAND]) + data),
        max_size=8,
    )
)
def test_many_commands_at_once_are_what_each_is_alone(messages: list[bytes]):
    seqs, columns, plain = unpack_commands(messages)
    assert len(seqs) == len(plain) == len(messages) == columns.shape[1]
    for index, message in enumerate(messages):
        try:
            seq, command = unpack_command(message)
        except WireError:
            assert not plain[index]
            continue
        corrected = pack_command(seq, command) != message
        assert plain[index] == (command.ticks == 1 and not corrected)
        if plain[index]:
            assert seqs[index] == seq
            assert columns[:, index].tolist() == [command.dx, command.dz, command.yaw, command.jump, command.dash]


@given(avatars)
def test_an_own_avatar_comes_back_to_the_bit(avatar: Avatar):
    assert unpack_own(as_bytes(avatar)) == avatar


@given(st.binary(max_size=32) | st.binary(min_size=10, max_size=10).map(lambda data: bytes([COMMAND]) + data[1:]))
def test_whatever_is_no_command_is_a_wire_error_and_the_rest_is_on_the_grid(data: bytes):
    try:
        seq, command = unpack_command(data)
    except WireError:
        return
    assert seq >= 1
    assert 1 <= command.ticks <= 6
    assert direction(command.dx, command.dz) == (command.dx, command.dz)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pack_command(1, Command())[:-1],
        pack_command(1, Command()) + b"\0",
        b"\x48" + pack_command(1, Command())[1:],
        bytes([COMMAND]) + bytes(9),
        pack_command(1, Command())[:-1] + b"\x40",
        pack_command(1, Command())[:-1] + b"\x30",
    ],
    ids=["empty", "short", "long", "another kind", "seq 0", "an unused bit", "seven ticks"],
)
def test_malformed_commands_are_refused(data: bytes):
    with pytest.raises(WireError):
        unpack_command(data)


@given(st.binary(max_size=40))
def test_an_own_avatar_is_an_avatar_or_a_wire_error(data: bytes):
    try:
        unpack_own(data)
    except WireError:
        assert len(data) != 21


def test_ghosts_can_be_everywhere_in_an_arena():
    shapes = SCHEMA["avatar"].fields
    for name, half in (("x", CROSSFIRE.half_width), ("z", CROSSFIRE.half_depth)):
        shape = shapes[name]
        assert isinstance(shape, Fixed)
        assert shape.value(shape.code(half / UNIT)) == half / UNIT
        assert shape.value(shape.code(-half / UNIT)) == -half / UNIT
        assert shape.precision == 1 / 256
