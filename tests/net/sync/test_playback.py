import math
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from net.sync.lateness import LONGEST, SPAN
from net.sync.playback import EASE, FASTER, HORIZON, SLOWER, SNAP, Playback

INTERVAL = 0.05
AHEAD = 500.0
"""the sender's clock minus ours"""
FRAME = 1 / 60

Arrivals = list[tuple[float, float]]


def arrivals(seconds: float, transit: float = 0.05) -> Arrivals:
    """(sent, arrived) of snapshots that all take the same time."""
    return [(i * INTERVAL, i * INTERVAL + transit) for i in range(int(seconds / INTERVAL) + 1)]


def held_up(arrivals: Arrivals, start: float, end: float) -> Arrivals:
    """Nothing comes between two times, and then all of it at once."""
    return [(sent, end if start <= arrived < end else arrived) for sent, arrived in arrivals]


def play(playback: Playback, arrivals: Arrivals, until: float, frame: float = FRAME, start: float = 0.0) -> list[float]:
    """The shown time of each frame, in our clock: minus AHEAD."""
    waiting = sorted((at, sent) for sent, at in arrivals if at >= start)
    shown, count = [], round((until - start) / frame)
    for now in (start + (until - start) * (i + 1) / count for i in range(count)):
        while waiting and waiting[0][0] <= now:
            at, sent = waiting.pop(0)
            playback.hear(sent + AHEAD, at)
        playback.advance(now)
        if playback.time > -math.inf:
            shown.append(playback.time - AHEAD)
    return shown


def speeds(shown: list[float], frame: float = FRAME) -> list[float]:
    return [(b - a) / frame for a, b in pairwise(shown)]


def test_nothing_is_shown_before_the_first_snapshot() -> None:
    playback = Playback()
    assert playback.advance(7.0) == playback.wanted == -math.inf
    assert playback.delay == playback.depth == 0.0


def test_the_first_advance_jumps_to_where_it_should_be() -> None:
    """RI-06."""
    playback = Playback()
    playback.hear(AHEAD, 0.05)
    assert playback.advance(0.06) == playback.wanted == pytest.approx(AHEAD + 0.01 - LONGEST)


def test_on_a_calm_way_it_settles_at_the_delay_that_bridges_most_of_a_gap() -> None:
    playback = Playback()
    shown = play(playback, arrivals(5.0), 5.02)
    assert playback.delay == pytest.approx(SPAN * INTERVAL, abs=1e-4)
    assert playback.time == pytest.approx(playback.wanted, abs=1e-4)
    assert 0.0 < playback.depth < SPAN * INTERVAL
    assert speeds(shown)[-60:] == pytest.approx([1.0] * 60, abs=1e-3)


def test_a_fixed_delay_is_kept_whatever_comes() -> None:
    playback, dice = Playback(0.15), random.Random(1)
    play(playback, [(sent, at + dice.uniform(0, 0.1)) for sent, at in arrivals(9.9)], 10.0)
    assert playback.delay == pytest.approx(0.15, abs=1e-3)


def test_more_jitter_is_answered_by_playing_slower_and_less_by_playing_faster() -> None:
    playback, dice = Playback(), random.Random(2)
    way = [(sent, at + (dice.uniform(0, 0.08) if 5 < at < 15 else 0.0)) for sent, at in arrivals(40)]
    shown = play(playback, way, 5.0)
    calm = playback.delay
    shown += play(playback, way, 15.0, start=5.0)
    rough = playback.delay
    shown += play(playback, way, 40.0, start=15.0)
    assert rough == pytest.approx(0.08 + INTERVAL, abs=0.012)
    assert playback.delay == pytest.approx(calm, abs=1e-3)
    after_the_start = speeds(shown)[120:]
    assert 1 - SLOWER - 1e-9 <= min(after_the_start) < 0.99
    assert 1.01 < max(after_the_start) <= 1 + FASTER + 1e-9


