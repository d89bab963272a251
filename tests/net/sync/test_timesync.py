import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from net.sync.timesync import DRIFT, SLEW, STEP, WINDOW, TimeSync

AHEAD = 1000.0
"""the server's clock minus ours, where nothing else is said"""


def exchange(sync: TimeSync, sent: float, up: float, down: float, ahead: float = AHEAD) -> float:
    """One clock sample over a path with these latencies; the local time of its receipt."""
    sync.add(sent, sent + up + ahead, sent + up + down)
    return sent + up + down


def test_before_the_first_sample_it_is_local_time() -> None:
    sync = TimeSync()
    assert not sync.ready
    assert (sync.offset, sync.rtt, sync.rtt_min, sync.jitter) == (0.0, 0.0, 0.0, 0.0)
    assert sync.server_time(5.0) == sync.arrival_time(5.0) == 5.0


def test_one_sample_is_believed_at_once() -> None:
    """RFC 5905, section 8: offset from the middle of the round trip."""
    sync = TimeSync()
    sync.server_time(9.0)
    sync.add(10.0, 110.05, 10.1)
    assert sync.ready
    assert sync.offset == pytest.approx(100.0)
    assert sync.rtt == sync.rtt_min == pytest.approx(0.1, abs=1e-9)
    assert sync.jitter == 0.0
    assert sync.server_time(10.1) == pytest.approx(110.1, abs=1e-9)
    assert sync.arrival_time(10.1) == pytest.approx(110.05, abs=1e-9), "what arrived at 10.1 was sent at 110.05"


def test_the_first_sample_is_believed_at_once_however_close_the_clocks_are() -> None:
    sync = TimeSync()
    sync.add(10.0, 10.15, 10.1)
    assert sync.server_time(10.1) == pytest.approx(10.2, abs=1e-9)
    assert sync.arrival_time(10.1) == pytest.approx(10.15, abs=1e-9)


@pytest.mark.parametrize(
    ("sent", "server", "received"),
    [
        (10.0, 110.0, 9.999),
        (math.nan, 110.0, 10.0),
        (10.0, math.nan, 10.0),
        (10.0, 110.0, math.nan),
        (10.0, math.inf, 10.0),
        (-math.inf, 110.0, 10.0),
        (10.0, 110.0, math.inf),
        (math.inf, 110.0, math.inf),
    ],
)
def test_nonsense_is_ignored(sent: float, server: float, received: float) -> None:
    sync = TimeSync()
    sync.add(sent, server, received)
    assert not sync.ready
    exchange(sync, 10.0, 0.05, 0.05)
    before = (sync.offset, sync.rtt, sync.rtt_min, sync.jitter, sync.server_time(10.2))
    sync.add(sent, server, received)
    assert (sync.offset, sync.rtt, sync.rtt_min, sync.jitter, sync.server_time(10.2)) == before


def test_spikes_cannot_move_it() -> None:
    """RFC 5905, section 10: the sample with the least delay counts, so an outlier is not even averaged in."""
    sync = TimeSync()
    exchange(sync, 0.0, 0.02, 0.02)
    for i in range(1, 12):
        exchange(sync, i * 0.25, 0.02 + (0.4 if i % 2 else 0.0), 0.02 + (0.0 if i % 3 else 0.9))
        assert sync.offset == pytest.approx(AHEAD, abs=1e-9)
        assert sync.rtt_min == pytest.approx(0.04)


def test_of_equal_round_trips_the_newest_counts() -> None:
    sync = TimeSync()
    sync.add(0.0, 100.0, 0.5)
    sync.add(1.0, 101.125, 1.5)
    assert sync.offset == 99.875


def test_the_window_is_16_samples() -> None:
    sync = TimeSync()
    exchange(sync, 0.0, 0.01, 0.01)
    for i in range(1, 16):
        exchange(sync, i * 0.1, 0.05, 0.05)
        assert sync.rtt_min == pytest.approx(0.02)
    exchange(sync, 1.6, 0.05, 0.05)
    assert sync.rtt_min == pytest.approx(0.1)


