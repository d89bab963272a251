"""Who is told about what: policies, providers, and what holds whatever they say."""

import numpy as np
import pytest

from net.replication.interest import (
    NOBODY,
    UNCHANGED,
    Answer,
    CellProvider,
    RadiusProvider,
    Visibility,
    radius_interest,
)

CAPACITY = 16
ME, YOU = 1, 2


class Recorder:
    """A provider that shows nothing, and writes down what it was asked."""

    def __init__(self):
        self.prepared = 0
        self.asked = []
        self.forgotten = []
        self.disposed = 0

    def prepare(self, sample):
        self.prepared += 1

    def query(self, connection, anchors):
        self.asked.append(connection)
        return UNCHANGED

    def forget(self, connection):
        self.forgotten.append(connection)

    def dispose(self):
        self.disposed += 1

    def take(self):
        asked, self.asked = self.asked, []
        return asked


@pytest.fixture
def world(make_world):
    """Two avatars 100 units apart, something beside each, and a score without a position."""
    world = make_world(CAPACITY)
    world.spawn(0, (0, 0, 0), ME)
    world.spawn(1, (100, 0, 0), YOU)
    world.spawn(2, (1, 0, 0))
    world.spawn(3, (101, 0, 0))
    world.spawn(4, None)
    return world


@pytest.fixture
def visibility():
    visibility = Visibility(CAPACITY)
    visibility.connect(ME)
    visibility.connect(YOU)
    return visibility


def told(changes, connection):
    answer = changes.get(connection, UNCHANGED)
    return answer.enter.tolist(), answer.leave.tolist()


def slots(*which):
    return np.array(which, np.int32)


def test_without_interest_everybody_sees_everything(world, visibility):
    """IN-01."""
    changes = visibility.update(world.take())
    assert told(changes, ME) == told(changes, YOU) == ([0, 1, 2, 3, 4], [])
    world.despawn(3)
    world.spawn(7, (5, 5, 5))
    changes = visibility.update(world.take())
    assert told(changes, ME) == told(changes, YOU) == ([7], [3])


def test_a_policy_is_asked_in_each_sample_and_decides_about_all_that_is_not_owned(world, visibility):
    """IN-02, IN-03: any function, also of what has no position."""
    hidden = {0, 3, 4}
    visibility.set_policy(lambda connection, slot: connection == YOU or slot not in hidden)
    changes = visibility.update(world.take())
    assert told(changes, ME) == ([0, 1, 2], [])
    assert told(changes, YOU) == ([0, 1, 2, 3, 4], [])
    hidden -= {4}
    hidden.add(1)
    changes = visibility.update(world.take())
    assert told(changes, ME) == ([4], [1])
    assert YOU not in changes


def test_a_policy_that_raises_leaves_what_was_told(world, visibility):
    fault = []

    def policy(connection, slot):
        if fault:
            raise fault[0]
        return slot < 3

    visibility.set_policy(policy)
    visibility.update(world.take())
    fault.append(ZeroDivisionError())
    world.despawn(2)
    with pytest.raises(ZeroDivisionError):
        visibility.update(world.take())
    assert visibility.visible(ME).tolist() == [0, 1, 2]
    fault.clear()
    assert told(visibility.update(world.take()), ME) == ([], [2])


@pytest.mark.parametrize("kind", ["policy", "radius", "cells"])
def test_far_things_are_hidden_near_ones_and_placeless_ones_shown(world, visibility, kind):
    """IN-04, IN-08, IN-10: also to who comes late."""
    if kind == "policy":
        visibility.set_policy(radius_interest(10.0, visibility.anchors, visibility.position))
    else:
        visibility.set_provider({"radius": RadiusProvider, "cells": CellProvider}[kind](CAPACITY, 10.0))
    changes = visibility.update(world.take())
    assert told(changes, ME) == ([0, 2, 4], [])
    assert told(changes, YOU) == ([1, 3, 4], [])
    world.move(3, (102, 0, 0))
    assert ME not in visibility.update(world.take())
    visibility.connect(9)
    world.spawn(5, (2, 0, 0), 9)
    changes = visibility.update(world.take())
    assert told(changes, 9) == ([0, 2, 4, 5], [])
    assert told(changes, ME) == ([5], [])


