"""Answers: what our handlers say to the requests of others."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from net.channel.payload import to_plain, to_type
from net.channel.questions import ERROR_LIMIT
from net.channel.request import InvalidPayloadError

Answer = Callable[[str, dict[str, Any]], None]
"""Sends (to, message)"""

RUNNING_LIMIT: Final = 1024
RUNNING_PER_PEER: Final = 64
"""async handlers under way, in all and for one peer; more requests are refused as busy"""
REFUSALS_A_SECOND: Final = 20
"""answers "no handler" to requests that went to everybody: all peers would answer a flood of them"""

_log = logging.getLogger(__name__)


class Answers:
    """One handler a name. Plain ones answer at once, async ones when they are done."""

    def __init__(self, send: Answer, now: float) -> None:
        self._send = send
        self._handlers: dict[str, tuple[Callable[[Any, str], object], Any]] = {}
        self._running: set[asyncio.Future[Any]] = set()
        self._per_peer: Counter[str] = Counter()
        self._refusals, self._refusals_since = 0, now

    def handle(self, name: str, handler: Callable[[Any, str], object], type: Any) -> Callable[[], None]:
        """Answer by `handler(payload as type, sender)`, in place of an earlier one. Returns what ends that."""
        entry = (handler, type)
        self._handlers[name] = entry

        def end() -> None:
            if self._handlers.get(name) is entry:
                del self._handlers[name]

        return end

    def asked(self, sender: str, name: str, number: int, data: Any, now: float, *, everybody: bool) -> None:
        """Take a `req`. `everybody`: it was not for us alone."""
        if name not in self._handlers:
            if not everybody or self._may_refuse(now):
                self._refuse(sender, number, "no_handler", f"nobody handles {name:.100}")
            return
        if len(self._running) >= RUNNING_LIMIT or self._per_peer[sender] >= RUNNING_PER_PEER:
            self._refuse(sender, number, "busy", "too many requests at once")
            return
        handler, type = self._handlers[name]
        try:
            payload = to_type(data, type)
        except InvalidPayloadError as invalid:
            self._refuse(sender, number, "invalid", str(invalid))
            return
        try:
            answer = handler(payload, sender)
        except Exception as error:
            self._failed(sender, name, number, error)
            return
        if inspect.isawaitable(answer):
            self._run(sender, name, number, answer)
        else:
            self._reply(sender, name, number, answer)

    def end(self) -> None:
        """Forget the handlers, and cancel what they are doing."""
        self._handlers.clear()
        for task in list(self._running):
            task.cancel()

    def _run(self, sender: str, name: str, number: int, answer: Awaitable[Any]) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if inspect.iscoroutine(answer):
                answer.close()
            self._failed(sender, name, number, RuntimeError("an async handler needs a running event loop"))
            return
        task = asyncio.ensure_future(answer)
        self._running.add(task)
        self._per_peer[sender] += 1

        def finished(task: asyncio.Future[Any]) -> None:
            self._running.discard(task)
            self._per_peer[sender] -= 1
            if not self._per_peer[sender]:
                del self._per_peer[sender]
            if task.cancelled():
                self._refuse(sender, number, "failed", "the handler was cancelled")
            elif (error := task.exception()) is not None:
                self._failed(sender, name, number, error)
            else:
                self._reply(sender, name, number, task.result())

        task.add_done_callback(finished)

    def _reply(self, sender: str, name: str, number: int, answer: Any) -> None:
        try:
            self._send(sender, {"k": "res", "id": number, "d": to_plain(answer)})
        except (TypeError, ValueError) as error:
            self._failed(sender, name, number, error)

    def _failed(self, sender: str, name: str, number: int, error: BaseException) -> None:
        _log.error("the handler of requests %r raised", name, exc_info=error)
        self._refuse(sender, number, "failed", str(error))

    def _refuse(self, sender: str, number: int, code: str, text: str) -> None:
        sendable = text[:ERROR_LIMIT].encode("utf-8", "replace").decode()
        self._send(sender, {"k": "res", "id": number, "e": sendable, "code": code})

    def _may_refuse(self, now: float) -> bool:
        if now - self._refusals_since >= 1.0:
            self._refusals, self._refusals_since = 0, now
        self._refusals += 1
        return self._refusals <= REFUSALS_A_SECOND