def test_the_window_is_6_seconds() -> None:
    sync = TimeSync()
    exchange(sync, 0.0, 0.01, 0.01)
    exchange(sync, 5.9, 0.05, 0.05)
    assert sync.rtt_min == pytest.approx(0.02)
    exchange(sync, 6.0, 0.05, 0.05)
    assert sync.rtt_min == pytest.approx(0.1)


def test_what_is_known_stays_when_samples_stop() -> None:
    sync = TimeSync()
    exchange(sync, 0.0, 0.01, 0.01)
    assert sync.server_time(500.0) == pytest.approx(500.0 + AHEAD, abs=1e-9)
    assert sync.ready


def test_the_round_trip_is_smoothed_by_an_eighth() -> None:
    """RFC 6298: SRTT starts with the first sample."""
    sync = TimeSync()
    for sent, rtt, smoothed in ((0.0, 0.08, 0.08), (1.0, 0.16, 0.09), (2.0, 0.01, 0.08)):
        exchange(sync, sent, rtt / 2, rtt / 2)
        assert sync.rtt == pytest.approx(smoothed)


def test_jitter_is_smoothed_by_a_sixteenth() -> None:
    """RFC 3550, section 6.4.1: from the change between successive samples."""
    sync = TimeSync()
    for sent, rtt, jitter in ((0.0, 0.08, 0.0), (1.0, 0.16, 0.005), (2.0, 0.08, 0.0096875), (3.0, 0.08, 0.00908203125)):
        exchange(sync, sent, rtt / 2, rtt / 2)
        assert sync.jitter == pytest.approx(jitter)


def test_a_better_estimate_is_approached_at_5_percent() -> None:
    sync = TimeSync()
    sync.add(0.0, 1000.0, 0.2)  # all of the latency was down: 0.1 s behind
    assert sync.server_time(0.2) == pytest.approx(1000.1, abs=1e-9)
    exchange(sync, 1.0, 0.01, 0.01)
    assert sync.offset == pytest.approx(1000.0, abs=1e-9)
    sync.add(2.0, 1002.1 + 0.01, 2.02)
    assert sync.offset == pytest.approx(1000.1, abs=1e-9)
    for later, offset in ((0.0, 999.95), (1.0, 1000.0), (2.0, 1000.05), (3.0, 1000.1), (4.0, 1000.1)):
        now = 2.02 + later
        assert sync.server_time(now) == pytest.approx(now + offset, abs=1e-9)


def test_an_estimate_that_is_lower_slows_the_clock_and_never_turns_it_back() -> None:
    sync = TimeSync()
    sync.add(0.0, 1000.2, 0.2)  # all of the latency was up: 0.1 s ahead
    exchange(sync, 1.0, 0.01, 0.01)
    start = 1.02
    for i in range(40):
        now = start + i * 0.1
        assert sync.server_time(now) == pytest.approx(now + 1000.0 + max(0.0, 0.1 - 0.05 * i * 0.1), abs=1e-9)


def test_an_error_beyond_a_quarter_second_is_stepped() -> None:
    sync = TimeSync()
    exchange(sync, 0.0, 0.1, 0.1)
    sync.add(1.0, 1.01 + AHEAD + STEP - 0.001, 1.02)
    assert sync.server_time(1.02) == pytest.approx(1.02 + AHEAD, abs=1e-9), "below it, it slews"
    sync.add(1.1, 1.105 + AHEAD + STEP + 0.006, 1.11)
    assert sync.server_time(1.11) == pytest.approx(1.11 + AHEAD + STEP + 0.006, abs=1e-9), "beyond it, it steps"
    sync.add(1.2, 1.201 + 3.0, 1.202)
    assert sync.server_time(1.202) == pytest.approx(4.202, abs=1e-9), (
        "also back: a clock that is this wrong is another one"
    )


