"""Authority and mirrors: greeting, the life of a ghost, structure, ownership and failures, row by row."""

import logging

import numpy as np
import pytest

from net.replication.authority import HEARTBEAT, RESYNC, Authority
from net.replication.frame import NUMBER_LIMIT, PRIVATE_LIMIT
from net.replication.interest import RadiusProvider
from net.replication.mirror import Mirror
from net.replication.schema import Component, Schema
from net.replication.shapes import GENERATIONS, SLOT_BITS, Bool, Fixed, Int, Text
from net.replication.world import digest


def test_hs_05_re_33_who_is_refused_stays_attached_and_gets_nothing(authority, schema):
    heard = []
    authority.attach(1, heard.append)
    authority.spawn()
    authority.sample(1)
    assert "another" not in (authority.greet(1, Schema([Component("other", x=Bool())]).greeting()) or "another")
    authority.sample(2)
    assert heard == []
    assert authority.connections == []
    assert authority.greet(1, schema.greeting()) is None
    assert authority.connections == [1]
    authority.sample(3)
    assert len(heard) == 1


def test_hs_01_the_first_frame_tells_connection_and_tick(authority, join):
    client = join(7)
    assert client.mirror.connection == 0
    authority.sample(123456)
    assert (client.mirror.connection, client.mirror.tick) == (7, 123456)
    for wrong in (7, 0, -1):
        with pytest.raises(ValueError, match="connection"):
            authority.attach(wrong, print)


def test_re_01_re_06_re_07_a_late_joiner_sees_the_world_as_it_is(authority, join, equal):
    gone = authority.spawn(body={"x": 1})
    stays = authority.spawn("", owner=3, player={"name": "Zoë"}, body={"x": 2})
    child = authority.spawn(parent=stays)
    authority.sample(0)
    authority.despawn(gone)
    authority.set(stays, "body", x=-3.5)
    client = join(1)
    authority.sample(5)
    equal(authority, client.mirror)
    assert client.mirror.get(stays, "body", "x") == -3.5
    assert client.mirror.parent_of(child) == stays
    assert client.last.spawned == [stays, child]
    assert client.last.despawned == client.last.refused == []


def test_re_03_re_04_only_what_changed_travels_and_nothing_if_nothing_did(authority, join, equal):
    entities = [authority.spawn(body={}, player={"name": f"name number {n}"}) for n in range(20)]
    client = join(1)
    authority.sample(0)
    for tick in range(1, HEARTBEAT):
        authority.sample(tick)
    assert len(client.said) == 1
    assert len(client.frames) == 2, "and one that says no more than that nothing moves"
    authority.set(entities[3], "body", x=1.5)
    authority.set(entities[3], "player", name="name number 3")
    authority.sample(HEARTBEAT)
    assert len(client.frames[-1]) < 20
    assert client.last.changed.keys() == {"body"}
    assert client.last.changed["body"].tolist() == [3]
    equal(authority, client.mirror)


def test_time_goes_on_in_an_idle_room_for_few_bytes(authority, join):
    client = join(1)
    authority.spawn(body={})
    authority.sample(0)
    for sample in range(1, 202):  # 10 s at 20 Hz
        authority.acknowledge(1, 3 * sample)
        authority.sample(3 * sample)
    assert client.mirror.tick == client.mirror.acknowledged == 603
    assert sum(map(len, client.frames[1:])) / 10 < 30


def test_re_05_re_17_despawn_is_all_that_is_said_about_who_has_gone(authority, join):
    entity = authority.spawn(body={}, player={})
    client = join(1)
    authority.sample(0)
    authority.set(entity, "body", x=1)
    authority.remove(entity, "player")
    authority.despawn(entity)
    authority.sample(1)
    update = client.last
    assert update.despawned == [entity]
    assert not update.removed
    assert not update.changed
    assert entity not in client.mirror
    assert len(client.mirror) == 0
    with pytest.raises(KeyError):
        client.mirror.get(entity, "body", "x")


