from __future__ import annotations

from server.guard import Guard, Verdict


def passes(guard: Guard, *times: float) -> list[bool]:
    return [guard.message(now) is Verdict.PASS for now in times]


def test_messages_pass_in_a_burst_and_then_at_their_rate():
    guard = Guard(rate=10.0, burst=3.0)
    assert passes(guard, *[100.0] * 4) == [True, True, True, False]
    assert passes(guard, 100.09, 100.11, 100.11) == [False, True, False]


def test_no_more_than_a_burst_is_saved_up_and_nothing_is_gained_from_a_clock_that_goes_back():
    guard = Guard(rate=10.0, burst=2.0)
    assert passes(guard, 0.0, 0.0, -50.0) == [True, True, False]
    assert passes(guard, 1000.0, 1000.0, 1000.0) == [True, True, False]


def test_an_honest_client_passes_for_ever_and_so_does_its_burst_after_two_seconds_of_stall():
    guard = Guard()
    for tick in range(60 * 60):
        assert guard.message(tick / 60) is Verdict.PASS
    assert {guard.message(62.0) for _ in range(130)} == {Verdict.PASS}


def test_a_flood_is_dropped_told_once_a_second_and_closed_after_two_thousand_drops_in_ten_seconds():
    guard = Guard(rate=0.0, burst=1.0)
    assert guard.message(0.0) is Verdict.PASS
    verdicts = [guard.message(0.001 * i) for i in range(1, 2002)]
    assert verdicts[0] is Verdict.TELL
    assert verdicts[:2000].count(Verdict.TELL) == 2
    assert verdicts[1999] is not Verdict.CLOSE
    assert verdicts[2000] is Verdict.CLOSE


def test_drops_that_lie_far_apart_close_nothing():
    guard = Guard(rate=0.0, burst=0.0)
    assert Verdict.CLOSE not in [guard.message(i * 0.1) for i in range(5000)]


def test_fifty_malformed_messages_in_ten_seconds_close():
    guard = Guard()
    verdicts = [guard.malformed(i * 0.19) for i in range(50)]
    assert verdicts[0] is Verdict.TELL
    assert verdicts[1:6] == [Verdict.DROP] * 5
    assert verdicts.index(Verdict.CLOSE) == 49


def test_malformed_messages_that_lie_far_apart_close_nothing():
    guard = Guard()
    assert {guard.malformed(i * 1.5) for i in range(200)} == {Verdict.TELL}


def test_what_nobody_hears_of_counts_but_leaves_the_right_to_be_told():
    guard = Guard(rate=0.0, burst=0.0)
    assert [guard.malformed(0.0, silent=True) for _ in range(40)] == [Verdict.DROP] * 40
    assert guard.malformed(0.0) is Verdict.TELL
    assert [guard.malformed(0.0, silent=True) for _ in range(9)][-1] is Verdict.CLOSE
    assert guard.message(0.0, silent=True) is Verdict.DROP
    assert guard.message(0.0) is Verdict.TELL
