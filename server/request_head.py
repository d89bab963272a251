"""The bytes of a WebSocket's request: where they end, and its path in ASCII."""

from __future__ import annotations

from typing import Final

_END: Final = b"\r\n\r\n"


class RequestHead:
    """Splits what arrives on a connection into the request's head and the frames behind it."""

    def __init__(self) -> None:
        self._line = True
        """whether the request line is still coming"""
        self._tail = b""

    def take(self, chunk: bytes) -> tuple[bytes, bytes | None]:
        """What of this chunk belongs to the head, and what follows it; None while its end has not come.

        Raw non-ASCII bytes of the path are percent-encoded in what is returned: they mean the same, and HTTP parsers
        take only those.
        """
        known = len(self._tail)
        seen = self._tail + chunk
        end = seen.find(_END)
        if end < 0:
            self._tail = seen[-len(_END) + 1 :]
            return self._escape(chunk), None
        end += len(_END) - known
        return self._escape(chunk[:end]), chunk[end:]

    def _escape(self, chunk: bytes) -> bytes:
        if not self._line:
            return chunk
        line, end, rest = chunk.partition(b"\n")
        self._line = not end
        if not line.isascii():
            line = b"".join(b"%%%02X" % byte if byte >= 0x80 else bytes((byte,)) for byte in line)
        return line + end + rest
