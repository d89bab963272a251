"""What presence does in every codec: rows PR-01 to PR-29 where they do not speak of one encoding, and one-shots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from net.clock import ManualClock
from net.presence import FIRED, JOINED, LEFT, PEER_LIMIT, JsonCodec, LocalPresence, OneShot, PresenceSync
from net.presence.protobuf import TRANSFORM, ProtobufCodec
from net.store import Store
from net.transport.base import ConnectionStatus
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import pair

CODECS: dict[str, Callable[[], Any]] = {"json": JsonCodec, "protobuf": lambda: ProtobufCodec(TRANSFORM)}
BEAT = 0.125


class Player:
    """One peer with its own sync; `heard` is what happened at it."""

    def __init__(self, transport: Any, clock: ManualClock, codec: Any, **options: Any) -> None:
        self.transport = transport
        self.here = LocalPresence((1.0, 0.0, 2.0))
        self.heard: list[Any] = []
        options = {"interval": BEAT, "keepalive_every": 4, "one_shots": ("emote", "wave"), **options}
        self.sync = PresenceSync(transport, lambda: self.here, clock, codec, **options)
        for name in (JOINED, LEFT):
            self.sync.bus.on(name, lambda peer, name=name: self.heard.append((name, peer.peer_id)))
        self.sync.bus.on(FIRED, self.heard.append)
        self.sent = 0
        self.clock = clock

    @property
    def ids(self) -> list[str]:
        return [peer.peer_id for peer in self.sync.peers()]

    @property
    def messages(self) -> int:
        """How many were sent since the last question."""
        before, self.sent = self.sent, self.transport.traffic.messages_up
        return self.sent - before


class Room:
    """Peers on a hub and one clock."""

    def __init__(self, codec: Callable[[], Any]) -> None:
        self.clock = ManualClock(100.0)
        self.hub = LocalHub()
        self.codec = codec
        self.players: list[Player] = []

    def join(self, name: str, **options: Any) -> Player:
        player = Player(LocalTransport(self.hub, name), self.clock, self.codec(), **options)
        self.players.append(player)
        player.sync.start()
        return player

    def beats(self, count: int, *players: Player) -> None:
        for _ in range(count):
            self.clock.advance(BEAT)
            for player in players or self.players:
                player.sync.update()


@pytest.fixture(params=list(CODECS))
def room(request: pytest.FixtureRequest) -> Room:
    return Room(CODECS[request.param])


def test_pr01_pr02_starting_sends_at_once_and_once(room: Room) -> None:
    ann = room.join("ann")
    ann.sync.start()
    ann.sync.update()
    assert ann.messages == 1
    room.clock.advance(BEAT / 2)
    ann.sync.update()
    assert ann.messages == 0


def test_pr02_stopping_what_never_started_sends_nothing(room: Room) -> None:
    transport = LocalTransport(room.hub, "ann")
    Player(transport, room.clock, room.codec()).sync.stop()
    assert transport.traffic.messages_up == 0


def test_pr03_pr04_keepalives_have_their_own_phase(room: Room) -> None:
    ann = room.join("ann")
    sent = [ann.messages]
    for beat in range(1, 13):
        if beat == 7:
            ann.here = LocalPresence((9.0, 0.0, 0.0))
        room.beats(1)
        sent.append(ann.messages)
    assert [beat for beat, count in enumerate(sent) if count] == [0, 4, 7, 8, 12]
    assert max(sent) == 1


def test_missed_beats_are_made_up_for_by_one(room: Room) -> None:
    ann = room.join("ann")
    ann.messages  # noqa: B018
    room.clock.advance(BEAT * 6.5)
    ann.sync.update()
    assert ann.messages == 1


@pytest.mark.parametrize(
    "changed",
    [
        LocalPresence((1.5, 0.0, 2.0), 0.0, {"a": 1}),
        LocalPresence((1.0, 0.0, 2.0), 0.5, {"a": 1}),
        LocalPresence((1.0, 0.0, 2.0), 0.0, {"a": 2}),
        LocalPresence((1.0, 0.0, 2.0), 0.0, {"a": "1"}),
        LocalPresence((1.0, 0.0, 2.0), 0.0, {"a": 1, "b": 2}),
        LocalPresence((1.0, 0.0, 2.0), 0.0),
        LocalPresence((1.0, 0.0, 2.0), 0.0, {"a": False}),
    ],
)
def test_pr05_pr08_a_change_reaches_the_others_at_the_next_beat(room: Room, changed: LocalPresence) -> None:
    ann, bob = room.join("ann"), room.join("bob")
    ann.here = LocalPresence((1.0, 0.0, 2.0), 0.0, {"a": 1})
    room.beats(2)
    ann.here = changed
    room.beats(1)
    peer = bob.sync.peers()[0]
    assert (peer.position, peer.rotation_y, peer.meta) == (changed.position, changed.rotation_y, changed.meta)
    assert peer.last_seen == room.clock.now()


def test_pr07_stored_then_joined_once(room: Room) -> None:
    bob = room.join("bob")
    stored: list[bool] = []
    bob.sync.bus.on(JOINED, lambda peer: stored.append(peer == bob.sync.store.get()["ann"]))
    room.join("ann")
    room.beats(9)
    assert stored == [True]
    assert bob.heard == [(JOINED, "ann")]


def test_pr11_nan_is_refused_by_the_writer(room: Room) -> None:
    one, _ = pair("ann", "bob")  # a wire: the hub does not encode
    sync = PresenceSync(one, lambda: LocalPresence((math.nan, 0.0, 0.0)), room.clock, room.codec())
    with pytest.raises(ValueError):  # noqa: PT011  each codec has its own words
        sync.start()


def test_pr12_pr13_a_silent_peer_goes_at_the_first_beat_beyond_the_limit(room: Room) -> None:
    bob, ann = room.join("bob", stale_after=3.0), room.join("ann")
    room.beats(24, bob)
    assert ann.sync.peers()[0].peer_id == "bob"
    assert bob.ids == ["ann"], "3 s are not more than 3 s"
    room.beats(1, bob)
    assert bob.ids == []
    room.beats(9, bob)
    assert bob.heard == [(JOINED, "ann"), (LEFT, "ann")]


def test_pr14_pr15_bye_removes_at_once_and_coming_back_joins_again(room: Room) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    ann.sync.stop()
    assert bob.ids == []
    ann.sync.stop()
    ann.sync.start()
    assert bob.ids == ["ann"]
    assert bob.heard == [(JOINED, "ann"), (LEFT, "ann"), (JOINED, "ann")]


def test_pr14_bye_of_a_stranger_is_nothing(room: Room) -> None:
    ann = room.join("ann")
    bob = room.join("bob")
    ann.sync.stop()
    assert bob.heard == []


def test_pr15_a_peer_that_was_only_slow_joins_again(room: Room) -> None:
    bob, ann = room.join("bob", stale_after=1.0), room.join("ann")
    room.beats(10, bob)
    assert bob.ids == []
    ann.here = LocalPresence((5.0, 0.0, 5.0))
    room.beats(1)
    room.beats(4)
    assert bob.heard == [(JOINED, "ann"), (LEFT, "ann"), (JOINED, "ann")]
    assert bob.sync.peers()[0].position == (5.0, 0.0, 5.0)


def test_pr16_after_stop_the_store_keeps_and_nothing_is_heard_or_sent(room: Room) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    bob.sync.stop()
    bob.messages  # noqa: B018
    ann.here = LocalPresence((9.0, 9.0, 9.0))
    room.beats(30)
    ann.sync.stop()
    assert bob.sync.peers()[0].position == (1.0, 0.0, 2.0)
    assert bob.heard == [(JOINED, "ann")]
    assert bob.messages == 0


def test_pr17_a_second_start_sends_anew_and_sweeps_what_is_too_old(room: Room) -> None:
    bob, old, young = room.join("bob"), room.join("old"), room.join("young")
    room.beats(16, young)
    bob.sync.stop()
    bob.messages  # noqa: B018
    room.clock.advance(1.5)
    bob.sync.start()
    assert bob.messages == 1
    assert bob.ids == ["young"]
    room.beats(8, bob, young)
    assert bob.heard == [(JOINED, "old"), (JOINED, "young"), (LEFT, "old")]
    assert old.heard[-1] == (JOINED, "bob"), "bob has left and come again"


def test_a_restart_without_a_bye_is_no_event_and_brings_the_new_state(room: Room) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    ann.here = LocalPresence((3.0, 0.0, 0.0), meta={"name": "Ann"})
    room.beats(7)
    ann.transport.close()
    room.players.remove(ann)
    room.join("ann")
    assert bob.sync.peers()[0].position == (1.0, 0.0, 2.0)
    assert bob.sync.peers()[0].meta is None
    assert bob.heard == [(JOINED, "ann")]


def test_pr20_the_own_id_is_ignored(room: Room) -> None:
    one, two = room.join("me"), room.join("me")
    room.beats(9)
    assert one.ids == two.ids == []
    assert one.heard == two.heard == []


def test_pr21_other_traffic_does_not_keep_a_peer(room: Room) -> None:
    bob, ann = room.join("bob", stale_after=1.0), room.join("ann")
    for _ in range(10):
        ann.transport.send({"t": "input", "seq": 1})
        ann.transport.send({"t": "event", "event": "emote"})
        ann.transport.send_bytes(b"")
        ann.transport.send_bytes(b"\x43\x00junk")
        ann.transport.send_bytes(b"\x0a\x03ann")
        room.beats(1, bob)
    assert bob.ids == []


def test_pr22_store_and_bus_may_be_given(room: Room) -> None:
    store: Store[dict[str, Any]] = Store({})
    bob = room.join("bob", store=store)
    room.join("ann")
    assert bob.sync.store is store
    assert list(store.get()) == ["ann"]


def test_pr23_an_interruption_shorter_than_the_limit_is_no_event(room: Room) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    room.beats(20, bob)
    ann.here = LocalPresence((7.0, 0.0, 0.0))
    room.beats(20)
    assert bob.heard == [(JOINED, "ann")]
    assert bob.sync.peers()[0].position == (7.0, 0.0, 0.0)


def test_pr24_to_pr28_sampling_is_in_the_past_by_the_short_arc(room: Room) -> None:
    bob, plain = room.join("bob", interpolate=BEAT), room.join("plain")
    ann = room.join("ann")
    assert bob.sync.sample("nobody") is None
    assert plain.sync.sample("ann") is None
    ann.here = LocalPresence((0.0, 0.0, 0.0), 3.0)
    room.beats(1, ann)
    ann.here = LocalPresence((2.0, 4.0, -6.0), -3.0)
    room.beats(1, ann)
    room.clock.advance(BEAT / 2)
    pose = bob.sync.sample("ann")
    assert pose is not None
    assert pose.position == pytest.approx((1.0, 2.0, -3.0))
    assert pose.rotation_y == pytest.approx(math.pi)
    assert bob.sync.store.get()["ann"].position == (2.0, 4.0, -6.0)
    ann.sync.stop()
    assert bob.sync.sample("ann") is None


def test_pr25_pushed_after_the_store_and_before_the_event(room: Room) -> None:
    bob = room.join("bob", interpolate=BEAT)
    order: list[Any] = []
    bob.sync.store.subscribe(lambda new, old: order.append(("store", bob.sync.sample("ann"))))
    bob.sync.bus.on(JOINED, lambda peer: order.append(("joined", bob.sync.sample("ann"))))
    room.join("ann")
    assert order == [("store", None), ("joined", ((1.0, 0.0, 2.0), 0.0))]


def test_pr29_peers_in_the_order_of_first_packets(room: Room) -> None:
    bob = room.join("bob")
    for name in ("cid", "ann", "dora"):
        room.join(name)
    room.beats(5)
    assert bob.ids == ["cid", "ann", "dora"]


def test_invented_ids_do_not_grow_without_bound(room: Room) -> None:
    bob = room.join("bob", interpolate=BEAT)
    for n in range(PEER_LIMIT + 40):
        transport = LocalTransport(LocalHub(), f"peer {n}")
        transport._hub.transports = (transport, bob.transport)
        Player(transport, room.clock, room.codec()).sync.start()
    assert len(bob.ids) == PEER_LIMIT
    assert len(bob.sync._buffers) == PEER_LIMIT
    assert len(getattr(bob.sync._codec, "_streams", ())) <= PEER_LIMIT


def test_one_shots_arrive_once_each_with_two_in_one_interval_and_leave_no_state(room: Room) -> None:
    bob, cid, ann = room.join("bob"), room.join("cid"), room.join("ann")
    room.beats(1)
    before = bob.sync.peers()
    ann.sync.fire("emote", 3)
    ann.sync.fire("emote", 3)
    ann.sync.fire("wave")
    ann.sync.fire("emote", "party")
    room.beats(12)
    expected = [OneShot("ann", "emote", 3), OneShot("ann", "emote", 3), OneShot("ann", "wave", None)]
    expected += [OneShot("ann", "emote", "party")]
    for player in (bob, cid):
        assert [heard for heard in player.heard if isinstance(heard, OneShot)] == expected
    assert ann.heard == [(JOINED, "bob"), (JOINED, "cid")], "not at whoever fired"
    assert [(peer.position, peer.meta) for peer in bob.sync.peers()] == [(peer.position, peer.meta) for peer in before]


def test_newcomers_get_no_old_one_shots_at_any_beat(room: Room) -> None:
    ann = room.join("ann")
    room.beats(2)
    ann.sync.fire("emote", 1)
    late = []
    for n in range(8):
        room.beats(1, ann)
        late.append(room.join(f"late {n}"))
    room.beats(12)
    for player in late:
        assert (JOINED, "ann") in player.heard
        assert not any(isinstance(heard, OneShot) for heard in player.heard)


def test_a_one_shot_greets_a_newcomer_who_knows_nobody_yet(room: Room) -> None:
    ann = room.join("ann")
    ann.sync.bus.on(JOINED, lambda peer: ann.sync.fire("wave", peer.peer_id))
    room.beats(3)
    bob = room.join("bob")
    room.beats(1)
    assert bob.heard == [(JOINED, "ann"), OneShot("ann", "wave", "bob")]


def test_many_one_shots_keep_their_order_over_several_beats(room: Room) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    for n in range(30):
        ann.sync.fire("emote", n)
    room.beats(8)
    assert [heard.value for heard in bob.heard[1:]] == list(range(30))


def test_what_was_fired_before_stop_still_leaves(room: Room) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    for n in range(10):
        ann.sync.fire("emote", n)
    ann.sync.stop()
    assert bob.heard == [(JOINED, "ann"), *(OneShot("ann", "emote", n) for n in range(10)), (LEFT, "ann")]


def test_one_shots_fired_while_stopped_are_none(room: Room) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    ann.sync.stop()
    ann.sync.fire("emote", 1)
    ann.sync.start()
    room.beats(5)
    assert not any(isinstance(heard, OneShot) for heard in bob.heard)


def test_a_stop_that_fails_says_good_bye_all_the_same_and_forgets_what_was_fired(room: Room) -> None:
    one, two = pair("ann", "bob")
    ann, bob = (Player(end, room.clock, room.codec()) for end in (one, two))
    bob.sync.start()
    ann.sync.start()
    ann.sync.fire("emote", 1)
    good = ann.here
    ann.here = LocalPresence((0.0, 0.0, 0.0), meta={"x": object()})
    with pytest.raises(TypeError):
        ann.sync.stop()
    ann.here = good
    ann.sync.start()
    room.beats(5, ann, bob)
    assert bob.heard == [(JOINED, "ann"), (LEFT, "ann"), (JOINED, "ann")]


def test_what_nobody_declared_is_not_fired_and_not_heard(room: Room) -> None:
    bob, ann = room.join("bob", one_shots=("wave",)), room.join("ann")
    with pytest.raises(ValueError, match="none of the one-shots"):
        ann.sync.fire("dance")
    ann.sync.fire("emote", 1)
    ann.sync.fire("wave", 2)
    room.beats(4)
    assert bob.heard == [(JOINED, "ann"), OneShot("ann", "wave", 2)]


@pytest.mark.parametrize("value", [None, True, False, 0, 1, -5, 2**63 - 1, -(2**63), 0.5, -1e300, "", "party", "ß🎉\0"])
def test_a_one_shot_keeps_its_value_and_type(room: Room, value: Any) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    ann.sync.fire("emote", value)
    room.beats(1)
    assert bob.heard[1:] == [OneShot("ann", "emote", value)]
    assert type(bob.heard[1].value) is type(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**63, [1], {}, "x" * 200, "\ud800", object(), b"x"])
def test_a_one_shot_of_another_kind_is_refused_and_harms_no_later_one(room: Room, value: Any) -> None:
    bob, ann = room.join("bob"), room.join("ann")
    with pytest.raises(ValueError, match="one-shot"):
        ann.sync.fire("emote", value)
    ann.sync.fire("emote", 1)
    room.beats(1)
    assert bob.heard[1:] == [OneShot("ann", "emote", 1)]


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_the_name_of_a_one_shot_has_limits(room: Room, name: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        room.join("ann", one_shots=(name,))


def test_one_shots_wait_while_the_local_data_cannot_be_sent(room: Room) -> None:
    one, two = pair("ann", "bob")
    ann, bob = (Player(end, room.clock, room.codec()) for end in (one, two))
    bob.sync.start()
    ann.sync.start()
    ann.sync.fire("emote", 1)
    good = ann.here
    ann.here = LocalPresence((0.0, 0.0, 0.0), meta={"x": object()})
    room.clock.advance(BEAT)
    with pytest.raises(TypeError):
        ann.sync.update()
    ann.here = good
    room.clock.advance(BEAT)
    ann.sync.update()
    assert bob.heard == [(JOINED, "ann"), OneShot("ann", "emote", 1)]


def test_over_a_wire_that_encodes_it_is_the_same(room: Room) -> None:
    one, two = pair("ann", "bob")
    ann, bob = (Player(end, room.clock, room.codec(), interpolate=0.0) for end in (one, two))
    statuses: list[ConnectionStatus] = []
    one.subscribe_status(statuses.append)
    room.players = [bob, ann]
    for player in room.players:
        player.sync.start()
    ann.here = LocalPresence((-1.25, 0.5, 1e6), -2.5, {"name": "Ännchen", "tags": ["a", "b"], "team": 2, "away": True})
    room.beats(1)
    peer = bob.sync.peers()[0]
    assert (peer.position, peer.rotation_y) == (ann.here.position, ann.here.rotation_y)
    assert peer.meta is not None
    assert {**peer.meta, "tags": list(peer.meta["tags"])} == ann.here.meta
    ann.sync.stop()
    assert bob.heard == [(JOINED, "ann"), (LEFT, "ann")]
    assert statuses == []


def test_peers_in_two_codecs_share_a_room_without_harm() -> None:
    clock, hub = ManualClock(), LocalHub()
    players = [
        Player(LocalTransport(hub, f"{name} {n}"), clock, codec()) for name, codec in CODECS.items() for n in range(2)
    ]
    for player in players:
        player.sync.start()
    for _ in range(9):
        clock.advance(BEAT)
        for player in players:
            player.sync.fire("emote", 1)
            player.sync.update()
    for player in players:
        assert all(peer_id.split()[0] == player.transport.peer_id.split()[0] for peer_id in player.ids)
        assert len(player.ids) == 1
