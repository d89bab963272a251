"""Crews of headless players on a ManualClock: when their turns are, and how what they saw is summed up."""

from __future__ import annotations

import json
import math
import threading
from typing import Any

import msgspec
import pytest

from game.session.base import Link, Pilot, SessionStatus
from game.session.crew import JOINING, TURN_RATE, Crew, CrewReport
from game.session.headless import HeadlessOnline, HeadlessPeer
from game.session.match import Match, Report
from game.session.pilot import BotPilot
from game.sim.arena import CROSSFIRE
from game.sim.constants import TICK_RATE
from net.clock import ManualClock
from net.store import Store
from net.transport.base import ConnectionStatus, TransportState
from net.transport.conditioner import Conditions
from net.transport.endpoint import Endpoint
from net.transport.local import LocalHub, LocalTransport
from server.authority import Authority
from server.inprocess import connect

WHERE = "ws://example/"


class Watched(BotPilot):
    """A bot that notes when it has played."""

    def __init__(self, seed: int, clock: ManualClock) -> None:
        super().__init__(seed, CROSSFIRE)
        self.clock = clock
        self.times: list[float] = []

    def command(self, avatar: Any, tick: int) -> Any:
        self.times.append(self.clock.now())
        return super().command(avatar, tick)


class Told:
    """A session that is told what happens to it."""

    def __init__(self, report: Report | None = None) -> None:
        self.status = Store(SessionStatus(where=WHERE))
        self.updates: list[float] = []
        self.leave = lambda: None
        self.seen = report or Report()

    def say(self, link: Link, detail: str = "") -> None:
        self.status.set(SessionStatus(link, detail, where=WHERE))

    def update(self, now: float, pilot: Pilot) -> None:
        self.updates.append(now)

    def report(self) -> Report:
        return self.seen

    def close(self) -> None:
        self.leave()
        self.say(Link.LEFT)


