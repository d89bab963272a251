"""Dialer: opens a WebSocket to the first of some addresses that answers, and says in plain words why none did."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import Sequence
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI, parse_uri

MAX_FRAME: Final = 2**20
"""bytes: a larger message closes the connection with 1009"""
CLOSE_TIMEOUT: Final = 2.0
"""seconds that a server which closes may take until it has hung up"""


class UnreachableError(Exception):
    """No address answered as a WebSocket server does. The message says why, for people."""


class Dialer:
    """Tries addresses in turn until one was reached; from then on only that one."""

    def __init__(self, urls: Sequence[str], *, subprotocols: Sequence[str], compression: bool, timeout: float) -> None:
        """`timeout`: seconds for each address. Raises ValueError for a malformed URL, or none at all."""
        if not urls:
            raise ValueError("there is no address to connect to")
        self._targets = [(url, parse_url(url)) for url in urls]
        self._subprotocols = [Subprotocol(name) for name in subprotocols] or None
        self._compression = "deflate" if compression else None
        self._timeout = timeout

    async def dial(self) -> ClientConnection:
        """An open connection. Raises UnreachableError, with what the last address said."""
        failure = ""
        for url, target in self._targets:
            try:
                # Not asyncio.wait_for, which before Python 3.12 loses a cancellation that meets the result.
                async with asyncio.timeout(self._timeout):
                    addresses = await resolve(target.host, target.port)
            except (OSError, UnicodeError, TimeoutError):
                failure = f"there is no host called {target.host}"
                continue
            for address in addresses:
                try:
                    connection = await self._open(url, target, address)
                except Exception as error:
                    failure = explain(error, target)
                else:
                    self._targets = [(url, target)]
                    return connection
        raise UnreachableError(failure)

    async def _open(self, url: str, target: WebSocketURI, address: str) -> ClientConnection:
        return await connect(
            url,
            host=address,
            port=target.port,
            subprotocols=self._subprotocols,
            compression=self._compression,
            # Games are played on loopback and LANs, where a web proxy only harms.
            proxy=None,
            open_timeout=self._timeout,
            close_timeout=CLOSE_TIMEOUT,
            max_size=MAX_FRAME,
        )


def parse_url(url: str) -> WebSocketURI:
    """The parts of ws://HOST:PORT/PATH. Raises ValueError with one sentence for what is none."""
    if any(character <= " " or character == "\x7f" for character in url):
        raise ValueError(f"{url!r} is no WebSocket address: there is a blank or control character in it")
    try:
        return parse_uri(url)
    except InvalidURI as error:
        raise ValueError(f"{url!r} is no WebSocket address: {error.msg}") from error
    except ValueError as error:
        raise ValueError(f"{url!r} is no WebSocket address: {error}") from error


async def resolve(host: str, port: int) -> list[str]:
    """IP addresses of `host`, IPv4 first, because servers on one machine or LAN often listen on that alone.

    Raises OSError or UnicodeError. Runs in a daemon thread of its own: a name server that does not answer must not
    keep a program from ending, as the threads of asyncio's pool would.
    """
    with contextlib.suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(addresses: list[str], error: Exception | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(addresses)

    def look_up() -> None:
        addresses: list[str] = []
        failure: Exception | None = None
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.sort(key=lambda info: info[0] != socket.AF_INET)
            addresses = [str(info[4][0]) for info in found]
        except (OSError, UnicodeError) as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, addresses, failure)

    threading.Thread(target=look_up, name=f"resolve {host}", daemon=True).start()
    return await answer


def explain(error: Exception, target: WebSocketURI) -> str:
    """Why a connection could not be opened, in words for people."""
    where = f"{target.host}:{target.port}"
    if isinstance(error, ConnectionRefusedError):
        return f"nobody answers at {where}"
    if isinstance(error, TimeoutError):
        return f"no answer from {where}"
    if isinstance(error, InvalidStatus):
        return f"{where} refused with HTTP {error.response.status_code}"
    if isinstance(error, InvalidHandshake):
        return f"{where} is no WebSocket server: {error}"
    return f"cannot reach {where}: {error}"
