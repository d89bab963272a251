import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from net.sync.inputs import InputBuffer, Push, Read
from net.sync.prediction import Predictor


def waiting(buffer: InputBuffer[int], count: int, ticks: int = 1, first: int = 1) -> None:
    for seq in range(first, first + count):
        assert buffer.push(seq, seq, ticks) is Push.ACCEPTED


def test_commands_come_out_in_order_with_the_highest_seq() -> None:
    """PI-02: the player is told the highest that was processed, none before the first."""
    buffer: InputBuffer[str] = InputBuffer()
    assert buffer.last_seq == 0
    assert buffer.take(0.0) == []
    buffer.push(1, "a", 1)
    buffer.push(2, "b", 2)
    assert (buffer.waiting, buffer.last_seq) == (3, 0)
    assert buffer.take(0.0) == ["a", "b"]
    assert (buffer.waiting, buffer.last_seq) == (0, 2)


def test_nothing_is_repeated_while_a_player_is_silent() -> None:
    """By default, better than PI-03 and PI-19: a command is applied once, so a late one is no misprediction."""
    buffer: InputBuffer[int] = InputBuffer()
    buffer.push(1, 1, 1)
    assert buffer.take(0.0) == [1]
    assert [buffer.take(n / 60) for n in range(1, 30)] == [[]] * 29


def test_each_seq_counts_once_and_gaps_are_allowed_pi_04() -> None:
    buffer: InputBuffer[str] = InputBuffer()
    assert buffer.push(1, "a", 1) is Push.ACCEPTED
    assert buffer.push(1, "again", 1) is Push.DUPLICATE
    assert buffer.push(5, "b", 1) is Push.ACCEPTED
    assert buffer.push(3, "late", 1) is Push.DUPLICATE
    for seq in (0, -1):
        assert buffer.push(seq, "never", 1) is Push.DUPLICATE
    assert buffer.take(0.0) == ["a", "b"]
    assert buffer.push(5, "taken", 1) is Push.DUPLICATE
    assert (buffer.take(9.0), buffer.last_seq) == ([], 5)


def test_only_what_real_time_has_paid_for() -> None:
    """15 ticks of slack, then 60 a second."""
    buffer: InputBuffer[int] = InputBuffer(limit=1000)
    waiting(buffer, 100)
    assert buffer.take(50.0) == list(range(1, 16))
    assert buffer.take(50.0) == []
    assert buffer.take(50.0 + 0.5 / 60) == []
    assert buffer.take(50.0 + 1 / 60) == [16]
    assert buffer.take(50.5) == list(range(17, 46))
    assert (buffer.waiting, buffer.last_seq) == (55, 45)


def test_a_long_command_waits_for_all_of_its_ticks_and_nothing_overtakes_it() -> None:
    buffer: InputBuffer[str] = InputBuffer(slack=4)
    buffer.push(1, "long", 6)
    buffer.push(2, "short", 1)
    assert buffer.take(0.0) == []
    assert buffer.take(1.9 / 60) == []
    assert buffer.take(2 / 60) == ["long"]
    assert buffer.take(3 / 60) == ["short"]


def test_unused_credit_is_kept_up_to_the_bank() -> None:
    buffer: InputBuffer[int] = InputBuffer(limit=1000)
    buffer.take(0.0)
    buffer.take(0.5)
    waiting(buffer, 200)
    assert len(buffer.take(0.5)) == 45
    assert len(buffer.take(100.0)) == 60, "a minute of silence is not worth a minute at once"
    assert buffer.take(100.0) == [], "and what was not kept is gone"
    assert len(buffer.take(100.5)) == 30


def test_a_clock_that_goes_back_buys_nothing() -> None:
    buffer: InputBuffer[int] = InputBuffer(slack=0)
    waiting(buffer, 60)
    buffer.take(10.0)
    assert len(buffer.take(10.1)) == 6
    assert [buffer.take(now) for now in (5.0, 10.1, 9.0, 10.1)] == [[]] * 4
    assert len(buffer.take(10.2)) == 6


