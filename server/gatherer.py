"""Under load, what many peers have sent is read together, right before it counts: past the loop, once a tick.

Waking up for each command, and the loop's own way to it, cost more than the command does. A network card that gathers
packets before it interrupts does the same.
"""

from __future__ import annotations

import os
import select
import sys
from typing import Final, Protocol

CROWD: Final = 32
"""connections from which on input is gathered: fewer don't wake a loop that often, and nobody shall wait for nothing"""
CHUNK: Final = 4096
"""bytes of one connection that are read at once, so that a flood delays nobody else"""


class Reader(Protocol):
    """Whose input is gathered."""

    def data_received(self, data: bytes) -> None:
        """Input. Must not raise."""
        ...

    def release(self) -> None:
        """Let the loop read again, and see for itself what is wrong or over."""
        ...


class Gatherer:
    """Reads the sockets that were left to it whenever `collect` is called. It has to be, many times a second."""

    def __init__(self) -> None:
        self._readers: dict[int, Reader] = {}
        self._wants = False
        if sys.platform != "win32":
            self._poll = select.poll()

    def __len__(self) -> int:
        """How many are left to it."""
        return len(self._readers)

    @property
    def wants(self) -> bool:
        """Whether sockets are to be left to it now. Never on Windows, where those of a loop cannot be read past it."""
        return self._wants

    @wants.setter
    def wants(self, crowded: bool) -> None:
        self._wants = crowded and sys.platform != "win32"

    def add(self, socket: int, reader: Reader) -> None:
        """Read this socket (its file descriptor) from now on, which nobody else does. While it `wants`."""
        self._readers[socket] = reader
        self._poll.register(socket, select.POLLIN)

    def remove(self, socket: int) -> None:
        """Leave it alone again, before it is closed."""
        del self._readers[socket]
        self._poll.unregister(socket)

    def collect(self) -> None:
        """Hand all readers what has come for them since the last time, a chunk each."""
        if not self._readers:
            return
        readers, read = self._readers, os.read
        for socket, _ in self._poll.poll(0):
            reader = readers.get(socket)
            if reader is None:
                continue  # another one's input has made it leave
            try:
                data = read(socket, CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if data:
                reader.data_received(data)
            else:
                reader.release()
