"""Delivery is part of the type: who needs a reliable, ordered transport gets no other. Row IP-07."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from net.clock import ManualClock
from net.transport.base import DeliveryError, require_reliable_ordered
from net.transport.broadcast import BroadcastTransport
from net.transport.conditioner import ConditionedTransport, Conditions, OrderedConditionedTransport
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import pair
from net.transport.websocket import WebSocketTransport

ROOT = Path(__file__).parents[3]
LOOSE = Conditions(ordered=False)

PROGRAM = """
from net.clock import Clock
from net.transport.base import ReliableOrderedTransport, Transport, require_reliable_ordered
from net.transport.broadcast import BroadcastTransport
from net.transport.conditioner import ConditionedTransport, OrderedConditionedTransport
from net.transport.local import LocalTransport
from net.transport.pair import PairTransport
from net.transport.websocket import WebSocketTransport


def replicate(transport: ReliableOrderedTransport) -> None: ...
def chat(transport: Transport) -> None: ...


def accepted(
    clock: Clock, a: WebSocketTransport, b: PairTransport, c: LocalTransport, d: ConditionedTransport,
    e: BroadcastTransport
) -> None:
    replicate(a)
    replicate(b)
    replicate(c)
    replicate(OrderedConditionedTransport(a, clock))
    replicate(require_reliable_ordered(d))
    chat(d)
    chat(e)


def refused(clock: Clock, a: BroadcastTransport, b: ConditionedTransport, c: Transport) -> None:
    replicate(a)  # refused
    replicate(b)  # refused
    replicate(c)  # refused
    OrderedConditionedTransport(a, clock)  # refused
"""


def test_ip07_the_type_checker_refuses_what_may_lose_messages(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty", str(program)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT), "MYPY_FORCE_COLOR": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in checked.stdout.splitlines() if " error: " in line]
    lines = [int(line.split(".py:")[1].split(":")[0]) for line in errors]
    expected = [n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# refused")]
    assert (lines, checked.stderr) == (expected, ""), checked.stdout
    assert all("[arg-type]" in line and "ReliableOrderedTransport" in line for line in errors)


@pytest.fixture
def broadcast() -> Any:
    transport = BroadcastTransport("test delivery")
    yield transport
    transport.close()


def test_ip07_what_may_lose_messages_is_refused_at_run_time(broadcast: BroadcastTransport) -> None:
    local = LocalTransport(LocalHub())
    clock = ManualClock()
    for loose in (
        broadcast,
        ConditionedTransport(broadcast, clock),
        ConditionedTransport(local, clock, up=LOOSE),
        ConditionedTransport(local, clock, down=LOOSE),
    ):
        with pytest.raises(DeliveryError, match=f"{type(loose).__name__} may lose messages"):
            require_reliable_ordered(loose)
    with pytest.raises(DeliveryError, match="may lose messages"):
        require_reliable_ordered(object())  # type: ignore[arg-type]


def test_ip07_what_keeps_everything_in_order_passes_as_it_is() -> None:
    local = LocalTransport(LocalHub())
    websocket = WebSocketTransport("ws://127.0.0.1:1/", autoconnect=False)
    for strict in (
        local,
        pair()[0],
        websocket,
        ConditionedTransport(local, ManualClock(), Conditions(latency=0.1, loss=0.5)),
        OrderedConditionedTransport(local, ManualClock()),
    ):
        assert require_reliable_ordered(strict) is strict


def test_ip07_a_conditioned_transport_may_lose_its_order_later_and_says_so() -> None:
    transport = ConditionedTransport(LocalTransport(LocalHub()), ManualClock())
    transport.set(up=LOOSE)
    with pytest.raises(DeliveryError):
        require_reliable_ordered(transport)


def test_ip07_an_ordered_conditioned_transport_can_not() -> None:
    local, clock = LocalTransport(LocalHub()), ManualClock()
    for up, down in ((LOOSE, None), (None, LOOSE)):
        with pytest.raises(ValueError, match="needs the order"):
            OrderedConditionedTransport(local, clock, up, down)
    transport = OrderedConditionedTransport(local, clock, Conditions(latency=0.1))
    for up, down in ((LOOSE, None), (Conditions(), LOOSE)):
        with pytest.raises(ValueError, match="needs the order"):
            transport.set(up, down)
    assert transport.up == Conditions(latency=0.1)
    transport.set(down=Conditions(latency=0.2))
    assert transport.down == Conditions(latency=0.2)
