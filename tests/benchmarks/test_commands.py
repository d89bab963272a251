"""The comparison of command policies, on a few seconds of it: it shows what it is for, the same every time."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "commands.py"


@pytest.fixture(scope="module")
def commands() -> ModuleType:
    spec = spec_from_file_location("benchmark_commands", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_guess_is_a_correction_and_waiting_is_none(commands: ModuleType) -> None:
    """PI-03 beside what the arena does."""
    hold = commands.measure("4G", commands.POLICIES["hold, at once"], [5], 4.0)
    repeat = commands.measure("4G", commands.POLICIES["repeat 6, at once"], [5], 4.0)
    assert (hold.corrections, hold.largest, hold.lost, hold.repeated) == (0, 0, 0, 0)
    assert min(repeat.corrections, repeat.largest, repeat.lost, repeat.repeated) > 0
    assert 35 < hold.age < hold.age_p95
    assert repeat.uneven < hold.uneven


def test_one_command_a_tick_is_even_and_old(commands: ModuleType) -> None:
    at_once = commands.measure("Wi-Fi", commands.POLICIES["hold, at once"], [5], 4.0)
    one = commands.measure("Wi-Fi", commands.POLICIES["hold, one a tick, keep 2"], [5], 4.0)
    assert one.uneven < 0.5 * at_once.uneven
    assert one.age > at_once.age + 20


def test_the_same_seeds_give_the_same_numbers(commands: ModuleType) -> None:
    policy = commands.POLICIES["latest, repeat 15"]
    assert commands.measure("LAN", policy, [7], 2.0) == commands.measure("LAN", policy, [7], 2.0)
