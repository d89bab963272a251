"""Conditions as text, as presets, and what is no network."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.transport.conditions import PRESETS, Conditions, parse_conditions


def test_milliseconds_outside_seconds_inside() -> None:
    assert parse_conditions("latency=80,jitter=20,loss=0.02,seed=1") == (
        Conditions(latency=0.08, jitter=0.02, loss=0.02),
        1,
    )


def test_every_key_and_blanks() -> None:
    text = " latency = 5 , jitter=1,distribution=heavy, loss=.5,duplicate=1, ordered=no, bandwidth=64, seed=-3"
    assert parse_conditions(text) == (Conditions(0.005, 0.001, "heavy", 0.5, 1.0, False, 64_000.0), -3)


@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_name_in_any_case_alone_or_changed(name: str) -> None:
    assert parse_conditions(name) == (PRESETS[name], 0)
    assert parse_conditions(name.upper() + ",seed=7") == (PRESETS[name], 7)
    changed, _ = parse_conditions(name + ",latency=500")
    assert changed.latency == 0.5
    assert changed.loss == PRESETS[name].loss


def test_presets_go_from_good_to_bad_and_the_first_changes_nothing() -> None:
    assert list(PRESETS) == ["perfect", "LAN", "Wi-Fi", "4G", "bad 4G", "satellite"]
    assert PRESETS["perfect"].perfect
    latencies = [conditions.latency for conditions in PRESETS.values()]
    assert latencies == sorted(latencies)
    assert not any(conditions.perfect for conditions in list(PRESETS.values())[1:])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no network"),
        ("5G", "'5G'"),
        ("latency", "'latency'"),
        ("latency=80,LAN", "'LAN'"),
        ("latancy=80", "'latancy'"),
        ("latency=", "number"),
        ("latency=fast", "'fast'"),
        ("latency=nan", "number"),
        ("latency=inf", "number"),
        ("latency=-1", "from 0"),
        ("latency=60001", "60000 ms"),
        ("jitter=-1", "from 0"),
        ("loss=1.01", "from 0 to 1"),
        ("loss=-0.1", "from 0 to 1"),
        ("loss=NaN", "number"),
        ("ordered=no,duplicate=2", "from 0 to 1"),
        ("duplicate=0.1", "ordered=no"),
        ("distribution=wild", "uniform"),
        ("ordered=maybe", "yes or no"),
        ("bandwidth=0", "above 0"),
        ("bandwidth=-5", "above 0"),
        ("seed=1.5", "whole"),
        ("seed=", "whole"),
        ("seed=" + "9" * 5000, "whole"),
        ("seed=²", "whole"),
        ("latency=80,,loss=0.1", "''"),
    ],
)
def test_nonsense_is_one_clear_sentence(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word) as error:
        parse_conditions(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.001])
@pytest.mark.parametrize("name", ["latency", "jitter", "loss", "duplicate", "bandwidth"])
def test_no_number_that_no_network_has(name: str, bad: float) -> None:
    with pytest.raises(ValueError, match=name):
        Conditions(**{name: bad}, ordered=False)  # type: ignore[arg-type]


@given(st.text() | st.lists(st.sampled_from(["latency", "=", ",", "1", "-", "e9", "nan", "LAN", "seed"])).map("".join))
def test_any_text_is_conditions_or_a_value_error(text: str) -> None:
    try:
        conditions, seed = parse_conditions(text)
    except ValueError:
        return
    assert isinstance(conditions, Conditions)
    assert isinstance(seed, int)
