"""Presence, rows PR-01 to PR-29, on one clock and an in-process hub or wire."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from net.clock import ManualClock
from net.envelope import Envelope, encode
from net.event_relay import relay_events
from net.events import EventBus
from net.presence import FIRED, JOINED, LEFT, PEER_LIMIT, LocalPresence, OneShot, PeerPresence, PresenceSync
from net.store import Store
from net.transport.local import LocalHub, LocalTransport
from net.transport.pair import connect


class Lab:
    """One PresenceSync under test; the test itself is the other peers, and hears what is sent."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock(100.0)
        self.here = LocalPresence((1.0, 0.0, 2.0))
        self.frames: list[Any] = []
        self.events: list[tuple[str, str]] = []
        self.bus = EventBus()
        self.bus.on_any(lambda name, peer: self.events.append((name, peer.peer_id)))
        self.transport, self.end = connect("me")
        self.end.attach(self.took, lambda code, reason: None)
        self.sync = PresenceSync(self.transport, lambda: self.here, self.clock, bus=self.bus, **options)

    def took(self, frame: bytes, binary: bool) -> None:
        self.frames.append(json.loads(frame)["data"])

    def beats(self, count: int) -> None:
        for _ in range(count):
            self.clock.advance(0.1)
            self.sync.update()

    def hear(self, sender: str, **fields: Any) -> None:
        self.end.push(encode(sender, {"t": "presence", **fields}), False)

    def hear_data(self, sender: str, data: Any) -> None:
        self.end.push(encode(sender, data), False)

    @property
    def ids(self) -> list[str]:
        return [peer.peer_id for peer in self.sync.peers()]


def test_pr01_start_beats_at_once_and_then_every_interval() -> None:
    lab = Lab(keepalive_every=1)
    lab.sync.update()
    assert lab.frames == []
    lab.sync.start()
    assert len(lab.frames) == 1
    lab.clock.advance(0.09)
    lab.sync.update()
    assert len(lab.frames) == 1
    lab.clock.advance(0.01)
    lab.sync.update()
    lab.sync.update()
    assert len(lab.frames) == 2


def test_pr02_starting_twice_and_stopping_unstarted_do_nothing() -> None:
    lab = Lab()
    lab.sync.stop()
    assert lab.frames == []
    lab.sync.start()
    lab.sync.start()
    assert len(lab.frames) == 1
    lab.sync.stop()
    lab.sync.stop()
    assert lab.frames[1:] == [{"t": "bye"}]


def test_pr03_while_nothing_changes_every_fifth_beat_sends() -> None:
    lab = Lab()
    lab.sync.start()
    sent_at = [0]
    for beat in range(1, 16):
        before = len(lab.frames)
        lab.beats(1)
        sent_at += [beat] * (len(lab.frames) - before)
    assert sent_at == [0, 5, 10, 15]


def test_pr04_a_change_does_not_move_the_keepalive() -> None:
    lab = Lab()
    lab.sync.start()
    lab.beats(3)
    assert len(lab.frames) == 1
    lab.here = LocalPresence((9.0, 0.0, 0.0))
    lab.beats(1)
    assert len(lab.frames) == 2
    lab.beats(1)
    assert len(lab.frames) == 3


def test_missed_beats_are_made_up_for_by_one_and_the_phase_stays() -> None:
    lab = Lab()
    lab.sync.start()
    lab.clock.advance(0.65)
    lab.sync.update()
    assert len(lab.frames) == 2, "beats 1 to 6, the keepalive of beat 5 among them, in one packet"
    lab.clock.advance(0.3)
    lab.sync.update()
    assert len(lab.frames) == 2
    lab.clock.advance(0.05)
    lab.sync.update()
    assert len(lab.frames) == 3, "beat 10 still is where it was"


def test_pr05_any_exact_change_counts_and_meta_too() -> None:
    lab = Lab()
    lab.here = LocalPresence((1.0, 0.0, 2.0), 0.0, {"a": 1, "b": 2})
    lab.sync.start()
    for changed in (
        LocalPresence((1.0, 0.0, 2.0), 1e-15, {"a": 1, "b": 2}),
        LocalPresence((1.0, 0.0, 2.0), 1e-15, {"a": 1, "b": 3}),
        LocalPresence((1.0, 0.0, 2.0), 1e-15, {"b": 3, "a": 1}),
        LocalPresence((1.0, 0.0, 2.0), 1e-15),
    ):
        lab.here = changed
        before = len(lab.frames)
        lab.beats(1)
        assert len(lab.frames) == before + 1


