"""Eyes: who looks from where, what each eye sees, and the exact answers to the connections that own them.

An eye is one anchor of one connection. Which slots an eye sees is one bit each; a provider only finds the bits that
change, for all eyes at once. What a connection sees is what any of its eyes sees.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from net.replication.interest.bits import BitTable, Index, pack, set_bits, unpack
from net.replication.interest.pairs import Grouped
from net.replication.interest.sample import NO_SLOTS, UNCHANGED, Answer, Flags, Sample, Slots

Floats = NDArray[np.float64]


class Eyes:
    """The eyes of all connections, numbered by the columns of `seen`.

    `at` and `before` are where they are and were at the last sample, [3, eyes] float64: infinitely far if not in use.
    """

    def __init__(self, capacity: int) -> None:
        self.seen = BitTable(capacity)
        self.at: Floats = np.full((3, self.seen.columns), math.inf)
        self.before = self.at.copy()
        self._anchor = np.zeros(self.seen.columns, np.intp)
        self._used = np.zeros(self.seen.columns, np.bool_)
        self._of: dict[int, list[int]] = {}
        self._anchors: dict[int, Slots] = {}
        self._pieces: tuple[list[tuple[Slots, Index | int]], ...] = ([], [], [])
        # What went, was lost and was gained in this sample, by eye; and for which eyes that has not been told yet.
        self._news: tuple[Grouped, ...] = (Grouped((), 0, 0),) * 3
        self._untold: set[int] = set()

    def __len__(self) -> int:
        return int(self._used.sum())

    def begin(self, sample: Sample) -> Flags:
        """Take in a sample: eyes follow their anchors, and nobody sees what has gone. Gives who moved, [eyes]."""
        self._pieces = ([], [], [])
        if len(sample.despawned):
            rows, eyes = set_bits(self.seen.of(sample.despawned))
            self._pieces[0].append((sample.despawned[rows], eyes))
            self.seen.clear(sample.despawned)
        # An anchor that has no position any more is about to be taken back: its eye stays where it is.
        follows = self._used & sample.placed[self._anchor]
        np.copyto(self.before, self.at)
        for axis, positions in enumerate((sample.x, sample.y, sample.z)):
            np.copyto(self.at[axis], positions[self._anchor], where=follows)
        moved: Flags = (self.at != self.before).any(axis=0)
        return moved

    def hide(self, slots: Slots) -> None:
        """No eye sees these slots any more: they have no position."""
        rows, eyes = set_bits(self.seen.of(slots))
        self._pieces[1].append((slots[rows], eyes))
        self.seen.clear(slots)

    def judge(self, slots: Slots, sees: Flags) -> None:
        """All eyes looked at these slots; `sees` is [slots, eyes]."""
        now = pack(sees)
        rows, eyes = set_bits(now ^ self.seen.of(slots))
        if len(rows):
            self.seen.words[slots] = now
            gained = sees[rows, eyes]
            self._note(slots[rows], eyes, gained)

    def judge_pairs(self, slots: Slots, eyes: Index | int, sees: Flags) -> None:
        """Each of these eyes (or one) looked at one slot of these."""
        changed = np.flatnonzero(sees != self.seen.test(slots, eyes))
        if not len(changed):
            return
        slots, sees = slots[changed], sees[changed]
        eyes = eyes if isinstance(eyes, int) else eyes[changed]
        for table, chosen in ((self.seen.set, sees), (self.seen.unset, ~sees)):
            table(slots[chosen], eyes if isinstance(eyes, int) else eyes[chosen])
        self._note(slots, eyes, sees)

    def end(self) -> None:
        """All changes of this sample are known."""
        self._news = tuple(Grouped(pieces, self.seen.rows, self.seen.columns) for pieces in self._pieces)
        self._untold = {eye for news in self._news for eye in news.columns()}
        self._pieces = ([], [], [])

    def watch(self, connection: int, anchors: Slots, sample: Sample) -> list[int]:
        """Let a connection look from these anchors. Gives its new eyes, for the caller to judge what they see."""
        known = self._anchors.get(connection)
        if known is anchors or (known is not None and np.array_equal(known, anchors)):
            return []
        self._anchors[connection] = anchors
        wanted = set(anchors.tolist())
        eyes = self._of.setdefault(connection, [])
        for eye in [eye for eye in eyes if int(self._anchor[eye]) not in wanted]:
            for pieces, news in zip(self._pieces, self._news, strict=True):
                pieces.append((news.of(eye) if eye in self._untold else NO_SLOTS, eye))
            self._pieces[1].append((self.seen.column(eye), eye))
            self._close(eye)
            eyes.remove(eye)
        wanted -= {int(self._anchor[eye]) for eye in eyes}
        new = [self._open(anchor, sample) for anchor in sorted(wanted)]
        eyes += new
        return new

    def answer(self, connection: int) -> Answer:
        """What changed for a connection since it was asked last. Call `watch` before."""
        eyes = self._of[connection]
        other = any(self._pieces)
        if not other and self._untold.isdisjoint(eyes):
            return UNCHANGED
        if other or len(eyes) > 1:
            return self._union(eyes)
        (eye,) = eyes
        self._untold.remove(eye)
        gone, lost, gained = (news.of(eye) for news in self._news)
        return Answer(gained, np.union1d(gone, lost) if len(gone) else lost)

    def forget(self, connection: int) -> None:
        """Close all eyes of a connection."""
        self._anchors.pop(connection, None)
        for eye in self._of.pop(connection, ()):
            self._close(eye)

    def jumped(self, eye: int, reach: float) -> bool:
        """Whether an eye moved so far that one rectangle around both places would be larger than one around each."""
        step = np.abs(self.at[:, eye] - self.before[:, eye])
        return bool(step[0] > reach or step[2] > reach)

    def box(self, eye: int, reach: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """The (x, z) rectangle of what is within `reach` of an eye: where it is, and where it was unless it jumped."""
        x, _, z = self.at[:, eye].tolist()
        old_x, _, old_z = (self.at if self.jumped(eye, reach) else self.before)[:, eye].tolist()
        return (min(x, old_x) - reach, min(z, old_z) - reach), (max(x, old_x) + reach, max(z, old_z) + reach)

    def _union(self, eyes: list[int]) -> Answer:
        """The answer of a connection with several eyes, or with other eyes than before."""
        collected: list[Slots] = []
        for pieces, news in zip(self._pieces, self._news, strict=True):
            parts = [piece for piece, _ in pieces] + [news.of(eye) for eye in eyes if eye in self._untold]
            collected.append(np.concatenate([NO_SLOTS, *parts]))
            pieces.clear()
        self._untold.difference_update(eyes)
        gone, lost, gained = collected
        # How many of its eyes see a slot, and how many did before, which the changes tell backwards.
        slots, which = np.unique(np.concatenate([lost, gained]), return_inverse=True)
        now = unpack(self.seen.of(slots))[:, eyes].sum(axis=1)
        before = now + np.bincount(which[: len(lost)], minlength=len(slots))
        before -= np.bincount(which[len(lost) :], minlength=len(slots))
        left = slots[(before > 0) & (now == 0)]
        return Answer(slots[(before == 0) & (now > 0)], np.union1d(gone, left))

    def _open(self, anchor: int, sample: Sample) -> int:
        eye = self.seen.take()
        more = self.seen.columns - len(self._used)
        if more:
            self.at = np.pad(self.at, ((0, 0), (0, more)), constant_values=math.inf)
            self.before = np.pad(self.before, ((0, 0), (0, more)), constant_values=math.inf)
            self._anchor = np.pad(self._anchor, (0, more))
            self._used = np.pad(self._used, (0, more))
        self._anchor[eye] = anchor
        self._used[eye] = True
        self.at[:, eye] = sample.x[anchor], sample.y[anchor], sample.z[anchor]
        self.before[:, eye] = self.at[:, eye]
        return eye

    def _close(self, eye: int) -> None:
        self.seen.give_back(eye)
        self._used[eye] = False
        self._untold.discard(eye)
        self.at[:, eye] = self.before[:, eye] = math.inf

    def _note(self, slots: Slots, eyes: Index | int, gained: Flags) -> None:
        for pieces, chosen in ((self._pieces[1], ~gained), (self._pieces[2], gained)):
            pieces.append((slots[chosen], eyes if isinstance(eyes, int) else eyes[chosen]))
