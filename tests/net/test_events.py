"""The event bus, rows EB-01 to EB-05."""

from __future__ import annotations

import logging

import pytest

from net.events import EventBus


def test_eb01_named_first_then_catch_all_each_in_order_of_subscription() -> None:
    bus = EventBus()
    heard: list[object] = []
    bus.on_any(lambda name, payload: heard.append(("any 1", name, payload)))
    bus.on("hit", lambda payload: heard.append(("named 1", payload)))
    bus.on_any(lambda name, payload: heard.append(("any 2", name, payload)))
    bus.on("hit", lambda payload: heard.append(("named 2", payload)))
    bus.emit("hit", 7)
    assert heard == [("named 1", 7), ("named 2", 7), ("any 1", "hit", 7), ("any 2", "hit", 7)]


def test_eb01_lists_are_copied_as_each_phase_starts() -> None:
    bus = EventBus()
    heard: list[str] = []

    def first(payload: object) -> None:
        heard.append("first")
        bus.on("hit", lambda payload: heard.append("named, too late"))
        bus.on_any(lambda name, payload: heard.append("catch-all, in time"))
        end_second()

    bus.on("hit", first)
    end_second = bus.on("hit", lambda payload: heard.append("second"))
    bus.emit("hit")
    assert heard == ["first", "second", "catch-all, in time"]


def test_eb02_what_a_listener_raises_is_logged_with_the_name_and_the_others_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = EventBus()
    heard: list[str] = []

    def raises(*args: object) -> None:
        raise RuntimeError("broken")

    bus.on("hit", raises)
    bus.on("hit", lambda payload: heard.append("named"))
    bus.on_any(raises)
    bus.on_any(lambda name, payload: heard.append("any"))
    with caplog.at_level(logging.ERROR):
        bus.emit("hit")
    assert heard == ["named", "any"]
    assert "'hit'" in caplog.text


def test_eb03_the_same_function_twice_runs_once() -> None:
    bus = EventBus()
    heard: list[object] = []
    bus.on("hit", heard.append)
    end = bus.on("hit", heard.append)
    bus.emit("hit", 1)
    assert heard == [1]
    end()
    end()
    bus.emit("hit", 2)
    assert heard == [1]


def test_eb04_once_runs_once_is_gone_before_it_runs_and_off_does_not_cancel_it() -> None:
    bus = EventBus()
    heard: list[object] = []

    def again(payload: object) -> None:
        heard.append(payload)
        if payload == 1:
            bus.emit("hit", 2)

    bus.once("hit", again)
    bus.off("hit", again)
    bus.emit("hit", 1)
    bus.emit("hit", 3)
    assert heard == [1]


def test_eb04_what_once_returned_cancels_it() -> None:
    bus = EventBus()
    heard: list[object] = []
    bus.once("hit", heard.append)()
    bus.emit("hit", 1)
    assert heard == []


def test_eb05_clear_with_a_name_keeps_catch_alls_and_without_forgets_everyone() -> None:
    bus = EventBus()
    heard: list[object] = []
    bus.on("hit", lambda payload: heard.append("hit"))
    bus.on("miss", lambda payload: heard.append("miss"))
    bus.on_any(lambda name, payload: heard.append("any"))
    bus.clear("hit")
    bus.emit("hit")
    bus.emit("miss")
    assert heard == ["any", "miss", "any"]
    bus.clear()
    bus.emit("miss")
    assert heard == ["any", "miss", "any"]


def test_off_for_a_name_nobody_listens_to_and_clear_of_it_are_harmless() -> None:
    bus = EventBus()
    bus.off("nothing", print)
    bus.clear("nothing")
    bus.emit("nothing")