def test_pr06_the_packet() -> None:
    lab = Lab()
    lab.sync.start()
    assert lab.frames == [{"t": "presence", "position": [1.0, 0.0, 2.0], "rotationY": 0.0}]
    lab.here = LocalPresence((1.0, 2.0, 3.0), 0.5, {"name": "Ann"})
    lab.beats(1)
    assert lab.frames[1] == {"t": "presence", "position": [1, 2, 3], "rotationY": 0.5, "meta": {"name": "Ann"}}


def test_pr07_stored_first_then_joined_once() -> None:
    lab = Lab()
    stored: list[Any] = []
    lab.bus.on(JOINED, lambda peer: stored.append(lab.sync.store.get()[peer.peer_id]))
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    lab.hear("ann", position=[4, 5, 6])
    assert stored == [PeerPresence("ann", 100.0, (1.0, 2.0, 3.0))]
    assert lab.events == [(JOINED, "ann")]


def test_pr08_a_later_packet_replaces_the_record() -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3], rotationY=1.5, meta={"name": "Ann"})
    assert lab.sync.peers() == [PeerPresence("ann", 100.0, (1.0, 2.0, 3.0), 1.5, {"name": "Ann"})]
    lab.clock.advance(0.25)
    lab.hear("ann", position=[4, 5, 6], rotationY=None)
    assert lab.sync.peers() == [PeerPresence("ann", 100.25, (4.0, 5.0, 6.0))]


@pytest.mark.parametrize(
    "position",
    [
        None,
        [],
        [1, 2],
        [1, 2, 3, 4],
        ["1", "2", "3"],
        [1, 2, None],
        [True, False, True],
        {"x": 1},
        "abc",
        [[1], 2, 3],
        7,
        [10**400, 0, 0],
    ],
)
def test_pr09_without_three_numbers_the_packet_is_ignored_and_refreshes_nothing(position: Any) -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    lab.clock.advance(1)
    lab.hear("ann", position=position)
    lab.hear("bob", position=position)
    lab.hear_data("cid", {"t": "presence"})
    assert lab.sync.peers() == [PeerPresence("ann", 100.0, (1.0, 2.0, 3.0))]


@pytest.mark.parametrize("wrong", ["1", [1], {}, True, 10**400])
def test_pr10_a_rotation_or_meta_of_another_type_does_not_count(wrong: Any) -> None:
    lab = Lab(interpolate=0.1)
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3], rotationY=wrong, meta=None)
    lab.hear("ann", position=[1, 2, 3], rotationY=wrong, meta=[1])
    assert lab.sync.peers() == [PeerPresence("ann", 100.0, (1.0, 2.0, 3.0))]
    assert lab.sync.sample("ann") == ((1.0, 2.0, 3.0), 0.0)


def test_pr11_nan_is_refused_by_the_writer_and_by_the_reader() -> None:
    lab = Lab()
    lab.here = LocalPresence((math.nan, 0.0, 0.0))
    with pytest.raises(ValueError, match="JSON"):
        lab.sync.start()
    hub = LocalHub()
    sync = PresenceSync(LocalTransport(hub), lambda: LocalPresence((0.0, 0.0, 0.0)), ManualClock())
    sync.start()
    other = LocalTransport(hub, "ann")
    other.send({"t": "presence", "position": [0, math.inf, 0]})
    other.send({"t": "presence", "position": [0, math.nan, 0]})
    assert sync.peers() == []


def test_pr12_pr13_silent_longer_than_the_limit_removed_at_a_beat_equal_is_kept() -> None:
    lab = Lab(stale_after=3.0, interval=0.5)
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    lab.clock.advance(3.0)
    lab.sync.update()
    assert lab.ids == ["ann"]
    lab.clock.advance(0.25)
    lab.sync.update()
    assert lab.ids == ["ann"], "no beat is due"
    lab.clock.advance(0.25)
    lab.sync.update()
    assert lab.ids == []
    lab.beats(10)
    assert lab.events == [(JOINED, "ann"), (LEFT, "ann")]


def test_pr14_pr15_bye_removes_at_once_and_coming_back_joins_again() -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    lab.hear_data("nobody", {"t": "bye"})
    lab.hear_data("ann", {"t": "bye"})
    assert lab.ids == []
    lab.hear("ann", position=[1, 2, 3])
    assert lab.events == [(JOINED, "ann"), (LEFT, "ann"), (JOINED, "ann")]


def test_pr16_after_stop_the_store_keeps_and_nothing_is_heard_or_sent() -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    lab.sync.stop()
    lab.hear("ann", position=[7, 7, 7])
    lab.hear_data("ann", {"t": "bye"})
    lab.beats(50)
    assert lab.sync.peers() == [PeerPresence("ann", 100.0, (1.0, 2.0, 3.0))]
    assert lab.events == [(JOINED, "ann")]
    assert lab.frames[1:] == [{"t": "bye"}]


