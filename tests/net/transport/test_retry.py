"""When to come back: numbers only. Rows TW-08, TW-11, TW-19."""

from __future__ import annotations

import pytest

from net.transport.retry import RetryPolicy


def test_tw08_the_plain_policy_is_three_tries_one_second_each() -> None:
    policy = RetryPolicy.plain()
    assert policy.tries == 3
    assert [policy.delay(attempt, chance) for attempt, chance in ((1, 0.0), (2, 0.5), (3, 0.99))] == [1.0, 1.0, 1.0]


def test_backoff_doubles_to_its_limit() -> None:
    policy = RetryPolicy.backoff()
    assert policy.tries == 5
    assert [policy.delay(attempt) for attempt in range(1, 8)] == [1, 2, 4, 8, 16, 16, 16]


def test_backoff_is_spread_by_a_fifth_to_both_sides() -> None:
    policy = RetryPolicy.backoff()
    assert policy.delay(1, 0.0) == pytest.approx(0.8)
    assert policy.delay(1, 0.999999) == pytest.approx(1.2, rel=1e-5)
    assert policy.delay(5, 0.0) == pytest.approx(12.8)


@pytest.mark.parametrize("attempt", [10**3, 10**9, 10**400])
def test_absurd_attempts_wait_the_longest_delay(attempt: int) -> None:
    assert RetryPolicy.backoff().delay(attempt) == 16.0
    assert RetryPolicy.plain().delay(attempt) == 1.0


def test_tw11_refusals_are_final_and_accidents_are_not() -> None:
    policy = RetryPolicy.plain()
    assert [code for code in range(1000, 5001) if policy.final(code)] == [1008, *range(4000, 5000)]
    assert not policy.final(None)
    assert not RetryPolicy(3, 1.0, final_codes=()).final(1008)