def test_beyond_the_limit_the_oldest_are_discarded_and_count_as_processed() -> None:
    """The other way round than PI-05, which refused the newest: old time is what a player can best do without."""
    buffer: InputBuffer[int] = InputBuffer()
    waiting(buffer, 60)
    assert (buffer.discarded, buffer.last_seq, buffer.waiting) == (0, 0, 60)
    waiting(buffer, 5, first=61)
    assert (buffer.discarded, buffer.last_seq, buffer.waiting) == (5, 5, 60)
    buffer.push(66, 66, 6)
    assert (buffer.discarded, buffer.last_seq, buffer.waiting) == (11, 11, 60)
    assert buffer.take(0.0) == list(range(12, 27))
    assert buffer.last_seq == 26


def test_discarded_ticks_cost_no_credit() -> None:
    buffer: InputBuffer[int] = InputBuffer()
    waiting(buffer, 600)
    assert (buffer.discarded, len(buffer.take(0.0))) == (540, 15)


@pytest.mark.parametrize("ticks", [0, -1, 41])
def test_a_command_that_could_never_be_taken_is_refused(ticks: int) -> None:
    buffer: InputBuffer[int] = InputBuffer(bank=60, limit=40)
    with pytest.raises(ValueError, match="never be taken"):
        buffer.push(1, 1, ticks)
    assert (buffer.waiting, buffer.push(1, 1, 40)) == (0, Push.ACCEPTED)
    with pytest.raises(ValueError, match="never be taken"):
        InputBuffer[int](slack=5, bank=10).push(1, 1, 11)


@pytest.mark.parametrize(
    "numbers",
    [{"rate": 0.0}, {"rate": float("nan")}, {"slack": -1}, {"slack": 61}, {"limit": 0}, {"slack": 0, "bank": 0}],
)
def test_numbers_by_which_no_player_could_move_are_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="no player could move"):
        InputBuffer[int](**numbers)  # type: ignore[arg-type]


floods = st.lists(
    st.tuples(st.floats(-0.05, 0.5), st.lists(st.tuples(st.integers(-2, 5), st.integers(1, 6)), max_size=40)),
    max_size=40,
)
POLICIES = [
    {},
    {"depth": 3},
    {"catch_up": 1},
    {"depth": 2, "catch_up": 3},
    {"repeat": 4},
    {"repeat": 12, "depth": 2, "catch_up": 1},
    {"read": Read.LATEST},
    {"read": Read.LATEST, "repeat": 60},
]


@given(
    floods,
    st.sampled_from([30.0, 59.94, 60.0, 128.0]),
    st.integers(0, 15),
    st.integers(15, 80),
    st.integers(6, 90),
    st.sampled_from(POLICIES),
)
def test_simulated_time_never_exceeds_real_time_plus_slack(
    flood: list[tuple[float, list[tuple[int, int]]]],
    rate: float,
    slack: int,
    bank: int,
    limit: int,
    policy: dict[str, Any],
) -> None:
    """AS-15: whatever is sent, whatever the clock does, by every policy: no tick too many, in order, all accounted for.

    Only a repetition takes a command again, and it is counted.
    """
    buffer: InputBuffer[tuple[int, int]] = InputBuffer(rate=rate, slack=slack, bank=bank, limit=limit, **policy)
    start = now = latest = 1e5
    seq = came = ticks_taken = 0
    taken: list[int] = []
    buffer.take(now)
    for pause, commands in flood:
        for step, ticks in commands:
            seq += step
            came += buffer.push(seq, (seq, ticks), ticks) is not Push.DUPLICATE
            assert buffer.waiting <= limit
        now += pause
        latest = max(latest, now)
        acknowledged = buffer.last_seq
        batch = buffer.take(now)
        taken += [number for number, _ in batch]
        ticks_taken += sum(ticks for _, ticks in batch)
        assert sum(ticks for _, ticks in batch) <= bank
        assert ticks_taken <= slack + rate * (latest - start) + 2e-6
        assert buffer.last_seq >= max([acknowledged, *taken])
    once = sorted(set(taken))
    assert [number for number, before in zip(taken, [0, *taken], strict=False) if number != before] == once
    assert (len(taken) > len(once)) == (buffer.repeated > 0)
    assert buffer.repeated <= ticks_taken
    waiting_commands = came - len(once) - buffer.discarded
    assert 0 <= waiting_commands <= buffer.waiting <= 6 * waiting_commands


