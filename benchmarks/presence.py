"""What an update of presence weighs in each codec. Prints one JSON object.

    python benchmarks/presence.py --seconds 60

An avatar walks in a circle, with rotation, name and colour, under a random UUID. Both codecs send it at the same rate
over the same in-process wire, keepalives and first packets included, and every byte of payload is counted. The times
are of one update, written and read by one peer, on this machine.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from typing import Any

from net.clock import ManualClock
from net.presence import JsonCodec, LocalPresence, PresenceSync
from net.presence.protobuf import TRANSFORM, ProtobufCodec
from net.transport.pair import pair


def measure(codecs: tuple[Any, Any], seconds: float, interval: float) -> dict[str, float]:
    """Bytes and microseconds an update."""
    clock = ManualClock()
    sender, receiver = pair()

    def walk() -> LocalPresence:
        angle = 0.7 * clock.now()
        where = (10 * math.cos(angle), 0.0, 10 * math.sin(angle))
        return LocalPresence(where, math.remainder(angle + math.pi / 2, math.tau), {"name": "Ann", "color": "#22d3ee"})

    # Half a second between keepalives for both.
    beats = max(1, round(0.5 / interval))
    here = PresenceSync(sender, walk, clock, codecs[0], interval=interval, keepalive_every=beats)
    there = PresenceSync(receiver, walk, clock, codecs[1], interval=math.inf)
    there.start()
    here.start()
    spent = 0.0
    for _ in range(round(seconds / interval)):
        clock.advance(interval)
        started = time.perf_counter()
        here.update()
        spent += time.perf_counter() - started
    assert there.peers(), "nothing arrived"
    updates = sender.traffic.messages_up
    return {
        "updates": updates,
        "bytes_per_update": round(sender.traffic.bytes_up / updates, 1),
        "us_per_update": round(spent / updates * 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="simulated, not waited for")
    parser.add_argument("--interval", type=float, default=0.035, help="seconds between updates")
    arguments = parser.parse_args()
    as_json = measure((JsonCodec(), JsonCodec()), arguments.seconds, arguments.interval)
    as_protobuf = measure((ProtobufCodec(TRANSFORM), ProtobufCodec(TRANSFORM)), arguments.seconds, arguments.interval)
    ratio = as_protobuf["bytes_per_update"] / as_json["bytes_per_update"]
    print(json.dumps({"json": as_json, "protobuf": as_protobuf, "bytes_ratio": round(ratio, 3)}))


if __name__ == "__main__":
    main()
