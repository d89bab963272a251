"""Interest and tiers on the wire: who is told what by which frame (IN-01 to IN-25)."""

import pytest

from net.replication.interest import CellProvider, RadiusProvider, TierPlan, radius_interest

RADIUS = 10.0


@pytest.fixture
def scene(authority, join):
    """Two players 20 units apart, a thing beside each, and a score without a position."""

    class Scene:
        me = authority.spawn(owner=1, body={"x": -10})
        you = authority.spawn(owner=2, body={"x": 10})
        mine = authority.spawn(body={"x": -9})
        yours = authority.spawn(body={"x": 9})
        score = authority.spawn(player={"score": 3})
        one, two = join(1), join(2)

    return Scene


@pytest.fixture(params=["policy", "radius", "cells"])
def near(request, authority):
    """near(): sets interest of one kind, all of which agree about the scene."""

    def setter():
        if request.param == "policy":
            authority.set_policy(radius_interest(RADIUS, authority.anchors, authority.position))
        elif request.param == "radius":
            authority.set_provider(RadiusProvider(64, RADIUS))
        else:
            authority.set_provider(CellProvider(64, RADIUS / 2))

    return setter


def test_in_02_in_08_in_10_a_late_joiner_is_told_of_what_concerns_it_alone(authority, scene, near, equal):
    near()
    authority.sample(0)
    equal(authority, scene.one.mirror, {scene.me, scene.mine, scene.score})
    equal(authority, scene.two.mirror, {scene.you, scene.yours, scene.score})


def test_in_11_interest_set_replaced_and_removed_while_running(authority, scene, near, equal):
    authority.sample(0)
    equal(authority, scene.one.mirror)
    near()
    authority.sample(1)
    assert scene.one.last.despawned == [scene.you, scene.yours]
    authority.set_policy(lambda connection, slot: False)
    authority.sample(2)
    equal(authority, scene.one.mirror, {scene.me})
    authority.set_policy(None)
    authority.sample(3)
    equal(authority, scene.one.mirror)
    assert scene.one.last.spawned == [scene.you, scene.mine, scene.yours, scene.score]
    count = len(scene.one.said)
    authority.sample(4)
    assert len(scene.one.said) == count


def test_in_03_in_25_what_is_owned_is_never_hidden_from_this_very_sample_on(authority, scene, equal):
    authority.set_policy(lambda connection, slot: False)
    authority.sample(0)
    authority.set_owner(scene.yours, 1)
    authority.sample(1)
    equal(authority, scene.one.mirror, {scene.me, scene.yours})
    assert scene.one.mirror.owns(scene.yours)


def test_in_04_in_12_re_26_who_comes_back_is_told_in_full_and_nothing_before(authority, scene, near, equal):
    near()
    authority.sample(0)
    count = len(scene.one.said)
    for tick in range(1, 5):
        authority.set(scene.yours, "body", x=9 - tick / 10, z=tick)
        authority.sample(tick)
    assert len(scene.one.said) == count
    assert scene.yours not in scene.one.mirror
    authority.add(scene.yours, "player", name="new")
    authority.set(scene.yours, "body", x=-8)
    authority.sample(5)
    update = scene.one.last
    assert update.spawned == [scene.yours]
    assert update.added.keys() == {"body", "player"}
    assert not update.changed
    equal(authority, scene.one.mirror, {scene.me, scene.mine, scene.score, scene.yours})
    assert scene.two.last.despawned == [scene.yours]
    authority.set(scene.yours, "body", x=-7.5)
    authority.sample(6)
    assert scene.one.last.changed["body"].tolist() == [authority.slot(scene.yours)]
    equal(authority, scene.one.mirror, {scene.me, scene.mine, scene.score, scene.yours})


def test_in_07_without_an_anchor_everything_is_visible(authority, scene, equal):
    authority.set_provider(RadiusProvider(64, RADIUS))
    authority.sample(0)
    authority.set_owner(scene.me, 0)
    authority.sample(1)
    equal(authority, scene.one.mirror)


def test_in_18_in_23_values_reach_everybody_who_sees_them_once(authority, scene, near, equal):
    near()
    authority.sample(0)
    for tick in range(1, 4):
        authority.set(scene.score, "player", score=10 * tick)
        authority.sample(tick)
        for client in (scene.one, scene.two):
            assert client.last.changed.keys() == {"player"}
            assert len(client.frames) == 1 + tick
    authority.detach(1)
    authority.set(scene.score, "player", score=99)
    authority.sample(9)
    assert len(scene.one.said) == 4
    equal(authority, scene.two.mirror, {scene.you, scene.yours, scene.score})


def test_in_22_providers_are_disposed_of_exactly_once(authority, scene):
    gone = []
    for name in ("first", "second"):
        provider = RadiusProvider(64, RADIUS)
        provider.dispose = lambda name=name: gone.append(name)
        authority.set_provider(provider)
        authority.sample(0)
    assert gone == ["first"]
    authority.set_policy(None)
    authority.sample(1)
    authority.close()
    assert gone == ["first", "second"]


