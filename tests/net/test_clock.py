"""Clocks and the pacer, on literal times."""

import itertools
import threading

import pytest

from net.clock import ManualClock, MonotonicClock, Pacer, ProcessClock


def test_a_manual_clock_moves_only_when_told_and_never_back():
    clock = ManualClock(5.0)
    assert clock.now() == clock.now() == 5.0
    assert clock.advance(0.5) == clock.now() == 5.5
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-0.1)


def test_a_monotonic_clock_never_goes_back():
    clock = MonotonicClock()
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)


def test_a_process_clock_counts_the_work_of_every_thread():
    clock = ProcessClock()
    before = clock.now()
    worked = threading.Event()

    def work() -> None:
        while clock.now() < before + 0.02:
            pass
        worked.set()

    threading.Thread(target=work, daemon=True).start()
    assert worked.wait(30)
    assert clock.now() >= before + 0.02


class Spinning(ManualClock):
    """A clock on which each look takes 10 µs, so that spinning ends."""

    def now(self) -> float:
        return self.advance(1e-5)


def paced(work: list[float]) -> tuple[list[float], list[float]]:
    """When each frame started, and how long the pacer slept before it."""
    clock = Spinning()
    sleeps: list[float] = []

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        clock.advance(seconds + 0.0001)  # sleeping always takes a little longer

    pacer = Pacer(60, clock, sleep=sleep)
    starts = []
    for seconds in work:
        starts.append(pacer.wait())
        clock.advance(seconds)
    return starts, sleeps


def test_frames_start_a_period_apart_whatever_their_work():
    starts, sleeps = paced([0.001, 0.012, 0.004, 0.016, 0.002] * 20)
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    assert max(gaps) == pytest.approx(1 / 60, abs=3e-5)
    assert min(gaps) == pytest.approx(1 / 60, abs=3e-5)
    assert starts[-1] - starts[0] == pytest.approx(99 / 60, abs=3e-5)
    assert all(sleep > 0 for sleep in sleeps)


def test_a_little_late_is_made_up_for_and_much_too_late_is_not():
    starts, _ = paced([0.001, 0.020, 0.001, 0.001, 0.5, 0.001, 0.001])
    assert starts[2] - starts[1] == pytest.approx(0.020, abs=1e-4), "late by what the work took too long"
    assert starts[3] - starts[0] == pytest.approx(3 / 60, abs=3e-5), "and back in step"
    assert starts[6] - starts[5] == pytest.approx(1 / 60, abs=1e-4), "no hurry after a long pause"
