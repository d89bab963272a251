"""Store: a plain reactive store. One state, replaced as a whole; whoever subscribes hears of each change, in order."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

S = TypeVar("S")
T = TypeVar("T")

_log = logging.getLogger(__name__)


class _Subscription:
    """One listener, what it selects, and the newest value and revision that it knows."""

    __slots__ = ("active", "known", "listener", "revision", "selector")

    def __init__(
        self, listener: Callable[[Any, Any], object], selector: Callable[[Any], Any] | None, state: Any, revision: int
    ) -> None:
        self.listener = listener
        self.selector = selector
        self.known = state if selector is None else selector(state)
        self.revision = revision
        self.active = True

    def hear(self, state: Any, revision: int) -> None:
        """Tell the listener, if this is news to it."""
        if not self.active or revision <= self.revision:
            return
        self.revision = revision
        selected = state if self.selector is None else self.selector(state)
        known = self.known
        if _same(selected, known):
            return
        self.known = selected
        self.listener(selected, known)


class Store(Generic[S]):
    """Holds one state of type S. States are values: replace them, never change them in place.

    A set inside a listener takes effect at once for `get`, and is announced when the announcement under way has
    reached everyone, so no listener is told an older state after a newer one.
    """

    def __init__(self, initial: S) -> None:
        self._state = initial
        self._revision = 0
        self._subscriptions: tuple[_Subscription, ...] = ()
        self._queue: deque[tuple[S, int]] = deque()
        self._announcing = False

    def get(self) -> S:
        """The state now."""
        return self._state

    def set(self, value: S | Callable[[S], S]) -> None:
        """Replace the state by `value`, or by what `value` makes of the old state if it can be called.

        An equal state (==) changes nothing and is not announced. What an updater raises comes out of here.
        """
        state = value(self._state) if callable(value) else value
        if _same(state, self._state):
            return
        self._state = state
        self._revision += 1
        self._queue.append((state, self._revision))
        if not self._announcing:
            self._announce()

    @overload
    def subscribe(self, listener: Callable[[S, S], object]) -> Callable[[], None]: ...

    @overload
    def subscribe(self, listener: Callable[[T, T], object], selector: Callable[[S], T]) -> Callable[[], None]: ...

    def subscribe(
        self, listener: Callable[[Any, Any], object], selector: Callable[[S], Any] | None = None
    ) -> Callable[[], None]:
        """Call `listener(new, old)` after each change, and return what ends that (harmless to call again).

        With a selector the listener gets what it selects, and only when that changed. A listener or selector that
        raises during an announcement is logged and harms no other.
        """
        subscription = _Subscription(listener, selector, self._state, self._revision)
        self._subscriptions = (*self._subscriptions, subscription)

        def unsubscribe() -> None:
            subscription.active = False
            self._subscriptions = tuple(kept for kept in self._subscriptions if kept is not subscription)

        return unsubscribe

    def _announce(self) -> None:
        self._announcing = True
        try:
            while self._queue:
                state, revision = self._queue.popleft()
                for subscription in self._subscriptions:
                    try:
                        subscription.hear(state, revision)
                    except Exception:
                        _log.exception("a listener of a store raised")
        finally:
            self._announcing = False


def _same(a: object, b: object) -> bool:
    return a is b or bool(a == b)
