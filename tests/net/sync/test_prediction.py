import logging
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from net.sync.prediction import Predictor


@dataclass(frozen=True)
class Move:
    speed: int
    ticks: int = 1


def walk(position: int, move: Move) -> int:
    """Not commutative, so that a replay in the wrong order shows."""
    for _ in range(move.ticks):
        position = position * 3 % 1009 + move.speed
    return position


@dataclass
class Corrections:
    seen: list[tuple[int, int]] = field(default_factory=list)

    def __call__(self, before: int, after: int) -> None:
        self.seen.append((before, after))


def add(state: int, command: int) -> int:
    return state + command


def test_commands_are_numbered_from_one_and_applied_at_once_pd_01() -> None:
    """PD-01, PD-16, PI-01, PI-07: no answer is needed to move, and each value can be read at any time."""
    predictor = Predictor(100, add)
    assert (predictor.next_seq, predictor.last_acknowledged, predictor.pending) == (1, 0, 0)
    assert [predictor.apply(n) for n in (1, 10, 100)] == [1, 2, 3]
    assert predictor.state == 211
    assert (predictor.next_seq, predictor.last_acknowledged, predictor.pending) == (4, 0, 3)


def test_an_acknowledgement_rewinds_and_replays_in_order_pd_02() -> None:
    """PD-02, PI-08: each command with its own duration."""
    predictor = Predictor(0, walk)
    moves = [Move(1), Move(2, ticks=3), Move(3), Move(4, ticks=2)]
    for move in moves:
        predictor.apply(move)
    assert predictor.acknowledge(500, 2)
    assert predictor.state == walk(walk(500, moves[2]), moves[3])
    assert (predictor.pending, predictor.last_acknowledged) == (2, 2)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60), st.integers(1, 30), st.integers(0, 2**31))
@settings(max_examples=60)
def test_the_same_step_on_both_sides_never_corrects_pd_03(speeds: list[int], latency: int, seed: int) -> None:
    """PD-03, PI-17: at any latency, with answers that come rarely, late or not at all."""
    dice = random.Random(seed)
    corrections = Corrections()
    predictor = Predictor(7, walk, on_correction=corrections)
    server, processed = 7, 0
    up: deque[tuple[int, int, Move]] = deque()
    down: deque[tuple[int, int, int]] = deque()
    for tick in range(len(speeds) + 2 * latency + 2):
        if tick < len(speeds):
            move = Move(speeds[tick], dice.randint(1, 3))
            up.append((tick + dice.randint(0, latency), predictor.apply(move), move))
        while up and up[0][0] <= tick:
            _, processed, move = up.popleft()
            server = walk(server, move)
        if dice.random() < 0.4 or tick > len(speeds) + 2 * latency:
            down.append((tick + dice.randint(0, latency), server, processed))
        arrived = [answer for answer in down if answer[0] <= tick]
        down = deque(answer for answer in down if answer[0] > tick)
        dice.shuffle(arrived)
        for _, state, seq in arrived:
            predictor.acknowledge(state, seq)
    predictor.acknowledge(server, processed)
    assert corrections.seen == []
    assert predictor.state == server
    assert predictor.pending == 0


def test_a_correction_is_told_once_after_the_state_is_readable_pd_04() -> None:
    """PD-04: with the discarded prediction and what replaced it."""
    told: list[tuple[int, int, int, int]] = []

    def note(before: int, after: int) -> None:
        told.append((before, after, predictor.state, predictor.last_acknowledged))

    predictor = Predictor(0, add, on_correction=note)
    for _ in range(3):
        predictor.apply(10)
    assert predictor.acknowledge(5, 1)
    assert told == [(30, 25, 25, 1)]


def test_what_is_agreed_after_a_correction_corrects_no_more_pd_05() -> None:
    corrections = Corrections()
    predictor = Predictor(0, add, on_correction=corrections)
    predictor.apply(10)
    predictor.acknowledge(4, 1)
    predictor.apply(10)
    predictor.acknowledge(14, 2)
    assert corrections.seen == [(10, 4)]


