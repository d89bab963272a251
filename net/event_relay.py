"""relay_events: a bus's events to every peer, and theirs to the bus, each exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from net.envelope import Envelope
from net.events import EventBus
from net.transport.base import Transport


def relay_events(bus: EventBus, transport: Transport, names: Iterable[str]) -> Callable[[], None]:
    """Send each event of `names` that `bus` emits to every peer, and emit theirs here. Returns what ends both.

    What comes from a peer is emitted without going out again, and so is whatever listeners emit while that goes on:
    an answer to a peer's event is to be emitted later, from the frame loop. Local listeners run before an event leaves,
    and one that JSON cannot hold is logged and stays local. A payload that a peer left out is None.
    """
    listed = frozenset(names)
    replaying = False

    def forward(name: str, payload: Any) -> None:
        if name in listed and not replaying:
            transport.send({"t": "event", "event": name, "payload": payload})

    def replay(envelope: Envelope) -> None:
        nonlocal replaying
        data = envelope.data
        if not isinstance(data, dict) or data.get("t") != "event":
            return
        name = data.get("event")
        if not isinstance(name, str) or name not in listed:
            return
        replaying = True
        try:
            bus.emit(name, data.get("payload"))
        finally:
            replaying = False

    ends = (bus.on_any(forward), transport.subscribe(replay))

    def unbind() -> None:
        for end in ends:
            end()

    return unbind
