"""Our relay between peers of others, and ours among them: RS, PR, ER and EN as a stranger sees them."""

import base64
import contextlib
import json
import socket
from typing import Any

import pytest

from net.clock import MonotonicClock
from net.event_relay import relay_events
from net.events import EventBus
from net.presence import JOINED, LEFT, LocalPresence, PresenceSync
from net.transport.base import TransportState
from net.transport.websocket import WebSocketTransport


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class TestTheirsAmongThemselves:
    def test_presence_events_and_bye_go_to_all_others_and_never_back(self, peers: Any, our_room: str):
        """RS-01, PR-07, PR-14, PR-28 (nobody but the peer says that it left), ER-02."""
        a, b, c = (peers.open(our_room) for _ in "abc")
        stranger = peers.open(our_room + "-else")
        for peer in (a, b, c, stranger):
            peers.do(peer, "listen", ["ping"])
        peers.do(a, "present", {"position": [1, 0, 2.5], "rotationY": 0.5, "meta": {"name": "Zoë 桜 🎈"}})
        for peer in (b, c):
            joined = peers.until(peer, "joined", id=a)
            assert joined["position"] == [1, 0, 2.5]
            assert joined["meta"] == {"name": "Zoë 桜 🎈"}
        peers.do(b, "emit", {"event": "ping", "payload": {"n": [1, None, "x"]}})
        for peer in (a, c):
            assert peers.until(peer, "event")["payload"] == {"n": [1, None, "x"]}
        peers.do(a, "leave")
        for peer in (b, c):
            peers.until(peer, "left", id=a)
        assert len(peers.told(b, "event")) == 1, "its own, once: it never came back"
        assert not peers.told(a, "event")
        assert not peers.told(c, "event")
        assert not peers.told(stranger, "envelope")

    def test_any_frame_passes_unchanged_and_in_order(self, peers: Any, our_room: str):
        """RS-01 to RS-03: text that is no JSON, an empty one, binary, 500 in a row."""
        a, b = peers.open(our_room), peers.open(our_room)
        peers.do(a, "text", "{no json, NaN")
        assert peers.until(b, "text")["text"] == "{no json, NaN"
        peers.do(a, "text", "")
        assert peers.until(b, "text")["text"] == ""
        everything = bytes(range(256))
        peers.do(a, "bytes", b64(everything))
        assert base64.b64decode(peers.until(b, "bytes")["base64"]) == everything
        for n in range(500):
            peers.do(a, "say", n)
        assert [peers.until(b, "envelope")["data"] for _ in range(500)] == list(range(500))

    def test_65536_bytes_pass_and_65537_end_their_sender_alone(self, peers: Any, our_room: str):
        """RS-10."""
        a, b, c = (peers.open(our_room) for _ in "abc")
        peers.do(a, "fill", 65_536)
        assert peers.until(b, "text")["length"] == 65_536
        peers.do(a, "fill", 65_537)
        assert peers.until(a, "close")["code"] == 1009
        peers.do(c, "say", "still here")
        assert peers.until(b, "envelope")["data"] == "still here"
        assert not [news for news in peers.told(b, "text") if news["length"] == 65_537]

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("/*", "/*?token=1", True),
            ("/*", "/*/", False),
            ("/*", "/./*/../*", True),
            ("/*é", "/*%C3%A9", True),
            ("/*a", "/*A", False),
            ("/*a", "/*%61", False),
        ],
    )
    def test_which_paths_are_one_room(
        self, peers: Any, our_relay: str, our_room: str, one: str, other: str, same: bool
    ):
        """RS-05 to RS-07."""
        name = our_room.rpartition("/")[2]
        here, there = (our_relay + path.replace("*", name) for path in (one, other))
        speaker, mate, listener, witness = (peers.open(url) for url in (here, here, there, there))
        peers.do(speaker, "say", "hello")
        peers.until(mate, "envelope", data="hello")  # so the relay has dealt with it
        peers.do(witness, "say", "and I")
        peers.until(listener, "envelope", data="and I")
        assert bool(peers.told(listener, "envelope", data="hello")) is same


