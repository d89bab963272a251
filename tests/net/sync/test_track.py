import math
import random
from itertools import pairwise, permutations

import pytest

from net.sync.playback import HORIZON, Playback
from net.sync.snapshots import SnapshotBuffer
from net.sync.track import BRIDGE, LIMIT, Track

INTERVAL = 0.05
FRAME = 1 / 60
SPEED = 6.0


class At(Playback):
    """A playback that stands where it is put."""

    def put(self, time: float) -> None:
        self.time = time


def lerp(a: float, b: float, t: float) -> float:
    return a + (b - a) * t


def make(**options: object) -> tuple[At, Track[float]]:
    playback = At()
    return playback, Track(playback, lerp, **options)  # type: ignore[arg-type]


def show(playback: At, track: Track[float], time: float) -> float | None:
    playback.put(time)
    return track.sample()


def test_an_empty_track_shows_nothing() -> None:
    _, track = make()
    track.hold(3.0)
    assert track.sample() is None


def test_who_has_just_come_is_shown_at_once_where_he_came() -> None:
    """RI-03."""
    playback, track = make()
    track.push(10.0, 4.0)
    assert track.sample() == 4.0
    track.push(10.1, 5.0)
    assert show(playback, track, 9.0) == 4.0
    assert show(playback, track, 10.05) == pytest.approx(4.5)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_order_of_arrival_does_not_matter(order: tuple[int, ...]) -> None:
    """RI-02: linear between the samples on either side."""
    playback, track = make()
    for i in order:
        track.push(i * INTERVAL, float(i * i))
    shown = [show(playback, track, i * INTERVAL / 2) for i in range(7)]
    assert shown == pytest.approx([0, 0.5, 1, 2.5, 4, 6.5, 9])


def test_a_repeated_time_replaces_the_value() -> None:
    """RI-10."""
    playback, track = make()
    for value in (1.0, 2.0):
        track.push(0.0, 0.0)
        track.push(INTERVAL, value)
    assert len(track) == 2
    assert show(playback, track, INTERVAL) == 2.0


def test_the_oldest_snapshots_go() -> None:
    """RI-11."""
    playback, track = make()
    for i in range(3 * LIMIT):
        track.push(i * INTERVAL, float(i))
    assert len(track) == LIMIT
    assert show(playback, track, (3 * LIMIT - 1) * INTERVAL) == 3 * LIMIT - 1


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_no_number_is_refused(time: float) -> None:
    with pytest.raises(ValueError, match="no time"):
        make()[1].push(time, 1.0)


def test_beyond_the_newest_it_goes_on_for_the_horizon_and_no_longer() -> None:
    playback, track = make()
    track.push(0.0, 0.0)
    assert show(playback, track, 9.0) == 0.0, "one snapshot leads nowhere"
    track.clear()
    track.push(0.0, 0.0)
    track.push(INTERVAL, 1.0)
    assert show(playback, track, 2 * INTERVAL) == pytest.approx(2.0)
    end = 1.0 + HORIZON / INTERVAL
    assert show(playback, track, INTERVAL + HORIZON) == pytest.approx(end)
    assert show(playback, track, 9.0) == pytest.approx(end)


def test_without_extrapolation_it_holds_the_newest() -> None:
    """RI-08."""
    playback, track = make(extrapolate=False)
    track.push(0.0, 0.0)
    track.push(INTERVAL, 1.0)
    assert show(playback, track, INTERVAL * 1.01) == 1.0
    assert show(playback, track, 9.0) == 1.0


def frames(start: float, end: float) -> list[float]:
    return [start + i * FRAME for i in range(round((end - start) / FRAME) + 1)]