def test_in_21_slots_used_again_while_interest_holds(authority, scene, near, equal):
    near()
    authority.sample(0)
    authority.despawn(scene.mine)
    far = authority.spawn(body={"x": 9})
    assert authority.slot(far) == scene.mine & 0xFFFFF
    authority.sample(1)
    equal(authority, scene.one.mirror, {scene.me, scene.score})
    equal(authority, scene.two.mirror, {scene.you, scene.yours, scene.score, far})
    authority.despawn(far)
    back = authority.spawn(body={"x": -9})
    authority.sample(2)
    equal(authority, scene.one.mirror, {scene.me, scene.score, back})


def test_tiers_tell_of_what_is_far_less_often_and_never_too_late(authority, scene, equal):
    authority.set_tiers(TierPlan((5.0,), (1, 4)))
    authority.sample(0)
    heard = {scene.mine: [], scene.yours: []}
    for tick in range(1, 41):
        for entity in heard:
            authority.set(entity, "body", z=tick / 10)
        authority.sample(tick)
        for entity, ticks in heard.items():
            if authority.slot(entity) in scene.one.last.changed.get("body", []) and scene.one.last.tick == tick:
                ticks.append(tick)
                assert scene.one.mirror.get(entity, "body", "z") == authority.get(entity, "body", "z")
    assert heard[scene.mine] == list(range(1, 41))
    assert len(heard[scene.yours]) == 10
    assert {b - a for a, b in zip(heard[scene.yours], heard[scene.yours][1:], strict=False)} == {4}
    for tick in range(41, 45):
        authority.sample(tick)
    equal(authority, scene.one.mirror)


def test_who_was_told_late_and_is_near_again_costs_no_more_than_before(authority, scene):
    def run(start):
        for tick in range(start, start + 12):
            authority.set(scene.yours, "body", z=authority.get(scene.yours, "body", "z") + 0.125)
            authority.sample(tick)
        return [len(frame) for frame in scene.one.frames[-6:]]

    plain = run(0)
    authority.set_tiers(TierPlan((12.0,), (1, 4)))
    run(20)
    authority.set(scene.yours, "body", x=-8)
    run(40)
    assert run(60) == plain


def test_a_policy_that_raises_hides_what_it_cannot_answer_and_stops_nobody(authority, scene, equal, caplog):
    """IN-02, IN-03: everybody else is served in the same sample, and what is owned is shown anyway."""

    def policy(connection, slot):
        if connection == 1 and slot == authority.slot(scene.yours):
            raise RuntimeError("a fault of the game")
        return True

    authority.set_policy(policy)
    for tick in range(3):
        authority.set(scene.mine, "body", z=tick)
        authority.sample(tick)
    equal(authority, scene.one.mirror, {scene.me, scene.you, scene.mine, scene.score})
    equal(authority, scene.two.mirror)
    assert caplog.text.count("the policy failed") == 1


@pytest.mark.parametrize("part", ["prepare", "query", "forget"])
def test_a_provider_that_raises_leaves_everybody_what_they_saw_until_it_works(authority, scene, equal, part, caplog):
    """IN-02, IN-14, IN-19: values and despawns go on, what is owned comes; afterwards all is as it should be."""
    provider = RadiusProvider(64, RADIUS)
    authority.set_provider(provider)
    authority.sample(0)
    works = getattr(provider, part)

    def fails(*given):
        raise RuntimeError("a fault of the game")

    setattr(provider, part, fails)
    authority.despawn(scene.mine)
    authority.set(scene.me, "body", x=-9.5)
    authority.set_owner(scene.you, 0)  # connection 2 has no anchor any more: it is forgotten
    authority.set(scene.score, "player", score=7)
    born, mine = authority.spawn(body={"x": -8}), authority.spawn(owner=1, body={"x": 8})
    authority.sample(1)
    equal(authority, scene.one.mirror, {scene.me, scene.score, mine})
    equal(authority, scene.two.mirror, {scene.you, scene.yours, scene.score})
    authority.set(mine, "body", x=7)
    authority.sample(2)
    equal(authority, scene.one.mirror, {scene.me, scene.score, mine})
    assert caplog.text.count("interest failed") == 1
    setattr(provider, part, works)
    authority.set(scene.you, "body", x=9.75)
    authority.sample(3)
    equal(authority, scene.one.mirror, {scene.me, scene.you, scene.yours, scene.score, born, mine})
    equal(authority, scene.two.mirror)
    authority.set(scene.you, "body", x=10.0)
    authority.sample(4)
    equal(authority, scene.one.mirror, {scene.me, scene.you, scene.yours, scene.score, born, mine})


def test_who_connects_while_a_provider_fails_is_told_when_it_works(authority, scene, join, equal):
    provider = RadiusProvider(64, RADIUS)
    works, provider.prepare = provider.prepare, lambda sample: 1 / 0
    authority.set_provider(provider)
    pawn = authority.spawn(owner=3, body={"x": 9.5})
    late = join(3)
    authority.sample(0)
    equal(authority, late.mirror, {pawn})
    provider.prepare = works
    authority.sample(1)
    equal(authority, late.mirror, {pawn, scene.you, scene.yours, scene.score})
