"""The envelope: one JSON object `{"from": str, "data": any}` a text frame."""

from __future__ import annotations

from typing import Any

import msgspec


class WireError(ValueError):
    """A peer sent bytes that are not what the protocol says. The message says what is wrong with them."""


class Envelope(msgspec.Struct, frozen=True):
    """One message as subscribers see it."""

    sender: str
    """peerId of whoever sent it"""
    data: Any
    """any JSON value; None is valid"""
