"""Our clients against a relay of others: transports, presence, events, and whole sessions."""

import base64
import json
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from game.session.base import Link
from game.session.online import OnlineSession
from game.session.peer import PeerSession
from game.session.pilot import BotPilot
from game.wire import EMOTE, EMOTES
from net.channel import NetChannel
from net.clock import MonotonicClock
from net.event_relay import relay_events
from net.events import EventBus
from net.presence import FIRED, LocalPresence, PresenceSync
from net.presence.protobuf import FIELDS, ProtobufCodec
from net.transport.base import TransportState
from net.transport.websocket import RetryPolicy, WebSocketTransport


@pytest.fixture
def connect(their_room: str) -> Iterator[Any]:
    """Our transports in one room of their relay."""
    made: list[WebSocketTransport] = []

    def make(peer_id: str, url: str = their_room, **options: Any) -> WebSocketTransport:
        made.append(WebSocketTransport(url, peer_id=peer_id, **options))
        made[-1].wait_open_blocking(10)
        return made[-1]

    yield make
    for transport in made:
        transport.close()


def test_text_and_binary_pass_in_order_to_all_others(connect: Any, wait: Any):
    """TL-01 over their wire; EN-05: an empty name is one."""
    a, b, c = connect("a"), connect("b"), connect("")
    heard: dict[str, list[Any]] = {"a": [], "b": [], "c": []}
    for name, transport in (("a", a), ("b", b), ("c", c)):
        transport.subscribe(lambda envelope, name=name: heard[name].append((envelope.sender, envelope.data)))
        transport.subscribe_bytes(heard[name].append)
    for n in range(300):
        a.send({"n": n, "text": "Zoë 桜 🎈"})
    a.send_bytes(bytes(range(256)))
    c.send(None)
    expected = [("a", {"n": n, "text": "Zoë 桜 🎈"}) for n in range(300)] + [bytes(range(256))]
    wait(lambda: len(heard["b"]) == 302 and len(heard["c"]) == 301, lambda: [t.poll() for t in (a, b, c)])
    assert [item for item in heard["b"] if item != ("", None)] == expected
    assert heard["c"] == expected
    assert heard["a"] == [("", None)]


def test_65536_bytes_pass_and_65537_cost_the_connection(connect: Any, their_room: str, wait: Any):
    a, b = connect("a", policy=RetryPolicy(tries=1000, first=0.01)), connect("b")
    heard: list[int] = []
    ends: list[Any] = []
    opened: list[bool] = []
    b.subscribe_bytes(lambda message: heard.append(len(message)))
    a.on_close(lambda code, reason: ends.append(code))
    a.on_open(lambda: opened.append(True))

    def step() -> None:
        a.poll()
        b.poll()

    a.send_bytes(bytes(65_536))
    wait(lambda: heard, step)
    a.send_bytes(bytes(65_537))
    wait(lambda: opened and ends, step)
    a.send_bytes(b"again")
    wait(lambda: len(heard) == 2, step)
    assert heard == [65_536, 5]
    assert ends == [1009]


def test_the_room_is_the_path_as_they_read_it(connect: Any, their_relay: str, their_room: str, wait: Any):
    """RS-05, RS-06 from the client's side: the URL goes out as it was given."""
    name = their_room.rpartition("/")[2]
    a = connect("a")
    same, other = connect("same", f"{their_room}?token=x"), connect("other", f"{their_room}/")
    dotted, escaped = connect("dotted", f"{their_relay}/x/../{name}"), connect("escaped", f"{their_relay}/%C3%A9{name}")
    raw = connect("raw", f"{their_relay}/é{name}")
    heard: list[tuple[str, str]] = []
    everybody = {"a": a, "same": same, "other": other, "dotted": dotted, "escaped": escaped, "raw": raw}
    for peer_id, transport in everybody.items():
        transport.subscribe(lambda envelope, me=peer_id: heard.append((envelope.sender, me)))
        transport.send(1)
    pairs = [("a", "same"), ("a", "dotted"), ("same", "dotted"), ("escaped", "raw")]
    expected = {pair for one, two in pairs for pair in ((one, two), (two, one))}
    wait(lambda: expected <= set(heard), lambda: [transport.poll() for transport in everybody.values()])
    assert sorted(heard) == sorted(expected)


