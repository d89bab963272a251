"""What permessage-deflate costs and saves on a game's messages. Prints one JSON object.

    python benchmarks/compression.py

Two kinds of messages that change from one to the next as in a match: a presence of about 150 bytes at the peer's ten a
second, and an authority's world of about 1.2 KB. Each goes through both ends of a WebSocket without sockets (the
library's own protocol objects, after a real handshake that negotiates what `compression=True` does), once with and
once without compression. `send_us` and `receive_us` are the time of one thread per message, all framing included;
`bytes` is a frame on the wire. The yardstick is encoding and decoding the same messages as JSON, in the same run.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import platform
import random
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from websockets.client import ClientProtocol
from websockets.extensions.permessage_deflate import (
    enable_client_permessage_deflate,
    enable_server_permessage_deflate,
)
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from game.sim.arena import CROSSFIRE
from game.sim.bot import bot_command
from game.sim.movement import move_avatar
from game.sim.state import Avatar
from game.wire import WorldState, pack_avatar
from net.clock import MonotonicClock
from net.envelope import decode, encode

PEER = "5c1f4a0e-6d0b-4a53-9d0e-2f1f0f6f6c11"
ROUNDS = 5

clock = MonotonicClock()


def presences(count: int) -> list[bytes]:
    """Of one peer who runs in curves."""
    texts = []
    for n in range(count):
        t = n / 10
        position = [round(17.5 * math.sin(0.31 * t), 3), 0.0, round(11 * math.sin(0.47 * t), 3)]
        meta = {"name": "Astra", "color": "#4cc9f0"}
        packet = {"t": "presence", "position": position, "rotationY": round(math.remainder(t, math.tau), 4)}
        texts.append(encode(PEER, packet | {"meta": meta}))
    return texts


def worlds(count: int, players: int = 6) -> list[bytes]:
    """Of a match of bots, 20 a second."""
    dice = random.Random(1)
    avatars = {str(uuid.UUID(int=dice.getrandbits(128))): Avatar(x=n * 2048) for n in range(players)}
    texts = []
    for tick in range(count * 3):
        for n, (peer_id, avatar) in enumerate(avatars.items()):
            avatars[peer_id] = move_avatar(avatar, bot_command(avatar, tick, n, CROSSFIRE), CROSSFIRE)
        if tick % 3 == 0:
            fields = {peer_id: pack_avatar(avatar) for peer_id, avatar in avatars.items()}
            texts.append(encode("server", WorldState(fields, tick, round(tick * 1000 / 60, 2))))
    return texts


def connection(compression: bool) -> tuple[ClientProtocol, ServerProtocol]:
    """Both ends, open."""
    uri = parse_uri("ws://127.0.0.1/")
    client = ClientProtocol(uri, extensions=enable_client_permessage_deflate(None) if compression else None)
    server = ServerProtocol(extensions=enable_server_permessage_deflate(None) if compression else None)
    client.send_request(client.connect())
    server.receive_data(b"".join(client.data_to_send()))
    request = server.events_received()[0]
    assert isinstance(request, Request)
    server.send_response(server.accept(request))
    client.receive_data(b"".join(server.data_to_send()))
    client.events_received()
    assert bool(client.extensions) is compression
    return client, server


def carry(texts: list[bytes], compression: bool) -> dict[str, float]:
    """One message after the other from client to server: best round's seconds per message, mean bytes."""
    send, receive, sizes = math.inf, math.inf, []
    for _ in range(ROUNDS):
        client, server = connection(compression)
        sent = received = 0.0
        for text in texts:
            start = clock.now()
            client.send_text(text)
            wire = b"".join(client.data_to_send())
            middle = clock.now()
            server.receive_data(wire)
            (frame,) = server.events_received()
            end = clock.now()
            assert isinstance(frame, Frame)
            assert frame.data == text
            sent, received = sent + middle - start, received + end - middle
            sizes.append(len(wire))
        send, receive = min(send, sent), min(receive, received)
    return {"bytes": mean(sizes), "send_us": send / len(texts) * 1e6, "receive_us": receive / len(texts) * 1e6}


def best(work: Callable[[Any], object], items: list[Any]) -> float:
    """Microseconds that `work` takes for one of `items`, in the best round."""
    fastest = math.inf
    for _ in range(ROUNDS):
        start = clock.now()
        for item in items:
            work(item)
        fastest = min(fastest, clock.now() - start)
    return fastest / len(items) * 1e6


def measure(texts: list[bytes]) -> dict[str, object]:
    plain, deflated = carry(texts, False), carry(texts, True)
    envelopes = [decode(text) for text in texts]
    yard = best(lambda envelope: encode(envelope.sender, envelope.data), envelopes) + best(decode, texts)
    extra = sum(deflated[key] - plain[key] for key in ("send_us", "receive_us"))
    return {
        "message_bytes": round(mean(map(len, texts)), 1),
        "plain": {key: round(value, 2) for key, value in plain.items()},
        "deflate": {key: round(value, 2) for key, value in deflated.items()},
        "bytes_share": round(deflated["bytes"] / plain["bytes"], 3),
        "extra_us": round(extra, 2),
        "json_both_ways_us": round(yard, 2),
        "extra_in_json": round(extra / yard, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=2000)
    options = parser.parse_args()
    kinds = {"presence": presences(options.messages), "world": worlds(options.messages)}
    gc.collect()
    gc.freeze()
    result: dict[str, object] = {name: measure(texts) for name, texts in kinds.items()}
    result |= {"python": platform.python_version(), "machine": platform.machine()}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
