"""The life of a ghost at its edges: all at once, in one inbox, unseen, known already or never heard of."""

import numpy as np
import pytest

from net.replication import Authority, Bool, Component, Fixed, Mirror, Schema
from net.replication.interest import RadiusProvider, TierPlan


def hide_all(connection, slot):
    return False


def test_hs_01_hs_06_nothing_comes_before_the_first_full_frame_and_it_has_everything(authority, join):
    """There is no answer to a greeting for the first spawn to overtake: the frame with the spawns is the answer."""
    entity = authority.spawn(owner=4, body={"x": 1})
    client = join(4)
    assert client.frames == []
    authority.sample(77)
    assert len(client.updates) == 1
    assert client.last.full
    assert client.last.spawned == [entity]
    assert (client.mirror.connection, client.mirror.tick, client.mirror.owned()) == (4, 77, [entity])


def test_hs_13_re_02_what_nobody_declared_cannot_be_sent(authority, join):
    """No component is built in, and an archetype's own things stay at the end that has them."""
    client = join(1, {"bot": lambda entity: {"hat": {"color": "red"}, "body": {"glow": 3}}})
    for component in ("transform", "velocity", "hat"):
        with pytest.raises(KeyError, match=component):
            authority.spawn(**{component: {}})
    with pytest.raises(KeyError, match="glow"):
        authority.spawn(body={"glow": 3})
    assert authority.entities() == []
    entity = authority.spawn("bot", body={})
    authority.sample(0)
    assert client.last.added.keys() == {"body"}
    assert client.mirror.get(entity, "hat", "color") == "red"
    assert b"red" not in b"".join(client.frames)
    assert {name for name in ("body", "player", "carrier") if client.mirror.has(entity, name)} == {"body"}


def test_re_08_one_frame_has_all_of_a_tick_and_is_taken_as_a_whole(authority, join, equal):
    """Who goes, who comes, what is removed, added and changed, and the acknowledgement: one state, never half of it."""
    gone, stays, other = (authority.spawn(body={"x": n}, player={"score": n}) for n in range(3))
    client = join(1)
    authority.sample(0)
    authority.despawn(gone)
    born = authority.spawn(body={"x": 9}, carrier={"target": stays})
    authority.remove(stays, "player")
    authority.add(other, "carrier", cargo=born)
    authority.set(stays, "body", x=5)
    authority.acknowledge(1, 12)
    count = len(client.frames)
    authority.sample(3)
    assert len(client.said) == count + 1
    assert client.mirror.slot(born) == gone & 0xFFFFF
    update = client.last
    assert (update.tick, update.despawned, update.spawned) == (3, [gone], [born])
    assert {name: slots.tolist() for name, slots in update.removed.items()} == {"player": [1]}
    assert {name: slots.tolist() for name, slots in update.added.items()} == {"body": [0], "carrier": [0, 2]}
    assert {name: slots.tolist() for name, slots in update.changed.items()} == {"body": [1]}
    assert client.mirror.acknowledged == 12
    equal(authority, client.mirror)


def test_re_09_frames_that_come_together_are_taken_in_the_order_in_which_they_were_sent(authority, schema, equal):
    """Leaving and coming again ends with one ghost, and so does an id used again, however late all of it comes."""
    inbox, mirror = [], Mirror(schema)
    authority.attach(1, inbox.append)
    authority.greet(1, schema.greeting())
    entity, old = authority.spawn(body={"x": 1}), authority.spawn(body={"x": 2})
    for tick, policy in enumerate([None, hide_all, None, hide_all, None]):
        authority.set(entity, "body", x=tick)
        authority.set_policy(policy)
        authority.sample(tick)
    authority.despawn(old)
    new = authority.spawn(body={"x": 7})
    authority.sample(9)
    updates = [mirror.apply(frame) for frame in inbox]
    assert [update.spawned for update in updates] == [[entity, old], [], [entity, old], [], [entity, old], [new]]
    assert [update.despawned for update in updates] == [[], [entity, old], [], [entity, old], [], [old]]
    assert mirror.entities() == [entity, new]
    equal(authority, mirror)


def test_re_15_who_is_hidden_and_shown_again_between_two_samples_was_never_away(authority, join):
    """There is no marker to take off: what comes nearest is interest, and only what holds at the sample counts."""
    authority.spawn(body={})
    client = join(1)
    authority.sample(0)
    count = len(client.said)
    authority.set_policy(hide_all)
    authority.set_policy(None)
    for tick in range(1, 6):
        authority.sample(tick)
    assert len(client.said) == count


def twins(schema):
    """Two authorities, each with one entity of the same id and one mirror, that have told the same so far."""
    ends = []
    for _ in range(2):
        authority, mirror, inbox = Authority(schema, 8), Mirror(schema), []
        authority.attach(1, inbox.append)
        authority.greet(1, schema.greeting())
        ends.append((authority, mirror, inbox, authority.spawn()))
    return ends