@pytest.mark.parametrize("stale", [0, 1, 2, -5])
def test_a_stale_acknowledgement_is_ignored_as_a_whole_pd_06_pd_07(stale: int) -> None:
    """PD-06: whatever state it carries."""
    corrections = Corrections()
    predictor = Predictor(0, add, on_correction=corrections)
    for _ in range(4):
        predictor.apply(10)
    predictor.acknowledge(20, 2)
    assert not predictor.acknowledge(-999, stale)
    assert not predictor.acknowledge(-999, stale, replay=False)
    assert (predictor.state, predictor.pending, predictor.last_acknowledged) == (40, 2, 2)
    assert corrections.seen == []


def test_acknowledging_nothing_moves_nobody_pd_07() -> None:
    predictor = Predictor(3, add)
    assert not predictor.acknowledge(99, 0)
    assert predictor.state == 3


def test_an_acknowledgement_for_what_was_never_sent_is_ignored_pd_09() -> None:
    """Better than PD-09, where it made every true one stale."""
    predictor = Predictor(0, add)
    predictor.apply(1)
    predictor.apply(1)
    assert not predictor.acknowledge(-999, 3)
    assert not predictor.acknowledge(-999, 2**53)
    assert (predictor.state, predictor.pending) == (2, 2)
    assert predictor.acknowledge(1, 1)
    assert predictor.acknowledge(12, 2)
    assert predictor.state == 12


def test_too_many_pending_drop_the_oldest_with_one_warning_pd_10(caplog: pytest.LogCaptureFixture) -> None:
    """PD-10, PI-12: the replay falls short by what was forgotten."""
    corrections = Corrections()
    predictor = Predictor(0, add, on_correction=corrections)
    with caplog.at_level(logging.WARNING, "net.sync.prediction"):
        for _ in range(128):
            predictor.apply(1)
        assert caplog.records == []
        for _ in range(10):
            predictor.apply(1)
    assert len(caplog.records) == 1
    assert "128" in caplog.records[0].getMessage()
    assert (predictor.state, predictor.pending, predictor.next_seq) == (138, 128, 139)
    assert predictor.acknowledge(3, 3)
    assert predictor.pending == 128, "what was acknowledged had been dropped already"
    assert corrections.seen == [(138, 131)]
    assert predictor.acknowledge(12, 12)
    assert (predictor.pending, predictor.state) == (126, 138), "and from here on nothing is missing"


def test_each_predictor_warns_for_itself_pd_10(caplog: pytest.LogCaptureFixture) -> None:
    for limit in (2, 3):
        predictor = Predictor(0, add, limit=limit)
        for _ in range(10):
            predictor.apply(1)
    assert [record.getMessage().split()[2] for record in caplog.records] == ["2", "3"]


def test_reset_empties_and_keeps_the_numbering_pd_11() -> None:
    corrections = Corrections()
    predictor = Predictor(0, add, on_correction=corrections)
    for _ in range(5):
        predictor.apply(1)
    predictor.acknowledge(2, 2)
    predictor.reset(50)
    assert (predictor.state, predictor.pending, predictor.last_acknowledged, predictor.next_seq) == (50, 0, 2, 6)
    assert corrections.seen == []
    assert predictor.apply(1) == 6
    assert predictor.acknowledge(51, 6)


def test_an_acknowledgement_in_flight_at_a_reset_has_no_effect_pd_12() -> None:
    """Better than PD-12, where it pulled the state back to before the reset."""
    corrections = Corrections()
    predictor = Predictor(0, add, on_correction=corrections)
    for _ in range(5):
        predictor.apply(1)
    predictor.reset(50)
    predictor.apply(1)
    for seq in range(1, 6):
        assert not predictor.acknowledge(seq, seq)
    assert (predictor.state, predictor.pending) == (51, 1)
    assert predictor.acknowledge(51, 6)
    assert corrections.seen == []


def test_a_new_connection_starts_its_numbers_again() -> None:
    predictor = Predictor(0, add)
    for _ in range(5):
        predictor.apply(1)
    predictor.acknowledge(4, 4)
    predictor.reset(0, renumber=True)
    assert (predictor.next_seq, predictor.last_acknowledged, predictor.pending) == (1, 0, 0)
    assert predictor.apply(7) == 1
    assert not predictor.acknowledge(99, 4), "never sent on this connection"
    assert predictor.acknowledge(8, 1)
    assert predictor.state == 8


