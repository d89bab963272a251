"""Peers on one machine without a server, over real sockets on the loopback interface. Rows TB-01 to TB-06."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from net.clock import ManualClock
from net.envelope import Envelope, encode
from net.transport import broadcast
from net.transport.base import TransportState
from net.transport.broadcast import LARGEST, POLL_LIMIT, BroadcastTransport, TransportUnavailableError

ROOT = Path(__file__).parents[3]
Wait = Callable[..., None]
Join = Callable[..., BroadcastTransport]


@pytest.fixture
def channel() -> str:
    return str(uuid.uuid4())


@pytest.fixture
def join(channel: str) -> Iterator[Join]:
    """Open a channel, the test's own unless named."""
    opened: list[BroadcastTransport] = []

    def make(name: str = channel, **options: Any) -> BroadcastTransport:
        opened.append(BroadcastTransport(name, **options))
        return opened[-1]

    yield make
    for transport in opened:
        transport.close()


def heard_by(transport: BroadcastTransport) -> list[Any]:
    heard: list[Any] = []
    transport.subscribe(lambda envelope: heard.append(envelope.data))
    transport.subscribe_bytes(heard.append)
    return heard


def throw(transport: BroadcastTransport, datagram: bytes) -> None:
    """Send a foreign datagram to the transport's group and port."""
    with broadcast._sender() as out:
        out.sendto(datagram, transport._address)


def header(transport: BroadcastTransport, kind: bytes = b"t") -> bytes:
    """What stands before a message of a stranger on the transport's channel."""
    return b"LTB1" + kind + b"stranger" + transport._digest


def test_tb01_available_here() -> None:
    assert BroadcastTransport.available()


@pytest.mark.parametrize("broken", ["_sender", "_receiver"])
def test_tb01_where_the_system_cannot_it_says_so_in_one_sentence(
    join: Join, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*args: object) -> socket.socket:
        raise OSError(19, "No such device")

    monkeypatch.setattr(broadcast, broken, fail)
    with pytest.raises(TransportUnavailableError, match=r"no multicast.*No such device.*relay") as error:
        join()
    assert "\n" not in str(error.value)
    assert not BroadcastTransport.available()


def test_tb01_where_nothing_comes_through_it_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(group: str, port: int) -> socket.socket:
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.bind(("127.0.0.1", 0))
        return end

    monkeypatch.setattr(broadcast, "_receiver", deaf)
    monkeypatch.setattr(broadcast, "_PROBE_TIMEOUT", 0.01)
    assert not BroadcastTransport.available()


def test_tb02_it_arrives_in_poll_and_never_inside_send(join: Join, wait: Wait) -> None:
    a, b = join(peer_id="ann"), join(clock=ManualClock(7.0))
    heard: list[Envelope] = []
    b.subscribe(heard.append)
    a.send({"n": 1})
    assert heard == []
    wait(lambda: heard, b.poll)
    assert heard == [Envelope("ann", {"n": 1}, 7.0)]


