"""NetChannel: messages by type, and requests with answers, over any transport.

In an envelope's `data` (docs/protocol.md has the table):

    {"t": "channel", "k": "event", "type": str, "d"?: any, "to"?: peerId}
    {"t": "channel", "k": "req", "type": str, "id": int, "d"?: any, "to"?: peerId}
    {"t": "channel", "k": "res", "id": int, "to": peerId, "d"?: any}                    it worked
    {"t": "channel", "k": "res", "id": int, "to": peerId, "e": str, "code"?: str}       it did not

Binary messages are the byte 0x43, the byte of a sub-channel, and the payload.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

from net.channel.answers import Answers
from net.channel.payload import to_plain, to_type
from net.channel.questions import Questions
from net.channel.request import ChannelClosedError, InvalidPayloadError, Request
from net.clock import Clock
from net.envelope import Envelope
from net.subscribers import Subscribers
from net.transport.base import ConnectionStatus, Transport, TransportState

T = TypeVar("T")

Handler = Callable[[T, str], object]
"""Called with the payload and the sender's peerId. In `handle` it gives the answer, or an awaitable of it"""

TIMEOUT: Final = 10.0
"""seconds that a request waits unless told otherwise"""
BINARY: Final = b"\x43"
"""first byte of binary messages"""

_log = logging.getLogger(__name__)


