"""A schedule of fixed steps that neither drifts nor spirals: which steps are due, and what lies too far back."""

from __future__ import annotations

import math


class FixedStep:
    """Step n is due at start + n / rate, computed from n each time, so that rounding never adds up.

    The first call of `due` sets the start, and its step is due at once.
    """

    def __init__(self, rate: float, *, max_steps: int = 8) -> None:
        if not (0 < rate < math.inf and max_steps >= 1):
            raise ValueError(f"{rate} steps a second, at most {max_steps} at once: no such schedule")
        self.rate = rate
        """steps a second"""
        self.max_steps = max_steps
        """steps that are run at most to catch up"""
        self.dropped = 0
        """steps that were left out, because catching up would have taken more than `max_steps`"""
        self._start: float | None = None
        self._next = 0

    @property
    def next_at(self) -> float:
        """When the next step is due, seconds; -inf (at once) before the first."""
        return -math.inf if self._start is None else self._start + self._next / self.rate

    def due(self, now: float) -> int:
        """How many steps to run now, 0 to `max_steps`. What lies beyond is dropped; the phase stays as it was."""
        if self._start is None:
            self._start = now
        start, rate = self._start, self.rate
        end = math.floor((now - start) * rate) + 1
        # the product may round across a deadline: what counts is that a step is due at `next_at`, and not before
        while start + end / rate <= now:
            end += 1
        while end > self._next and start + (end - 1) / rate > now:
            end -= 1
        steps = end - self._next
        if steps <= 0:
            return 0
        self._next = end
        late = max(0, steps - self.max_steps)
        self.dropped += late
        return steps - late

    def alpha(self, now: float) -> float:
        """How far `now` lies between the last due step and the next, 0..1; 0 before the first."""
        if self._start is None:
            return 0.0
        return max(0.0, min(1.0, 1.0 - (self.next_at - now) * self.rate))