def test_we_answer_their_pings(connect: Any, wait: Any, their_heartbeat: str):
    """RS-11 from the client's side: who doesn't answer is cut by the second one, and we are still there after that."""
    ours, other = connect("ours", their_heartbeat), connect("other", their_heartbeat)
    host, port = their_heartbeat.removeprefix("ws://").split("/")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=30) as mute:
        mute.sendall(
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        while mute.recv(4096):
            pass
    heard: list[Any] = []
    other.subscribe(lambda envelope: heard.append(envelope.data))
    ours.send("here")
    wait(lambda: heard, other.poll)
    ours.poll()
    assert ours.status.state is TransportState.OPEN
    assert ours.traffic.dropped == 0


def test_their_end_is_told_with_its_code_and_tried_again(their_relay_alone: Any, connect: Any, wait: Any):
    """TW-11: 1001 is no refusal."""
    ours = connect("ours", their_relay_alone.url + "/x", policy=RetryPolicy(tries=2, first=0.01))
    statuses: list[Any] = []
    ours.subscribe_status(statuses.append)
    their_relay_alone.process.send_signal(signal.SIGTERM)
    wait(lambda: ours.status.state is TransportState.CLOSED, ours.poll)
    assert (statuses[0].state, statuses[0].code, statuses[0].attempt) == (TransportState.CONNECTING, 1001, 1)
    assert their_relay_alone.process.wait(10) == 0


@pytest.mark.parametrize("codec", ["json", "protobuf"])
def test_presence_in_both_codecs(connect: Any, wait: Any, codec: str):
    def sync_of(transport: WebSocketTransport, x: float) -> Any:
        bus = EventBus()
        if codec == "json":
            local = LocalPresence((x, 0.0, 0.0), meta={"name": "Zoë"})
            made: Any = PresenceSync(transport, lambda: local, MonotonicClock(), bus=bus, one_shots=("wave",))
        else:
            fields = {"x": x, "name": "Zoë"}
            made = PresenceSync(
                transport, lambda: fields, MonotonicClock(), ProtobufCodec(FIELDS), bus=bus, one_shots=("wave",)
            )
        made.start()
        return made

    transports = connect("a"), connect("b")
    one, two = (sync_of(transport, x) for transport, x in zip(transports, (1.5, -2.0), strict=True))
    waves: list[Any] = []
    one.bus.on(FIRED, waves.append)

    def step() -> None:
        for transport, sync in zip(transports, (one, two), strict=True):
            transport.poll()
            sync.update()

    wait(lambda: one.peers() and two.peers(), step)
    seen = one.peers()[0]
    if codec == "json":
        assert (seen.position, seen.meta) == ((-2.0, 0.0, 0.0), {"name": "Zoë"})
    else:
        assert seen.fields == {"x": -2.0, "name": "Zoë"}
    two.fire("wave", 3)
    wait(lambda: waves, step)
    assert (waves[0].peer_id, waves[0].name, waves[0].value) == ("b", "wave", 3)
    two.stop()
    wait(lambda: not one.peers(), step)
    assert len(waves) == 1


def test_events_and_the_channel_pass_them(connect: Any, wait: Any):
    a, b = connect("a"), connect("b")
    buses = EventBus(), EventBus()
    heard: list[Any] = []
    for bus, transport in zip(buses, (a, b), strict=True):
        relay_events(bus, transport, ["score"])
        bus.on("score", lambda payload, transport=transport: heard.append((transport.peer_id, payload)))
    asking, answering = NetChannel(a, MonotonicClock()), NetChannel(b, MonotonicClock())
    answering.handle("sum", lambda numbers, sender: sum(numbers))
    request = asking.request("sum", [1, 2, 3])
    buses[0].emit("score", 7)

    def step() -> None:
        a.poll()
        b.poll()
        asking.update()

    wait(lambda: request.done and len(heard) == 2, step)
    assert request.result() == 6
    assert heard == [("a", 7), ("b", 7)]


def test_their_frames_of_every_kind_reach_us_or_are_ignored(peers: Any, their_room: str, connect: Any, wait: Any):
    """EN-01 to EN-09: what passes their relay unread is read here."""
    ours = connect("ours")
    heard: list[Any] = []
    ours.subscribe(lambda envelope: heard.append(envelope.data))
    ours.subscribe_bytes(heard.append)
    theirs = peers.open(their_room)
    nonsense = ["", "{", "null", "7", '{"from":1,"data":2}', '{"from":"x"}', '{"from":"x","data":NaN}']
    for text in [*nonsense, '{"from":"x","data":Infinity}', '{"from":"ours","data":1}', '{"from":"\\ud800","data":1}']:
        peers.do(theirs, "text", text)
    peers.do(theirs, "text", '{"more":1,"data":{"t":"?"},"from":"","yet":[]}')
    peers.do(theirs, "bytes", base64.b64encode(b'{"from":"x","data":1}').decode())
    peers.do(theirs, "say", "last")
    wait(lambda: "last" in heard, ours.poll)
    assert heard == [{"t": "?"}, b'{"from":"x","data":1}', "last"], "EN-05, EN-07, EN-08"


class TestSessions:
    def test_a_match_without_an_authority(self, peers: Any, their_room: str, wait: Any):
        clock = MonotonicClock()
        session = PeerSession(lambda: WebSocketTransport(their_room, peer_id="ours"), clock, name="Zoë")
        pilot = BotPilot(1, session.arena)
        try:
            theirs = peers.open(their_room)
            peers.do(theirs, "listen", [EMOTE])

            def step() -> None:
                session.update(clock.now(), pilot)

            joined = peers.until(theirs, "joined", step, id="ours")
            assert joined["meta"]["name"] == "Zoë"
            peers.do(theirs, "present", {"position": [1, 0, -2], "rotationY": 0, "meta": {"name": "Node", "color": 5}})
            wait(lambda: theirs in session.presence.get(), step)
            assert session.presence.get()[theirs].name == "Node"
            start = joined["position"]
            moved = peers.until(theirs, "moved", step)
            while moved["position"] == start:
                moved = peers.until(theirs, "moved", step)

            def ghost() -> Any:
                frame = session.update(clock.now(), pilot)
                return next(avatar for avatar in frame.avatars if avatar.peer_id == theirs)

            wait(lambda: (ghost().x, ghost().y, ghost().z) == (1, 0, -2), step)
            peers.do(theirs, "emit", {"event": EMOTE, "payload": 1})
            wait(lambda: ghost().emote == EMOTES[1], step)
            session.emote(2)
            assert peers.until(theirs, "event", step, **{"from": "ours"})["payload"] == 2
            peers.do(theirs, "leave")
            wait(lambda: theirs not in session.presence.get(), step)
        finally:
            session.close()
        peers.until(theirs, "close")

    def test_an_authority_may_be_one_of_the_peers(self, peers: Any, their_room: str, wait: Any):
        """IC-01 to IC-04, IC-06: our session greets, sends commands, and obeys nobody but `server`."""
        clock = MonotonicClock()
        server = peers.open(their_room, "server")
        impostor = peers.open(their_room)
        session = OnlineSession(lambda: WebSocketTransport(their_room, peer_id="ours"), clock, name="Zoë")
        pilot = BotPilot(1, session.arena)

        def step() -> None:
            session.update(clock.now(), pilot)

        def state(x: float, last_seq: Any) -> dict[str, Any]:
            still = {"x": x, "y": 0, "z": 0, "vx": 0, "vy": 0, "vz": 0, "yaw": 0}
            return {"t": "state", "state": still, "lastSeq": last_seq}

        try:
            hello = peers.until(server, "envelope", step)
            assert (hello["data"]["t"], hello["data"]["protocol"]) == ("hello", 1)
            welcome = {"protocol": 1, "you": "ours", "arena": "crossfire", "tick": 0, "tickRate": 60, "worldRate": 20}
            peers.do(server, "say", {"t": "welcome", **welcome})
            peers.do(server, "say", state(2.0, 0))
            seqs = []
            while len(seqs) < 5:
                heard = json.loads(peers.until(server, "envelope", step)["text"])["data"]
                if heard["t"] == "input":
                    assert list(heard) == ["t", "seq", "input", "dtMs"]
                    seqs.append(heard["seq"])
            assert seqs == [1, 2, 3, 4, 5]
            assert session.status.get().link is Link.CONNECTED
            for nonsense in (
                {"t": "state"}, {"t": "state", "state": None, "lastSeq": 2}, {"t": "state", "lastSeq": 2},
                state(9.0, "2"), state(9.0, 2.5), state(1e30, 2), {"t": "world", "players": 5}, {"t": "world"},
            ):  # fmt: skip
                peers.do(server, "say", nonsense)
            peers.do(impostor, "say", state(-9.0, 3))
            peers.do(server, "say", state(2.0, 1))
            acknowledged = session._predictor
            wait(lambda: acknowledged.last_acknowledged, step)
            assert acknowledged.last_acknowledged == 1
            assert 1.0 < session.predicted.x / 1024 < 6.0
        finally:
            session.close()
