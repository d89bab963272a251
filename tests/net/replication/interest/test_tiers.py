"""What is far is told less often, and never later than its bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from net.replication.interest import TierPlan, Tiers, nearest

PLAN = TierPlan((10.0, 20.0, 40.0), (1, 2, 4, 8), slack=0.1)


def slots(*which):
    return np.array(which, np.int32)


def flags(*distances):
    return np.array(distances, np.float64)


def test_an_edge_belongs_to_the_nearer_tier():
    assert PLAN.first(flags(0, 10, 10.01, 20, 40, 41, math.inf)).tolist() == [0, 0, 1, 1, 2, 3, 3]


def test_slots_of_a_tier_are_due_once_a_period_each_in_its_own_phase():
    everyone = np.arange(64, dtype=np.int32)
    for tier, period in enumerate(PLAN.periods):
        due = np.array([PLAN.due(np.full(64, tier, np.uint8), everyone, number) for number in range(16)])
        assert (due.sum(axis=0) == 16 // period).all()
        assert (due.sum(axis=1) == 64 // period).all()


def test_the_edge_does_not_flicker():
    """Between an edge and its slack a slot keeps its tier, whichever it has."""
    both = np.array([0, 1], np.uint8)
    same = slots(0, 0)
    assert PLAN.next(both, flags(10.5, 10.5), same, 0).tolist() == [0, 1]
    assert PLAN.next(both, flags(11.5, 11.5), same, 0).tolist() == [1, 1]
    assert PLAN.next(both, flags(10.0, 10.0), same, 0).tolist() == [0, 0]


def test_slower_only_where_the_slower_tier_is_due_too():
    near = np.zeros(4, np.uint8)
    assert PLAN.next(near, np.full(4, 100.0), np.zeros(4, np.int32), 1).tolist() == [0] * 4
    assert PLAN.next(near, np.full(4, 100.0), np.zeros(4, np.int32), 2).tolist() == [1] * 4
    assert PLAN.next(near, np.full(4, 100.0), np.zeros(4, np.int32), 12).tolist() == [2] * 4
    assert PLAN.next(near, np.full(4, 100.0), np.zeros(4, np.int32), 16).tolist() == [3] * 4


PLANS = st.sampled_from([PLAN, TierPlan((5.0,), (1, 3)), TierPlan((), (4,)), TierPlan((1.0, 2.0), (2, 2, 12), 0.0)])
SEED = st.integers(0, 1 << 30)
SPEED = st.sampled_from([0.5, 5.0, 50.0])


@settings(max_examples=60, deadline=None)
@given(plan=PLANS, seed=SEED, speed=SPEED)
def test_from_one_due_sample_to_the_next_it_is_at_most_the_period_in_between(plan, seed, speed):
    """However distances change, and wherever a slot enters."""
    source = np.random.default_rng(seed)
    everyone = np.arange(40, dtype=np.int32)
    distances = source.uniform(0, 80, 40)
    tiers = plan.first(distances)
    last = np.full(40, int(source.integers(1000)))
    for number in range(int(last[0]) + 1, int(last[0]) + 100):
        distances = np.abs(distances + source.normal(0, speed, 40))
        assert (number - last <= np.array(plan.periods)[tiers]).all()
        due = everyone[plan.due(tiers, everyone, number)]
        tiers[due] = plan.next(tiers[due], distances[due], due, number)
        last[due] = number


@settings(max_examples=60, deadline=None)
@given(plan=PLANS, seed=SEED, speed=SPEED)
def test_no_change_waits_for_a_whole_period_of_the_slowest_tier(plan, seed, speed):
    source = np.random.default_rng(seed)
    everyone = np.arange(40, dtype=np.int32)
    distances = source.uniform(0, 80, 40)
    tiers = Tiers(40, plan)
    tiers.connect(1)
    tiers.enter(1, everyone, distances)
    waits_since = {}
    for number in range(100):
        distances = np.abs(distances + source.normal(0, speed, 40))
        changed = everyone[source.random(40) < 0.3]
        tiers.change(1, changed)
        for slot in changed.tolist():
            waits_since.setdefault(slot, number)
        taken = tiers.take(1, number)
        tiers.place(1, number, taken, distances[taken])
        assert taken.tolist() == sorted(taken.tolist())
        for slot in taken.tolist():
            del waits_since[slot]
        assert all(number - since < plan.periods[-1] - 1 for since in waits_since.values())


def test_near_is_told_at_once_and_far_by_its_period():
    tiers = Tiers(16, PLAN)
    tiers.connect(1)
    everyone = slots(0, 1, 2, 3)
    distances = flags(5, 15, 30, 90)
    tiers.enter(1, everyone, distances)
    seen = []
    for number in range(16):
        tiers.change(1, everyone)
        taken = tiers.take(1, number)
        tiers.place(1, number, taken, distances[taken])
        seen += taken.tolist()
    assert [seen.count(slot) for slot in range(4)] == [16, 8, 4, 2]


def test_what_does_not_change_is_not_told_and_what_is_told_in_full_waits_no_more():
    tiers = Tiers(16, TierPlan((), (4,)))
    tiers.connect(1)
    tiers.connect(2)
    assert tiers.take(1, 0).tolist() == []
    tiers.change(1, slots(1, 2, 3))
    tiers.enter(1, slots(1), flags(1))
    tiers.leave(1, slots(2))
    assert [tiers.take(1, number).tolist() for number in range(5)] == [[], [3], [], [], []]
    assert tiers.take(2, 1).tolist() == []
    tiers.disconnect(1)
    tiers.disconnect(1)
    tiers.connect(1)
    assert tiers.take(1, 1).tolist() == []


@pytest.mark.parametrize(
    ("edges", "periods", "slack"),
    [
        ((10,), (1,), 0.1),
        ((10, 10), (1, 2, 4), 0.1),
        ((0,), (1, 2), 0.1),
        ((math.nan,), (1, 2), 0.1),
        ((math.inf,), (1, 2), 0.1),
        ((10,), (0, 2), 0.1),
        ((10,), (2, 3), 0.1),
        ((10,), (1, 2), -0.1),
        ((10,), (1, 2), math.nan),
    ],
)
def test_a_plan_that_can_not_hold_is_refused(edges, periods, slack):
    with pytest.raises(ValueError, match="tier"):
        TierPlan(edges, periods, slack)


def test_the_distance_is_to_the_nearest_anchor(make_world):
    world = make_world(8)
    world.spawn(0, (0, 0, 0))
    world.spawn(1, (10, 0, 0))
    world.spawn(2, (7, 4, 0))
    world.spawn(3, None)
    sample = world.take()
    assert nearest(sample, slots(0, 2, 3), slots(0, 1)).tolist() == [0.0, 5.0, 0.0]
    assert nearest(sample, slots(0, 2), slots()).tolist() == [0.0, 0.0]