def test_re_16_an_id_used_again_at_once_is_another_entity(authority, join, equal):
    old = authority.spawn(body={"x": 20}, player={"name": "old"})
    client = join(1)
    authority.sample(0)
    authority.despawn(old)
    new = authority.spawn(body={"x": -20})
    assert authority.slot(new) == 0
    assert new != old
    authority.sample(1)
    assert client.last.despawned == [old]
    assert client.last.spawned == [new]
    assert not client.last.changed
    assert not client.mirror.has(new, "player")
    assert client.mirror.get(new, "body", "x") == -20
    authority.set(new, "body", x=-19)
    authority.sample(2)
    equal(authority, client.mirror)


def test_ids_of_a_slot_are_used_once_in_a_million(authority):
    seen = set()
    for _ in range(5000):
        entity = authority.spawn()
        assert entity not in seen
        seen.add(entity)
        authority.despawn(entity)
    assert {entity & 0xFFFFF for entity in seen} == {0}


def test_re_10_re_11_components_come_and_go(authority, join, equal):
    entity = authority.spawn(body={"x": 4})
    client = join(1)
    authority.sample(0)
    authority.add(entity, "player", name="Sakura", score=5)
    authority.sample(1)
    assert client.last.added["player"].tolist() == [0]
    assert not client.last.changed
    equal(authority, client.mirror)
    authority.remove(entity, "body")
    authority.sample(2)
    assert client.last.removed["body"].tolist() == [0]
    assert client.mirror.has(entity, "player")
    assert not client.mirror.has(entity, "body")
    with pytest.raises(KeyError):
        authority.remove(entity, "body")


def test_re_12_re_13_re_14_only_the_result_of_a_window_counts(authority, join, equal):
    entity = authority.spawn(body={"x": 4})
    client = join(1)
    authority.sample(0)
    authority.remove(entity, "body")
    authority.add(entity, "body", x=5)
    authority.sample(1)
    assert client.last.changed["body"].tolist() == [0]
    assert not client.last.removed
    assert not client.last.added
    authority.remove(entity, "body")
    authority.add(entity, "body", x=5)
    authority.add(entity, "player")
    authority.remove(entity, "player")
    authority.sample(2)
    assert len(client.said) == 2, "nothing at all was said"
    for _ in range(2):
        authority.remove(entity, "body")
        authority.add(entity, "body")
    authority.remove(entity, "body")
    authority.sample(3)
    assert client.last.removed.keys() == {"body"}
    equal(authority, client.mirror)


def test_re_18_re_19_a_spawn_carries_the_latest_value_and_late_writes_come_next(authority, join):
    client = join(1)
    authority.sample(0)
    entity = authority.spawn(body={"x": 1})
    authority.set(entity, "body", x=2)
    authority.sample(1)
    assert client.last.added["body"].tolist() == [0]
    assert not client.last.changed
    assert client.mirror.get(entity, "body", "x") == 2
    authority.set(entity, "body", x=3)
    authority.sample(2)
    assert client.mirror.get(entity, "body", "x") == 3


def test_re_20_co_08_references_in_one_batch_resolve_and_dead_ones_are_none(authority, join):
    client = join(1)
    first = authority.spawn(carrier={})
    second = authority.spawn(carrier={"target": first}, parent=first)
    authority.set(first, "carrier", target=second, cargo=first)
    authority.sample(0)
    mirror = client.mirror
    assert mirror.get(first, "carrier", "target") == second
    assert mirror.get(first, "carrier", "cargo") == first
    assert mirror.get(second, "carrier", "target") == first
    authority.despawn(second)
    authority.set(first, "carrier", cargo=second)
    authority.sample(1)
    assert mirror.get(first, "carrier", "target") is None
    assert mirror.get(first, "carrier", "cargo") is None
    authority.column("carrier", "target")[authority.slot(first)] = 12345 << 20 | 77
    authority.sample(2)
    assert mirror.get(first, "carrier", "target") is None


def test_re_21_parents_are_told_and_changed_and_lost(authority, join):
    client = join(1)
    top = authority.spawn()
    child = authority.spawn(parent=top)
    authority.sample(0)
    assert client.mirror.parent_of(child) == top
    other = authority.spawn()
    authority.set_parent(child, other)
    authority.sample(1)
    assert client.mirror.parent_of(child) == other
    assert client.last.reowned == [child]
    for under in (other, child):
        with pytest.raises(ValueError, match="under"):
            authority.set_parent(other, child if under is other else other)
    authority.despawn(other)
    authority.sample(2)
    assert client.mirror.parent_of(child) is authority.parent_of(child) is None


