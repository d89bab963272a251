"""Conditioner: any transport, over a network as bad as one likes."""

from __future__ import annotations

from random import Random
from typing import Any, Literal

from net.clock import Clock
from net.envelope import Envelope, decode, encode
from net.transport.base import ConnectionStatus, ReliableOrderedTransport, Traffic, Transport, TransportState
from net.transport.conditions import PRESETS, Conditions, parse_conditions
from net.transport.endpoint import Endpoint, check_bytes
from net.transport.lane import Lane

__all__ = ["PRESETS", "ConditionedTransport", "Conditions", "OrderedConditionedTransport", "parse_conditions"]


class ConditionedTransport(Endpoint):
    """Puts a network between `inner` and its owner. Takes over `inner`: poll and close it through this.

    What is due leaves and arrives in `poll`, by `clock`; in perfect conditions it passes straight through. The same
    seed and the same calls give the same fates. The connection's status is not delayed: a lost connection loses
    everything that was on its way. What is sent while there is no connection goes to `inner` at once.
    """

    def __init__(
        self,
        inner: Transport,
        clock: Clock,
        up: Conditions | None = None,
        down: Conditions | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(inner.peer_id, inner.status.state)
        self._inner = inner
        self._clock = clock
        self._up: Lane[Any] = Lane(up or Conditions(), Random(f"up {seed}"))
        self._down: Lane[Envelope | bytes] = Lane(down or Conditions(), Random(f"down {seed}"))
        self._polling = False
        self._delivering = False
        self._was_open = inner.status.state is TransportState.OPEN
        self._ends = (
            inner.subscribe(self._arrived),
            inner.subscribe_bytes(self._arrived),
            inner.subscribe_status(self._status_changed),
        )

    @property
    def reliable_ordered(self) -> bool:
        """Whether `inner` is, and the conditions of both directions keep the order."""
        return self._inner.reliable_ordered and self.up.ordered and self.down.ordered

    @property
    def status(self) -> ConnectionStatus:
        """The connection below, as of the last `poll`."""
        return self._inner.status

    @property
    def traffic(self) -> Traffic:
        """What has passed below, and what was dropped there and here."""
        inner = self._inner.traffic
        self._traffic.bytes_up, self._traffic.bytes_down = inner.bytes_up, inner.bytes_down
        self._traffic.messages_up, self._traffic.messages_down = inner.messages_up, inner.messages_down
        self._traffic.dropped = inner.dropped + self._up.dropped + self._down.dropped
        return self._traffic

    @property
    def up(self) -> Conditions:
        """Conditions on the way out, now."""
        return self._up.conditions

    @property
    def down(self) -> Conditions:
        """Conditions on the way in, now."""
        return self._down.conditions

    def set(self, up: Conditions | None = None, down: Conditions | None = None) -> None:
        """Change the conditions of either direction for what is sent from now on. None leaves one as it is."""
        self._up.conditions = up or self._up.conditions
        self._down.conditions = down or self._down.conditions

    def send(self, data: Any) -> None:
        """Send one JSON value. Raises TypeError or ValueError for what JSON cannot hold. Nothing once closed."""
        if self._closed:
            return
        if self._passes_up():
            self._inner.send(data)
            return
        # A copy, because the sender may change its own before this leaves.
        text = encode(self._peer_id, data)
        self._up.put(decode(text).data, len(text), self._clock.now())

    def send_bytes(self, data: bytes) -> None:
        """Send one binary message. Raises TypeError for what is not bytes. Nothing once closed."""
        check_bytes(data)
        if self._closed:
            return
        if self._passes_up():
            self._inner.send_bytes(data)
        else:
            self._up.put(data, len(data), self._clock.now())

    def poll(self) -> None:
        """Let everything that is due leave and arrive."""
        if self._polling:
            return
        self._polling = True
        try:
            for message in self._up.due(self._clock.now()):
                self._pass_on(message)
            self._inner.poll()
            self._delivering = True
            for arrived in self._down.due(self._clock.now()):
                self._deliver(arrived, self._down.at)
        finally:
            self._polling = self._delivering = False

    def close(self) -> None:
        """Close `inner` too, after what is on its way out. Safe to call twice."""
        if self._closed:
            return
        for message in self._up.empty():
            self._pass_on(message)
        for end in self._ends:
            end()
        self._down.empty()
        self._inner.close()
        self._end()

    def _passes_up(self) -> bool:
        return self._up.clear or self._inner.status.state is not TransportState.OPEN

    def _pass_on(self, message: Any) -> None:
        """Hand one message down: JSON values hold no bytes, so bytes are a binary message."""
        if isinstance(message, bytes):
            self._inner.send_bytes(message)
        else:
            self._inner.send(message)

    def _arrived(self, message: Envelope | bytes) -> None:
        if self._down.clear and not self._delivering:
            self._deliver(message, None)
        else:
            size = 0 if self.down.bandwidth is None else _size(message)
            at = self._inner.received_at if isinstance(message, bytes) else message.at
            self._down.put(message, size, self._clock.now() if at is None else at)

    def _deliver(self, message: Envelope | bytes, at: float | None) -> None:
        """Hand on what arrived; `at` is the time to say, if it is not the one that `inner` has said."""
        self._received_at = self._inner.received_at if at is None else at
        if isinstance(message, bytes):
            self._binaries.notify(message)
        else:
            self._messages.notify(message if at is None else Envelope(message.sender, message.data, at))

    def _status_changed(self, status: ConnectionStatus) -> None:
        is_open = status.state is TransportState.OPEN
        if self._was_open and not is_open:
            self._up.empty()
            self._down.empty()
        self._was_open = is_open
        self._statuses.notify(status)


class OrderedConditionedTransport(ConditionedTransport):
    """The same for those who need a transport that keeps the order: its conditions can never be `ordered=False`."""

    def __init__(
        self,
        inner: ReliableOrderedTransport,
        clock: Clock,
        up: Conditions | None = None,
        down: Conditions | None = None,
        seed: int = 0,
    ) -> None:
        """Raises ValueError for conditions that are not ordered."""
        _check_ordered(up, down)
        super().__init__(inner, clock, up, down, seed)

    @property
    def reliable_ordered(self) -> Literal[True]:
        """As the type says."""
        return True

    def set(self, up: Conditions | None = None, down: Conditions | None = None) -> None:
        """Change the conditions as above. Raises ValueError for some that are not ordered, and changes nothing."""
        _check_ordered(up, down)
        super().set(up, down)


def _check_ordered(*directions: Conditions | None) -> None:
    if any(conditions is not None and not conditions.ordered for conditions in directions):
        raise ValueError("ordered=no is not possible here: what is played over this connection needs the order")


def _size(message: Envelope | bytes) -> int:
    return len(message) if isinstance(message, bytes) else len(encode(message.sender, message.data))