class TestTheirsAndOurs:
    @pytest.fixture
    def ours(self, our_room: str) -> Any:
        transport = WebSocketTransport(our_room, peer_id="ours")
        transport.wait_open_blocking(10)
        yield transport
        transport.close()

    def test_each_sees_the_other_come_move_and_go(self, peers: Any, our_room: str, ours: Any, wait: Any):
        """PR-06 to PR-08, PR-14, PR-16 on the wire."""
        bus = EventBus()
        heard: list[Any] = []
        bus.on(JOINED, lambda peer: heard.append(("joined", peer.peer_id)))
        bus.on(LEFT, lambda peer: heard.append(("left", peer.peer_id)))
        me = [LocalPresence((1.0, 0.0, 2.5), meta={"name": "Zoë"})]
        sync = PresenceSync(ours, lambda: me[0], MonotonicClock(), bus=bus)
        theirs = peers.open(our_room)
        sync.start()

        def step() -> None:
            ours.poll()
            sync.update()

        joined = peers.until(theirs, "joined", step, id="ours")
        assert (joined["position"], joined["rotationY"], joined["meta"]) == ([1, 0, 2.5], 0, {"name": "Zoë"})
        peers.do(theirs, "present", {"position": [-3.25, 0, 7], "rotationY": -1.5, "meta": {"hp": 3}})
        wait(lambda: theirs in sync.store.get(), step)
        peer = sync.store.get()[theirs]
        assert (peer.position, peer.rotation_y, peer.meta) == ((-3.25, 0, 7), -1.5, {"hp": 3})
        peers.do(theirs, "present", {"position": [5, 0, 7]})
        wait(lambda: sync.store.get()[theirs].position == (5, 0, 7), step)
        assert sync.store.get()[theirs].meta is None, "PR-08: each packet replaces the record"
        me[0] = LocalPresence((9.0, 0.0, 0.0))
        assert peers.until(theirs, "moved", step, position=[9, 0, 0]).get("meta") is None
        peers.do(theirs, "leave")
        wait(lambda: theirs not in sync.store.get(), step)
        assert heard == [("joined", theirs), ("left", theirs)]
        watcher = peers.open(our_room)
        me[0] = LocalPresence((0.0, 0.0, 0.0))
        peers.until(watcher, "joined", step, id="ours")
        sync.stop()
        peers.until(watcher, "left", id="ours")

    def test_our_packets_are_to_the_byte_what_they_would_write(self, peers: Any, our_room: str, ours: Any):
        """TW-05, PR-06: two keys, `from` first, no blanks, UTF-8 as it is, whole numbers without a point."""
        theirs = peers.open(our_room)
        sync = PresenceSync(ours, lambda: LocalPresence((1.0, 0.0, -2.5), meta={"name": "Zoë 桜"}), MonotonicClock())
        sync.start()
        assert peers.until(theirs, "envelope")["text"] == (
            '{"from":"ours","data":{"t":"presence","position":[1,0,-2.5],"rotationY":0,"meta":{"name":"Zoë 桜"}}}'
        )
        sync.stop()
        assert peers.until(theirs, "envelope")["text"] == '{"from":"ours","data":{"t":"bye"}}'

    def test_events_go_both_ways_once(self, peers: Any, our_room: str, ours: Any, wait: Any):
        """ER-01, ER-03, ER-11."""
        bus = EventBus()
        heard: list[Any] = []
        bus.on("score", heard.append)
        bus.on("secret", heard.append)
        relay_events(bus, ours, ["score"])
        theirs = peers.open(our_room)
        peers.do(theirs, "listen", ["score", "secret"])
        bus.emit("secret", 0)
        bus.emit("score", {"points": 3})
        assert json.loads(peers.until(theirs, "envelope")["text"]) == {
            "from": "ours", "data": {"t": "event", "event": "score", "payload": {"points": 3}},
        }  # fmt: skip
        peers.do(theirs, "emit", {"event": "secret", "payload": 1})
        peers.do(theirs, "emit", {"event": "score", "payload": [None, "x"]})
        wait(lambda: len(heard) == 3, ours.poll)
        assert heard == [0, {"points": 3}, [None, "x"]]
        bus.emit("score", "last")
        peers.until(theirs, "event", payload="last")
        assert len(peers.told(theirs, "event", **{"from": "ours"})) == 1, "nothing came back as an echo"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "no json",
            "null",
            "[1]",
            '"text"',
            '{"from":5,"data":{"t":"presence","position":[0,0,0]}}',
            '{"data":{"t":"presence","position":[0,0,0]}}',
            '{"from":"x"}',
            '{"from":"x","data":{"t":"presence","position":[NaN,0,0]}}',
            '{"from":"x","data":{"t":"presence","position":[Infinity,0,0]}}',
            '{"from":"x","data":{"t":"presence","position":[null,0,0]}}',
            '{"from":"x","data":{"t":"presence","position":["1","2","3"]}}',
            '{"from":"x","data":{"t":"presence","position":[1,2]}}',
            '{"from":"x","data":{"t":"presence","position":[1,2,3,4]}}',
            '{"from":"x","data":{"t":"presence","position":{"x":1}}}',
            '{"from":"x","data":{"t":"presence","position":[true,false,true]}}',
            '{"from":"x","data":{"t":"presence"}}',
            '{"from":"x","data":{"t":"presence","position":[1e999,0,0]}}',
            '{"from":"x","data":{"t":"bye"}}',
            '{"from":"x","data":{"t":"event"}}',
            '{"from":"x","data":{"t":"event","event":7}}',
            '{"from":"x","data":{"t":"nobody knows"}}',
            '{"from":"x","data":{"t":["presence"]}}',
            '{"from":"x","data":7}',
            '{"from":"ours","data":{"t":"presence","position":[0,0,0]}}',
            '{"from":"x","data":' + "[" * 3000 + "]" * 3000 + "}",
        ],
    )
    def test_what_is_malformed_is_ignored_and_harms_nobody(
        self, peers: Any, our_room: str, ours: Any, wait: Any, text: str
    ):
        """EN-01 to EN-06, EN-09, EN-10, PR-09, PR-20, ER-04."""
        bus = EventBus()
        events: list[Any] = []
        bus.on_any(lambda name, payload: events.append(name))
        relay_events(bus, ours, ["score"])
        sync = PresenceSync(ours, lambda: LocalPresence((0.0, 0.0, 0.0)), MonotonicClock(), bus=bus)
        sync.start()
        theirs = peers.open(our_room)
        peers.do(theirs, "text", text)
        peers.do(theirs, "present", {"position": [1, 2, 3], "rotationY": 0})
        wait(lambda: theirs in sync.store.get(), ours.poll)
        assert [peer.peer_id for peer in sync.peers()] == [theirs]
        assert events == [JOINED]
        assert ours.status.state is TransportState.OPEN

    def test_a_binary_frame_is_not_an_envelope(self, peers: Any, our_room: str, ours: Any, wait: Any):
        """EN-08, GS-09."""
        envelopes: list[Any] = []
        binaries: list[bytes] = []
        ours.subscribe(lambda envelope: envelopes.append(envelope.data))
        ours.subscribe_bytes(binaries.append)
        theirs = peers.open(our_room)
        envelope = json.dumps({"from": theirs, "data": 1}).encode()
        peers.do(theirs, "bytes", b64(envelope))
        peers.do(theirs, "say", None)
        wait(lambda: envelopes, ours.poll)
        assert envelopes == [None], "EN-04: null is data"
        assert binaries == [envelope]
        ours.send_bytes(bytes(range(256)))
        assert base64.b64decode(peers.until(theirs, "bytes")["base64"]) == bytes(range(256))

    def test_we_write_no_nan(self, peers: Any, our_room: str, ours: Any):
        """EN-09, TW-06: to a reader of strict JSON it would be a malformed frame."""
        theirs = peers.open(our_room)
        for nonsense in (float("nan"), float("inf"), {"x": [float("-inf")]}):
            with pytest.raises(ValueError, match=r"."):
                ours.send(nonsense)
        ours.send("fine")
        assert peers.until(theirs, "envelope")["data"] == "fine"

    def test_a_peer_that_is_gone_without_a_word_goes_stale(self, peers: Any, our_room: str, ours: Any, wait: Any):
        """RS-28, PR-12: on a clock of its own, 3 s go by at once."""
        from net.clock import ManualClock

        clock = ManualClock(100.0)
        sync = PresenceSync(ours, lambda: LocalPresence((0.0, 0.0, 0.0)), clock)
        sync.start()
        theirs = peers.open(our_room)
        peers.do(theirs, "present", {"position": [1, 2, 3], "rotationY": 0})
        wait(lambda: theirs in sync.store.get(), ours.poll)
        peers.do(theirs, "vanish")
        peers.until(theirs, "close")
        watcher = peers.open(our_room)
        peers.do(watcher, "say", "all that it ever said is here before this")
        heard: list[Any] = []
        ours.subscribe(lambda envelope: heard.append(envelope.sender))
        wait(lambda: watcher in heard, ours.poll)
        clock.advance(2.9)
        sync.update()
        assert theirs in sync.store.get()
        clock.advance(0.3)
        sync.update()
        assert theirs not in sync.store.get()


def test_who_answers_pings_stays_and_who_only_talks_is_cut(peers: Any, start_ours: Any):
    """RS-11, RS-12: their library answers by itself; a mute one that goes on sending is gone after two beats."""
    url = start_ours("run_server.py", "relay", "--heartbeat-ms", "400")
    lively, other = peers.open(url), peers.open(url)
    host, port = url.removeprefix("ws://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as mute:
        mute.sendall(
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        with contextlib.suppress(OSError):
            while mute.recv(4096):
                mute.sendall(b"\x81\x81\x00\x00\x00\x00x")
    peers.do(lively, "say", "here")
    assert peers.until(other, "envelope")["data"] == "here"
