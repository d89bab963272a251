"""Everything that a client can say to an authority before it is let in: an answer in words, and nothing else."""

import copy
import json
import math
import random

import pytest

from net.replication import Authority, Component, Int, Schema

GREETINGS = 20_000
ATOMS = [
    None, True, False, 0, 1, 1.0, -1, 2**63, -(2**200), 10**4400, 0.1, math.nan, math.inf, "", "a", "body", "x",
    "\ud800", "\0", "🎈" * 50, "y" * 10_000, "protocol", "fingerprint", "components", "bool", "entity", "int 0 to 9",
]  # fmt: skip
KEYS = ["protocol", "fingerprint", "components", "", "body", "\ud800", "0"]


def invent(dice, depth):
    """Any JSON-like object."""
    kind = dice.randrange(4) if depth else 0
    if kind == 1:
        return [invent(dice, depth - 1) for _ in range(dice.randrange(5))]
    if kind == 2:
        return [[invent(dice, depth - 1), invent(dice, depth - 1)] for _ in range(dice.randrange(4))]
    if kind == 3:
        return {dice.choice(KEYS): invent(dice, depth - 1) for _ in range(dice.randrange(4))}
    return dice.choice(ATOMS)


def spoil(dice, greeting):
    """A good greeting with something else in one to three places, somewhere in its depth."""
    greeting = copy.deepcopy(greeting)
    for _ in range(dice.randint(1, 3)):
        inside = greeting
        while True:
            keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
            if not keys:
                break
            key = dice.choice(keys)
            if not isinstance(inside[key], dict | list) or dice.random() < 0.3:
                how = dice.randrange(4)
                if how == 0:
                    del inside[key]
                elif how == 1 and isinstance(inside, list):
                    inside.insert(key, invent(dice, 2))
                else:
                    inside[key] = invent(dice, 3)
                break
            inside = inside[key]
    return greeting


@pytest.mark.parametrize("known", [True, False], ids=["its own fingerprint", "another fingerprint"])
def test_hs_02_any_greeting_is_answered_with_a_reason_or_is_the_right_one(schema, known):
    """HS-05: whoever is refused is never ready and gets nothing, however often they try."""
    dice = random.Random(f"greetings {known}")
    authority, heard = Authority(schema, 8), []
    good = schema.greeting() if known else schema.greeting() | {"fingerprint": "0"}
    refused = 0
    for number in range(1, GREETINGS // 2 + 1):
        greeting = spoil(dice, good) if dice.random() < 0.7 else invent(dice, 5)
        reason = schema.refusal(greeting)
        authority.attach(number, heard.append)
        assert authority.greet(number, greeting) == reason
        if reason is None:
            assert (greeting["protocol"], greeting["fingerprint"]) == (1, schema.fingerprint)
        else:
            refused += 1
            assert isinstance(reason, str)
            assert 0 < len(reason) < 1000
            assert reason.isprintable()
            json.dumps(reason).encode()
            reason.encode()
            authority.resync(number)
            authority.sample(number)
            assert heard == authority.connections == []
        authority.detach(number)
    assert refused > 0.3 * GREETINGS / 2
    authority.attach(number + 1, heard.append)
    assert authority.greet(number + 1, schema.greeting()) is None
    authority.sample(number + 1)
    assert len(heard) == 1


def test_a_greeting_nested_beyond_all_depth_or_as_long_as_a_message_is_answered(schema):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    long = [["body", []]] * 300_000
    for inside in (deep, long, {"a": deep}):
        for key in ("protocol", "fingerprint", "components"):
            for greeting in (inside, schema.greeting() | {"fingerprint": "0"} | {key: inside}):
                reason = schema.refusal(greeting)
                assert isinstance(reason, str)
                assert len(reason) < 400


def test_who_greets_again_or_after_a_refusal_changes_nothing_for_others(schema):
    """Being ready is for life: a second greeting, a wrong one too, is answered and has no other effect."""
    authority, one, two = Authority(schema, 8), [], []
    for connection, heard in ((1, one), (2, two)):
        authority.attach(connection, heard.append)
        assert authority.greet(connection, schema.greeting()) is None
    authority.spawn(body={"x": 3})
    authority.sample(1)
    wrong = Schema([Component("body", x=Int(0, 9))]).greeting()
    assert authority.greet(1, wrong) is not None
    assert authority.greet(1, schema.greeting()) is None
    authority.spawn(body={"x": 4})
    authority.sample(2)
    assert authority.connections == [1, 2]
    assert len(one) == len(two) == 2
