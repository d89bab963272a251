import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from net.sync.inputs import InputBuffer, Push


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
    """Better than PI-03 and PI-19: a command is applied once, so a late one is no misprediction."""
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


@given(floods, st.sampled_from([30.0, 59.94, 60.0, 128.0]), st.integers(0, 15), st.integers(15, 80), st.integers(6, 90))
def test_simulated_time_never_exceeds_real_time_plus_slack(
    flood: list[tuple[float, list[tuple[int, int]]]], rate: float, slack: int, bank: int, limit: int
) -> None:
    """Whatever is sent, however the clock behaves: no tick too many, no seq twice, in order, none unaccounted for."""
    buffer: InputBuffer[tuple[int, int]] = InputBuffer(rate=rate, slack=slack, bank=bank, limit=limit)
    start = now = latest = 1e5
    seq = accepted = ticks_taken = 0
    taken: list[int] = []
    buffer.take(now)
    for pause, commands in flood:
        for step, ticks in commands:
            seq += step
            accepted += buffer.push(seq, (seq, ticks), ticks) is Push.ACCEPTED
            assert buffer.waiting <= limit
        now += pause
        latest = max(latest, now)
        batch = buffer.take(now)
        taken += [number for number, _ in batch]
        ticks_taken += sum(ticks for _, ticks in batch)
        assert sum(ticks for _, ticks in batch) <= bank
        assert ticks_taken <= slack + rate * (latest - start) + 2e-6
        if taken:
            assert buffer.last_seq >= taken[-1]
    assert taken == sorted(set(taken))
    waiting_commands = accepted - len(taken) - buffer.discarded
    assert 0 <= waiting_commands <= buffer.waiting <= 6 * waiting_commands


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
