from __future__ import annotations

import pytest
from websockets.frames import Frame as Reference
from websockets.frames import Opcode

from server.engine import binary_frame, text_frame


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 255, 256, 65_535, 65_536, 70_000])
def test_rs_02_a_frame_is_encoded_as_the_rfc_says_at_every_size_of_header(size):
    payload = b"x" * size
    text, binary = text_frame(payload), binary_frame(payload)
    assert text.wire == Reference(Opcode.TEXT, payload).serialize(mask=False)
    assert binary.wire == Reference(Opcode.BINARY, payload).serialize(mask=False)
    assert (text.payload, text.binary, binary.payload, binary.binary) == (payload, False, payload, True)
