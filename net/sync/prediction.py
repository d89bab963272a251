"""Client-side prediction with server reconciliation (Bernier 2001, Gambetta): rewind to the answer, replay the rest."""

from __future__ import annotations

import logging
import operator
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final, Generic, TypeVar

S = TypeVar("S")
C = TypeVar("C")

LIMIT: Final = 128
"""pending commands: two seconds at 60 a second"""

_log = logging.getLogger(__name__)


class Predictor(Generic[S, C]):
    """One predicted state, and the commands that the authority has not acknowledged.

    `step(state, command)` returns the next state and must not change its argument. `on_correction(before, after)` is
    called when a replay ends in another state than the one predicted, by `equal`; the new state is readable by then.
    """

    def __init__(
        self,
        state: S,
        step: Callable[[S, C], S],
        *,
        on_correction: Callable[[S, S], None] | None = None,
        equal: Callable[[S, S], bool] = operator.eq,
        limit: int = LIMIT,
    ) -> None:
        if limit < 1:
            raise ValueError(f"a limit of {limit} pending commands allows no prediction")
        self._state = state
        self._step = step
        self._on_correction = on_correction
        self._equal = equal
        self._limit = limit
        self._pending: deque[C] = deque()
        self._next_seq = 1
        self._last_acknowledged = 0
        self._floor = 0
        self._warned = False

    @property
    def state(self) -> S:
        """The state with every pending command applied."""
        return self._state

    @property
    def pending(self) -> int:
        """How many commands wait for their acknowledgement."""
        return len(self._pending)

    @property
    def last_acknowledged(self) -> int:
        """The highest seq that the authority has acknowledged, 0 before the first."""
        return self._last_acknowledged

    @property
    def next_seq(self) -> int:
        """The seq that the next command will get."""
        return self._next_seq

    def apply(self, command: C) -> int:
        """Run a command at once, keep it as pending, and return its seq: 1, 2, 3 …

        Beyond the limit the oldest pending command is forgotten, so the next replay comes out short; the first time
        is logged.
        """
        self._state = self._step(self._state, command)
        self._pending.append(command)
        if len(self._pending) > self._limit:
            self._pending.popleft()
            if not self._warned:
                self._warned = True
                _log.warning("more than %d commands wait for an acknowledgement: dropping the oldest", self._limit)
        seq = self._next_seq
        self._next_seq += 1
        return seq

    def acknowledge(self, state: S, last_seq: int, *, replay: bool = True) -> bool:
        """Take in the authority's state after command `last_seq`. False if it was ignored, as a whole.

        Ignored are an old acknowledgement, one for a seq that was never given out, and one from before a reset. Without
        `replay` the state is taken as it comes: that shows what reconciliation is good for.
        """
        if not max(self._last_acknowledged, self._floor) < last_seq < self._next_seq:
            return False
        before = self._state
        pending = self._pending
        done = max(0, last_seq - (self._next_seq - 1 - len(pending)))
        if replay:
            for command in islice(pending, done, None):
                state = self._step(state, command)
        for _ in range(done):
            pending.popleft()
        self._state = state
        self._last_acknowledged = last_seq
        if replay and self._on_correction is not None and not self._equal(before, state):
            self._on_correction(before, state)
        return True

    def reset(self, state: S, *, renumber: bool = False) -> None:
        """Start over from `state` with nothing pending, and without a callback.

        Numbering continues, and what was sent before can no longer be acknowledged: such answers know nothing of the
        new state. With `renumber` it starts again at 1, for a new connection.
        """
        self._state = state
        self._pending.clear()
        if renumber:
            self._next_seq = 1
            self._last_acknowledged = 0
        self._floor = self._next_seq - 1