def test_tb02_it_reaches_another_process(join: Join, wait: Wait, channel: str) -> None:
    program = (
        "import sys\n"
        "from net.transport.broadcast import BroadcastTransport\n"
        "transport = BroadcastTransport(sys.argv[1], peer_id='child')\n"
        "heard = []\n"
        "transport.subscribe(heard.append)\n"
        "print('ready', flush=True)\n"
        "while not heard:\n"
        "    transport.poll()\n"
        "transport.send([heard[0].sender, heard[0].data])\n"
    )
    parent = join(peer_id="parent")
    heard = heard_by(parent)
    child = subprocess.Popen([sys.executable, "-c", program, channel], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        parent.send("hello")
        wait(lambda: heard, parent.poll)
    finally:
        child.kill()
        child.communicate()
    assert heard == [["parent", "hello"]]


def test_tb03_own_messages_are_known_by_the_instance_and_not_by_the_id(join: Join, wait: Wait) -> None:
    """Two with one id are deaf to each other's envelopes (EN-06), but not to binary messages, nor to others."""
    a, twin, other = join(peer_id="ann"), join(peer_id="ann"), join(peer_id="bob")
    heard = [heard_by(transport) for transport in (a, twin, other)]
    a.send("text")
    a.send_bytes(b"binary")
    other.send("end")
    for messages, transport, expected in zip(
        heard, (a, twin, other), (["end"], [b"binary", "end"], ["text", b"binary"]), strict=True
    ):
        wait(lambda messages=messages, expected=expected: len(messages) >= len(expected), transport.poll)
        assert messages == expected


def test_tb04_foreign_datagrams_raise_nothing_and_are_not_delivered(join: Join, wait: Wait, channel: str) -> None:
    a, b = join(), join(peer_id="bob")
    heard = heard_by(b)
    head = header(b)
    datagrams = [
        *(b"", b"x", bytes(65_507), b"LTB1", head[:-1], b"LTB2" + head[4:] + b"x"),
        *(head + text for text in (b"", b"null", b"{", b'{"from":1,"data":1}', b'{"from":"x"}', b"\xff\xfe")),
        *(head + text for text in (b'{"from":"bob","data":1}', b'{"from":"x","data":NaN}', b"[" * 60_000)),
        *(header(b, kind) + encode("x", 1) for kind in (b"x", b"\0", b"T")),
        head[:13] + bytes(32) + encode("x", "another channel of the same group"),
    ]
    dice = random.Random(1)
    for _ in range(100):
        spoilt = bytearray(head)
        spoilt[dice.randrange(13, len(spoilt))] ^= dice.randrange(1, 256)
        datagrams.append(bytes(spoilt) + encode("x", 1))
        datagrams.append(head + dice.randbytes(dice.randrange(200)))
    for datagram in datagrams:
        throw(b, datagram)
        b.poll()
    a.send("still alive")
    wait(lambda: heard, b.poll)
    assert heard == ["still alive"]


def test_tb04_a_stranger_who_speaks_the_protocol_is_heard(join: Join, wait: Wait) -> None:
    a = join()
    heard = heard_by(a)
    throw(a, header(a) + b' {"data": 1, "from": "", "more": 2}')
    throw(a, header(a, b"b") + b"\0")
    wait(lambda: len(heard) == 2, a.poll)
    assert heard == [1, b"\0"]


def test_tb05_what_json_cannot_hold_raises_and_harms_nothing(join: Join, wait: Wait) -> None:
    a, b = join(), join()
    heard = heard_by(b)
    with pytest.raises(TypeError):
        a.send(print)
    a.send(1)
    wait(lambda: heard, b.poll)
    assert heard == [1]
    assert a.traffic.messages_up == 1


def test_tb06_close_leaves_the_channel_for_good(join: Join, wait: Wait, channel: str) -> None:
    a, b = join(), join()
    heard = heard_by(a)
    sockets = (a._in, a._out)
    b.send("waits unread")
    a.close()
    a.close()
    assert [end.fileno() for end in sockets] == [-1, -1]
    a.send(1)
    a.send_bytes(b"1")
    a.poll()
    assert heard == []
    assert (a.status.state, a.traffic.messages_up) == (TransportState.CLOSED, 0)
    again = join()
    back = heard_by(again)
    b.send("back")
    wait(lambda: back, again.poll)
    assert back == ["back"], "and what was said before is not heard later"


def test_what_is_larger_than_a_datagram_is_refused_by_size_and_not_cut(join: Join, wait: Wait) -> None:
    a, b = join(peer_id="a"), join()
    heard = heard_by(b)
    overhead = len(encode("a", ""))
    for bad in (bytes(LARGEST + 1), bytes(10**6)):
        with pytest.raises(ValueError, match=f"{len(bad)} bytes does not fit into a datagram: {LARGEST} is the limit"):
            a.send_bytes(bad)
    with pytest.raises(ValueError, match="does not fit"):
        a.send("x" * (LARGEST - overhead + 1))
    assert (a.traffic.messages_up, a.traffic.dropped) == (0, 0)
    a.send_bytes(bytes(LARGEST))
    a.send("x" * (LARGEST - overhead))
    wait(lambda: len(heard) == 2, b.poll)
    assert heard == [bytes(LARGEST), "x" * (LARGEST - overhead)]


def test_channels_do_not_mix_even_on_one_group_and_port(join: Join, wait: Wait, channel: str) -> None:
    ours, friend, colliding = join(), join(), join(channel + "!")
    colliding._address = ours._address
    heard = heard_by(ours)
    colliding.send("from the same group")
    friend.send("end")
    wait(lambda: heard, ours.poll)
    assert heard == ["end"]


@pytest.mark.parametrize("name", ["", "\0", "\ud800", "x" * 5000, "ключ 😀", "a/b"])
def test_any_text_is_a_channel(join: Join, wait: Wait, name: str, channel: str) -> None:
    a, b = join(name + channel), join(name + channel)
    heard = heard_by(b)
    a.send(1)
    wait(lambda: heard, b.poll)
    assert heard == [1]


def test_a_group_is_for_this_machine_only_and_its_port_is_not_given_out_by_systems(join: Join) -> None:
    ports = set()
    for n in range(50):
        transport = join(f"channel {n}")
        group, port = transport._address
        assert group.startswith("239.255.")
        assert 24_000 <= port < 32_000
        ports.add(port)
        out = transport._out
        assert out.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL) == 0
        assert socket.inet_ntoa(out.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, 4)) == "127.0.0.1"
        transport.close()
    assert len(ports) > 40


def test_what_comes_from_another_machine_is_ignored(join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    a = join()
    heard = heard_by(a)
    frame = header(a) + encode("x", 1)

    class Foreign:
        """Hands out one datagram, as if from elsewhere."""

        addresses = [("192.0.2.7", 5), ("127.0.0.1", 5)]  # noqa: RUF012

        def recvfrom_into(self, buffer: bytearray) -> tuple[int, tuple[str, int]]:
            if not self.addresses:
                raise BlockingIOError
            buffer[: len(frame)] = frame
            return len(frame), self.addresses.pop(0)

        def close(self) -> None: ...

    a._in.close()
    monkeypatch.setattr(a, "_in", Foreign())
    a.poll()
    assert heard == [1], "from this machine once, from the other never"


def test_one_poll_reads_a_bounded_number_of_datagrams_and_survives_errors(
    join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = join()
    calls = []

    class Flood:
        """Never runs dry, and every other read fails."""

        def recvfrom_into(self, buffer: bytearray) -> tuple[int, tuple[str, int]]:
            calls.append(1)
            if len(calls) % 2:
                raise ConnectionResetError
            return 0, ("127.0.0.1", 5)

        def close(self) -> None: ...

    a._in.close()
    monkeypatch.setattr(a, "_in", Flood())
    a.poll()
    assert len(calls) == POLL_LIMIT


def test_what_the_system_does_not_take_is_counted_and_raises_nothing(
    join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = join()

    class Full:
        """A send buffer without room."""

        def sendto(self, datagram: bytes, address: object) -> None:
            raise BlockingIOError

        def close(self) -> None: ...

    a._out.close()
    monkeypatch.setattr(a, "_out", Full())
    a.send(1)
    a.send_bytes(b"2")
    assert (a.traffic.dropped, a.traffic.messages_up, a.traffic.bytes_up) == (2, 0, 0)
