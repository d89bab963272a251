"""A server in a thread of the program that plays on it, for friends in the same network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final

from server.authority_program import AuthorityService
from server.engines import choose
from server.log import unheard
from server.program import EVERYWHERE, fault_of, lan_addresses
from server.room_path import url_of
from server.websockets_engine import serve

PATIENCE: Final = 5.0
"""seconds that it may take until it listens, and to end"""


class HostingError(Exception):
    """It cannot listen there. The text is one sentence for people."""


class HostedServer:
    """The authoritative server on every address of this machine, as `lagtag-server --lan` is, until `close`."""

    def __init__(self, port: int, *, bots: int = 0) -> None:
        """Returns when it listens; `port` 0 picks a free one. Raises HostingError."""
        self._bots = bots
        self._wanted = port
        self._started = threading.Event()
        self._fault = "the server did not start in time."
        self._stop: Callable[[], object] | None = None
        self.port = 0
        """the port that it listens on"""
        self._thread = threading.Thread(target=self._run, name="hosted server", daemon=True)
        self._thread.start()
        self._started.wait(PATIENCE)
        if not self.port:
            raise HostingError(self._fault)

    @property
    def url(self) -> str:
        """Where its own player connects to."""
        return url_of("127.0.0.1", self.port)

    @property
    def addresses(self) -> list[str]:
        """Where others connect to, the likeliest first."""
        return [url_of(address, self.port) for address in lan_addresses()]

    def close(self) -> None:
        """Send everybody home and end. Safe to call twice."""
        if self._stop is not None:
            self._stop()
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=choose().new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        service = AuthorityService(unheard, bots=self._bots)
        try:
            listener = await serve(service.handler, EVERYWHERE, self._wanted, service.limits, kind=choose().connection)
        except (OSError, ValueError) as error:
            self._fault = fault_of(error, "all addresses", self._wanted, "--host")
            self._started.set()
            return
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.is_closed() or loop.call_soon_threadsafe(stop.set)
        service.start()
        self.port = listener.port
        self._started.set()
        await stop.wait()
        service.stop()
        await listener.close()
