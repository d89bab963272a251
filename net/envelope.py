"""The envelope: one JSON object `{"from": str, "data": any}` a text frame."""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

import msgspec


class WireError(ValueError):
    """A peer sent bytes that are not what the protocol says. The message says what is wrong with them."""


class Envelope(msgspec.Struct, frozen=True):
    """One message as subscribers see it."""

    sender: str
    """peerId of whoever sent it"""
    data: Any
    """any JSON value; None is valid"""
    at: float | None = None
    """when it arrived, in seconds of the transport's clock, which may be before it was polled; None if nobody knows"""


class _Frame(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """An envelope as it travels."""

    sender: str
    data: Any


class RawEnvelope(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """One message whose data nobody has looked into yet: its syntax is checked, strings and numbers in it are not."""

    sender: str
    data: msgspec.Raw


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(_Frame)
_RAW_DECODER: Final = msgspec.json.Decoder(RawEnvelope)

_E = TypeVar("_E", _Frame, RawEnvelope)


def encode(sender: str, data: Any) -> bytes:
    """One text frame, UTF-8, compact, `from` first. Raises TypeError or ValueError for what JSON cannot hold.

    `data` may hold msgspec structs and whatever else msgspec writes as JSON.
    """
    try:
        text = _ENCODER.encode(_Frame(sender, data))
        # msgspec writes NaN and infinities as null, so only a text with a null in it can hide one.
        if b"null" in text:
            json.dumps(msgspec.to_builtins(data, enc_hook=_skip_raw), allow_nan=False)
    except RecursionError as error:
        raise ValueError("data is nested too deeply for JSON") from error
    except OverflowError as error:
        raise ValueError(f"data holds a number that JSON cannot: {error}") from error
    return text


def decode(text: bytes | str, at: float | None = None) -> Envelope:
    """The envelope in one text frame that arrived `at`. Raises WireError for whatever is none.

    Further top-level keys are ignored.
    """
    frame = _read(_DECODER, text)
    return Envelope(frame.sender, frame.data, at)


def decode_raw(text: bytes) -> RawEnvelope:
    """The same without building `data`, for a reader that knows its type. Raises WireError."""
    return _read(_RAW_DECODER, text)


def _read(decoder: msgspec.json.Decoder[_E], text: bytes | str) -> _E:
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise WireError("nested too deeply") from error
    except (ValueError, OverflowError) as error:
        raise WireError(str(error)) from error


def _skip_raw(value: Any) -> None:
    """Raw JSON is written as it stands: there is no float in it to look at."""
    if not isinstance(value, msgspec.Raw):
        raise TypeError(f"{type(value).__name__} is not JSON")
