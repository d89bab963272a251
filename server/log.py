"""What the server tells the outside: one event a line, as JSON or as a sentence."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TextIO

_WAITING: Final = 10_000
"""lines that may wait for a reader that does not read; further ones are dropped and counted"""


class Log(Protocol):
    """Takes events. The field values are JSON."""

    def __call__(self, event: str, /, **fields: Any) -> None:
        """Something happened."""
        ...


def unheard(event: str, /, **fields: Any) -> None:
    """The log of a server whose player is the only one to ask."""


def json_line(event: str, fields: Mapping[str, Any]) -> str:
    """One event as a JSON object in pure ASCII, so that every pipe and terminal can take it."""
    return json.dumps({"event": event, **fields}, separators=(",", ":"))


def text_line(event: str, fields: Mapping[str, Any]) -> str:
    """One event as a sentence for people."""
    who = fields.get("name") or fields.get("peer") or fields.get("address") or "somebody"
    room = fields.get("room", "")
    why = " ".join(str(fields[key]) for key in ("code", "reason") if fields.get(key))
    match event:
        case "listening":
            others = "".join(f"\n  others connect to {url}" for url in fields.get("addresses", ()))
            return f"listening on {fields['url']} by {fields['engine']}{others}"
        case "join":
            return f"{who} joined {room} ({fields['players']} there)"
        case "leave":
            return f"{who} left {room} ({fields['players']} there): {why}"
        case "connect":
            return f"{who} came to {room} ({fields['count']} there)"
        case "disconnect":
            return f"{who} went from {room} ({fields['count']} there): {why}"
        case "refused":
            return f"{who} was refused{' by ' + room if room else ''}: {why}"
        case _:
            return f"{event}: " + ", ".join(f"{key} {value}" for key, value in fields.items())


class LineLog:
    """A `Log` that writes lines to a stream from a thread of its own: a pipe that nobody reads never stops the loop."""

    def __init__(self, stream: TextIO, line: Callable[[str, Mapping[str, Any]], str]) -> None:
        self.dropped = 0
        """events that were thrown away because the stream was stuck"""
        self._stream = stream
        self._line = line
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def __call__(self, event: str, /, **fields: Any) -> None:
        """Something happened."""
        try:
            self._lines.put_nowait(self._line(event, fields))
        except queue.Full:
            self.dropped += 1

    def close(self, timeout: float = 0.5) -> bool:
        """Write what waits, for at most `timeout` seconds. Whether all of it went out."""
        try:
            self._lines.put_nowait(None)
        except queue.Full:
            return False
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                return  # nobody is left to tell
