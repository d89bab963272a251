"""Subscribers: who is to be called, each at most once, none of them able to harm another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVarTuple

Arguments = TypeVarTuple("Arguments")

_log = logging.getLogger(__name__)


class Subscribers(Generic[*Arguments]):
    """Callbacks that are called with the same arguments, in the order in which they subscribed."""

    def __init__(self, about: str) -> None:
        """`about` names in the log what a callback that raised was called for."""
        self._about = about
        self._callbacks: tuple[Callable[[*Arguments], object], ...] = ()

    def __len__(self) -> int:
        return len(self._callbacks)

    def add(self, callback: Callable[[*Arguments], object]) -> Callable[[], None]:
        """Call `callback` from now on, and return what ends that. One that is already there is not added again."""
        if callback not in self._callbacks:
            self._callbacks = (*self._callbacks, callback)
        return lambda: self.discard(callback)

    def discard(self, callback: Callable[[*Arguments], object]) -> None:
        """Call `callback` no more. Harmless if it is not there."""
        self._callbacks = tuple(kept for kept in self._callbacks if kept != callback)

    def clear(self) -> None:
        """Forget everyone."""
        self._callbacks = ()

    def notify(self, *arguments: *Arguments) -> None:
        """Call everyone who is there as this starts, whatever they add or remove. What they raise is logged."""
        for callback in self._callbacks:
            try:
                callback(*arguments)
            except Exception:
                _log.exception("a subscriber of %s raised", self._about)
