"""Both providers in random worlds, against brute force: entity for entity, in every sample (IN-17, IN-21)."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from net.replication.interest import NOBODY, UNCHANGED, CellProvider, RadiusProvider, radius_interest

SLOTS, CONNECTIONS = 12, 4
COORDINATE = st.one_of(
    st.integers(-8, 8).map(float),
    st.floats(-20, 20, width=32),
    st.sampled_from([0.0, -0.0, 4.0, -4.0, 3.0, 1e9, -1e9, 3e38, -3e38, 1e-45]),
)
POSITION = st.tuples(COORDINATE, COORDINATE, COORDINATE)
OWNER = st.integers(NOBODY, CONNECTIONS - 1)
SLOT = st.integers(0, SLOTS - 1)
OP = st.one_of(
    st.tuples(st.just("put"), SLOT, st.none() | POSITION, OWNER),
    st.tuples(st.just("reuse"), SLOT, st.none() | POSITION, OWNER),
    st.tuples(st.just("step"), SLOT, st.tuples(*[st.floats(-2, 2, width=32)] * 3)),
    st.tuples(st.just("walk"), st.tuples(*[st.floats(-2, 2, width=32)] * 3)),
    st.tuples(st.just("own"), SLOT, OWNER),
    st.tuples(st.just("drop"), SLOT),
    st.tuples(st.just("toggle"), st.integers(0, CONNECTIONS - 1)),
)


@pytest.fixture(scope="session", params=["radius", "cells"])
def make_provider(request, within_sphere, within_nine_cells):
    """(capacity, length) -> a provider and what it must find."""
    if request.param == "radius":
        return lambda capacity, length: (RadiusProvider(capacity, length), within_sphere(length))
    return lambda capacity, length: (CellProvider(capacity, length or 2.0), within_nine_cells(length or 2.0))


@settings(max_examples=150, deadline=None)
@given(script=st.lists(st.lists(OP, max_size=8), max_size=12), length=st.sampled_from([0.0, 0.5, 3.0, 4.0, 5.0, 1e9]))
def test_any_life_of_a_small_world_is_seen_as_brute_force_sees_it(make_run, make_provider, script, length):
    run = make_run(SLOTS, *make_provider(SLOTS, length))
    for connection in range(CONNECTIONS - 1):
        run.toggle(connection)
    for ops in script:
        for op in ops:
            run.do(*op)
        run.sample()


@pytest.mark.parametrize("seed", range(12))
def test_a_larger_world_is_seen_as_brute_force_sees_it_through_hundreds_of_samples(
    make_run, make_provider, ops_of_a_sample, seed
):
    """More than 32 and more than 64 eyes; slow steps, so that bands and cells hold for many samples."""
    source = random.Random(seed)
    length, far = source.choice([(5, 20), (10, 60), (30, 60), (30, 1e6)])
    run = make_run(300, *make_provider(300, length), source.choice([np.float32, np.float64, np.int32]))
    for _ in range(150):
        for op in ops_of_a_sample(source, 300, 20, far, length):
            run.do(*op)
        run.sample()


@pytest.mark.parametrize("step", [0.05, 0.3, 3.0, 500.0])
def test_walking_anchors_see_the_crowd_as_brute_force_does(make_run, make_provider, step):
    """In every sample: small steps within a band, steps across it, and jumps across the world.

    Half of those who walk do so all the time, near surfaces and through them, and the others now and then.
    """
    source = np.random.default_rng(5)
    capacity, connections = 4000, 12
    run = make_run(capacity, *make_provider(capacity, 40.0))
    world = run.world
    world.live[:] = world.placed[:] = True
    world.position[:] = source.uniform(-150, 150, (3, capacity))
    world.position[1] /= 50
    world.owner[:connections] = np.arange(connections)
    heading = source.normal(size=(3, capacity)) * step
    for connection in range(connections):
        run.toggle(connection)
    run.sample()
    changed = 0
    for _ in range(60):
        for slot in (*range(connections + 150), *source.integers(connections, capacity, 150).tolist()):
            world.move(slot, world.position[:, slot] + heading[:, slot])
        changes = run.visibility.update(world.take())
        for connection, answer in changes.items():
            run.clients[connection].apply(answer, world)
            changed += len(answer.enter) + len(answer.leave)
        for connection in range(connections):
            wanted = np.flatnonzero(world.near(connection, run.within))
            assert np.array_equal(run.visibility.visible(connection), wanted)
    run.check()
    assert changed


def test_answers_are_bit_equal_to_the_policy_where_rounding_decides(make_world, within_sphere):
    """IN-17, IN-05: thousands of float32 positions whose distance is the radius but for the last bits."""
    source = np.random.default_rng(3)
    capacity = 4000
    world = make_world(capacity)
    world.live[:] = world.placed[:] = True
    world.owner[0] = 7
    direction = source.normal(size=(3, capacity))
    world.position[:] = 1e3 + 50.0 * direction / np.linalg.norm(direction, axis=0)
    world.position[:, 0] = 1e3
    # A radius that one of them is at exactly.
    x, y, z = world.position[:, 1].astype(np.float64) - 1e3
    radius = float(np.sqrt(x * x + y * y + z * z))
    provider = RadiusProvider(capacity, radius)
    provider.prepare(world.take())
    policy = radius_interest(radius, lambda _: [0], lambda slot: tuple(float(axis[slot]) for axis in world.position))
    found = provider.query(7, np.array([0], np.int32)).enter.tolist()
    assert found == [slot for slot in range(capacity) if policy(7, slot)]
    assert 100 < len(found) < capacity - 100


def one_of_each(make_world):
    world = make_world(8)
    world.spawn(0, (0, 0, 0), owner=3)
    world.spawn(1, (1, 0, 0))
    world.spawn(2, (30, 0, 0))
    return world, np.array([0], np.int32)


def test_what_is_told_is_not_told_again(make_world, make_provider):
    world, anchors = one_of_each(make_world)
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take())
    assert provider.query(3, anchors).enter.tolist() == [0, 1]
    assert provider.query(3, anchors) is UNCHANGED
    world.move(2, (2, 0, 0))
    world.move(1, (40, 0, 0))
    provider.prepare(world.take())
    answer = provider.query(3, anchors)
    assert (answer.enter.tolist(), answer.leave.tolist()) == ([2], [1])
    assert provider.query(3, anchors) is UNCHANGED


def test_several_anchors_see_the_union_and_an_overlap_is_told_once(make_world, make_provider):
    """IN-06."""
    world, _ = one_of_each(make_world)
    world.spawn(3, (2, 0, 0), owner=3)
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take())
    both = np.array([0, 3], np.int32)
    assert provider.query(3, both).enter.tolist() == [0, 1, 3]
    world.move(3, (30, 0, 0))
    provider.prepare(world.take())
    answer = provider.query(3, both)
    assert (answer.enter.tolist(), answer.leave.tolist()) == ([2], [])
    answer = provider.query(3, np.array([0], np.int32))
    assert (answer.enter.tolist(), answer.leave.tolist()) == ([], [2, 3])


def test_a_slot_in_use_again_leaves_and_enters(make_world, make_provider):
    """IN-21."""
    world, anchors = one_of_each(make_world)
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take())
    provider.query(3, anchors)
    world.despawn(1)
    world.spawn(1, (2, 0, 0))
    provider.prepare(world.take())
    answer = provider.query(3, anchors)
    assert (answer.enter.tolist(), answer.leave.tolist()) == ([1], [1])


def test_a_position_lost_and_found_in_the_same_place_leaves_and_enters(make_world, make_provider):
    world, anchors = one_of_each(make_world)
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take())
    provider.query(3, anchors)
    for position, enter, leave in ((None, [], [1]), ((1, 0, 0), [1], [])):
        world.move(1, position)
        provider.prepare(world.take())
        answer = provider.query(3, anchors)
        assert (answer.enter.tolist(), answer.leave.tolist()) == (enter, leave)


def test_an_anchor_walks_up_to_what_has_gone_and_sees_nothing(make_world, make_provider):
    """In small steps, past a slot that is not live and one without a position: their places still stand there."""
    world, anchors = one_of_each(make_world)
    world.spawn(4, (3.6, 0, 0))
    world.spawn(6, (3.65, 0, 0))
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take())
    assert provider.query(3, anchors).enter.tolist()[:2] == [0, 1]
    for number in range(40):
        if number == 1:
            world.despawn(4)
            world.move(6, None)
        world.move(0, (number * 0.05 - 0.5, 0, 0))
        provider.prepare(world.take())
        answer = provider.query(3, anchors)
        assert number < 2 or not {4, 6} & set(answer.enter.tolist())


def test_an_eye_that_is_taken_over_tells_nothing_of_its_former_owner(make_world, make_provider):
    world, anchors = one_of_each(make_world)
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take())
    provider.query(3, anchors)
    world.move(1, (60, 0, 0))
    provider.prepare(world.take())
    provider.forget(3)
    provider.forget(3)
    answer = provider.query(4, np.array([2], np.int32))
    assert (answer.enter.tolist(), answer.leave.tolist()) == ([2], [])
    assert provider.query(3, anchors).enter.tolist() == [0]


def test_another_source_counts_from_empty_sets_even_with_the_same_number(make_world, make_provider):
    """IN-20."""
    world, anchors = one_of_each(make_world)
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take("one"))
    provider.query(3, anchors)
    provider.prepare(world.take("two"))
    assert provider.query(3, anchors).enter.tolist() == [0, 1]


def test_after_disposal_nothing_is_kept(make_world, make_provider):
    world, anchors = one_of_each(make_world)
    provider, _ = make_provider(8, 4.0)
    provider.prepare(world.take())
    provider.query(3, anchors)
    provider.dispose()
    provider.prepare(world.take())
    assert provider.query(3, anchors).enter.tolist() == [0, 1]


@pytest.mark.parametrize("length", [-1.0, float("nan"), float("inf"), 1e200])
def test_what_is_no_length_is_refused(length):
    with pytest.raises(ValueError, match="finite number"):
        RadiusProvider(4, length)
    with pytest.raises(ValueError, match="finite number"):
        radius_interest(length, lambda _: [], lambda _: None)
    if length != 1e200:
        with pytest.raises(ValueError, match="finite number"):
            CellProvider(4, length)


def test_the_surface_of_the_sphere_is_inside_and_height_counts(make_world):
    """IN-05."""
    world = make_world(8)
    world.spawn(0, (10, 10, 10), owner=1)
    world.spawn(1, (10, 15, 10))
    world.spawn(2, (13, 10, 14))
    world.spawn(3, (10, np.nextafter(np.float32(15), np.float32(16)), 10))
    provider = RadiusProvider(8, 5.0)
    provider.prepare(world.take())
    assert provider.query(1, np.array([0], np.int32)).enter.tolist() == [0, 1, 2]


def test_nine_cells_are_seen_whole_and_height_does_not_count(make_world):
    world = make_world(8)
    world.spawn(0, (0.5, 0, 0.5), owner=1)
    world.spawn(1, (-9.99, 1e6, 19.99))
    world.spawn(2, (20, 0, 0))
    world.spawn(3, (-10, 0, -10))
    world.spawn(4, (-10.01, 0, 0))
    provider = CellProvider(8, 10.0)
    provider.prepare(world.take())
    assert provider.query(1, np.array([0], np.int32)).enter.tolist() == [0, 1, 3]
