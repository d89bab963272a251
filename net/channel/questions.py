"""Questions: our requests under way, until an answer, their time or the end of the connection settles them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from net.channel.payload import to_type
from net.channel.request import (
    BusyError,
    ChannelClosedError,
    ChannelError,
    HandlerError,
    InvalidPayloadError,
    NoHandlerError,
    Request,
    RequestTimeoutError,
)

GRACE: Final = 0.25
"""seconds that a request to everybody waits for others after the first one has said that it has no handler"""
ERROR_LIMIT: Final = 500
"""characters of an error's text"""

_ERRORS: Final[dict[str, type[ChannelError]]] = {
    "no_handler": NoHandlerError,
    "failed": HandlerError,
    "invalid": InvalidPayloadError,
    "busy": BusyError,
}


@dataclass(slots=True)
class _Question:
    """One request of ours."""

    request: Request[Any]
    to: str | None
    type: Any
    """of the answer"""
    timeout: float | None
    deadline: float | None
    refusal: ChannelError | None = None
    """what a peer without a handler said"""


class Questions:
    """Requests by number, 1, 2, 3 … Reads no clock and sends nothing."""

    def __init__(self) -> None:
        self._open: dict[int, _Question] = {}
        self._last = 0

    def __len__(self) -> int:
        """Requests under way."""
        return len(self._open)

    def ask(self, request: Request[Any], to: str | None, type: Any, timeout: float | None, now: float) -> int:
        """Keep a request until it is settled, and give its number. `to`: who alone may answer."""
        self._last += 1
        self._open[self._last] = _Question(request, to, type, timeout, None if timeout is None else now + timeout)
        return self._last

    def withdraw(self, number: int) -> None:
        """Forget a request that could not be sent."""
        self._open.pop(number, None)

    def answered(self, sender: str, number: int, message: dict[str, Any], now: float) -> None:
        """Take a `res`. One that is late, repeated, or from somebody who was not asked does nothing."""
        question = self._open.get(number)
        if question is None or (question.to is not None and question.to != sender):
            return
        if "e" in message:
            error = _error(message)
            if isinstance(error, NoHandlerError) and question.to is None:
                self._refused(question, error, now)
                return
            del self._open[number]
            question.request.settle(error=error)
            return
        del self._open[number]
        try:
            result = to_type(message.get("d"), question.type)
        except InvalidPayloadError as invalid:
            question.request.settle(error=invalid)
        else:
            question.request.settle(result)

    def expire(self, now: float) -> None:
        """End the requests whose time is up."""
        due = [n for n, question in self._open.items() if question.deadline is not None and now >= question.deadline]
        for number in due:
            question = self._open.pop(number, None)
            if question is not None:
                question.request.settle(error=question.refusal or _too_late(question))

    def reject(self, reason: str) -> None:
        """End them all."""
        questions, self._open = self._open, {}
        for question in questions.values():
            question.request.settle(error=ChannelClosedError(reason))

    def _refused(self, question: _Question, error: ChannelError, now: float) -> None:
        """One of many has no handler: another one may."""
        question.refusal = error
        question.deadline = now + GRACE if question.deadline is None else min(question.deadline, now + GRACE)


def _too_late(question: _Question) -> ChannelError:
    return RequestTimeoutError(f"no answer to {question.request.name!r} within {question.timeout:g} s")


def _error(message: dict[str, Any]) -> ChannelError:
    """What a refusal says. That there is an `e` makes it one, whatever stands in it."""
    code, text = message.get("code"), message["e"]
    kind = _ERRORS.get(code, HandlerError) if isinstance(code, str) else HandlerError
    return kind((text if isinstance(text, str) else repr(text))[:ERROR_LIMIT])