def test_asking_twice_or_for_the_past_changes_nothing() -> None:
    sync = TimeSync()
    sync.add(0.0, 1000.0, 0.2)
    exchange(sync, 1.0, 0.01, 0.01)
    first = sync.server_time(2.0)
    assert sync.server_time(1.5) < first
    assert sync.server_time(2.0) == first
    many = TimeSync()
    many.add(0.0, 1000.0, 0.2)
    exchange(many, 1.0, 0.01, 0.01)
    for i in range(100):
        many.server_time(1.02 + i * 0.0098)
    assert many.server_time(2.0) == first, "how often it is asked doesn't matter"


def test_a_sample_stamped_before_the_last_question_turns_no_clock_back() -> None:
    """Frames ask at their own time, and only then take in samples that a socket stamped earlier."""
    sync = TimeSync()
    sync.add(0.0, 1000.0, 0.2)
    exchange(sync, 1.0, 0.01, 0.01)
    asked = sync.server_time(2.0)
    sync.add(1.7, 1001.505, 1.709)
    assert sync.offset == pytest.approx(999.8005, abs=1e-9)
    assert sync.server_time(2.0001) > asked
    assert sync.server_time(2.0) == pytest.approx(asked, abs=1e-12)


latencies = st.floats(0.0, 0.24)


@given(st.lists(st.tuples(st.floats(0.01, 2.0), latencies, latencies, st.floats(0, 0.3)), min_size=2, max_size=40))
def test_the_shown_clocks_run_within_5_percent_of_real_time(
    exchanges: list[tuple[float, float, float, float]],
) -> None:
    """Whatever the path does, as long as the server's clock itself doesn't jump (errors are then below STEP)."""
    sync = TimeSync()
    now, shown = exchange(sync, 0.0, *exchanges[0][1:3]), None
    for pause, up, down, late in exchanges[1:]:
        received = exchange(sync, now + pause, up, down)
        for asked in (received, received + late):
            times = (sync.server_time(asked), sync.arrival_time(asked))
            if shown is not None:
                for before, after in zip(shown[1], times, strict=True):
                    passed = asked - shown[0]
                    assert (1 - SLEW) * passed - 1e-9 <= after - before <= (1 + SLEW) * passed + 1e-9
            shown = (asked, times)
            now = asked


@given(st.floats(0, 2), st.floats(0, 2), st.floats(-1e5, 1e5), st.floats(0, 1e5))
def test_arrival_time_is_exact_when_up_and_down_differ(up: float, down: float, ahead: float, start: float) -> None:
    """server_time is wrong by (up - down) / 2 and rtt_min / 2 by the same the other way: what is left is `- down`."""
    sync = TimeSync()
    now = exchange(sync, start, up, down, ahead) + 5.0
    assert sync.server_time(now) == pytest.approx(now + ahead + (up - down) / 2, abs=1e-6)
    assert sync.arrival_time(now) == pytest.approx(now + ahead - down, abs=1e-6)
    assert sync.arrival_time(now) == pytest.approx(sync.server_time(now) - sync.rtt_min / 2, abs=1e-6)


def test_arrival_time_names_the_snapshot_that_arrives_now() -> None:
    """Literal: 200 ms up, 50 ms down; a snapshot that the server sends at its 1010.0 is here at our 10.05."""
    sync = TimeSync()
    exchange(sync, 5.0, 0.2, 0.05)
    assert sync.arrival_time(10.05) == pytest.approx(1010.0, abs=1e-9)
    assert sync.server_time(10.05) == pytest.approx(1010.05 + 0.075, abs=1e-9), "what cannot be known"


