"""Crew: many headless players in one process, for load, and the sum of what they saw."""

from __future__ import annotations

import heapq
import math
import statistics
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec

from game.session.base import Link, Pilot, SessionStatus
from game.session.match import Match, Report
from game.sim.constants import TICK_RATE
from net.clock import Clock

TURN_RATE: Final = 8 * TICK_RATE
"""calls of `Crew.update` a second: eight in a tick, so that commands leave spread over it"""
JOINING: Final = 1.0
"""seconds over which the members join"""


class CrewReport(msgspec.Struct):
    """Sums over a crew's life. Rates are those of one player while he was in the match."""

    players: int
    """how many were to play"""
    joined: int
    """how many got into the match"""
    stayed: int
    """how many joined, and were never away until the end"""
    seconds: float
    ticks: int
    corrections: int
    correction_max_units: float
    rtt_ms_median: float
    rtt_ms_max: float
    snapshots_per_second: float
    bytes_up_per_second: float
    bytes_down_per_second: float
    pending_max: int
    cpu_share: float
    """processor time of this process per second, all its threads: 1.0 is one core"""
    refused: dict[str, int]
    """how many never got into the match, by the reason they were told"""
    interrupted: dict[str, int]
    """how many connections broke in the match and were tried again, by reason"""
    lost: dict[str, int]
    """how many were in the match, and had no connection in the end, by reason"""

    def trouble(self, where: str) -> str:
        """One sentence on who did not join or stay at `where`; empty if everybody did."""
        if self.stayed == self.players:
            return ""
        kinds = (("refused", self.refused), ("interrupted", self.interrupted), ("lost", self.lost))
        what = ", ".join(f"{n} {kind} ({_plain(why)})" for kind, counts in kinds for why, n in counts.items())
        return f"{self.players - self.stayed} of {self.players} did not join or stay at {where}: {what}"


class _Member:
    """One player: when his turns are, and how his connection fares. Without a session before the first turn."""

    def __init__(self, number: int, first: float) -> None:
        self.number = number
        self.first = self.at = first
        self.turn = 0
        self.session: Match | None = None
        self.joined_at = self.left_at = math.nan
        self.interrupted: Counter[str] = Counter()
        self.gone = False
        """whether he is out for good"""

    def note(self, status: SessionStatus, before: SessionStatus) -> None:
        """Take in what became of the connection."""
        match status.link:
            case Link.CONNECTED if math.isnan(self.joined_at):
                self.joined_at = self.at
            case Link.RECONNECTING if before.link is Link.CONNECTED:
                self.interrupted[status.detail] += 1
            case Link.REFUSED | Link.LOST:
                self.gone, self.left_at = True, self.at

    @property
    def joined(self) -> bool:
        """Whether he ever was in the match."""
        return not math.isnan(self.joined_at)

    @property
    def fate(self) -> str:
        """Why he is not in the match now; empty if he is."""
        if self.session is None:
            return "there was no time left to join"
        status = self.session.status.get()
        return "" if status.link is Link.CONNECTED else status.detail or "no answer"

    def seconds(self, now: float) -> float:
        """How long he was in the match until `now`."""
        if not self.joined:
            return 0.0
        return max(0.0, (now if math.isnan(self.left_at) else self.left_at) - self.joined_at)


class Crew:
    """Players 0 to `size` - 1. They join one after the other, and have their ticks one after the other."""

    def __init__(self, size: int, join: Callable[[int], tuple[Match, Pilot]], clock: Clock, cpu: Clock) -> None:
        """`join` makes the session and the pilot of a member by number, at his first turn.

        `cpu` tells the processor time that this process has used.
        """
        self._join, self._clock, self._cpu = join, clock, cpu
        self._start, self._cpu_start = clock.now(), cpu.now()
        self._members = [_Member(n, self._start + _first_turn(n / size)) for n in range(size)]
        self._pilots: list[Pilot] = []
        self._turns = [(member.first, member.number) for member in self._members]
        heapq.heapify(self._turns)

    def update(self, now: float) -> bool:
        """Give everyone whose turn has come by `now` (seconds) his; whether anybody is still playing.

        Raises whatever `join` does.
        """
        turns = self._turns
        while turns and turns[0][0] <= now:
            member = self._members[turns[0][1]]
            self._play(member, now)
            if member.gone:
                heapq.heappop(turns)
            else:
                heapq.heapreplace(turns, (member.first + member.turn / TICK_RATE, member.number))
        return bool(turns)

    def _play(self, member: _Member, now: float) -> None:
        """One turn, at the newest of his times that has come: whoever is late catches up in one go."""
        member.turn = max(member.turn, math.floor((now - member.first) * TICK_RATE))
        # the same formula as the session's own schedule, so that each turn finds exactly one tick due
        member.at = member.first + member.turn / TICK_RATE
        member.turn += 1
        if member.session is None:
            member.session, pilot = self._join(member.number)
            member.session.status.subscribe(member.note)
            member.note(member.session.status.get(), SessionStatus())  # a channel is open from the start
            self._pilots.append(pilot)  # members join in the order of their numbers
        member.session.update(member.at, self._pilots[member.number])

    def reports(self) -> list[Report]:
        """What each session has seen so far, in the order of joining."""
        return [member.session.report() for member in self._members if member.session is not None]

    def report(self) -> CrewReport:
        """The sum so far."""
        now = self._clock.now()
        members, seconds = self._members, max(now - self._start, 1e-9)
        joined = [member for member in members if member.joined]
        reports = [member.session.report() for member in joined if member.session is not None]
        played = max(sum(member.seconds(now) for member in joined), 1e-9)
        interrupted = sum((member.interrupted for member in members), Counter[str]())
        return CrewReport(
            players=len(members),
            joined=len(joined),
            stayed=sum(not (member.fate or member.interrupted) for member in joined),
            seconds=round(seconds, 2),
            ticks=sum(report.ticks for report in reports),
            corrections=sum(report.corrections for report in reports),
            correction_max_units=max((report.correction_max_units for report in reports), default=0.0),
            rtt_ms_median=round(statistics.median(report.rtt_ms for report in reports), 2) if reports else 0.0,
            rtt_ms_max=max((report.rtt_ms for report in reports), default=0.0),
            snapshots_per_second=round(sum(report.snapshots for report in reports) / played, 2),
            bytes_up_per_second=round(sum(report.bytes_up for report in reports) / played),
            bytes_down_per_second=round(sum(report.bytes_down for report in reports) / played),
            pending_max=max((report.pending_max for report in reports), default=0),
            cpu_share=round((self._cpu.now() - self._cpu_start) / seconds, 3),
            refused=dict(Counter(member.fate for member in members if member.fate and not member.joined)),
            interrupted=dict(interrupted),
            lost=dict(Counter(member.fate for member in joined if member.fate)),
        )

    def close(self) -> None:
        """Everybody leaves, all at once: a server that does not answer costs a second, and not one for each."""
        sessions = [member.session for member in self._members if member.session is not None]
        with ThreadPoolExecutor(max(1, len(sessions)), "leaving") as pool:
            for _ in pool.map(lambda session: session.close(), sessions):
                pass


def _first_turn(share: float) -> float:
    """Seconds to the first turn of whoever comes after `share` (0..1) of the others: its tick, and its phase in it."""
    return (math.floor(share * JOINING * TICK_RATE) + share) / TICK_RATE


def _plain(reason: str) -> str:
    """A reason in somebody else's words, fit for a terminal."""
    return "".join(character if character.isprintable() else "?" for character in reason)