@given(st.lists(st.tuples(st.floats(0, 0.4), st.lists(st.integers(1, 6), max_size=30)), max_size=60))
def test_by_default_every_command_is_applied_as_soon_as_it_is_paid_for(calls: list[tuple[float, list[int]]]) -> None:
    """Against the plainest account of credit that there is, brought up to date at each call."""
    buffer: InputBuffer[int] = InputBuffer()
    credit, now, seq, queue = 15.0, 0.0, 0, []
    buffer.take(now)
    for pause, commands in calls:
        for ticks in commands:
            seq += 1
            buffer.push(seq, seq, ticks)
            queue.append((seq, ticks))
        while sum(ticks for _, ticks in queue) > 60:
            queue.pop(0)
        now += pause
        credit = min(60.0, credit + pause * 60)
        expected = []
        while queue and queue[0][1] <= credit + 1e-5:
            expected.append(queue[0][0])
            credit -= queue.pop(0)[1]
        assert buffer.take(now) == expected


@given(st.integers(0, 2**31), st.floats(0, 1), st.floats(0, 1 / 60), st.integers(1, 6), st.booleans())
@example(seed=519, share=1.0, phase=0.0, ticks=4, extreme=False)
@example(seed=519, share=1.0, phase=0.0, ticks=4, extreme=True)
@settings(max_examples=60)
def test_an_honest_player_is_never_held_back(seed: int, share: float, phase: float, ticks: int, extreme: bool) -> None:
    """60 ticks a second over a path that delays each frame by anything that fits into the bank, in order, as TCP does.

    Beside the jitter one command has to fit, and two ticks: the server's takes are up to two ticks apart.
    """
    jitter = share * (60 - ticks - 2) / 60
    dice = random.Random(seed)
    stalls = [0.0]
    while len(stalls) < 600:  # calm stretches and stalls
        stall = jitter if extreme else dice.random() * jitter
        stalls += [stall if dice.random() < 0.5 else 0.0] * dice.randint(1, 60)
    arrivals: list[float] = []
    for k in range(600 // ticks):
        sent = phase + (k + 1) * ticks / 60
        arrivals.append(max(sent + stalls[k], arrivals[-1] if arrivals else 0.0))
    buffer: InputBuffer[int] = InputBuffer()
    buffer.take(0.0)
    got = 0
    for n in range(1, 60 * 12):
        now = n / 60 + dice.random() / 60  # the server's own ticks are late, too
        while got < len(arrivals) and arrivals[got] <= now:
            got += 1
            buffer.push(got, got, ticks)
        buffer.take(now)
        assert buffer.waiting == 0
    assert (buffer.last_seq, buffer.discarded) == (600 // ticks, 0)


@pytest.mark.parametrize("ticks", [1, 2, 3, 4, 5, 6])
def test_after_a_stall_the_bank_is_applied_at_once_and_the_rest_when_it_is_paid_for(ticks: int) -> None:
    """60 ticks of what was held up; one command more is held back until real time has paid for its ticks."""
    buffer: InputBuffer[int] = InputBuffer(limit=1000)
    buffer.take(0.0)
    buffer.take(2.0)
    waiting(buffer, 60 // ticks + 1, ticks)
    assert len(buffer.take(2.0)) == 60 // ticks
    assert buffer.waiting == ticks
    missing = ticks - 60 % ticks
    assert buffer.take(2.0 + (missing - 0.5) / 60) == []
    assert buffer.take(2.0 + missing / 60) == [60 // ticks + 1]


@given(st.integers(2, 20))
@settings(max_examples=10)
def test_who_sends_more_moves_no_faster(factor: int) -> None:
    """A speed hack: `factor` commands a tick for ten seconds."""
    buffer: InputBuffer[int] = InputBuffer()
    taken = seq = 0
    for n in range(601):
        for _ in range(factor):
            seq += 1
            buffer.push(seq, seq, 1)
        taken += len(buffer.take(n / 60))
    assert taken == 615
    assert buffer.discarded == seq - taken - buffer.waiting


def test_after_a_long_stall_the_player_is_back_in_the_present() -> None:
    """Three seconds of commands at once: the newest second is applied, and then no delay is left."""
    buffer: InputBuffer[int] = InputBuffer()
    buffer.take(0.0)
    buffer.take(3.0)
    waiting(buffer, 180)
    assert buffer.take(3.0) == list(range(121, 181))
    for n in range(1, 300):
        buffer.push(180 + n, 180 + n, 1)
        assert buffer.take(3.0 + n / 60) == [180 + n]
    assert buffer.discarded == 120


# -- policies


def play(buffer: InputBuffer[int], arrivals: list[list[int]], first: int = 0) -> list[list[int]]:
    """What each tick takes when these one-tick commands, named by their seq, have come before it."""
    taken = []
    for n, seqs in enumerate(arrivals, first):
        for seq in seqs:
            buffer.push(seq, seq, 1)
        taken.append(buffer.take(n / 60))
    return taken


@pytest.mark.parametrize(
    "policy",
    [
        {"repeat": -1},
        {"depth": -1},
        {"depth": 60},
        {"catch_up": 0},
        {"read": Read.LATEST, "depth": 1},
        {"read": Read.LATEST, "catch_up": 1},
    ],
)
def test_policies_that_mean_nothing_are_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no such policy|nothing to catch up with"):
        InputBuffer[int](**policy)


def test_one_per_tick_in_order_then_the_last_repeats_none_before_the_first_pi_03() -> None:
    buffer: InputBuffer[int] = InputBuffer(catch_up=1, repeat=3)
    assert play(buffer, [[], [1, 2], [], [], []]) == [[], [1], [2], [2], [2]]
    assert (buffer.repeated, buffer.discarded) == (2, 0)


def test_a_repetition_ends_and_then_the_players_own_time_stands_still() -> None:
    """PI-19 without its end: a player who vanishes doesn't run on for ever."""
    buffer: InputBuffer[int] = InputBuffer(repeat=3)
    assert play(buffer, [[1], [], [], [], [], []]) == [[1], [1], [1], [1], [], []]
    assert play(buffer, [[]] * 200, first=6) == [[]] * 200
    assert (buffer.repeated, buffer.last_seq) == (3, 4)


def test_a_command_whose_tick_was_repeated_is_acknowledged_without_effect() -> None:
    buffer: InputBuffer[int] = InputBuffer(repeat=2)
    assert play(buffer, [[1], [], []]) == [[1], [1], [1]]
    assert buffer.last_seq == 3
    assert [buffer.push(seq, seq, 1) for seq in (2, 3, 3, 2, 4)] == [
        Push.LATE,
        Push.LATE,
        Push.DUPLICATE,
        Push.DUPLICATE,
        Push.ACCEPTED,
    ]
    assert (buffer.waiting, buffer.discarded) == (1, 2)
    assert buffer.take(3 / 60) == [4]
    assert play(buffer, [[], [], []], first=4) == [[4], [4], []], "and after one that came it may repeat again"


def test_a_long_command_lasts_before_it_is_repeated_and_its_repetition_does_too() -> None:
    buffer: InputBuffer[str] = InputBuffer(repeat=7)
    buffer.push(1, "long", 3)
    taken = [len(buffer.take(n / 60)) for n in range(12)]
    assert taken == [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0], "a third time would be more than seven ticks"
    assert (buffer.repeated, buffer.last_seq) == (6, 3)


def test_repetitions_are_paid_for_too() -> None:
    buffer: InputBuffer[int] = InputBuffer(repeat=60, slack=5)
    buffer.push(1, 1, 1)
    assert sum(len(buffer.take(0.0)) for _ in range(50)) == 5
    assert buffer.take(1 / 60) == [1]


@pytest.mark.parametrize(("late", "corrections"), [([5, 5], []), ([5, 9], [-4]), ([9, 9], [-8])])
def test_a_player_mispredicts_a_repetition_only_where_he_wanted_something_else(
    late: list[int], corrections: list[int]
) -> None:
    """The repetition stands for the seq that was predicted: the same wish, late or not, is no correction."""
    found: list[int] = []
    player: Predictor[int, int] = Predictor(0, lambda x, push: x + push, on_correction=lambda a, b: found.append(b - a))
    buffer: InputBuffer[int] = InputBuffer(repeat=6)
    truth = 0

    def tick(n: int, arrived: list[int]) -> None:
        nonlocal truth
        for seq, push in arrived:
            buffer.push(seq, push, 1)
        truth += sum(buffer.take(n / 60))
        player.acknowledge(truth, buffer.last_seq)

    tick(0, [(player.apply(5), 5)])
    stuck = [(player.apply(push), push) for push in late]
    tick(1, [])
    tick(2, [])
    tick(3, [*stuck, (player.apply(7), 7)])
    assert (player.state, player.pending, player.last_acknowledged) == (truth, 0, 4)
    assert sum(found) == sum(corrections)
    assert bool(found) == bool(corrections)


def test_the_latest_command_alone_is_applied_pi_02() -> None:
    """None before the first, then the highest; those before it count as processed."""
    buffer: InputBuffer[int] = InputBuffer(read=Read.LATEST)
    assert play(buffer, [[], [1], [2, 3, 4], [], [7]]) == [[], [1], [4], [], [7]]
    assert (buffer.last_seq, buffer.discarded, buffer.waiting) == (7, 2, 0)
    buffer.push(8, 8, 5)
    buffer.push(9, 9, 2)
    assert (buffer.last_seq, buffer.waiting) == (8, 2)
    assert buffer.take(1.0) == [9]


def test_the_latest_command_repeats_in_step_with_the_players_numbers() -> None:
    buffer: InputBuffer[int] = InputBuffer(read=Read.LATEST, repeat=9)
    assert play(buffer, [[1], [], [], [2, 3, 4], [5]]) == [[1], [1], [1], [4], [5]]
    assert (buffer.last_seq, buffer.discarded, buffer.repeated) == (5, 2, 2)


def test_exactly_one_per_tick_from_a_bounded_buffer_pi_05() -> None:
    """What waits beyond the limit is discarded from its old end, so what is applied is never older than that."""
    buffer: InputBuffer[int] = InputBuffer(catch_up=1, limit=4)
    assert play(buffer, [[1, 2, 3], [4, 5, 6], [], [], [], []]) == [[1], [3], [4], [5], [6], []]
    assert buffer.discarded == 1


def test_commands_of_two_ticks_come_every_other_tick_when_one_is_played_a_tick() -> None:
    buffer: InputBuffer[int] = InputBuffer(catch_up=1)
    waiting(buffer, 4, ticks=2)
    assert [buffer.take(n / 60) for n in range(8)] == [[1], [], [2], [], [3], [], [4], []]


@pytest.mark.parametrize("ticks", [1, 2])
def test_a_backlog_is_made_up_for_by_so_many_ticks_a_tick(ticks: int) -> None:
    buffer: InputBuffer[int] = InputBuffer(catch_up=4)
    waiting(buffer, 12 // ticks, ticks)
    sizes = [ticks * len(buffer.take(n / 60)) for n in range(6)]
    assert sum(sizes) == 12
    assert max(sizes) <= 4 + ticks - 1
    assert sizes.index(0) <= 4


def test_a_reserve_rides_out_the_jitter_that_it_is_as_deep_as() -> None:
    """Commands up to two ticks late: one is played every tick all the same, two ticks after the first came."""
    buffer: InputBuffer[int] = InputBuffer(depth=2, catch_up=1)
    arrivals = [[1], [2], [3], [], [], [4, 5, 6], [], [7, 8], [9], [10], []]
    assert play(buffer, arrivals) == [[], [], [1], [2], [3], [4], [5], [6], [7], [8], [9]]


def test_a_reserve_is_filled_anew_after_a_dry_buffer_and_what_is_beyond_it_is_caught_up_with() -> None:
    buffer: InputBuffer[int] = InputBuffer(depth=2)
    assert play(buffer, [[1], [2], [3], [], [], []]) == [[], [], [1], [2], [3], []]
    assert play(buffer, [[4], [5], [6], [7]], first=6) == [[], [], [4], [5]], "a trickle waits"
    assert play(buffer, [[], [], [], [8, 9, 10, 11, 12]], first=10) == [[6], [7], [], [8, 9, 10]], "a burst does not"
    assert buffer.waiting == 2


def test_the_last_commands_of_a_player_don_t_wait_for_more() -> None:
    buffer: InputBuffer[int] = InputBuffer(depth=3)
    assert play(buffer, [[1], [], [], [], []]) == [[], [], [], [1], []]


def test_a_burst_ends_the_wait_for_good() -> None:
    buffer: InputBuffer[int] = InputBuffer(depth=2, catch_up=1)
    assert play(buffer, [[1, 2, 3], [], [], []]) == [[1], [2], [3], []]