@pytest.mark.parametrize("kind", ["policy", "provider"])
def test_without_an_anchor_everything_is_visible(world, visibility, kind):
    """IN-07: from the start, and when the anchor goes, loses its position or its owner."""
    if kind == "policy":
        visibility.set_policy(radius_interest(10.0, visibility.anchors, visibility.position))
    else:
        visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    visibility.connect(9)
    assert told(visibility.update(world.take()), 9) == ([0, 1, 2, 3, 4], [])
    world.move(0, None)
    assert told(visibility.update(world.take()), ME) == ([1, 3], [])
    world.move(0, (0, 0, 0))
    assert told(visibility.update(world.take()), ME) == ([], [1, 3])
    world.own(0, NOBODY)
    assert told(visibility.update(world.take()), ME) == ([1, 3], [])
    world.own(0, ME)
    assert told(visibility.update(world.take()), ME) == ([], [1, 3])
    world.despawn(0)
    assert told(visibility.update(world.take()), ME) == ([1, 3], [0])


def test_what_is_owned_is_never_hidden(world, visibility):
    """IN-03, IN-25: an owner that was written since the last sample counts in this one."""
    recorder = Recorder()
    visibility.set_provider(recorder)
    changes = visibility.update(world.take())
    assert told(changes, ME) == ([0, 4], [])
    world.own(3, ME)
    changes = visibility.update(world.take())
    assert told(changes, ME) == ([3], [])
    world.own(3, YOU)
    changes = visibility.update(world.take())
    assert (told(changes, ME), told(changes, YOU)) == (([], [3]), ([3], []))


def test_interest_is_set_changed_and_removed_while_running(world, visibility):
    """IN-11, IN-12."""
    visibility.update(world.take())
    visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    assert told(visibility.update(world.take()), ME) == ([], [1, 3])
    visibility.set_provider(RadiusProvider(CAPACITY, 100.0))
    assert told(visibility.update(world.take()), ME) == ([1], [])
    visibility.set_policy(lambda connection, slot: slot == 3)
    assert told(visibility.update(world.take()), ME) == ([3], [1, 2, 4])
    visibility.set_policy(None)
    assert told(visibility.update(world.take()), ME) == ([1, 2, 4], [])


def test_policy_and_provider_share_one_place(world, visibility):
    """IN-13: the last one that is set holds, and None for either turns interest off."""
    recorder = Recorder()
    visibility.set_policy(lambda connection, slot: False)
    visibility.set_provider(recorder)
    assert told(visibility.update(world.take()), ME) == ([0, 4], [])
    visibility.set_policy(None)
    assert told(visibility.update(world.take()), ME) == ([1, 2, 3], [])
    visibility.set_policy(lambda connection, slot: False)
    assert told(visibility.update(world.take()), ME) == ([], [1, 2, 3, 4])
    visibility.set_provider(None)
    assert told(visibility.update(world.take()), ME) == ([1, 2, 3, 4], [])


def test_a_provider_is_prepared_once_a_sample_and_asked_once_for_each_connection(world, visibility):
    """IN-14, IN-16."""
    recorder = Recorder()
    visibility.set_provider(recorder)
    visibility.connect(9)
    visibility.update(world.take())
    assert (recorder.prepared, recorder.take()) == (1, [ME, YOU])
    assert recorder.forgotten == [9]
    world.move(3, (50, 0, 0))
    visibility.update(world.take())
    assert (recorder.prepared, recorder.take()) == (2, [ME, YOU])
    assert recorder.forgotten == [9]


def test_where_nothing_moved_nobody_is_asked(world, visibility):
    """IN-16, IN-18: by the number of the sample, or because its lists are empty."""
    recorder = Recorder()
    visibility.set_provider(recorder)
    sample = world.take()
    visibility.update(sample)
    recorder.take()
    assert visibility.update(sample) == {}
    world.number += 1
    assert visibility.update(world.take()) == {}
    assert (recorder.prepared, recorder.take()) == (1, [])


@pytest.mark.parametrize(
    "event",
    [
        lambda world: world.move(3, (5, 5, 5)),
        lambda world: world.spawn(9, (5, 5, 5)),
        lambda world: world.despawn(3),
        lambda world: world.move(3, None),
    ],
    ids=["movement", "spawn", "despawn", "loss of the position"],
)
def test_where_something_moved_everybody_is_asked(world, visibility, event):
    """IN-19."""
    recorder = Recorder()
    visibility.set_provider(recorder)
    visibility.update(world.take())
    recorder.take()
    event(world)
    visibility.update(world.take())
    assert (recorder.prepared, recorder.take()) == (2, [ME, YOU])