@pytest.mark.parametrize("guessed", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("after", [-SPEED, 0.0, SPEED / 2])
def test_a_wrong_guess_is_led_back_without_a_jump(guessed: float, after: float) -> None:
    """It had gone on at SPEED where it really turned at 0, as a burst of snapshots tells after `guessed` seconds."""
    playback, track = make()
    for i in range(-4, 1):
        track.push(i * INTERVAL, SPEED * i * INTERVAL)
    shown: list[float] = []
    times = frames(-0.1, 1.2)
    for time in times:
        if time > guessed and len(track) == 5:
            for i in range(1, 40):
                track.push(i * INTERVAL, after * i * INTERVAL)
        shown.append(show(playback, track, time) or 0.0)
        if time > (guessed + FRAME) * (1 + BRIDGE):
            assert shown[-1] == pytest.approx(after * time), "and then it is the truth itself"
    assert max(shown) >= (guessed - FRAME) * SPEED - 1e-9
    assert max(abs(b - a) for a, b in pairwise(shown)) <= SPEED * FRAME * (1 + 2 / BRIDGE) + 1e-9


def test_a_right_guess_moves_on_as_if_nothing_had_been_missing() -> None:
    playback, track = make()
    for i in range(-4, 1):
        track.push(i * INTERVAL, SPEED * i * INTERVAL)
    for time in frames(0.0, 1.0):
        if time > 0.15:
            for i in range(1, 30):
                track.push(i * INTERVAL, SPEED * i * INTERVAL)
        assert show(playback, track, time) == pytest.approx(SPEED * time)


def test_a_snapshot_that_comes_into_a_gap_that_is_being_crossed_makes_no_jump() -> None:
    playback, track = make()
    for i in (0, 1, 3, 4, 5, 6):
        track.push(i * INTERVAL, 0.0)
    shown = [show(playback, track, time) for time in frames(0.0, 0.09)]
    track.push(2 * INTERVAL, 0.3)
    shown += [show(playback, track, time) for time in frames(0.1, 0.25)]
    steps = [abs(b - a) for a, b in pairwise(shown)]  # type: ignore[operator]
    assert 0.0 < max(steps) < 2.5 * SPEED * FRAME
    assert shown[-1] == 0.0


def test_nobody_glides_over_a_jump() -> None:
    """Teleported: the old place until the new one's time, and nothing between or beyond."""
    playback, track = make(apart=lambda a, b: abs(a - b) > 3)
    for time, place in ((0.0, 0.0), (1.0, 1.0), (1.1, 20.0)):
        track.push(time, place)
    assert show(playback, track, 1.09) == 1.0
    assert show(playback, track, 1.1) == 20.0
    assert show(playback, track, 1.3) == 20.0, "a jump has no speed to go on with"


def test_nobody_glides_back_from_a_guess_that_is_too_far_off() -> None:
    playback, track = make(apart=lambda a, b: abs(a - b) > 3)
    track.push(0.0, 0.0)
    track.push(INTERVAL, 0.3)
    guess = show(playback, track, 0.2)
    assert guess == pytest.approx(1.2)
    for i in range(2, 20):
        track.push(i * INTERVAL, 50.0)
    assert show(playback, track, 0.21) == 50.0


def test_another_ghost_of_the_same_name_starts_anew() -> None:
    """RI-12."""
    playback, track = make()
    track.push(0.0, 0.0)
    track.push(INTERVAL, 1.0)
    show(playback, track, 0.5)
    track.clear()
    assert track.sample() is None
    track.push(0.6, 2.0)
    assert show(playback, track, 0.5) == 2.0


def test_what_is_held_moves_only_after_it_was_last_at_rest() -> None:
    """RI-02: senders that leave out what has not changed."""
    playback, track = make()
    track.push(0.0, 7.0)
    for i in range(1, 1000):
        track.hold(i * INTERVAL)
        assert len(track) <= 2
    track.push(1000 * INTERVAL, 8.0)
    assert show(playback, track, 500 * INTERVAL) == 7.0
    assert show(playback, track, 999 * INTERVAL) == 7.0
    assert show(playback, track, 999.5 * INTERVAL) == pytest.approx(7.5)
    track.hold(10 * INTERVAL)
    assert show(playback, track, 1000 * INTERVAL) == 8.0, "what is held in the past is known already"


def test_on_a_real_playback_the_value_is_the_truth_at_the_time_that_is_shown() -> None:
    """Jitter and reordering leave no trace where the delay covers them."""
    playback, dice = Playback(), random.Random(3)
    track: Track[float] = Track(playback, lerp)
    way = sorted((i * INTERVAL + dice.uniform(0.02, 0.08), i * INTERVAL) for i in range(600))
    for now in frames(0.0, 30.0):
        while way and way[0][0] <= now:
            arrived, sent = way.pop(0)
            playback.hear(sent, arrived)
            track.push(sent, 2.0 * sent)
        playback.advance(now)
        if now > 1.0:
            assert track.sample() == pytest.approx(2.0 * playback.time)


@pytest.mark.parametrize("seed", range(5))
def test_at_any_time_it_says_what_a_buffer_without_delay_would(seed: int) -> None:
    """Two clocks may play one track: asking for a time guesses nothing, and leaves alone what the playback shows."""
    playback, track = make()
    alone: Track[float] = Track(playback, lerp)
    buffer: SnapshotBuffer[float] = SnapshotBuffer(lerp, delay=0.0)
    dice = random.Random(seed)
    assert track.at(0.0) is track.latest() is None
    for i in range(2, 30):
        time, value = (i + dice.choice((-2, -1, 0, 0, 1))) * INTERVAL, dice.uniform(-9, 9)
        for snapshots in (track, alone, buffer):
            snapshots.push(time, value)
        if len(track) > 1:
            for asked in (-1.0, time, *(dice.uniform(0.0, 32 * INTERVAL) for _ in range(20)), 99.0):
                assert track.at(asked) == buffer.sample(asked)
        assert track.latest() == buffer.latest()
        assert show(playback, track, i * INTERVAL) == alone.sample()


def test_at_any_time_nobody_glides_over_a_jump_and_who_rests_is_where_he_was() -> None:
    _, track = make(apart=lambda a, b: abs(a - b) > 3)
    track.push(0.0, 1.0)
    track.push(1.0, 20.0)
    assert [track.at(time) for time in (0.99, 1.0)] == [1.0, 20.0]
    for i in range(20, 200):
        track.hold(i * INTERVAL)
    assert [track.at(time) for time in (1.0, 5.0, 9.0)] == [20.0] * 3
