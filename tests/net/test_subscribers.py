"""Who is called, and that none harms another."""

from __future__ import annotations

import logging

import pytest

from net.subscribers import Subscribers


def test_order_and_arguments() -> None:
    people: Subscribers[int, str] = Subscribers("calls")
    heard: list[tuple[str, int, str]] = []
    people.add(lambda number, word: heard.append(("first", number, word)))
    people.add(lambda number, word: heard.append(("second", number, word)))
    people.notify(1, "a")
    assert heard == [("first", 1, "a"), ("second", 1, "a")]


def test_tl10_the_same_callback_twice_runs_once_and_either_end_removes_it() -> None:
    class Receiver:
        def __init__(self) -> None:
            self.heard: list[int] = []

        def take(self, value: int) -> None:
            self.heard.append(value)

    receiver = Receiver()
    people: Subscribers[int] = Subscribers("calls")
    first = people.add(receiver.take)
    people.add(receiver.take)
    people.notify(1)
    assert receiver.heard == [1]
    first()
    people.notify(2)
    assert receiver.heard == [1]
    assert len(people) == 0


def test_tl11_the_list_is_as_it_was_when_the_call_began() -> None:
    people: Subscribers[int] = Subscribers("calls")
    heard: list[str] = []

    def first(value: int) -> None:
        heard.append("first")
        people.add(late)
        end_second()

    def late(value: int) -> None:
        heard.append("late")

    people.add(first)
    end_second = people.add(lambda value: heard.append("second"))
    people.notify(1)
    assert heard == ["first", "second"]
    people.notify(2)
    assert heard == ["first", "second", "first", "late"]


def test_a_callback_that_raises_is_logged_and_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    people: Subscribers[int] = Subscribers("the weather")
    heard: list[int] = []

    def raises(value: int) -> None:
        raise RuntimeError("hail")

    people.add(raises)
    people.add(heard.append)
    with caplog.at_level(logging.ERROR):
        people.notify(1)
    assert heard == [1]
    assert "the weather" in caplog.text
    assert "hail" in caplog.text