def test_in_a_stall_it_slows_down_stops_before_the_horizon_and_catches_up() -> None:
    """RI-08, RI-09."""
    playback = Playback()
    way = held_up(arrivals(12.0), 5.0, 5.9)
    play(playback, way, 5.0)
    newest = playback.lateness.newest - AHEAD
    dry = play(playback, way, 5.89, start=5.0)
    assert playback.wanted == pytest.approx(5.89 - 0.05 - LONGEST + AHEAD)
    slowing = speeds(dry)
    slowing = slowing[len(slowing) // 2 :]  # at first it falls back to LONGEST
    assert all(b <= a + 1e-9 for a, b in pairwise(slowing)), "the longer, the slower"
    assert slowing[-1] < 0.2
    assert newest + HORIZON - EASE < dry[-1] < newest + HORIZON
    assert playback.depth < 0.0
    back = play(playback, way, 12.0, start=5.89)
    assert back[0] >= dry[-1]
    assert 1.3 < max(speeds(back)) <= 1 + FASTER + 1e-9
    assert playback.time == pytest.approx(playback.wanted, abs=1e-3), "it has caught up"
    assert playback.delay == pytest.approx(LONGEST, abs=1e-3), "and expects another one"


def test_the_first_stall_slows_it_down_and_the_next_one_like_it_is_not_noticed() -> None:
    """RI-07."""
    playback = Playback()
    way = held_up(held_up(arrivals(9.0), 3.0, 3.3), 6.0, 6.3)
    play(playback, way, 3.0)
    first = speeds(play(playback, way, 4.5, start=3.0))
    assert 1 - SLOWER - 1e-9 <= min(first) < 0.6
    assert max(first) <= 1 + 1e-9, "it falls back, with nothing to catch up"
    second = speeds(play(playback, way, 8.9, start=4.5))
    assert second == pytest.approx([1.0] * len(second), abs=1e-3)


def test_when_all_has_gone_silent_it_stays_before_the_horizon_for_ever() -> None:
    playback = Playback()
    shown = play(playback, arrivals(3.0), 600.0, frame=0.1)
    assert shown[-1] <= 3.0 + HORIZON
    assert shown[-1] == pytest.approx(3.0 + HORIZON, abs=1e-3)


def test_from_far_behind_it_jumps_and_only_forward() -> None:
    playback = Playback()
    way = held_up(arrivals(20.0), 5.0, 5.0 + HORIZON + SNAP + 1.0)
    shown = play(playback, way, 12.0)
    steps = [b - a for a, b in pairwise(shown)]
    assert [step > 0.1 for step in steps].count(True) == 1
    assert max(steps) > SNAP - HORIZON
    assert min(steps) >= 0.0


@pytest.mark.parametrize("frame", [1 / 30, 1 / 144])
def test_it_is_the_same_at_any_frame_rate(frame: float) -> None:
    """RI-07: thirty or a hundred and forty-four frames a second come to the same time."""
    way = held_up(arrivals(9.0), 3.0, 3.3)
    for end in (2.0, 4.0, 4.5, 9.0):
        few, many = Playback(), Playback()
        play(few, way, end, frame)
        play(many, way, end)
        assert few.time == pytest.approx(many.time, abs=0.012)


@settings(max_examples=60)
@given(
    st.lists(st.floats(0.0, 0.6), min_size=5, max_size=80),
    st.lists(st.floats(0.0, 0.1), min_size=20, max_size=300),
    st.booleans(),
)
def test_whatever_comes_it_never_goes_back_and_never_reaches_the_horizon(
    transits: list[float], frames: list[float], ordered: bool
) -> None:
    """RI-09."""
    playback, now, last = Playback(), 0.0, -math.inf
    ways = [(i * INTERVAL, i * INTERVAL + transit) for i, transit in enumerate(transits)]
    if ordered:
        ways = [(sent, max(at for _, at in ways[: i + 1])) for i, (sent, _) in enumerate(ways)]
    ways.sort(key=lambda way: way[1])
    for frame in frames:
        now += frame
        while ways and ways[0][1] <= now:
            playback.hear(*ways.pop(0))
        time = playback.advance(now)
        if last > -math.inf:
            assert last <= time <= last + (1 + FASTER) * frame + 1e-9
        if time > -math.inf:
            assert time < playback.lateness.newest + HORIZON
        last = time


def test_times_that_are_no_numbers_and_clocks_that_go_back_change_nothing() -> None:
    playback = Playback()
    play(playback, arrivals(3.0), 3.0)
    before = playback.time
    for sent, arrived in ((math.nan, 3.0), (3.0, math.nan), (math.inf, 3.0), (3.0, -math.inf)):
        playback.hear(sent, arrived)
    assert playback.advance(2.0) == before
    assert playback.advance(3.0) == before
