"""EventBus: things that happen, by name, for whoever listens in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from net.subscribers import Subscribers

Listener = Callable[[Any], object]
"""Called with the payload."""
AnyListener = Callable[[str, Any], object]
"""Called with the event's name and the payload."""


class EventBus:
    """Calls listeners inside `emit`, in the order in which they subscribed; those of the name come before catch-alls.

    The same function twice runs once. What a listener raises is logged with the event's name, and harms no other.
    """

    def __init__(self) -> None:
        self._named: dict[str, Subscribers[Any]] = {}
        self._any: Subscribers[str, Any] = Subscribers("any event")

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call `listener(payload)` at each event of this name, and return what ends that (harmless to call again)."""
        if name not in self._named:
            self._named[name] = Subscribers(f"event {name!r}")
        return self._named[name].add(listener)

    def once(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call `listener(payload)` at the next event of this name only.

        It is removed before it runs. Only the returned function cancels it: `off` knows listeners of `on`.
        """

        def run(payload: Any) -> None:
            end()
            listener(payload)

        end = self.on(name, run)
        return end

    def on_any(self, listener: AnyListener) -> Callable[[], None]:
        """Call `listener(name, payload)` at every event, and return what ends that."""
        return self._any.add(listener)

    def off(self, name: str, listener: Listener) -> None:
        """Call `listener` no more at events of this name. Harmless if it never was."""
        if name in self._named:
            self._named[name].discard(listener)

    def emit(self, name: str, payload: Any = None) -> None:
        """Tell everyone who listens now. Returns when all have run; never raises what they raise."""
        if name in self._named:
            self._named[name].notify(payload)
        self._any.notify(name, payload)

    def clear(self, name: str | None = None) -> None:
        """Forget the listeners of one name, or without a name everyone, catch-alls too."""
        if name is not None:
            self._named.pop(name, None)
        else:
            self._named.clear()
            self._any.clear()
