"""What the relay costs, beside Node's `ws` in the same run: real processes, real sockets. Prints one JSON object.

    npm install --prefix benchmarks/node
    python benchmarks/relay.py

`one_room`: 50 peers, each 20 text messages of 150 bytes a second, spread evenly over time. CPU time (user and kernel)
of the serving process for each delivered message, by psutil; each server in turn, several times over, medians.

`fifty_rooms`: 500 peers, 10 in a room, at the rate that keeps the server busy for half of one core. Every message is
looked for at every peer, in its order. `delay_ms` is the delay inside the server: from just before the sender's write,
which on loopback puts the message into the server's socket, to the time at which the kernel got the server's write for
the receiver (SO_TIMESTAMPNS; where it does not exist, to this process's read, which comes later). Of several messages
that one read brings, the last one's time counts for all.

All peers are this process: it writes frames and notes when which bytes came, and looks into them only at the end.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import selectors
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heapify, heapreplace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).parents[1]
NODE = Path(__file__).parent / "node"
SIZE = 150
FRAME = 4 + SIZE
"""bytes of one message as the server sends it: unmasked, with a 16 bit length"""
HEAD = bytes([0x81, 126, 0, SIZE])
FIELDS = 4 + 8 + 19
"""bytes of sender, sequence number and time of sending, in digits, at the front of each message"""
WARM_UP = 1.0
SO_TIMESTAMPNS = 35
"""Linux: the kernel says when data came; the socket module does not know the name"""
BEAT = 0.001
"""seconds between two looks at the sockets: a reader that is woken for each message would cost the server that"""


class Peer:
    """A client that sends numbered messages, and keeps every byte that it gets with its time of arrival."""

    def __init__(self, port: int, number: int, room: int, capacity: int) -> None:
        self.number = number
        self.room = room
        self.sent = 0
        self.bytes = memoryview(bytearray(capacity))
        self.end = 0
        self.marks: list[tuple[int, int]] = []
        """(ns at which the newest of them came, bytes that had come by then)"""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(
            b"GET /room-%d HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n" % room
        )
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self.socket.recv(1)
        assert answer.startswith(b"HTTP/1.1 101 "), answer
        if sys.platform == "linux":
            self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setblocking(False)

    def send(self) -> None:
        fields = b"%04d%08d%019d" % (self.number, self.sent, time.time_ns())
        self.socket.send(bytes([0x81, 0xFE, 0, SIZE, 0, 0, 0, 0]) + fields + b"." * (SIZE - FIELDS))
        self.sent += 1

    def read(self) -> None:
        size, notes, _, _ = self.socket.recvmsg_into([self.bytes[self.end :]], 64)
        self.end += size
        came = time.time_ns()
        for level, kind, note in notes:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, nanoseconds = struct.unpack("qq", note)
                came = seconds * 10**9 + nanoseconds
        self.marks.append((came, self.end))


@contextmanager
def server(kind: str) -> Iterator[tuple[int, psutil.Process]]:
    """A relay in a process of its own: its port and the process."""
    if kind == "node":
        command = [shutil.which("node") or "node", str(NODE / "relay.mjs")]
    else:
        flags = ["--port", "0", "--log", "json", "--until-stdin-closes", "--max-per-address", "1000"]
        command = [sys.executable, "run_server.py", "relay", "--engine", kind, *flags]
    popen = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert popen.stdout is not None
        yield json.loads(popen.stdout.readline())["port"], psutil.Process(popen.pid)
    finally:
        popen.communicate(timeout=10)


def drive(port: int, process: psutil.Process, rooms: int, each: int, rate: float, seconds: float) -> Any:
    """Let `rooms` rooms of `each` peers talk, `rate` messages a second and peer. What it cost, and the peers."""
    capacity = int((seconds + WARM_UP + 2) * rate * (each - 1) * FRAME) + 65_536
    peers = [Peer(port, number, number % rooms, capacity) for number in range(rooms * each)]
    selector = selectors.DefaultSelector()
    for peer in peers:
        selector.register(peer.socket, selectors.EVENT_READ, peer)

    def read() -> None:
        for key, _ in selector.select(0):
            key.data.read()

    def cost() -> tuple[float, float, int]:
        cpu = process.cpu_times()
        return time.perf_counter(), cpu.user + cpu.system, sum(peer.end for peer in peers)

    random = Random(1)
    start = time.perf_counter()
    due = [(start + random.random() / rate, peer.number) for peer in peers]  # everyone on a timer of his own
    heapify(due)
    before = None
    while (now := time.perf_counter()) < start + WARM_UP + seconds:
        while due[0][0] <= now:
            at, number = due[0]
            peers[number].send()
            heapreplace(due, (at + 1 / rate, number))
        read()
        if before is None and now >= start + WARM_UP:
            before = cost()
        time.sleep(BEAT)
    after = cost()
    expected = sum(peer.sent for peer in peers) * (each - 1) * FRAME
    while sum(peer.end for peer in peers) < expected and time.perf_counter() < start + WARM_UP + seconds + 5:
        read()
        time.sleep(BEAT)
    for peer in peers:
        peer.socket.close()
    span, cpu, count = (b - a for a, b in zip(before, after, strict=True))
    deliveries = count / FRAME
    return peers, {
        "deliveries_per_second": round(deliveries / span),
        "cpu_us_per_delivery": round(cpu / deliveries * 1e6, 3),
        "load_of_a_core": round(cpu / span, 3),
    }


def check(peers: list[Peer]) -> dict[str, Any]:
    """Look at every message that everybody got: what is missing, out of order, changed, and how late it was."""
    lost = reordered = 0
    delays = []
    for peer in peers:
        frames = np.frombuffer(peer.bytes[: peer.end - peer.end % FRAME], np.uint8).reshape(-1, FRAME)
        assert (frames[:, :4] == np.frombuffer(HEAD, np.uint8)).all()
        assert (frames[:, 4 + FIELDS :] == ord(".")).all()
        digits = frames[:, 4 : 4 + FIELDS].astype(np.int64) - ord("0")
        sender, seq, sent = (
            digits[:, a:b] @ 10 ** np.arange(b - a - 1, -1, -1) for a, b in ((0, 4), (4, 12), (12, FIELDS))
        )
        for other in peers:
            if other is not peer and other.room == peer.room:
                got = seq[sender == other.number]
                lost += other.sent - len(got)
                reordered += int((np.diff(got) != 1).sum())
        times, ends = np.array([mark[0] for mark in peer.marks]), np.array([mark[1] for mark in peer.marks])
        arrived = times[np.searchsorted(ends, np.arange(1, len(frames) + 1) * FRAME)]
        delays.append(arrived - sent)
    late = np.concatenate(delays) / 1e6
    p50, p99 = (round(float(value), 3) for value in np.percentile(late, [50, 99]))
    return {
        "lost": lost,
        "reordered": reordered,
        "delay_ms": {"p50": p50, "p99": p99},
    }


def run(kind: str, rooms: int, each: int, rate: float, seconds: float) -> dict[str, Any]:
    gc.collect()
    gc.disable()
    with server(kind) as (port, process):
        peers, cost = drive(port, process, rooms, each, rate, seconds)
    gc.enable()
    return {**cost, **check(peers)}


def one_room(kinds: list[str], runs: int, seconds: float) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind in kinds:
            found[kind].append(run(kind, rooms=1, each=50, rate=20, seconds=seconds))
    result: dict[str, Any] = {}
    for kind, results in found.items():
        costs = [each["cpu_us_per_delivery"] for each in results]
        result[kind] = {
            "cpu_us_per_delivery": statistics.median(costs),
            "all": costs,
            "lost": sum(each["lost"] for each in results),
            "reordered": sum(each["reordered"] for each in results),
            "p99_ms": statistics.median(each["delay_ms"]["p99"] for each in results),
        }
        if "node" in result:
            ratio = result[kind]["cpu_us_per_delivery"] / result["node"]["cpu_us_per_delivery"]
            result[kind]["of_node"] = round(ratio, 3)
    return result


def fifty_rooms(kind: str, load: float, seconds: float) -> dict[str, Any]:
    """Find the rate that makes for that load, then measure at it."""
    rate, result = 10.0, {}
    for span in (3.0, 3.0, seconds):
        result = {"messages_per_peer_per_second": round(rate, 1), **run(kind, 50, 10, rate, span)}
        rate *= load / result["load_of_a_core"]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--load", type=float, default=0.5, help="of a core, for fifty_rooms")
    parser.add_argument("--only", choices=("one_room", "fifty_rooms"))
    parser.add_argument("--servers", nargs="+", default=["node", "websockets", "picows"])
    options = parser.parse_args()
    result: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    if options.only != "fifty_rooms":
        result["one_room"] = one_room(options.servers, options.runs, options.seconds)
    if options.only != "one_room":
        result["fifty_rooms"] = {kind: fifty_rooms(kind, options.load, options.seconds) for kind in options.servers}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
