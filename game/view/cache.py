"""A cache that stays small."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """At most `limit` values that `make` built; the one not used for the longest time goes first."""

    def __init__(self, limit: int, make: Callable[[K], V]) -> None:
        if limit < 1:
            raise ValueError("a cache holds at least one value")
        self.limit = limit
        self._make = make
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V:
        """The value for `key`, made now if it is not there."""
        kept = self._kept
        value = kept.get(key)
        if value is not None:
            kept.move_to_end(key)
            return value
        value = kept[key] = self._make(key)
        if len(kept) > self.limit:
            kept.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._kept)
