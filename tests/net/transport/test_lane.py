"""One direction of a bad network, on literal times."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.transport.conditions import Conditions
from net.transport.lane import BACKLOG, HEAVIEST, Lane


class Losses(Random):
    """A random source whose `random()` says what it is told: below every probability, or above."""

    def __init__(self, *lost: bool) -> None:
        super().__init__(0)
        self.fates = list(lost)

    def random(self) -> float:
        return 0.0 if self.fates and self.fates.pop(0) else 0.999999


def arrivals(lane: Lane[Any], until: float, step: float = 0.001) -> list[tuple[float, Any]]:
    """(time, message) for everything that comes out, asked every `step`."""
    found: list[tuple[float, Any]] = []
    for n in range(round(until / step) + 1):
        found += [(round(n * step, 6), message) for message in lane.due(n * step)]
    return found


def test_latency_alone_delays_everything_alike() -> None:
    lane: Lane[str] = Lane(Conditions(latency=0.05), Random(1))
    lane.put("a", 10, 0.0)
    lane.put("b", 10, 0.02)
    assert list(lane.due(0.049)) == []
    assert list(lane.due(0.05)) == ["a"]
    assert list(lane.due(0.5)) == ["b"]
    assert len(lane) == 0


@pytest.mark.parametrize("distribution", ["uniform", "normal", "heavy"])
def test_ordered_jitter_never_reorders(distribution: Any) -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.05, jitter=0.05, distribution=distribution), Random(1))
    for n in range(500):
        lane.put(n, 10, n * 0.01)
    found = arrivals(lane, 8.0, 0.01)
    assert [message for _, message in found] == list(range(500))


def test_uniform_jitter_stays_within_its_bounds_and_uses_them() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.05, jitter=0.02, ordered=False), Random(1))
    for n in range(2000):
        lane.put(n, 10, 0.0)
    times = [time for time, _ in arrivals(lane, 0.1)]
    assert len(times) == 2000
    assert 0.03 <= min(times) <= 0.032
    assert 0.068 <= max(times) <= 0.071


def test_normal_jitter_has_its_sigma() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.5, jitter=0.02, distribution="normal", ordered=False), Random(1))
    for n in range(4000):
        lane.put(n, 10, 0.0)
    times = [time for time, _ in arrivals(lane, 1.0)]
    mean = sum(times) / len(times)
    sigma = (sum((time - mean) ** 2 for time in times) / len(times)) ** 0.5
    assert mean == pytest.approx(0.5, abs=0.003)
    assert sigma == pytest.approx(0.02, rel=0.1)


def test_heavy_jitter_starts_at_the_latency_and_has_a_long_but_bounded_tail() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.05, jitter=0.01, distribution="heavy", ordered=False), Random(1))
    for n in range(10_000):
        lane.put(n, 10, 0.0)
    times = [time for time, _ in arrivals(lane, 1.0)]
    assert len(times) == 10_000
    assert min(times) >= 0.05
    assert max(times) <= 0.05 + HEAVIEST * 0.01 + 0.001
    median = sorted(times)[5000]
    assert median < 0.055, "most come soon"
    assert sum(time > 0.15 for time in times) > 10, "a few take ten times the jitter"


def test_jitter_larger_than_the_latency_never_arrives_before_it_was_sent() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.001, jitter=0.05, ordered=False), Random(1))
    for n in range(200):
        lane.put(n, 10, 1.0)
    assert list(lane.due(0.999)) == []
    assert len(list(lane.due(2.0))) == 200


def test_a_lost_message_on_an_ordered_lane_stalls_all_behind_it_for_the_timeout() -> None:
    lane: Lane[str] = Lane(Conditions(latency=0.05, loss=0.5), Losses(True, False, False))
    lane.put("lost once", 10, 0.0)
    lane.put("behind", 10, 0.01)
    assert arrivals(lane, 0.3) == [(0.25, "lost once"), (0.25, "behind")]


def test_the_timeout_is_twice_the_latency_where_that_is_more_and_doubles_with_each_loss() -> None:
    lane: Lane[str] = Lane(Conditions(latency=0.5, loss=0.5), Losses(True, True, True, False))
    lane.put("lost three times", 10, 0.0)
    assert arrivals(lane, 8.0) == [(1.0 + 2.0 + 4.0 + 0.5, "lost three times")]


def test_a_blackout_lets_nothing_through_and_ends_when_conditions_do() -> None:
    lane: Lane[int] = Lane(Conditions(loss=1.0), Random(1))
    for n in range(10):
        lane.put(n, 10, 0.0)
    assert list(lane.due(5.0)) == []
    lane.conditions = Conditions()
    assert not lane.clear
    assert list(lane.due(6.19)) == [], "the next transmission is at 0.2 + 0.4 + 0.8 + 1.6 + 3.2"
    assert list(lane.due(6.21)) == list(range(10))
    assert lane.clear


def test_an_unordered_lane_loses_for_good_at_its_rate() -> None:
    lane: Lane[int] = Lane(Conditions(loss=0.3, ordered=False), Random(1))
    for n in range(4000):
        lane.put(n, 10, 0.0)
    assert len(list(lane.due(100.0))) == pytest.approx(2800, rel=0.05)
    assert len(lane) == 0


def test_an_unordered_lane_doubles_at_its_rate() -> None:
    lane: Lane[int] = Lane(Conditions(duplicate=0.25, ordered=False), Random(1))
    for n in range(4000):
        lane.put(n, 10, 0.0)
    found = list(lane.due(1.0))
    assert len(found) == pytest.approx(5000, rel=0.05)
    assert max(found.count(n) for n in range(200)) == 2


def test_an_unordered_lane_reorders_by_jitter() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.1, jitter=0.1, ordered=False), Random(1))
    for n in range(100):
        lane.put(n, 10, n * 0.001)
    found = list(lane.due(1.0))
    assert sorted(found) == list(range(100))
    assert found != sorted(found)


def test_bandwidth_spaces_messages_by_their_size() -> None:
    lane: Lane[str] = Lane(Conditions(latency=0.1, bandwidth=1000.0), Random(1))
    lane.put("a", 100, 0.0)
    lane.put("b", 200, 0.0)
    lane.put("c", 100, 1.0)
    assert [message for message in lane.due(0.199)] == []
    assert [(message, pytest.approx(lane.at)) for message in lane.due(2.0)] == [("a", 0.2), ("b", 0.4), ("c", 1.2)]


@pytest.mark.parametrize("ordered", [True, False])
def test_what_does_not_fit_into_the_backlog_is_dropped_and_counted(ordered: bool) -> None:
    lane: Lane[int] = Lane(Conditions(bandwidth=1000.0, ordered=ordered), Random(1))
    for n in range(1000):
        lane.put(n, 100, 0.0)
    assert len(lane) == pytest.approx(BACKLOG * 1000 / 100, abs=1)
    assert lane.dropped == 1000 - len(lane)
    size = len(lane)
    assert list(lane.due(10.0)) == list(range(size))
    lane.put(-1, 100, 10.0)
    assert list(lane.due(11.0)) == [-1], "the backlog is gone"


def test_better_conditions_do_not_overtake_on_an_ordered_lane() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.5), Random(1))
    lane.put(1, 10, 0.0)
    lane.conditions = Conditions(latency=0.01)
    lane.put(2, 10, 0.1)
    assert list(lane.due(0.4)) == []
    assert list(lane.due(0.5)) == [1, 2]


def test_the_time_of_arrival_is_told_even_if_nobody_asked_in_time() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.5), Random(1))
    lane.put(1, 10, 0.0)
    lane.conditions = Conditions(latency=0.01)
    lane.put(2, 10, 0.1)
    lane.put(3, 10, 0.7)
    assert [(message, lane.at) for message in lane.due(1.0)] == [(1, 0.5), (2, 0.5), (3, pytest.approx(0.71))]


def test_switching_from_ordered_to_not_and_back_loses_nothing() -> None:
    lane: Lane[int] = Lane(Conditions(latency=0.1), Random(1))
    lane.put(1, 10, 0.0)
    lane.conditions = Conditions(latency=0.05, ordered=False)
    lane.put(2, 10, 0.0)
    lane.conditions = Conditions(latency=0.2)
    lane.put(3, 10, 0.0)
    assert list(lane.due(1.0)) == [2, 1, 3]


def test_the_same_seed_gives_the_same_fates_and_another_others() -> None:
    conditions = Conditions(latency=0.05, jitter=0.03, distribution="heavy", loss=0.1)

    def run(seed: int) -> list[tuple[float, int]]:
        lane: Lane[int] = Lane(conditions, Random(seed))
        for n in range(100):
            lane.put(n, 10, n * 0.016)
        return arrivals(lane, 10.0, 0.01)

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_empty_gives_everything_back_in_order() -> None:
    lane: Lane[int] = Lane(Conditions(latency=1.0, bandwidth=100.0), Random(1))
    for n in range(3):
        lane.put(n, 50, 0.0)
    assert lane.empty() == [0, 1, 2]
    assert lane.empty() == []
    lane.put(9, 50, 0.0)
    assert list(lane.due(1.5)) == [9], "bandwidth is free again"


@given(
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.sampled_from(["uniform", "normal", "heavy"]),
    st.floats(0, 0.9),
    st.lists(st.floats(0, 0.2), max_size=30),
    st.integers(),
)
def test_an_ordered_lane_delivers_everything_once_in_order_and_never_early(
    latency: float, jitter: float, distribution: Any, loss: float, gaps: list[float], seed: int
) -> None:
    lane: Lane[int] = Lane(Conditions(latency, jitter, distribution, loss), Random(seed))
    now = 0.0
    sent: list[float] = []
    found: list[int] = []
    for n, gap in enumerate(gaps):
        now += gap
        sent.append(now)
        lane.put(n, 10, now)
        for message in lane.due(now):
            assert sent[message] <= lane.at <= now
            found.append(message)
    for _ in range(10_000):
        if not lane:
            break
        now += 60.0
        found += lane.due(now)
    assert found == list(range(len(gaps)))