class NetChannel:
    """Messages by type between the peers of a transport. `update` once a frame drives the timeouts.

    A message goes to everybody, or to one peer (`to`), and others ignore it; `to` of the channel is the default. A
    request to everybody is settled by the first that handles it. Payloads are JSON values or what msgspec makes such;
    where a `type` is given they are converted to it, and what does not fit is not handed over. On a transport that
    repeats messages a handler may run twice. One channel a transport: a second one would answer the same requests.
    """

    def __init__(self, transport: Transport, clock: Clock, *, to: str | None = None) -> None:
        self._transport = transport
        self._clock = clock
        self._to = to
        self._events: dict[str, Subscribers[Any, str]] = {}
        self._binary: dict[int, tuple[Callable[[bytes], object]]] = {}
        self._questions = Questions()
        self._answers = Answers(self._answer, clock.now())
        self._closed = ""
        """why, once disposed of"""
        self._was_open = transport.status.state is TransportState.OPEN
        self._ends = (
            transport.subscribe(self._heard),
            transport.subscribe_bytes(self._heard_bytes),
            transport.subscribe_status(self._status_changed),
        )

    @overload
    def on(self, name: str, handler: Handler[T], *, type: type[T]) -> Callable[[], None]: ...

    @overload
    def on(self, name: str, handler: Handler[Any]) -> Callable[[], None]: ...

    def on(self, name: str, handler: Handler[Any], *, type: Any = Any) -> Callable[[], None]:
        """Call `handler(payload, sender)` at each message of this name, and return what ends that.

        Several are called in order; what they raise is logged. Raises TypeError for an async function: nobody awaits.
        """
        if inspect.iscoroutinefunction(handler):
            raise TypeError(f"the handler of messages {name!r} is async, but nobody awaits it")

        def convert(data: Any, sender: str) -> None:
            try:
                payload = to_type(data, type)
            except InvalidPayloadError as error:
                _log.debug("ignored a message %r: %s", name, error)
                return
            handler(payload, sender)

        if name not in self._events:
            self._events[name] = Subscribers(f"messages {name!r}")
        return self._events[name].add(convert)

    @overload
    def handle(self, name: str, handler: Handler[T], *, type: type[T]) -> Callable[[], None]: ...

    @overload
    def handle(self, name: str, handler: Handler[Any]) -> Callable[[], None]: ...

    def handle(self, name: str, handler: Handler[Any], *, type: Any = Any) -> Callable[[], None]:
        """Answer requests of this name by what `handler(payload, sender)` returns, and return what ends that.

        There is one a name: a later one replaces it. What it raises goes to whoever asked. An async handler runs on
        the event loop in which messages are polled; where none runs, the request fails.
        """
        return self._answers.handle(name, handler, type)

    def on_bytes(self, channel: int, handler: Callable[[bytes], object]) -> Callable[[], None]:
        """Call `handler(payload)` at each binary message on this sub-channel, and return what ends that.

        There is one a sub-channel: a later one replaces it. Raises ValueError outside 0 to 255.
        """
        _check_channel(channel)
        entry = (handler,)
        self._binary[channel] = entry

        def end() -> None:
            if self._binary.get(channel) is entry:
                del self._binary[channel]

        return end

    def send(self, name: str, payload: Any = None, *, to: str | None = None) -> None:
        """Send one message. Raises TypeError or ValueError for what JSON cannot hold. Nothing once disposed of."""
        self._send({"k": "event", "type": name, "d": to_plain(payload)}, to or self._to)

    def send_bytes(self, channel: int, payload: bytes) -> None:
        """Send one binary message to everybody. Raises ValueError outside 0 to 255. Nothing once disposed of."""
        _check_channel(channel)
        if not self._closed:
            self._transport.send_bytes(BINARY + bytes((channel,)) + payload)

    @overload
    def request(
        self,
        name: str,
        payload: Any = None,
        *,
        type: type[T],
        to: str | None = None,
        timeout: float | None = TIMEOUT,
        then: Callable[[Request[T]], object] | None = None,
    ) -> Request[T]: ...

    @overload
    def request(
        self,
        name: str,
        payload: Any = None,
        *,
        to: str | None = None,
        timeout: float | None = TIMEOUT,
        then: Callable[[Request[Any]], object] | None = None,
    ) -> Request[Any]: ...

    def request(
        self,
        name: str,
        payload: Any = None,
        *,
        type: Any = Any,
        to: str | None = None,
        timeout: float | None = TIMEOUT,
        then: Callable[[Request[Any]], object] | None = None,
    ) -> Request[Any]:
        """Ask, and wait for the answer without blocking: see Request. `then(request)` is called when it is done.

        `type`: what the answer is converted to. `timeout`: seconds, None for no end. Raises TypeError or ValueError
        for a payload that JSON cannot hold, or a timeout that is not above 0; all else is the request's error.
        """
        if timeout is not None and not timeout > 0:
            raise ValueError(f"a timeout is above 0 seconds or None, not {timeout}")
        plain = to_plain(payload)
        request: Request[Any] = Request(name)
        if then is not None:
            request.then(then)
        if self._closed or self._transport.status.state in (TransportState.CLOSING, TransportState.CLOSED):
            request.settle(error=ChannelClosedError(self._closed or "the connection is closed"))
            return request
        to = to or self._to
        number = self._questions.ask(request, to, type, timeout, self._clock.now())
        try:
            self._send({"k": "req", "type": name, "id": number, "d": plain}, to)
        except (TypeError, ValueError):
            self._questions.withdraw(number)
            raise
        return request

    def update(self) -> None:
        """End the requests whose time is up, and all of them if the transport was closed."""
        if self._transport.status.state is TransportState.CLOSED:
            self._questions.reject("the connection is closed")
        self._questions.expire(self._clock.now())

    def dispose(self, reason: str = "the channel is closed") -> None:
        """Stop for good: requests end with `reason`, handlers are forgotten and cancelled. Safe to call twice.

        The transport stays as it is.
        """
        if self._closed:
            return
        self._closed = reason or "the channel is closed"
        for end in self._ends:
            end()
        self._events.clear()
        self._binary.clear()
        self._answers.end()
        self._questions.reject(self._closed)

    def _send(self, message: dict[str, Any], to: str | None) -> None:
        if not self._closed:
            addressed = {} if to is None else {"to": to}
            self._transport.send({"t": "channel", **message, **addressed})

    def _answer(self, to: str, message: dict[str, Any]) -> None:
        self._send(message, to)

    def _status_changed(self, status: ConnectionStatus) -> None:
        # What is asked before the first connection waits for it, as the transport's queue does.
        is_open = status.state is TransportState.OPEN
        if (self._was_open and not is_open) or status.state is TransportState.CLOSED:
            why = f": {status.reason}" if status.reason else ""
            self._questions.reject(f"the connection was lost{why}")
        self._was_open = is_open

    def _heard(self, envelope: Envelope) -> None:
        data, sender = envelope.data, envelope.sender
        if self._closed or not isinstance(data, dict) or data.get("t") != "channel":
            return
        to = data.get("to")
        if to is not None and to != self._transport.peer_id:
            return
        kind, name, number, payload = (data.get(key) for key in ("k", "type", "id", "d"))
        now = self._clock.now()
        if kind == "event" and isinstance(name, str):
            if name in self._events:
                self._events[name].notify(payload, sender)
        elif not isinstance(number, int) or isinstance(number, bool):
            return
        elif kind == "req" and isinstance(name, str):
            self._answers.asked(sender, name, number, payload, now, everybody=to is None)
        elif kind == "res":
            self._questions.answered(sender, number, data, now)

    def _heard_bytes(self, message: bytes) -> None:
        if self._closed or len(message) < 2 or not message.startswith(BINARY):
            return
        entry = self._binary.get(message[1])
        if entry is not None:
            entry[0](message[2:])


def _check_channel(channel: int) -> None:
    if not 0 <= channel <= 255:
        raise ValueError(f"a binary sub-channel is 0 to 255, not {channel}")