@pytest.mark.parametrize("said", ["added twice", "changed where it is not", "removed where it is not"])
def test_re_27_re_28_what_cannot_be_said_about_this_world_is_a_fault_and_leads_to_resync(schema, said):
    """Not skipped: who is told what makes no sense here lacks something, and a full frame puts it right.

    Both ends know the same entities, so the frames of the one have checks that fit at the other: all that is wrong
    with them is what they say.
    """
    (one, mirror, told, entity), (other, _, forged, _) = twins(schema)
    if said == "added twice":
        one.add(entity, "body", x=3)
    else:
        other.add(entity, "body", x=3)
    for authority in (one, other):
        authority.sample(0)
    mirror.apply(told.pop())
    forged.clear()
    if said == "added twice":
        other.add(entity, "body", x=4)
    elif said == "changed where it is not":
        other.set(entity, "body", x=4)
    else:
        other.remove(entity, "body")
    other.sample(1)
    assert mirror.apply(forged.pop()) is None
    assert mirror.needs_resync
    assert "check" not in str(mirror.fault)
    assert mirror.has(entity, "body") == one.has(entity, "body")
    one.set_owner(entity, 1)
    one.resync(1)
    for tick in range(1, 12):
        one.sample(tick)
    assert [mirror.apply(frame) is not None for frame in told][-1]
    assert not mirror.needs_resync
    assert mirror.owned() == [entity]


def test_re_37_after_clear_the_mirror_takes_another_authority_as_if_it_were_new(schema, equal):
    """All ghosts go, with what archetypes gave them, and whatever still arrives from before is ignored."""
    old, new = Authority(schema, 8), Authority(schema, 16)
    mirror, built, late = Mirror(schema, {"bot": lambda entity: built.append(entity) or {"hat": {}}}), [], []
    old.attach(3, mirror.apply)
    old.greet(3, schema.greeting())
    ghosts = [old.spawn("bot", owner=3, body={"x": n}) for n in range(4)]
    old.tell(3, b"secret")
    old.sample(100)
    old.detach(3)
    old.attach(3, late.append)
    old.greet(3, schema.greeting())
    old.sample(101)
    old.set(ghosts[0], "body", x=9)
    old.sample(102)
    mirror.clear()
    assert mirror.entities() == mirror.owned() == mirror.slots("body").tolist() == []
    assert (mirror.connection, mirror.tick, mirror.private, mirror.needs_resync) == (0, 0, b"", False)
    assert all(ghost not in mirror for ghost in ghosts)
    assert mirror.apply(late[-1]) is None
    assert not mirror.needs_resync
    new.attach(1, mirror.apply)
    new.greet(1, schema.greeting())
    first = new.spawn("bot", body={"x": 5})
    new.sample(1)
    assert mirror.entities() == [first]
    assert built == [*ghosts, first]
    equal(new, mirror)


def test_re_38_an_entity_outside_of_the_authority_is_nobodys_ghost(schema, equal):
    """Two worlds of one schema in one process: what is written in the one neither shows nor blocks in the other."""
    told, local, mirror = Authority(schema, 8), Authority(schema, 8), Mirror(schema)
    told.attach(1, mirror.apply)
    told.greet(1, schema.greeting())
    entity, mine = told.spawn(body={}), [local.spawn(body={}) for _ in range(3)]
    for tick in range(5):
        for one in mine:
            local.set(one, "body", x=tick + 1)
        local.sample(tick)
        told.set(entity, "body", x=-tick)
        told.sample(tick)
        assert mirror.entities() == [entity]
        equal(told, mirror)


@pytest.mark.parametrize("wrong", [b"", b"\xa0", b"ESRP" + bytes(30), b"\x50" + bytes(30), b"\xb1" + bytes(30)])
def test_co_04_what_does_not_begin_as_a_frame_is_none(schema, wrong):
    mirror = Mirror(schema)
    assert mirror.apply(wrong) is None
    assert mirror.needs_resync
    assert "no frame" in str(mirror.fault)


def test_co_07_more_entries_than_two_bytes_can_count_come_in_one_frame():
    """Counts have no width that could wrap."""
    schema = Schema([Component("lamp", on=Bool())])
    count = (1 << 16) + 3
    authority, mirror = Authority(schema, count), Mirror(schema, slots=count)
    frames = []
    authority.attach(1, frames.append)
    authority.greet(1, schema.greeting())
    entities = [authority.spawn(lamp={}) for _ in range(count)]
    authority.sample(0)
    authority.column("lamp", "on")[:] = 1
    authority.sample(1)
    for frame in frames:
        assert mirror.apply(frame) is not None, mirror.fault
    assert len(frames) == 2
    assert mirror.entities() == entities
    assert mirror.values("lamp", "on", mirror.slots("lamp")).all()


