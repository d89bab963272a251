"""The reactive store: what is announced, to whom, and in which order."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from net.store import Store


def test_get_and_set_with_a_value_or_an_updater() -> None:
    store = Store(1)
    store.set(5)
    store.set(lambda old: old + 2)
    assert store.get() == 7


def test_a_listener_gets_new_and_old() -> None:
    store = Store(1)
    heard: list[tuple[int, int]] = []
    store.subscribe(lambda new, old: heard.append((new, old)))
    store.set(2)
    store.set(lambda old: old * 10)
    assert heard == [(2, 1), (20, 2)]


def test_equal_states_are_not_announced_and_keep_the_old_object() -> None:
    first = {"a": [1]}
    store = Store(first)
    heard: list[Any] = []
    store.subscribe(lambda new, old: heard.append(new))
    store.set({"a": [1]})
    assert heard == []
    assert store.get() is first


def test_a_selector_hears_only_of_changes_of_what_it_selects() -> None:
    store = Store({"name": "ann", "score": 0})
    heard: list[tuple[str, str]] = []
    store.subscribe(lambda new, old: heard.append((new, old)), lambda state: str(state["name"]))
    store.set({"name": "ann", "score": 1})
    store.set({"name": "bob", "score": 1})
    assert heard == [("bob", "ann")]


def test_unsubscribing_twice_is_harmless_and_leaves_others() -> None:
    store = Store(0)
    heard: list[str] = []
    end = store.subscribe(lambda new, old: heard.append("a"))
    store.subscribe(lambda new, old: heard.append("b"))
    end()
    end()
    store.set(1)
    assert heard == ["b"]


def test_unsubscribing_inside_a_callback_skips_nobody_else() -> None:
    store = Store(0)
    heard: list[str] = []

    def first(new: int, old: int) -> None:
        heard.append("first")
        end_first()
        end_second()

    end_first = store.subscribe(first)
    end_second = store.subscribe(lambda new, old: heard.append("second"))
    store.subscribe(lambda new, old: heard.append("third"))
    store.set(1)
    store.set(2)
    assert heard == ["first", "third", "third"]


def test_a_listener_or_selector_that_raises_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(1)
    heard: list[int] = []

    def raises(new: int, old: int) -> None:
        raise RuntimeError("broken listener")

    store.subscribe(raises)
    store.subscribe(lambda new, old: heard.append(new), lambda state: 10 // (state - 2))
    store.subscribe(lambda new, old: heard.append(new))
    with caplog.at_level(logging.ERROR):
        store.set(2)
    assert heard == [2]
    assert caplog.text.count("a listener of a store raised") == 2
    assert "broken listener" in caplog.text
    store.set(7)
    assert heard == [2, 2, 7], "the selector that raised once works again"


def test_a_set_inside_a_listener_is_heard_by_all_in_order_without_recursion() -> None:
    store = Store(0)
    heard: list[tuple[str, int, int]] = []
    depth = 0

    def counts(new: int, old: int) -> None:
        nonlocal depth
        depth += 1
        assert depth == 1
        heard.append(("counts", new, old))
        if new < 3:
            store.set(new + 1)
            assert store.get() == new + 1
        depth -= 1

    store.subscribe(counts)
    store.subscribe(lambda new, old: heard.append(("second", new, old)))
    store.set(1)
    states = [(1, 0), (2, 1), (3, 2)]
    assert [h[1:] for h in heard if h[0] == "counts"] == states
    assert [h[1:] for h in heard if h[0] == "second"] == states


def test_many_sets_inside_listeners_do_not_exhaust_the_stack() -> None:
    store = Store(0)

    def climbs(new: int, old: int) -> None:
        if new < 5000:
            store.set(new + 1)

    store.subscribe(climbs)
    store.set(1)
    assert store.get() == 5000


def test_who_subscribes_during_an_announcement_hears_only_of_newer_states() -> None:
    store = Store(0)
    late: list[tuple[int, int]] = []

    def first(new: int, old: int) -> None:
        if new == 1:
            store.set(2)
            store.set(3)
            store.subscribe(lambda new, old: late.append((new, old)))

    store.subscribe(first)
    store.set(1)
    assert late == [], "it could read 3 as it subscribed; 1 and 2 would be steps back"
    store.set(4)
    assert late == [(4, 3)]


def test_an_updater_that_raises_changes_nothing() -> None:
    store = Store(1)

    def fails(old: int) -> int:
        raise KeyError("no")

    with pytest.raises(KeyError):
        store.set(fails)
    store.set(2)
    assert store.get() == 2