def run(crew: Crew, clock: ManualClock, seconds: float, authority: Authority | None = None) -> bool:
    """Turn after turn; an authority has its tick with every eighth."""
    playing = True
    for turn in range(round(seconds * TURN_RATE)):
        if authority is not None and turn % (TURN_RATE // TICK_RATE) == 0:
            authority.tick(clock.now())
        playing = crew.update(clock.now())
        clock.advance(1 / TURN_RATE)
    return playing


def told_crew(sessions: list[Any], clock: ManualClock | None = None, cpu: ManualClock | None = None) -> Crew:
    def join(number: int) -> tuple[Any, Pilot]:
        return sessions[number], BotPilot(number, CROSSFIRE)

    return Crew(len(sessions), join, clock or ManualClock(), cpu or ManualClock())


@pytest.mark.parametrize("network", [Conditions(), Conditions(latency=0.05, jitter=0.02)])
def test_a_crew_plays_against_an_authority(network: Conditions) -> None:
    clock, cpu = ManualClock(100.0), ManualClock()
    authority = Authority(clock, lambda event, **fields: None)

    def join(number: int) -> tuple[Match, Pilot]:
        session = HeadlessOnline(
            lambda: connect(authority, "/", f"peer-{number}"),
            clock,
            name=f"Bot {number}",
            network=network,
            seed=number,
            where=WHERE,
        )
        return session, BotPilot(number, CROSSFIRE)

    crew = Crew(8, join, clock, cpu)
    assert run(crew, clock, 6.0, authority)
    cpu.advance(1.5)
    report = crew.report()
    assert (report.players, report.joined, report.stayed) == (8, 8, 8)
    assert (report.refused, report.interrupted, report.lost) == ({}, {}, {})
    assert report.corrections == 0
    assert report.correction_max_units == 0
    assert report.seconds == 6.0
    assert report.cpu_share == 0.25
    assert 8 * 60 * 4.8 < report.ticks <= 8 * 60 * 6
    assert 18 < report.snapshots_per_second < 21
    assert report.bytes_up_per_second > 300
    assert report.bytes_down_per_second > 300
    assert report.pending_max > 0
    assert 2000 * network.latency <= report.rtt_ms_median <= report.rtt_ms_max < 2000 * network.latency + 150
    assert report.trouble(WHERE) == ""
    assert [one.peers_seen for one in crew.reports()] == [7] * 8
    assert sum(one.ticks for one in crew.reports()) == report.ticks
    json.dumps(msgspec.to_builtins(report), allow_nan=False)
    crew.close()
    assert authority.rooms == {}, "everybody has said good-bye"


@pytest.mark.parametrize("size", [1, 7, 60, 200])
def test_joins_are_spread_over_a_second_and_ticks_over_a_tick(size: int) -> None:
    clock = ManualClock(50.0)
    joins: list[float] = []
    pilots: list[Watched] = []

    def join(number: int) -> tuple[Match, Pilot]:
        assert number == len(joins), "in the order of their numbers"
        joins.append(clock.now() - 50.0)
        pilots.append(Watched(number, clock))
        return HeadlessPeer(lambda: LocalTransport(LocalHub()), clock, name=str(number)), pilots[-1]

    crew = Crew(size, join, clock, ManualClock())
    run(crew, clock, 1.2)
    for number, at in enumerate(joins):
        assert at == pytest.approx(JOINING * number / size, abs=1 / TICK_RATE + 1.1 / TURN_RATE)
    turns = {round(time * TURN_RATE) % 8 for pilot in pilots for time in pilot.times}
    assert len(turns) >= min(size, 8), "spread over the tick"
    for pilot in pilots:
        gaps = {round((b - a) * TURN_RATE) for a, b in zip(pilot.times, pilot.times[1:], strict=False)}
        assert gaps <= {7, 8, 9}, "one tick a turn, one turn a tick"
        assert 8 in gaps


def test_whoever_is_late_catches_up_in_one_turn_and_loses_no_tick() -> None:
    clock, hub = ManualClock(50.0), LocalHub()
    updates: list[int] = []

    class Counted(HeadlessPeer):
        def update(self, now: float, pilot: Pilot) -> Any:
            updates.append(int(self._name))
            return super().update(now, pilot)

    def join(number: int) -> tuple[Match, Pilot]:
        session = Counted(lambda: LocalTransport(hub, str(number)), clock, name=str(number))
        return session, BotPilot(number, CROSSFIRE)

    crew = Crew(3, join, clock, ManualClock())
    run(crew, clock, 2.0)
    clock.advance(0.1)
    updates.clear()
    crew.update(clock.now())
    assert sorted(updates) == [0, 1, 2]
    run(crew, clock, 1.0)
    for number, report in enumerate(crew.reports()):
        first = math.floor(number / 3 * TICK_RATE) / TICK_RATE + number / 3 / TICK_RATE
        assert report.ticks == pytest.approx((3.1 - first) * TICK_RATE, abs=1.01)


def test_who_was_refused_interrupted_or_lost_is_counted_by_reason() -> None:
    sessions = [Told() for _ in range(9)]
    happy, full, full_too, kicked, back, away, deaf, mute, shy = sessions
    clock = ManualClock()
    crew = told_crew(sessions, clock)
    run(crew, clock, 1.0)
    for session in (happy, kicked, back, away):
        session.say(Link.CONNECTED)
    for session in (full, full_too):
        session.say(Link.REFUSED, "room full")
    kicked.say(Link.LOST, "flood")
    for session in (back, away):
        session.say(Link.RECONNECTING, "the connection was lost")
    back.say(Link.CONNECTED)
    deaf.say(Link.RECONNECTING, "nobody answers")
    mute.say(Link.CONNECTING)
    shy.say(Link.CONNECTED, "no answer for 2 s")
    report = crew.report()
    assert (report.players, report.joined, report.stayed) == (9, 5, 2)
    assert report.refused == {"room full": 2, "nobody answers": 1, "no answer": 1}
    assert report.interrupted == {"the connection was lost": 2}
    assert report.lost == {"flood": 1, "the connection was lost": 1}
    assert report.trouble(WHERE) == (
        "7 of 9 did not join or stay at ws://example/: 2 refused (room full), 1 refused (nobody answers), "
        "1 refused (no answer), 2 interrupted (the connection was lost), 1 lost (flood), "
        "1 lost (the connection was lost)"
    )
    updates = [len(session.updates) for session in sessions]
    assert run(crew, clock, 1.0)
    played = [len(session.updates) - before for session, before in zip(sessions, updates, strict=True)]
    assert [turns > 1 for turns in played] == [True, False, False, False, True, True, True, True, True]


def test_a_crew_of_which_nobody_is_left_stops_playing() -> None:
    sessions = [Told(), Told()]
    clock = ManualClock()
    crew = told_crew(sessions, clock)
    assert run(crew, clock, 1.0)
    sessions[0].say(Link.REFUSED, "room full")
    assert run(crew, clock, 0.1)
    sessions[1].say(Link.LOST, "gone")
    assert not run(crew, clock, 0.1)


def test_whoever_had_no_time_left_to_join_is_told_apart() -> None:
    clock = ManualClock()
    crew = told_crew([Told() for _ in range(4)], clock)
    run(crew, clock, 0.5)
    assert crew.report().refused == {"no answer": 2, "there was no time left to join": 2}
    crew.close()


def test_rates_are_those_of_one_player_while_he_was_in_the_match() -> None:
    clock = ManualClock()
    reports = [
        Report(60, 40, 3, 1, 0.5, 20.0, 2000, 6000),
        Report(30, 20, 9, 0, 0.0, 90.0, 1000, 3000),
        Report(0, 0, 0, 0, 0.0, 0.0, 70, 0),
    ]
    sessions = [Told(report) for report in reports]
    crew = told_crew(sessions, clock)
    run(crew, clock, 1.0)
    for session in sessions[:2]:
        session.say(Link.CONNECTED)
    run(crew, clock, 1.0)
    sessions[1].say(Link.LOST, "gone")
    run(crew, clock, 1.0)
    report = crew.report()
    assert report.joined == 2
    assert (report.ticks, report.corrections, report.correction_max_units, report.pending_max) == (90, 1, 0.5, 9)
    assert (report.rtt_ms_median, report.rtt_ms_max) == (55.0, 90.0)
    assert report.snapshots_per_second == pytest.approx(60 / 3, rel=0.01)
    assert report.bytes_up_per_second == pytest.approx(3000 / 3, rel=0.01)
    assert report.bytes_down_per_second == pytest.approx(9000 / 3, rel=0.01)


def test_everybody_leaves_at_once() -> None:
    sessions = [Told() for _ in range(30)]
    clock = ManualClock()
    crew = told_crew(sessions, clock)
    run(crew, clock, 1.0)
    meet = threading.Barrier(len(sessions))
    for session in sessions:
        session.leave = lambda: meet.wait(20)  # nobody gets by before all are here
    crew.close()
    assert {session.status.get().link for session in sessions} == {Link.LEFT}


def test_a_member_who_cannot_be_made_ends_the_crew_and_the_others_still_leave() -> None:
    first = Told()

    def join(number: int) -> tuple[Any, Pilot]:
        if number:
            raise OSError("no more of these")
        return first, BotPilot(0, CROSSFIRE)

    clock = ManualClock()
    crew = Crew(2, join, clock, ManualClock())
    with pytest.raises(OSError, match="no more"):
        run(crew, clock, 1.0)
    crew.close()
    assert first.status.get().link is Link.LEFT


def test_a_servers_words_do_no_harm_to_a_terminal() -> None:
    sessions = [Told()]
    crew = told_crew(sessions)
    crew.update(0.0)
    sessions[0].say(Link.REFUSED, "go\x1b[2Jaway\n")
    assert crew.report().trouble(WHERE) == "1 of 1 did not join or stay at ws://example/: 1 refused (go?[2Jaway?)"


def test_a_refusal_on_the_wire_is_one_member_refused() -> None:
    class Door(Endpoint):
        """A server that lets nobody in."""

        reliable_ordered = True

        def send(self, data: Any) -> None: ...

        def send_bytes(self, data: bytes) -> None: ...

        def poll(self) -> None:
            self._change(ConnectionStatus(TransportState.CLOSED, code=4013, reason="room full"))

        def close(self) -> None:
            self._end()

    clock = ManualClock()

    def join(number: int) -> tuple[Match, Pilot]:
        return HeadlessOnline(lambda: Door(None, TransportState.CONNECTING), clock, name="Wren"), BotPilot(1, CROSSFIRE)

    crew = Crew(3, join, clock, ManualClock())
    assert not run(crew, clock, 1.0)
    assert crew.report().refused == {"room full": 3}


def test_nobody_looks_at_a_headless_match() -> None:
    clock, hub = ManualClock(), LocalHub()
    sessions = [HeadlessPeer(lambda n=n: LocalTransport(hub, n), clock, name=n) for n in "ab"]  # type: ignore[misc]
    for _ in range(60):
        now = clock.advance(1 / TICK_RATE)
        frames = [session.update(now, BotPilot(1, CROSSFIRE)) for session in sessions]
    assert [session.report().peers_seen for session in sessions] == [1, 1]
    assert [frame.avatars for frame in frames] == [[], []]


def test_a_crew_report_says_what_the_summary_promises() -> None:
    assert set(CrewReport.__struct_fields__) == {
        "players", "joined", "stayed", "seconds", "ticks", "corrections", "correction_max_units", "rtt_ms_median",
        "rtt_ms_max", "snapshots_per_second", "bytes_up_per_second", "bytes_down_per_second", "pending_max",
        "cpu_share", "refused", "interrupted", "lost",
    }  # fmt: skip