def test_pr17_a_second_start_sends_anew_and_sweeps_what_is_too_old() -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("old", position=[1, 2, 3])
    lab.clock.advance(2.0)
    lab.hear("young", position=[1, 2, 3])
    lab.sync.stop()
    lab.clock.advance(1.5)
    lab.sync.start()
    assert [frame["t"] for frame in lab.frames] == ["presence", "bye", "presence"]
    lab.hear("young", position=[4, 5, 6])
    assert lab.ids == ["young"]
    assert lab.events == [(JOINED, "old"), (JOINED, "young"), (LEFT, "old")]
    lab.beats(4)
    assert len(lab.frames) == 3
    lab.beats(1)
    assert len(lab.frames) == 4, "the fifth beat after the second start"


def test_pr20_pr21_own_id_and_other_traffic_do_not_count() -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("me", position=[1, 2, 3])
    lab.hear("ann", position=[1, 2, 3])
    lab.clock.advance(2.9)
    for data in (None, 3, [], "presence", {"t": "input", "seq": 1}, {"t": None}, {"t": ["presence"]}, {}):
        lab.hear_data("ann", data)
    lab.beats(3)
    assert lab.events == [(JOINED, "ann"), (LEFT, "ann")]


def test_pr20_own_id_is_ignored_on_a_hub_that_does_not_filter() -> None:
    hub = LocalHub()
    sync = PresenceSync(LocalTransport(hub, "me"), lambda: LocalPresence((0.0, 0.0, 0.0)), ManualClock())
    sync.start()
    LocalTransport(hub, "me").send({"t": "presence", "position": [1, 2, 3]})
    assert sync.peers() == []


def test_pr22_store_and_bus_may_be_given_or_are_its_own() -> None:
    store: Store[dict[str, PeerPresence]] = Store({})
    transport, end = connect("me")
    given_store = PresenceSync(transport, lambda: LocalPresence((0.0, 0.0, 0.0)), ManualClock(), store=store)
    given_store.start()
    joined: list[PeerPresence] = []
    given_store.bus.on(JOINED, joined.append)
    end.push(encode("ann", {"t": "presence", "position": [1, 2, 3]}), False)
    assert list(store.get()) == ["ann"]
    assert [peer.peer_id for peer in joined] == ["ann"]


def test_pr23_an_interruption_shorter_than_the_limit_is_no_event() -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    lab.beats(29)
    lab.hear("ann", position=[1, 2, 3])
    lab.beats(29)
    assert lab.events == [(JOINED, "ann")]


def test_pr24_pr26_no_sampling_unless_asked_for_and_none_of_strangers() -> None:
    lab = Lab()
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    assert lab.sync.sample("ann") is None
    sampling = Lab(interpolate=0.12)
    assert sampling.sync.sample("nobody") is None


def test_pr25_pushed_after_the_store_and_before_the_event_and_gone_with_the_peer() -> None:
    lab = Lab(interpolate=0.12)
    order: list[Any] = []
    lab.sync.store.subscribe(lambda new, old: order.append(("store", "ann" in new, lab.sync.sample("ann"))))
    lab.bus.on(JOINED, lambda peer: order.append(("joined", lab.sync.sample("ann"))))
    lab.sync.start()
    lab.hear("ann", position=[1, 2, 3])
    assert order == [("store", True, None), ("joined", ((1.0, 2.0, 3.0), 0.0))]
    lab.hear_data("ann", {"t": "bye"})
    assert lab.sync.sample("ann") is None


def test_pr27_pr28_sampled_in_the_past_by_the_short_arc_while_the_store_is_raw() -> None:
    lab = Lab(interpolate=0.1)
    lab.sync.start()
    lab.hear("ann", position=[0, 0, 0], rotationY=3.0)
    lab.clock.advance(0.1)
    lab.hear("ann", position=[2, 4, -6], rotationY=-3.0)
    lab.clock.advance(0.05)
    pose = lab.sync.sample("ann")
    assert pose is not None
    assert pose.position == pytest.approx((1.0, 2.0, -3.0))
    assert pose.rotation_y == pytest.approx(math.pi)
    assert lab.sync.peers()[0].position == (2.0, 4.0, -6.0)


def test_huge_but_finite_positions_stay_finite_in_between() -> None:
    lab = Lab(interpolate=0.1)
    lab.sync.start()
    lab.hear("ann", position=[-1.7e308, 0, 0])
    lab.clock.advance(0.1)
    lab.hear("ann", position=[1.7e308, 0, 0])
    lab.clock.advance(0.05)
    pose = lab.sync.sample("ann")
    assert pose is not None
    assert math.isfinite(pose.position[0])