def test_re_22_re_25_re_26_archetypes_come_first_and_the_authority_wins(authority, join):
    built = []

    def pawn(entity):
        built.append(entity)
        return {"body": {"x": 9, "glow": 3}, "hat": {"color": "red"}}

    client = join(1, {"pawn": pawn})
    entity = authority.spawn("pawn", body={"x": 2})
    bare = authority.spawn()
    authority.sample(0)
    mirror = client.mirror
    assert built == [entity]
    assert mirror.archetype_of(entity) == "pawn"
    assert [mirror.get(entity, *path) for path in (("body", "x"), ("body", "glow"), ("hat", "color"))] == [2, 3, "red"]
    assert mirror.has(entity, "hat")
    assert not mirror.has(bare, "hat")
    authority.remove(entity, "body")
    authority.sample(1)
    assert mirror.get(entity, "body", "x") == 9
    authority.set_policy(lambda connection, slot: False)
    authority.sample(2)
    assert entity not in mirror
    authority.add(entity, "body", x=7)
    authority.set_policy(None)
    authority.sample(3)
    assert mirror.get(entity, "body", "x") == 7
    assert built == [entity, entity]


def test_re_23_an_unknown_archetype_is_refused_as_a_whole_and_reported(authority, join, caplog):
    client = join(1, {"broken": lambda entity: 1 / 0})
    ghost = authority.spawn("unheard of", body={"x": 1}, owner=1)
    other = authority.spawn("broken", body={})
    fine = authority.spawn(body={"x": 5}, carrier={"target": ghost})
    with caplog.at_level(logging.WARNING):
        authority.sample(0)
        for step in range(3):
            authority.set(ghost, "body", x=2 + step)
            authority.set(fine, "body", x=6 + step)
            authority.set_owner(ghost, 2 + step)
            authority.sample(1 + step)
    assert "unheard of" in caplog.text
    assert "broken" in caplog.text
    mirror = client.mirror
    assert client.updates[0].refused == [ghost, other]
    assert mirror.entities() == [fine]
    assert ghost not in mirror
    assert mirror.slots("body").tolist() == client.last.changed["body"].tolist() == [authority.slot(fine)]
    assert not mirror.owned()
    assert mirror.get(fine, "carrier", "target") is None
    authority.despawn(ghost)
    authority.sample(9)
    assert client.last.despawned == []
    assert not mirror.needs_resync


def test_re_24_an_archetype_has_a_key(schema):
    with pytest.raises(ValueError, match="key"):
        Mirror(schema, {"": lambda entity: {}})


def test_re_34_pi_20_ownership_is_told_also_when_it_changes(authority, join):
    first, second = join(1), join(2)
    entity = authority.spawn(owner=1)
    loose = authority.spawn()
    assert not first.mirror.owns(entity), "nothing is owned before the connection is known"
    authority.sample(0)
    assert first.mirror.owns(entity)
    assert first.mirror.owned() == [entity]
    assert not second.mirror.owns(entity)
    assert not second.mirror.owns(loose)
    assert (authority.owned(1), authority.owned(2), authority.owner_of(entity)) == ([entity], [], 1)
    authority.set_owner(entity, 2)
    authority.sample(1)
    assert second.mirror.owned() == [entity]
    assert second.last.reowned == [entity]
    assert not first.mirror.owns(entity)
    authority.detach(2)
    authority.attach(3, print)
    assert authority.owned(3) == [], "RE-35: who comes back is somebody else"


@pytest.mark.parametrize("first_frame", [True, False])
def test_re_29_re_30_re_31_re_32_a_send_that_fails_detaches_that_connection_alone(
    authority, join, schema, caplog, equal, first_frame
):
    client = join(2)
    calls = []

    def send(frame):
        calls.append(frame)
        if first_frame or len(calls) > 1:
            raise ConnectionResetError

    authority.attach(1, send)
    authority.greet(1, schema.greeting())
    entity = authority.spawn(body={})
    with caplog.at_level(logging.WARNING):
        for tick in range(4):
            authority.set(entity, "body", x=tick)
            authority.sample(tick)
    assert len(calls) == (1 if first_frame else 2)
    assert "connection 1" in caplog.text
    assert authority.connections == [2]
    equal(authority, client.mirror)
    authority.detach(1)
    authority.detach(99)
    authority.detach(2)
    authority.sample(9)
    late = join(3)
    authority.sample(10)
    equal(authority, late.mirror)


