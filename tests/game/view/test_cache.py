from __future__ import annotations

import pytest

from game.view.cache import Cache


def test_it_makes_each_value_once_and_drops_the_longest_unused() -> None:
    made: list[int] = []

    def make(key: int) -> str:
        made.append(key)
        return str(key)

    cache = Cache(2, make)
    assert [cache.get(key) for key in (1, 2, 1, 3, 1)] == ["1", "2", "1", "3", "1"]
    assert made == [1, 2, 3]
    assert len(cache) == 2
    cache.get(2)
    assert made == [1, 2, 3, 2]


def test_a_cache_must_hold_something() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Cache(0, str)
