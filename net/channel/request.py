"""Request: the answer that a NetChannel waits for, and the ways in which there may be none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

R = TypeVar("R")

_log = logging.getLogger(__name__)


class ChannelError(Exception):
    """A request has no result. The message says why, for people."""


class NoHandlerError(ChannelError):
    """Nobody handles requests of that type."""


class HandlerError(ChannelError):
    """The handler raised; the message is what it said."""


class InvalidPayloadError(ChannelError):
    """The other side refused the payload, or its answer is not of the type that was asked for."""


class BusyError(ChannelError):
    """The other side has more requests under way than it takes."""


class RequestTimeoutError(ChannelError, TimeoutError):
    """No answer came in time."""


class ChannelClosedError(ChannelError):
    """The channel was disposed of, or its connection was lost."""


class Request(Generic[R]):
    """A request under way. Ask it (`done`, `result`), have it call (`then`), or await it in asyncio code.

    It is settled once, inside the channel's calls, on the thread that makes them. Awaiting needs the event loop to run
    on that same thread, with somebody polling the transport and updating the channel.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        """the type of message that was asked for"""
        self.done = False
        self.error: ChannelError | None = None
        """why there is no result, once done"""
        self._result: Any = None
        self._waiting: list[Callable[[Request[R]], object]] = []

    def result(self) -> R:
        """The answer. Raises the ChannelError that it ended with, or RuntimeError if it is not done."""
        if not self.done:
            raise RuntimeError(f"the request {self.name!r} is not answered yet")
        if self.error is not None:
            raise self.error
        return self._result  # type: ignore[no-any-return]

    def then(self, callback: Callable[[Request[R]], object]) -> Request[R]:
        """Call `callback(self)` when it is done, or now if it is. What it raises is logged. Returns itself."""
        if self.done:
            self._call(callback)
        else:
            self._waiting.append(callback)
        return self

    def __await__(self) -> Generator[Any, None, R]:
        """The result, or the error raised. Needs a running event loop."""
        if not self.done:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.then(lambda _: None if future.done() else future.set_result(None))
            yield from future
        return self.result()

    def settle(self, result: Any = None, error: ChannelError | None = None) -> None:
        """End it, for the channel. Nothing if it has ended."""
        if self.done:
            return
        self.done, self._result, self.error = True, result, error
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            self._call(callback)

    def _call(self, callback: Callable[[Request[R]], object]) -> None:
        try:
            callback(self)
        except Exception:
            _log.exception("what waited for the request %r raised", self.name)
