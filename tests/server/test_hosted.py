"""A server in a thread: friends can join it, and it ends with its player."""

from __future__ import annotations

import time
from typing import Any

import pytest

from game.binary import SCHEMA
from game.wire import Hello
from net.replication import Mirror
from net.transport.base import TransportState
from net.transport.websocket import RetryPolicy, WebSocketTransport
from server.hosted import HostedServer, HostingError

PATIENCE = 15.0


def until(condition: Any, *transports: WebSocketTransport) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came"
        for transport in transports:
            transport.poll()
        time.sleep(0.005)


def test_friends_join_see_the_bots_and_are_sent_home_when_it_ends():
    server = HostedServer(0, bots=3)
    transports = [WebSocketTransport(server.url, policy=RetryPolicy(tries=0, first=1, longest=1)) for _ in range(2)]
    mirrors = [Mirror(SCHEMA, {"avatar": lambda entity: {}}) for _ in transports]
    try:
        for transport, mirror in zip(transports, mirrors, strict=True):
            transport.subscribe_bytes(mirror.apply)
            transport.send(Hello(protocol=1, name="Friend", schema=SCHEMA.greeting()))
        until(lambda: all(len(mirror) == 5 and mirror.tick > 0 for mirror in mirrors), *transports)
        server.close()
        until(lambda: all(t.status.state is TransportState.CLOSED for t in transports), *transports)
        assert {transport.status.code for transport in transports} == {1001}
        server.close()
    finally:
        server.close()
        for transport in transports:
            transport.close()


def test_a_port_in_use_is_one_sentence():
    server = HostedServer(0)
    try:
        with pytest.raises(HostingError, match=f"^port {server.port} on all addresses is in use; .* --host\\.$"):
            HostedServer(server.port)
    finally:
        server.close()
    again = HostedServer(server.port)
    assert again.port == server.port, "the port is free once it has ended"
    again.close()
