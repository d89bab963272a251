"""Payloads: from a game's own types to JSON values and back."""

from __future__ import annotations

from typing import Any

import msgspec

from net.channel.request import InvalidPayloadError


def to_plain(payload: Any) -> Any:
    """JSON values in place of structs and the like, and a copy: a local transport hands over the very object.

    Raises TypeError or ValueError for what JSON cannot hold (NaN is left to the transport, which knows its encoding).
    """
    try:
        return msgspec.to_builtins(payload, str_keys=True)
    except RecursionError as error:
        raise ValueError("the payload is nested too deeply for JSON") from error


def to_type(data: Any, type: Any) -> Any:
    """`data` as `type`, or as it stands for Any. Raises InvalidPayloadError for what does not fit."""
    if type is Any:
        return data
    try:
        return msgspec.convert(data, type)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidPayloadError(str(error)) from error
