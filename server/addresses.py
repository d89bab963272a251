"""How many connections each host has."""

from __future__ import annotations

from collections import Counter


class Addresses:
    """Counts connections by host, and says when one has too many. Peers within this process (no address) are free."""

    def __init__(self, limit: int) -> None:
        """`limit`: connections from one host."""
        self._limit = limit
        self._counts: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Count one more, whether it may stay or not: whether it is within the limit. `leave` is due for both."""
        if not address:
            return True
        self._counts[address] += 1
        return self._counts[address] <= self._limit

    def leave(self, address: str) -> None:
        """Count one less."""
        if address:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]