def test_an_anchor_handed_over_concerns_two_connections(world, visibility):
    """IN-19: and a new connection only itself; neither needs a new sample."""
    recorder = Recorder()
    visibility.set_provider(recorder)
    world.spawn(9, (50, 0, 0), ME)
    for other in (5, 6):
        visibility.connect(other)
        world.spawn(other, (60, 0, 0), other)
    visibility.update(world.take())
    recorder.take()
    world.own(9, 5)
    visibility.update(world.take())
    assert sorted(recorder.take()) == [ME, 5]
    visibility.connect(7)
    world.own(9, 7)
    visibility.update(world.take())
    assert sorted(recorder.take()) == [5, 7]
    assert recorder.prepared == 1


def test_two_providers_and_two_sources_with_the_same_number_are_not_confused(world, visibility):
    """IN-20."""
    visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    visibility.update(world.take())
    visibility.set_provider(RadiusProvider(CAPACITY, 200.0))
    assert told(visibility.update(world.take()), ME) == ([1, 3], [])
    number = world.number
    world.move(3, (900, 0, 0))
    sample = world.take("another")
    world.number = number
    assert told(visibility.update(sample), ME) == ([], [3])


def test_a_provider_is_disposed_of_once(world, visibility):
    """IN-22: replaced, switched off, or stopped; not while it stays."""
    first, second, third = Recorder(), Recorder(), Recorder()
    visibility.set_provider(first)
    visibility.set_provider(first)
    assert first.disposed == 0
    visibility.set_provider(second)
    visibility.set_policy(None)
    visibility.set_provider(third)
    visibility.close()
    visibility.close()
    assert (first.disposed, second.disposed, third.disposed) == (1, 1, 1)


def test_the_audience_of_a_slot_is_who_sees_it_and_who_left_leaves_nothing(world, visibility):
    """IN-23."""
    visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    visibility.update(world.take())
    audience = visibility.audience(slots(2, 3, 4))
    assert {connection: sees.tolist() for connection, sees in audience.items()} == {
        ME: [True, False, True],
        YOU: [False, True, True],
    }
    visibility.disconnect(YOU)
    visibility.disconnect(YOU)
    assert set(visibility.audience(slots(2))) == {ME}
    # The next one gets the same column, and nothing with it.
    visibility.connect(3)
    assert visibility.visible(3).tolist() == []
    world.own(1, 3)
    assert told(visibility.update(world.take()), 3) == ([1, 3, 4], [])


def test_coming_back_enters_again(world, visibility):
    """IN-02."""
    visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    visibility.update(world.take())
    for position, change in (((50, 0, 0), ([], [2])), ((9, 0, 0), ([2], []))):
        world.move(2, position)
        assert told(visibility.update(world.take()), ME) == change


def test_a_slot_in_use_again_is_another_entity_with_interest_and_without(world, visibility):
    """IN-21."""
    visibility.update(world.take())
    world.despawn(2)
    world.spawn(2, (1, 0, 0))
    assert told(visibility.update(world.take()), ME) == ([2], [2])
    visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    visibility.update(world.take())
    world.despawn(2)
    world.spawn(2, (1, 0, 0))
    world.despawn(3)
    world.spawn(3, (3, 0, 0))
    changes = visibility.update(world.take())
    assert told(changes, ME) == ([2, 3], [2])
    assert told(changes, YOU) == ([], [3])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_position_that_is_no_number_is_refused_before_anything_changes(world, visibility, wrong, axis):
    visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    visibility.update(world.take())
    position = [1.0, 0.0, 0.0]
    position[axis] = wrong
    world.move(2, position)
    with pytest.raises(ValueError, match="slot 2 is not a finite number"):
        visibility.update(world.take())
    world.move(2, (50, 0, 0))
    assert told(visibility.update(world.take()), ME) == ([], [2])


def test_a_connection_connects_once(visibility):
    for wrong in (ME, NOBODY):
        with pytest.raises(ValueError, match="connect"):
            visibility.connect(wrong)
    with pytest.raises(KeyError):
        visibility.visible(77)


def test_many_connections_need_many_columns(world):
    """More than a byte of them, and columns that are given back in between."""
    visibility = Visibility(CAPACITY)
    visibility.set_provider(RadiusProvider(CAPACITY, 10.0))
    for connection in range(100, 170):
        visibility.connect(connection)
    changes = visibility.update(world.take())
    assert all(told(changes, connection) == ([0, 1, 2, 3, 4], []) for connection in range(100, 170))
    for connection in range(100, 160, 2):
        visibility.disconnect(connection)
    world.own(2, 169)
    changes = visibility.update(world.take())
    assert {connection: told(changes, connection) for connection in changes} == {169: ([], [1, 3])}
    assert isinstance(changes[169], Answer)