def test_whoever_is_detached_while_frames_go_out_gets_none(authority, join):
    second = []
    authority.attach(1, lambda frame: authority.detach(2))
    authority.greet(1, authority.schema.greeting())
    authority.attach(2, second.append)
    authority.greet(2, authority.schema.greeting())
    authority.sample(0)
    assert second == []


def test_a_lost_frame_leads_to_one_full_resync_that_keeps_the_ghosts(authority, join, equal):
    entities = [authority.spawn(body={}, player={"name": f"{n}"}) for n in range(5)]
    client = join(1, {})
    for tick in range(RESYNC + 1):
        authority.sample(tick)
    authority._receivers[1].send = lambda frame: None
    authority.set(entities[0], "body", x=3)
    authority.despawn(entities[4])
    authority.remove(entities[1], "player")
    authority.sample(20)
    authority._receivers[1].send = client.receive
    authority.set(entities[2], "body", x=4)
    count = len(client.frames)
    authority.sample(21)
    assert client.mirror.needs_resync
    assert "missing" in str(client.mirror.fault)
    born = authority.spawn(body={"x": 9})
    authority.sample(22)
    assert not client.mirror.needs_resync
    assert client.mirror.fault is None
    assert client.last.full
    assert client.last.despawned == [entities[4]]
    assert client.last.spawned == [born]
    assert client.last.removed["player"].tolist() == [1]
    equal(authority, client.mirror)
    for tick in range(23, 60):
        authority.set(born, "body", x=tick / 10)
        authority.sample(tick)
    assert sum(update.full for update in client.updates) == 2
    assert len(client.frames) == count + 2 + 37
    equal(authority, client.mirror)


def test_who_asks_for_resync_all_the_time_gets_one_now_and_then(authority, join):
    client = join(1)
    for tick in range(10 * RESYNC):
        authority.resync(1)
        authority.sample(tick)
    authority.resync(99)
    assert sum(update.full for update in client.updates) == 10


def test_the_private_part_is_sent_when_it_changes_and_to_nobody_else(authority, join):
    one, two = join(1), join(2)
    authority.tell(1, b"mine")
    authority.sample(0)
    authority.sample(1)
    assert (one.mirror.private, two.mirror.private) == (b"mine", b"")
    assert len(one.said) == 1
    authority.tell(1, b"")
    authority.sample(2)
    assert one.mirror.private == b""
    assert len(two.said) == 1
    with pytest.raises(ValueError, match="bytes"):
        authority.tell(1, bytes(PRIVATE_LIMIT + 1))
    authority.tell(9, b"")
    authority.acknowledge(9, 1)


def test_what_many_see_alike_is_encoded_once(authority, schema, monkeypatch):
    """IN-01: one body for all; only the head is each one's own."""
    made = []
    from net.replication import packer

    write = packer.write_body
    monkeypatch.setattr(packer, "write_body", lambda *given: (made.append(1), write(*given)))
    frames = {}
    for connection in range(1, 9):
        authority.attach(connection, lambda frame, connection=connection: frames.update({connection: frame}))
        authority.greet(connection, schema.greeting())
    entity = authority.spawn(body={})
    authority.sample(0)
    assert len(made) == 1
    for connection in range(1, 9):
        authority.acknowledge(connection, 10 * connection)
    authority.set(entity, "body", x=1)
    authority.sample(1)
    assert len(made) == 2
    assert len(set(frames.values())) == 8
    assert len({frame[4:-4] for frame in frames.values()}) == 1


def test_re_36_closing_twice_gives_everything_back_once(authority, join):
    disposed = []
    provider = RadiusProvider(64, 5)
    provider.dispose = lambda: disposed.append(1)
    join(1)
    authority.set_provider(provider)
    authority.sample(0)
    authority.close()
    authority.close()
    assert disposed == [1]
    assert authority.connections == []


