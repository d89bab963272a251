"""RetryPolicy: whether and when to come back after a lost connection. Pure: numbers in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

REFUSALS: Final = (range(1008, 1009), range(4000, 5000))
"""close codes that mean: do not come back. 1008 is a violated policy, 4000 to 4999 are the applications' (RFC 6455)"""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A number of tries, and a delay before each that may grow and be spread. An opened connection resets the count."""

    tries: int
    first: float
    """seconds before the first try"""
    factor: float = 1.0
    """each further delay is this times the one before"""
    longest: float = 60.0
    """seconds that no delay exceeds before it is spread"""
    spread: float = 0.0
    """the delay is multiplied by 1 ± this at random, so that a restarted server does not meet everyone at once"""
    final_codes: tuple[range, ...] = REFUSALS
    """close codes after which there is no try at all"""

    @classmethod
    def plain(cls) -> RetryPolicy:
        """3 tries, one second before each."""
        return cls(tries=3, first=1.0, longest=1.0)

    @classmethod
    def backoff(cls) -> RetryPolicy:
        """5 tries after 1, 2, 4, 8 and 16 s, each ±20 %."""
        return cls(tries=5, first=1.0, factor=2.0, longest=16.0, spread=0.2)

    def delay(self, attempt: int, chance: float = 0.5) -> float:
        """Seconds to wait before try `attempt` (1, 2, 3 …). `chance` is a random number in [0, 1)."""
        try:
            delay = min(self.longest, self.first * self.factor ** (attempt - 1))
        except OverflowError:
            delay = self.longest
        return delay * (1 + self.spread * (2 * chance - 1))

    def final(self, code: int | None) -> bool:
        """Whether a connection that ended with close code `code` is not to be tried again."""
        return any(code in codes for codes in self.final_codes)
