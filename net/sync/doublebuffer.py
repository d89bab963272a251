"""Double buffering between fixed steps: the simulation runs at its own rate, and each frame shows a blend.

The idea is Fiedler's ("Fix Your Timestep!", 2004): keep the states of the last two steps, and show the share of the
way between them that real time has gone, at most one step late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from net.sync.smoothing import SNAP

S = TypeVar("S")


class DoubleBuffer(Generic[S]):
    """The states after the last two steps of one thing, the same one twice at the start.

    `interpolate` gets both and alpha in 0..1, `distance` both and gives units. Two states farther apart than `snap`
    units are a jump: nothing lies between them, so the new one is shown at once. `snap` may be changed at any time.
    """

    __slots__ = ("_distance", "_interpolate", "next", "previous", "snap")

    def __init__(
        self,
        state: S,
        interpolate: Callable[[S, S, float], S],
        distance: Callable[[S, S], float],
        *,
        snap: float = SNAP,
    ) -> None:
        self._interpolate = interpolate
        self._distance = distance
        self.snap = snap
        self.previous = state
        self.next = state

    def push(self, state: S) -> None:
        """Take in the state after one more step. It is kept as it is: a step makes a new one, and changes none."""
        self.previous = self.next
        self.next = state

    def reset(self, state: S) -> None:
        """Show this from now on: for a thing that has been put elsewhere, however near."""
        self.previous = self.next = state

    def sample(self, alpha: float) -> S:
        """What to show at `alpha` (see `FixedStep.alpha`): 0 the previous state, 1 the next, never beyond either."""
        previous, following = self.previous, self.next
        if alpha >= 1.0 or not self._distance(previous, following) <= self.snap:
            return following
        return self._interpolate(previous, following, alpha) if alpha > 0.0 else previous