def test_writers_are_told_what_does_not_fit_and_nothing_of_it_happens(authority, join, equal):
    entity = authority.spawn(body={"x": 1}, player={"name": "Zoë"})
    client = join(1)
    authority.sample(5)
    for wrong in ({"x": 26}, {"x": float("nan")}, {"z": 1, "x": "1"}):
        with pytest.raises(ValueError, match=r"body\.x"):
            authority.set(entity, "body", **wrong)
    with pytest.raises(ValueError, match=r"player\.name"):
        authority.spawn(player={"name": "x" * 25})
    with pytest.raises(ValueError, match="characters"):
        authority.spawn("k" * 65)
    for call in (
        lambda: authority.set(entity, "body", w=1),
        lambda: authority.set(entity, "bodies", x=1),
        lambda: authority.set(entity, "carrier", load=1),
        lambda: authority.set(entity + 1, "body", x=1),
        lambda: authority.despawn(0),
        lambda: authority.spawn(parent=99),
        lambda: authority.get(-5, "body", "x"),
    ):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(TypeError):
        authority.column("player", "name")
    with pytest.raises(ValueError, match="tick"):
        authority.sample(4)
    assert authority.entities() == [entity]
    column = authority.column("body", "x")
    for code in (-1, 12801):
        before, column[0] = column[0], code
        with pytest.raises(ValueError, match=r"body\.x"):
            authority.sample(6)
        column[0] = before
    authority.sample(6)
    equal(authority, client.mirror)


def test_a_full_world_takes_no_more(schema):
    authority = Authority(schema, 2)
    first, _ = authority.spawn(), authority.spawn()
    with pytest.raises(RuntimeError):
        authority.spawn()
    authority.despawn(first)
    authority.spawn()
    with pytest.raises(ValueError, match="slots"):
        Authority(schema, 0)
    with pytest.raises(ValueError, match="place"):
        Authority(schema, 8, position=("body", ("x", "yaw")))


def test_bulk_writes_are_found_without_being_told(authority, join, equal):
    for n in range(40):
        authority.spawn(body={"x": n / 10})
    client = join(1)
    authority.sample(0)
    slots = authority.present("body")[::3]
    authority.column("body", "z")[slots] += 77
    authority.column("body", "yaw")[slots] = 1023
    authority.sample(1)
    assert client.last.changed["body"].tolist() == slots.tolist()
    equal(authority, client.mirror)
    assert np.array_equal(client.mirror.values("body", "z", slots), np.full(len(slots), 77 / 256))


@pytest.mark.parametrize("count", [1, 3, 40])
def test_every_shape_goes_round_at_its_limits(count):
    """CO-09: 32 fields, the last one included."""
    kinds = [Bool(), Int(-5, 2**53 - 7), Fixed(-1000, 1000, 1 / 1024), Text(40)]
    fields = {f"f{n}": kinds[n % 4] for n in range(32)}
    schema = Schema([Component("all", **fields)])
    authority, mirror = Authority(schema, 64), Mirror(schema)
    authority.attach(1, mirror.apply)
    authority.greet(1, schema.greeting())
    dice = np.random.default_rng(5)
    ends = {
        "bool": [True, False],
        "int -5": [-5, 2**53 - 7, 0],
        "fixe": [-1000.0, 1000.0, 0.0],
        "text": ["", "x" * 40, "🎈" * 40, "\0"],
    }
    entities = [authority.spawn(all={}) for _ in range(count)]
    for tick in range(30):
        for entity in entities:
            for name, shape in fields.items():
                if dice.random() < 0.3:
                    options = next(values for start, values in ends.items() if shape.wire.startswith(start))
                    authority.set(entity, "all", **{name: options[dice.integers(len(options))]})
        authority.sample(tick)
        assert not mirror.needs_resync
        for entity in entities:
            for name in fields:
                assert mirror.get(entity, "all", name) == authority.get(entity, "all", name)