def test_co_10_a_change_below_the_precision_is_none(authority, join):
    """What is compared is what would be sent."""
    entity = authority.spawn(body={"x": 1.0, "yaw": 1.0})
    client = join(1)
    authority.sample(0)
    for tick in range(1, 6):
        authority.set(entity, "body", x=1.0 + tick / 4096, yaw=1.0 + tick / 4096)
        authority.sample(tick)
    assert len(client.said) == 1
    authority.set(entity, "body", x=1.0 + 3 / 512)
    authority.sample(7)
    assert client.last.changed["body"].tolist() == [0]


def test_in_09_a_position_is_a_place_in_the_world_whatever_the_parent_is(authority, join, equal):
    """A child is seen from where it is, and not from where its parent is."""
    me = authority.spawn(owner=1, body={"x": 0})
    ship = authority.spawn(body={"x": 20})
    crew = authority.spawn(parent=ship, body={"x": 2})
    cargo = authority.spawn(parent=me, body={"x": 20})
    client = join(1)
    authority.set_provider(RadiusProvider(64, 5.0))
    authority.sample(0)
    equal(authority, client.mirror, {me, crew})
    authority.set(ship, "body", x=3)
    authority.sample(1)
    equal(authority, client.mirror, {me, ship, crew})
    authority.set_parent(crew, None)
    authority.set_parent(cargo, ship)
    authority.sample(2)
    equal(authority, client.mirror, {me, ship, crew})


def test_pi_06_an_acknowledgement_is_told_once_with_its_tick_and_not_again_while_nothing_comes(authority, join):
    client = join(1)
    authority.spawn(body={})
    authority.sample(0)
    count = len(client.said)
    authority.acknowledge(1, 5)
    authority.set(authority.entities()[0], "body", x=1)
    authority.sample(3)
    assert (client.mirror.tick, client.mirror.acknowledged) == (3, 5)
    assert len(client.said) == count + 1
    for tick in range(4, 9):
        authority.acknowledge(1, 5)
        authority.acknowledge(1, 2)
        authority.sample(tick)
    assert len(client.said) == count + 1
    assert client.mirror.acknowledged == 5


@pytest.mark.parametrize("tiers", [False, True])
@pytest.mark.parametrize("event", ["lost", "gained", "lost and gained", "changed"])
def test_who_comes_into_sight_is_told_what_it_has_and_nothing_of_before(authority, join, equal, event, tiers):
    """IN-12: of whatever happens to it in that very sample."""
    entity = authority.spawn(body={"x": 1}, player={"score": 1})
    if event == "gained":
        authority.remove(entity, "player")
    client = join(1)
    authority.set_policy(hide_all)
    authority.set_tiers(TierPlan((1.0,), (1, 4)) if tiers else None)
    authority.sample(0)
    assert client.mirror.entities() == []
    if event.startswith("lost"):
        authority.remove(entity, "player")
    if event.endswith("gained"):
        authority.add(entity, "player", score=3)
    if event == "changed":
        authority.set(entity, "player", score=3)
    authority.set_policy(lambda connection, slot: True)
    authority.sample(1)
    assert not client.mirror.needs_resync, client.mirror.fault
    assert not client.last.removed
    assert not client.last.changed
    equal(authority, client.mirror)


@pytest.mark.parametrize("event", ["lost", "gained", "changed"])
def test_who_goes_out_of_sight_takes_all_with_it(authority, join, equal, event):
    """RE-17, IN-02: nothing is said any more of what happens in that very sample."""
    entity = authority.spawn(body={"x": 1})
    if event == "lost":
        authority.add(entity, "player")
    client = join(1)
    authority.sample(0)
    authority.set_policy(hide_all)
    if event == "lost":
        authority.remove(entity, "player")
    elif event == "gained":
        authority.add(entity, "player")
    else:
        authority.set(entity, "body", x=2)
    authority.sample(1)
    assert client.last.despawned == [entity]
    assert client.last.removed == client.last.added == client.last.changed == {}
    equal(authority, client.mirror, set())


def test_every_step_of_a_wide_field_arrives_exactly_however_it_was_predicted():
    """From one end of the range to the other, where a guess is farthest off."""
    schema = Schema([Component("far", x=Fixed(-(2.0**30), 2.0**30, 2.0**-20))])
    authority, mirror = Authority(schema, 4), Mirror(schema)
    authority.attach(1, mirror.apply)
    authority.greet(1, schema.greeting())
    entity = authority.spawn(far={})
    for tick, x in enumerate(np.array([0, 2.0**30, -(2.0**30), 2.0**30, 2.0**30, 0.5, 2.0**-20, 0, -(2.0**30)])):
        authority.set(entity, "far", x=float(x))
        authority.sample(tick)
        assert not mirror.needs_resync, mirror.fault
        assert mirror.get(entity, "far", "x") == x
