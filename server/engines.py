"""Which providers of the engine are here, and which one a server takes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from server.websockets_connection import WebSocketConnection

NAMES: Final = ("websockets", "picows")
"""`websockets` is always there; `picows` is the extra `fast`, and needs uvloop, which Windows does not have"""


class MissingEngineError(Exception):
    """An engine was asked for that is not installed. The text is one sentence for people."""


class Engine(msgspec.Struct, frozen=True):
    """One provider."""

    name: str
    connection: type[WebSocketConnection]
    new_event_loop: Callable[[], asyncio.AbstractEventLoop]
    """the loop that it is fastest on; it runs on every other one too"""


def choose(name: str = "auto") -> Engine:
    """The engine of that name; `auto` is the fastest that is installed. Raises MissingEngineError, ValueError."""
    if name not in ("auto", *NAMES):
        raise ValueError(f"there is no engine {name!r}")
    if name != "websockets":
        try:
            from server.picows_engine import PicowsConnection, new_event_loop  # noqa: PLC0415

            return Engine("picows", PicowsConnection, new_event_loop)
        except ImportError:
            if name == "picows":
                where = "on Windows" if sys.platform == "win32" else "here; install the extra 'fast'"
                raise MissingEngineError(f"the engine picows is not available {where}.") from None
    return Engine("websockets", WebSocketConnection, asyncio.new_event_loop)
