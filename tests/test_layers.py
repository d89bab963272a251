"""Several layers on one transport, rows EN-10, EN-11 and IC-07: each takes only what is its own."""

from typing import Any

import pytest

from game.wire import Input, State, parse
from net.channel import NetChannel
from net.clock import ManualClock
from net.event_relay import relay_events
from net.events import EventBus
from net.presence import FIRED, JOINED, LEFT, LocalPresence, PresenceSync
from net.presence.protobuf import TRANSFORM, ProtobufCodec
from net.transport.local import LocalHub, LocalTransport


class Layers:
    """All that a peer may have on its transport, and what each of them heard of the other."""

    def __init__(self, hub: LocalHub, peer_id: str, clock: ManualClock, codec: str) -> None:
        self.transport = LocalTransport(hub, peer_id)
        self.bus = EventBus()
        relay_events(self.bus, self.transport, ["score"])
        self.channel = NetChannel(self.transport, clock)
        presence_bus = EventBus()

        def me() -> LocalPresence:
            return LocalPresence((1.0, 2.0, 3.0))

        chosen: Any = ProtobufCodec(TRANSFORM) if codec == "protobuf" else None
        self.presence = PresenceSync(self.transport, me, clock, chosen, bus=presence_bus, one_shots=("wave",))
        self.heard: dict[str, list[Any]] = {"presence": [], "events": [], "channel": [], "commands": [], "bytes": []}
        presence_bus.on_any(lambda name, payload: self.heard["presence"].append(name))
        self.bus.on_any(lambda name, payload: self.heard["events"].append((name, payload)))
        self.channel.on("say", lambda payload, sender: self.heard["channel"].append(payload))
        self.channel.on_bytes(7, self.heard["bytes"].append)
        self.transport.subscribe(lambda envelope: self._take(parse(envelope.data)))
        self.presence.start()

    def _take(self, message: Any) -> None:
        if isinstance(message, Input | State):
            self.heard["commands"].append(type(message))


@pytest.mark.parametrize("codec", ["json", "protobuf"])
def test_en11_ic07_each_layer_hears_its_own_and_nothing_else(codec: str):
    clock, hub = ManualClock(), LocalHub()
    ours, theirs = Layers(hub, "ours", clock, codec), Layers(hub, "theirs", clock, codec)
    clock.advance(0.5)
    ours.presence.update()
    theirs.presence.update()
    still = {"x": 0, "y": 0, "z": 0, "vx": 0, "vy": 0, "vz": 0, "yaw": 0}
    theirs.transport.send({"t": "input", "seq": 1, "input": {"dx": 0, "dz": 0}, "dtMs": 16})
    theirs.transport.send({"t": "state", "state": still, "lastSeq": 1})
    theirs.transport.send({"t": "nobody knows"})
    theirs.bus.emit("score", 3)
    theirs.channel.send("say", "hello")
    theirs.channel.send_bytes(7, b"data")
    theirs.presence.fire("wave")
    clock.advance(0.5)
    theirs.presence.update()
    theirs.presence.stop()
    assert ours.heard == {
        "presence": [JOINED, FIRED, LEFT],
        "events": [("score", 3)],
        "channel": ["hello"],
        "commands": [Input, State],
        "bytes": [b"data"],
    }


def test_en10_a_plain_subscriber_sees_every_kind():
    hub = LocalHub()
    ours, theirs = LocalTransport(hub), LocalTransport(hub)
    heard: list[Any] = []
    ours.subscribe(lambda envelope: heard.append(envelope.data))
    for data in ({"t": "presence"}, {"t": "nobody knows"}, 7, None):
        theirs.send(data)
    assert heard == [{"t": "presence"}, {"t": "nobody knows"}, 7, None]
