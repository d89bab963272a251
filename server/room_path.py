"""Which room a request's path means: relay and authority put the same URL into the same room."""

from __future__ import annotations

import string
from typing import Final

_KEPT: Final = frozenset((string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@/%|[]^").encode())
_DOT: Final = frozenset((".", "%2e"))
_DOTS: Final = frozenset(("..", ".%2e", "%2e.", "%2e%2e"))


def room_of(target: str) -> str:
    """The path of a request's target as the WHATWG URL standard normalises it, query left out.

    Dot segments are resolved, `//host/a` and `ws://host/a` mean `/a`, what a path cannot hold is percent-encoded. Case,
    a trailing slash and letters that came percent-encoded stay as they are: those are different rooms.
    """
    path = target.partition("#")[0].partition("?")[0]
    scheme, absolute, rest = path.partition("://")
    if absolute and scheme.isalpha():
        path = "//" + rest
    path = path.replace("\\", "/")
    if path.startswith("//"):
        path = path.lstrip("/").partition("/")[2]
    segments: list[str] = []
    parts = path.removeprefix("/").split("/")
    for index, part in enumerate(parts):
        dots = part.lower()
        last = index == len(parts) - 1
        if dots in _DOTS:
            del segments[-1:]
        if dots not in _DOTS and dots not in _DOT:
            segments.append(part)
        elif last:
            segments.append("")
    return "/" + "".join(_encoded(byte) for byte in "/".join(segments).encode("utf-8", "replace"))


def url_of(host: str, port: int) -> str:
    """The URL of a server's room `/`."""
    return f"ws://[{host}]:{port}/" if ":" in host else f"ws://{host}:{port}/"


def _encoded(byte: int) -> str:
    return chr(byte) if byte in _KEPT else f"%{byte:02X}"
