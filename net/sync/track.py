"""A track: the snapshots of one ghost, shown at the time of a playback that many tracks may share."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from net.sync.playback import HORIZON, Playback

S = TypeVar("S")

LIMIT: Final = 64
"""snapshots kept"""
BRIDGE: Final = 1.35
"""how long the way from a wrong guess back to the truth takes, in times of what was guessed. Whoever was guessed to go
on at speed v and has turned back is 2 v t away after t seconds, and so comes back at up to v + 2 v / BRIDGE"""


class Track(Generic[S]):
    """One ghost's snapshots in the sender's time, in order whatever the order of arrival.

    `interpolate` gets the snapshots before and after, and t in 0..1. Where the newest is in the past already, the last
    two are extrapolated for up to HORIZON (t above 1), unless `extrapolate` is off: then the newest is held. A snapshot
    that shows a guess to be wrong is not jumped to: the way leads from what was shown to what will be true a moment
    later. `apart` says of two values that nobody goes from one to the other: it jumps there, at its time.
    """

    __slots__ = (
        "_apart",
        "_bridge",
        "_horizon",
        "_interpolate",
        "_playback",
        "_shown",
        "_shown_at",
        "_times",
        "_values",
    )

    def __init__(
        self,
        playback: Playback,
        interpolate: Callable[[S, S, float], S],
        *,
        apart: Callable[[S, S], bool] = lambda a, b: False,
        extrapolate: bool = True,
    ) -> None:
        self._playback = playback
        self._interpolate = interpolate
        self._apart = apart
        self._horizon = HORIZON if extrapolate else 0.0
        self._times: list[float] = []
        self._values: list[S] = []
        self._shown: S | None = None
        self._shown_at = -math.inf
        self._bridge = -math.inf

    def __len__(self) -> int:
        return len(self._times)

    def push(self, time: float, value: S) -> None:
        """Insert a snapshot of the sender's `time`; it replaces one of the same time. The oldest goes beyond LIMIT.

        Raises ValueError for a time that is no finite number: it could not be put in order.
        """
        if not -math.inf < time < math.inf:
            raise ValueError(f"{time} is no time of a snapshot")
        times, values = self._times, self._values
        index = bisect_left(times, time)
        if index < len(times) and times[index] == time:
            values[index] = value
            return
        at = self._shown_at
        if index and times[index - 1] < at and (index == len(times) or at < times[index]):
            # all that was shown since the snapshot before was a guess
            self._bridge = max(self._bridge, at + BRIDGE * (at - times[index - 1]))
        times.insert(index, time)
        values.insert(index, value)
        if len(times) > LIMIT:
            del times[0]
            del values[0]

    def hold(self, time: float) -> None:
        """Say that nothing has changed up to the sender's `time`: for senders that leave out what is as it was."""
        times, values = self._times, self._values
        if not times or time <= times[-1]:
            return
        if len(times) > 1 and values[-1] is values[-2]:
            times[-1] = time  # it rests: the same two snapshots serve for as long as it does
        else:
            self.push(time, values[-1])

    def sample(self) -> S | None:
        """What to show at the playback's time, to be asked once a frame; None before the first snapshot.

        Before the time of the first snapshot it is that one: who has just come is shown at once.
        """
        if not self._times:
            return None
        time, shown = self._playback.time, self._shown
        if shown is not None and time <= self._shown_at:
            return shown
        if shown is not None and time < self._bridge:
            end = self._at(self._bridge, self._horizon)
            if self._apart(shown, end):
                self._bridge = -math.inf
                shown = self._at(time, self._horizon)
            else:
                shown = self._interpolate(shown, end, (time - self._shown_at) / (self._bridge - self._shown_at))
        else:
            shown = self._at(time, self._horizon)
        self._shown, self._shown_at = shown, time
        return shown

    def at(self, time: float) -> S | None:
        """The value at the sender's `time`, whatever the playback shows, as a `SnapshotBuffer` without delay has it.

        None before the first snapshot, the last after the last: nothing is guessed.
        """
        return self._at(time, 0.0) if self._times and time >= self._times[0] else None

    def latest(self) -> S | None:
        """The snapshot with the newest time."""
        return self._values[-1] if self._values else None

    def clear(self) -> None:
        """Forget everything: for another ghost under the same name."""
        self._times.clear()
        self._values.clear()
        self._shown = None
        self._shown_at = self._bridge = -math.inf

    def _at(self, time: float, horizon: float) -> S:
        """The value at `time`, as well as the snapshots tell: guessed up to `horizon` beyond them."""
        times, values = self._times, self._values
        after = bisect_right(times, time)
        if after == 0:
            return values[0]
        if after == len(times):
            after -= 1
            time = min(time, times[after] + horizon)
            if time <= times[after] or after == 0:
                return values[after]
        old, new = values[after - 1], values[after]
        start, end = times[after - 1], times[after]
        if self._apart(old, new):
            return old if time < end else new
        return self._interpolate(old, new, (time - start) / (end - start))