@pytest.mark.parametrize(
    ("fast", "slow", "skew"),
    [((0.0025, 0.0025), (0.15, 0.15), 0.0), ((0.0025, 0.0025), (0.2975, 0.0025), 0.1475)],
)
def test_it_follows_a_path_that_slows_down_and_recovers(
    fast: tuple[float, float], slow: tuple[float, float], skew: float
) -> None:
    """5 ms to 300 ms at 10 s and back at 30 s, four samples a second: 16 samples are 4 s, then 5 % a second."""
    sync = TimeSync()
    for i in range(200):
        sent = i * 0.25
        up, down = slow if 10.0 <= sent < 30.0 else fast
        now = exchange(sync, sent, up, down)
        error = sync.server_time(now) - (now + AHEAD)
        lateness = now + AHEAD - sync.arrival_time(now)
        if sent < 10.0 or sent >= 33.0:
            assert sync.rtt_min == pytest.approx(0.005)
            assert error == pytest.approx(0.0, abs=1e-6)
            assert lateness == pytest.approx(fast[1], abs=1e-6)
        elif 17.0 <= sent < 30.0:
            assert sync.rtt_min == pytest.approx(0.3)
            assert error == pytest.approx(skew, abs=1e-6)
            assert lateness == pytest.approx(slow[1], abs=1e-6)
        if 14.0 <= sent < 30.0:
            assert sync.rtt_min == pytest.approx(0.3), "believed after one window"
        if sent >= 30.0:
            assert sync.rtt_min == pytest.approx(0.005), "good news are believed at once"


@given(st.integers(0, 2**31))
@settings(max_examples=40)
def test_on_a_bad_path_the_error_stays_within_the_best_round_trips_excess(seed: int) -> None:
    """30 % of the samples with a spike of up to 2 s, the rest with 20 ms of jitter on either way."""
    dice = random.Random(seed)
    sync = TimeSync()
    for i in range(120):
        up, down = (0.04 + dice.random() * (1.0 if dice.random() < 0.3 else 0.02) for _ in range(2))
        now = exchange(sync, i * 0.25, up, down)
        assert abs(sync.offset - AHEAD) <= (sync.rtt_min - 0.08) / 2 + 1e-9, "half of what the best one waited"
        if i >= 40:
            assert abs(sync.server_time(now) - (now + AHEAD)) < 0.02


def test_clocks_that_drift_are_followed() -> None:
    """100 ppm, the worst that quartz does, over ten minutes: never off by more than a window's worth of it."""
    sync = TimeSync()
    for i in range(1200):
        sent = i * 0.5
        received = sent + 0.06
        sync.add(sent, AHEAD + (sent + 0.03) * 1.0001, received)
        assert sync.server_time(received) == pytest.approx(AHEAD + received * 1.0001, abs=0.0007)


@pytest.mark.parametrize("drift", [-2e-4, 0.0, 1e-4, 2e-4])
def test_the_pace_makes_as_many_steps_in_an_hour_as_the_server(drift: float) -> None:
    """Our clock runs fast by `drift`, over a way with jitter: what is paced stays within 40 ms of the server's time."""
    sync, chance = TimeSync(), random.Random(5)
    start, shown = None, []
    for i in range(4 * 3600):
        now = i * 0.25
        server = now / (1 + drift)
        up, down = 0.03 + chance.random() * 0.02, 0.03 + chance.random() * 0.02
        sync.add(now, AHEAD + server + up, now + up + down)
        if i == 40:
            start = sync.paced_time(now + 0.1) - (now + 0.1) / (1 + drift)
        if i > 40:
            shown.append(sync.paced_time(now + 0.1) - (now + 0.1) / (1 + drift))
    assert max(abs(value - start) for value in shown) < 0.04


def test_the_pace_is_local_time_at_first_and_never_far_from_its_speed() -> None:
    sync = TimeSync()
    assert sync.paced_time(3.0) == 3.0
    for i in range(WINDOW - 1):
        exchange(sync, i * 0.25, 0.05, 0.05)
    assert sync.paced_time(4.0) == 4.0
    for i in range(WINDOW, 60):
        exchange(sync, i * 0.25, 0.05, 0.05, AHEAD + (0.3 if i > 30 else 0.0))
    before = sync.paced_time(15.1)
    for step in range(1, 100):
        now = 15.1 + step / 60
        after = sync.paced_time(now)
        assert (1 - DRIFT) / 60 - 1e-9 <= after - before <= (1 + DRIFT) / 60 + 1e-9, "no step, whatever the server does"
        before = after