def test_the_comparison_is_the_callers_pd_13() -> None:
    corrections = Corrections()
    predictor = Predictor(0, add, on_correction=corrections, equal=lambda a, b: abs(a - b) <= 1)
    predictor.apply(10)
    predictor.apply(10)
    predictor.acknowledge(11, 1)
    assert corrections.seen == []
    assert predictor.state == 21, "the authority's state counts, told or not"
    predictor.acknowledge(24, 2)
    assert corrections.seen == [(21, 24)]


def test_nobody_to_tell_nothing_to_compare_pd_14() -> None:
    def fail(a: int, b: int) -> bool:
        raise AssertionError("compared for nobody")

    predictor = Predictor(0, add, equal=fail)
    predictor.apply(1)
    assert predictor.acknowledge(9, 1)


def test_the_state_before_is_the_very_object_pd_15() -> None:
    """PD-15: a step that doesn't mutate leaves the discarded prediction intact."""
    told: list[tuple[list[int], list[int]]] = []
    predictor: Predictor[list[int], int] = Predictor(
        [0], lambda state, command: [*state, command], on_correction=lambda a, b: told.append((a, b))
    )
    predictor.apply(1)
    predictor.apply(2)
    predicted = predictor.state
    server = [9]
    predictor.acknowledge(server, 1)
    assert told[0][0] is predicted
    assert told == [([0, 1, 2], [9, 2])]
    assert server == [9]


def test_without_replay_the_old_state_is_shown_as_it_comes() -> None:
    """Reconciliation off: the rubber band, without a correction being told, but what is acknowledged is dropped."""
    corrections = Corrections()
    predictor = Predictor(0, add, on_correction=corrections)
    for _ in range(5):
        predictor.apply(1)
    assert predictor.acknowledge(2, 2, replay=False)
    assert (predictor.state, predictor.pending, predictor.last_acknowledged) == (2, 3, 2)
    predictor.apply(1)
    assert predictor.state == 3
    assert predictor.acknowledge(3, 3)
    assert predictor.state == 6, "switched on again, everything unacknowledged is back"
    assert corrections.seen == [(3, 6)]


def test_local_tampering_does_not_outlive_the_next_answer_pi_09() -> None:
    predictor: Predictor[list[int], int] = Predictor([0], lambda state, command: [state[0] + command])
    predictor.apply(1)
    predictor.apply(1)
    predictor.state[0] = 999
    predictor.acknowledge([1], 1)
    assert predictor.state == [2]


def test_a_step_that_raises_leaves_everything_as_it_was() -> None:
    def touchy(state: int, command: int) -> int:
        if command < 0 or state > 100:
            raise ArithmeticError
        return state + command

    predictor = Predictor(0, touchy)
    predictor.apply(1)
    predictor.apply(1)
    with pytest.raises(ArithmeticError):
        predictor.apply(-1)
    assert (predictor.state, predictor.pending, predictor.next_seq) == (2, 2, 3)
    with pytest.raises(ArithmeticError):
        predictor.acknowledge(1000, 1)
    assert (predictor.state, predictor.pending, predictor.last_acknowledged) == (2, 2, 0)


@pytest.mark.parametrize(
    ("react", "state", "pending"),
    [(lambda p: p.reset(7), 7, 0), (lambda p: p.apply(1), 14, 4), (lambda p: p.acknowledge(30, 3), 31, 1)],
)
def test_the_callback_may_use_the_predictor(
    react: Callable[[Predictor[int, int]], object], state: int, pending: int
) -> None:
    calls = 0

    def on_correction(before: int, after: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            react(predictor)

    predictor = Predictor(0, add, on_correction=on_correction)
    for _ in range(4):
        predictor.apply(1)
    assert predictor.acknowledge(10, 1)
    assert (predictor.state, predictor.pending) == (state, pending)


def test_a_limit_that_allows_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="allows no prediction"):
        Predictor(0, add, limit=0)