def test_what_is_told_and_what_is_acknowledged_come_in_the_same_frame(authority, join):
    """The state of an avatar and the command that it is the result of are one thing to whoever reconciles."""
    clients = [join(connection) for connection in range(1, 8)]
    entity = authority.spawn(body={})
    dice = np.random.default_rng(3)
    told = {client.connection: (b"", 0) for client in clients}
    for tick in range(300):
        for client in clients:
            if dice.random() < 0.6:
                seq = told[client.connection][1] + int(dice.choice([1, 2, 200, 70_000]))
                private = seq.to_bytes(int(dice.choice([8, 21, 200])), "big")
                calls = [(authority.tell, private), (authority.acknowledge, seq)]
                for number in dice.permutation(2):
                    calls[number][0](client.connection, calls[number][1])
                told[client.connection] = (private, seq)
        if dice.random() < 0.4:
            authority.column("body", "x")[authority.slot(entity)] += 1
        if dice.random() < 0.05:
            authority.resync(int(dice.integers(1, 8)))
        authority.sample(tick)
        for client in clients:
            assert (client.mirror.private, client.mirror.acknowledged) == told[client.connection]


def test_numbers_that_no_frame_can_hold_are_refused_where_they_are_given(authority, join):
    client = join(1)
    for seq in (NUMBER_LIMIT, 1 << 80):
        with pytest.raises(ValueError, match="number"):
            authority.acknowledge(1, seq)
        with pytest.raises(ValueError, match="tick"):
            authority.sample(seq)
    authority.acknowledge(1, NUMBER_LIMIT - 1)
    authority.acknowledge(1, -5)
    authority.tell(1, bytes(PRIVATE_LIMIT))
    authority.sample(NUMBER_LIMIT - 1)
    assert (client.mirror.acknowledged, client.mirror.tick) == (NUMBER_LIMIT - 1, NUMBER_LIMIT - 1)
    assert len(client.mirror.private) == PRIVATE_LIMIT


def test_a_generation_begins_again_after_the_last_one(authority, join, equal):
    authority._generations[0] = GENERATIONS - 2
    client = join(1)
    seen = []
    for tick in range(3):
        seen.append(authority.spawn(body={"x": tick}))
        authority.sample(tick)
        equal(authority, client.mirror)
        authority.despawn(seen[-1])
    assert [entity >> SLOT_BITS for entity in seen] == [GENERATIONS - 1, 1, 2]


def test_the_counter_goes_round(authority, join, equal):
    client = join(1)
    entity = authority.spawn(body={})
    for tick in range(600):
        authority.column("body", "x")[authority.slot(entity)] += 1
        authority.sample(tick)
    assert len(client.updates) == 600
    equal(authority, client.mirror)


def test_sets_of_ids_with_equal_sums_have_other_digests():
    """A digest that adds up products alone would hardly tell slots 1 and 4 from slots 2 and 3."""
    ids = np.arange(1, 200, dtype=np.int64) + (1 << SLOT_BITS)
    digests = {}
    for a in range(0, 199, 3):
        for b in range(a + 1, 199, 5):
            digests.setdefault(digest(ids[[a, b]]), set()).add((a, b))
    assert all(len(pairs) == 1 for pairs in digests.values())
    assert digest(ids) == (digest(ids[:50]) + digest(ids[50:])) & 0xFFFFFFFF


def test_a_world_too_large_for_a_frame_costs_that_connection_alone(authority, join, equal, monkeypatch, caplog):
    near, far = join(1), join(2)
    pawn = authority.spawn(owner=1, body={})
    for n in range(40):
        authority.spawn(player={"name": f"a long enough name {n}"})
    authority.set_policy(lambda connection, slot: connection == 2)
    monkeypatch.setattr("net.replication.authority.FRAME_LIMIT", 200)
    authority.sample(0)
    assert authority.connections == [1]
    assert "bytes at once" in caplog.text
    assert not far.frames
    equal(authority, near.mirror, {pawn})


def test_only_what_may_have_changed_is_looked_at_and_every_way_to_change_is_seen(authority, join, equal):
    """Each call on its own, between samples in which nothing else happens."""
    client = join(1)
    top, child = authority.spawn(body={}), authority.spawn(body={})
    authority.sample(0)
    for tick, change in enumerate(
        (
            lambda: authority.set_owner(child, 1),
            lambda: authority.set_parent(child, top),
            lambda: authority.add(child, "player", name="x"),
            lambda: authority.set(child, "player", name="y"),
            lambda: authority.add(child, "player"),
            lambda: authority.remove(child, "player"),
            authority.spawn,
            lambda: authority.despawn(child),
            lambda: authority.set(top, "body", y=3),
        ),
        start=1,
    ):
        change()
        authority.sample(tick)
        assert client.mirror.tick == tick
        equal(authority, client.mirror)
