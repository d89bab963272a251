"""Declarations: what fits, what is refused, and how two ends find out that they differ (HS-02 to HS-04, HS-10)."""

import copy
import json
import math

import numpy as np
import pytest

from net.replication.schema import FIELDS, PROTOCOL, Component, Schema
from net.replication.shapes import Angle, Bool, EntityRef, Fixed, Int, Optional, Text


def make(**changes):
    body = {"x": Fixed(-25, 25, 1 / 256), "yaw": Angle(10), "score": Int(0, 9)} | changes
    return Schema([Component("body", **body), Component("tag", it=Bool())])


@pytest.mark.parametrize(
    ("shape", "pairs"),
    [
        (Bool(), [(False, 0), (True, 1)]),
        (Int(-3, 2**53 - 4), [(-3, 0), (0, 3), (2**53 - 4, 2**53 - 1)]),
        (Fixed(-25, 25, 1 / 256), [(-25.0, 0), (0.0, 6400), (25.0, 12800)]),
        (Angle(10), [(0.0, 0), (math.pi, 512)]),
        (EntityRef(), [(None, 0), (1 << 20, 1 << 20)]),
        (Optional(Int(5, 9)), [(None, 0), (5, 1), (9, 5)]),
        (Optional(Bool()), [(None, 0), (False, 1), (True, 2)]),
        (Optional(EntityRef()), [(None, 0), (7 << 20, 7 << 20)]),
    ],
)
def test_values_and_codes_at_their_limits(shape, pairs):
    for value, code in pairs:
        assert shape.code(value) == code
        assert shape.value(code) == value
    codes = np.array([code for _, code in pairs])
    assert shape.values(codes).tolist() == [value for value, _ in pairs]
    assert 0 <= shape.default <= shape.limit


def test_numbers_are_rounded_to_their_precision_and_angles_wrap():
    shape = Fixed(-1, 1, 0.25)
    assert [shape.value(shape.code(value)) for value in (0.12, 0.13, -1.1, 1.12)] == [0, 0.25, -1, 1]
    assert shape.codes(np.array([0.12, 0.13, -1.1, 1.12])).tolist() == [4, 5, 0, 8]
    assert Angle(10).code(-math.pi / 2) == 768
    assert Angle(10).code(100 * math.tau + 0.0001) == 0
    assert Angle(10).code(-0.0001) == 0


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (Bool(), 1),
        (Bool(), None),
        (Int(0, 9), 10),
        (Int(0, 9), -1),
        (Int(0, 9), True),
        (Int(0, 9), 1.0),
        (Fixed(0, 1, 0.1), 1.06),
        (Fixed(0, 1, 0.1), math.nan),
        (Fixed(0, 1, 0.1), -math.inf),
        (Fixed(0, 1, 0.1), "0"),
        (Angle(4), math.inf),
        (EntityRef(), -1),
        (EntityRef(), 1 << 40),
        (Optional(Int(0, 9)), 10),
    ],
)
def test_co06_co11_what_a_shape_cannot_hold_is_refused_where_it_is_written(shape, value):
    with pytest.raises(ValueError, match=r"."):
        shape.code(value)


def test_co05_texts_too_long_or_no_unicode_are_refused_where_they_are_written():
    text = Text(3)
    assert text.check("a\0🎈") == "a\0🎈"
    for wrong in ("abcd", "\ud800", b"abc", None):
        with pytest.raises(ValueError, match=r"."):
            text.check(wrong)
    assert Optional(Text(3)).check(None) is None


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Int(3, 3),
        lambda: Int(0, 2**60),
        lambda: Fixed(0, 1, 0),
        lambda: Fixed(1, 0, 0.1),
        lambda: Fixed(0, math.inf, 1),
        lambda: Fixed(0, 1, 1e-30),
        lambda: Angle(0),
        lambda: Angle(33),
        lambda: Text(0),
        lambda: Component("", it=Bool()),
        lambda: Component("empty"),
        lambda: Component("wrong", it=True),
        lambda: Component("many", **{f"f{n}": Bool() for n in range(FIELDS + 1)}),
        lambda: Schema([Component("twice", a=Bool()), Component("twice", b=Bool())]),
        lambda: Schema([Component(f"c{n}", a=Bool()) for n in range(257)]),
    ],
)
def test_hs11_hs12_what_cannot_be_declared_is_an_error(declare):
    with pytest.raises(ValueError, match=r"."):
        declare()


def test_hs10_components_are_numbered_by_name():
    one = Schema([Component("b", x=Bool()), Component("a", x=Bool())])
    two = Schema([Component("a", x=Bool()), Component("b", x=Bool())])
    assert [component.name for component in one.components] == ["a", "b"]
    assert one.fingerprint == two.fingerprint
    assert one.refusal(two.greeting()) is None
    assert (one.index("a"), one.index("b")) == (1, 2)
    with pytest.raises(KeyError):
        one.index("c")


def test_a_greeting_is_json_and_accepted_by_the_same_schema():
    assert make().refusal(json.loads(json.dumps(make().greeting()))) is None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (make(x=Fixed(-25, 25, 1 / 128)), ["body.x", "0.0078125", "0.00390625"]),
        (make(x=Int(0, 12800)), ["body.x", "int", "fixed"]),
        (make(score=EntityRef()), ["body.score", "entity"]),
        (make(score=Optional(Int(0, 9))), ["body.score", "optional"]),
        (make(yaw=Bool()), ["body.yaw", "bool", "angle"]),
        (make(more=Bool()), ["body", "4 fields", "3"]),
        (Schema([Component("body", x=Bool())]), ["1 replicated components", "2"]),
        (Schema([Component("body", x=Bool()), Component("tig", it=Bool())]), ["body"]),
        (Schema([Component("bodies", x=Bool()), Component("tag", it=Bool())]), ["'bodies'", "'body'"]),
        (Schema([Component("body", yaw=Angle(10)), Component("tag", it=Bool())]), ["'yaw'", "'x'"]),
    ],
)
def test_hs02_hs03_hs04_the_first_difference_is_named(other, words):
    refusal = make().refusal(other.greeting())
    for word in words:
        assert word in refusal
    assert other.refusal(make().greeting()) is not None
    assert make().fingerprint != other.fingerprint


def test_hs02_another_protocol_comes_before_anything_else():
    greeting = make(yaw=Bool()).greeting() | {"protocol": PROTOCOL + 1}
    assert make().refusal(greeting) == f"replication protocol {PROTOCOL + 1}, but here it is {PROTOCOL}"


def test_any_greeting_of_a_peer_is_answered_in_words():
    good = make().greeting()
    wrong = [None, [], "x", {}, {"protocol": "1"}, {"protocol": True}, {"protocol": 10**400}, {"protocol": [[]]}]
    for components in (None, 5, [1], [["body"]], [[1, 2], [3, 4]], [["body", 7], ["tag", []]], [["body", [[1]]], []]):
        wrong.append(good | {"fingerprint": "", "components": components})
    nested = copy.deepcopy(good) | {"fingerprint": None}
    nested["components"][0][1][0] = ["x" * 5000, {"a": float("nan")}]
    wrong += [nested, good | {"fingerprint": "?"}]
    for greeting in wrong:
        refusal = make().refusal(greeting)
        assert isinstance(refusal, str)
        assert len(refusal) < 400
        refusal.encode()