def test_pr29_peers_in_the_order_of_first_packets() -> None:
    lab = Lab()
    lab.sync.start()
    for name in ("cid", "ann", "bob", "cid"):
        lab.hear(name, position=[1, 2, 3])
    listed = lab.sync.peers()
    listed.clear()
    assert lab.ids == ["cid", "ann", "bob"]


def test_invented_ids_do_not_grow_without_bound() -> None:
    lab = Lab(interpolate=0.1)
    lab.sync.start()
    for n in range(PEER_LIMIT + 50):
        lab.hear(f"peer {n}", position=[1, 2, 3])
    lab.hear("peer 0", position=[9, 9, 9])
    assert len(lab.ids) == PEER_LIMIT
    assert lab.sync.peers()[0].position == (9.0, 9.0, 9.0)
    lab.hear_data("peer 7", {"t": "bye"})
    lab.hear("late", position=[1, 2, 3])
    assert lab.ids[-1] == "late"


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["t", "position", "x"]), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"t": st.sampled_from(["presence", "bye"]) | junk},
        optional={
            "position": junk | st.lists(st.floats() | st.integers(), min_size=3, max_size=3),
            "rotationY": junk,
            "meta": junk,
        },
    )
)
def test_whatever_a_peer_says_the_records_stay_well_formed(data: dict[str, Any]) -> None:
    hub = LocalHub()
    sync = PresenceSync(
        LocalTransport(hub, "me"), lambda: LocalPresence((0.0, 0.0, 0.0)), ManualClock(), interpolate=0.0
    )
    sync.start()
    sync._heard(Envelope("ann", data))  # directly: a transport would log what it raises
    for peer in sync.peers():
        assert all(math.isfinite(value) for value in (*peer.position, peer.rotation_y))
        assert peer.meta is None or isinstance(peer.meta, dict)
    sync.sample("ann")


def test_two_peers_on_one_hub_see_each_other_come_move_and_go() -> None:
    hub = LocalHub()
    clock = ManualClock()
    where = {"ann": (0.0, 0.0, 0.0), "bob": (5.0, 0.0, 5.0)}
    syncs = {
        name: PresenceSync(LocalTransport(hub, name), lambda name=name: LocalPresence(where[name]), clock)  # type: ignore[misc]
        for name in where
    }
    for sync in syncs.values():
        sync.start()
    for step in range(20):
        where["ann"] = (float(step), 0.0, 0.0)
        clock.advance(0.1)
        for sync in syncs.values():
            sync.update()
    assert [(peer.peer_id, peer.position) for peer in syncs["bob"].peers()] == [("ann", (19.0, 0.0, 0.0))]
    assert [(peer.peer_id, peer.position) for peer in syncs["ann"].peers()] == [("bob", (5.0, 0.0, 5.0))]
    syncs["ann"].stop()
    assert syncs["bob"].peers() == []


def test_a_one_shot_in_json_is_the_wire_pages_event_behind_a_packet() -> None:
    lab = Lab(one_shots=("emote",))
    lab.sync.start()
    lab.sync.fire("emote", 3)
    lab.sync.fire("emote")
    lab.beats(1)
    assert lab.frames[1:] == [
        {"t": "presence", "position": [1.0, 0.0, 2.0], "rotationY": 0.0},
        {"t": "event", "event": "emote", "payload": 3},
        {"t": "event", "event": "emote", "payload": None},
    ]
    lab.beats(3)
    assert len(lab.frames) == 4, "said once"


def test_events_of_other_clients_are_one_shots_if_their_sender_is_here() -> None:
    lab = Lab(one_shots=("emote",))
    fired: list[Any] = []
    lab.bus.clear()
    lab.bus.on(FIRED, fired.append)
    lab.sync.start()
    lab.hear_data("ann", {"t": "event", "event": "emote", "payload": 1})
    lab.hear("ann", position=[1, 2, 3])
    for payload in ([1], {}, "x" * 200, 2**70):
        lab.hear_data("ann", {"t": "event", "event": "emote", "payload": payload})
    for event in (None, 3, ["emote"], "dance"):
        lab.hear_data("ann", {"t": "event", "event": event})
    lab.hear_data("ann", {"t": "event", "event": "emote"})
    assert fired == [OneShot("ann", "emote", None)]


def test_other_peers_relays_emit_a_one_shot_on_their_bus() -> None:
    hub, bus, clock = LocalHub(), EventBus(), ManualClock()
    heard: list[Any] = []
    bus.on("emote", heard.append)
    relay_events(bus, LocalTransport(hub, "ann"), ["emote"])
    sync = PresenceSync(LocalTransport(hub), lambda: LocalPresence((0.0, 0.0, 0.0)), clock, one_shots=("emote",))
    sync.start()
    sync.fire("emote", "wave")
    clock.advance(0.1)
    sync.update()
    assert heard == ["wave"]
