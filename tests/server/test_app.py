"""The server as a program: a real process, its flags, its log and its end."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys

import pytest

from net.clock import ManualClock
from server.engines import choose
from server.ticker import Ticker

HELLO = {"t": "hello", "protocol": 1, "name": "Ada 雪😀"}

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking it")


def test_as_01_rs_22_the_first_line_says_where_and_joins_leaves_and_refusals_follow(start_server, raw):
    server = start_server("--port", "0", "--log", "json")
    first = json.loads(server.line())
    port = first["port"]
    assert first == {"event": "listening", "url": f"ws://127.0.0.1:{port}/", "port": port, "engine": choose().name}

    async def play():
        ada = await raw.open(port, "/plaza?x=1")
        ada.say("ada", HELLO)
        assert (await ada.hear("welcome"))["you"] == "ada"
        state = await ada.hear("state")
        assert state["tick"] > 0
        second = await raw.open(port, "/plaza")
        second.say("ada", HELLO)
        assert (await second.end())[0] == 4001
        ada.say("ada", {"t": "bye"})
        assert await ada.end() == (1000, "bye")

    asyncio.run(play())
    assert server.event("join") == {"event": "join", "room": "/plaza", "peer": "ada", "name": "Ada 雪😀", "players": 1}
    assert server.event("refused")["code"] == 4001
    leave = server.event("leave")
    assert (leave["peer"], leave["players"], leave["code"]) == ("ada", 0, 1000)


def test_two_players_see_each_other_move_and_the_world_comes_at_the_rate_that_was_set(start_server, raw):
    server = start_server("--port", "0", "--log", "json", "--world-rate", "60", "--log-positions")
    port = server.event("listening")["port"]

    async def play():
        ada, bob = await raw.open(port), await raw.open(port)
        for name, client in (("ada", ada), ("bob", bob)):
            client.say(name, HELLO)
            assert (await client.hear("welcome"))["worldRate"] == 60.0
        for seq in range(1, 31):
            ada.say("ada", {"t": "input", "seq": seq, "input": {"dx": 1, "dz": 0}, "dtMs": 16.667})
        mine = await ada.hear("state", lastSeq=30)
        while (theirs := (await bob.hear("world"))["players"])["ada"]["x"] != mine["state"]["x"]:
            pass
        assert theirs["ada"] == mine["state"]
        assert theirs["bob"]["x"] == 4.0
        while (logged := server.event("world")["players"])["ada"]["x"] != mine["state"]["x"]:
            pass
        assert logged["bob"]["z"] == theirs["bob"]["z"]

    asyncio.run(play())


def test_as_20_rs_25_a_port_in_use_is_one_sentence_and_exit_code_2(start_server):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = start_server("--port", str(port)).end()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert f"port {port} on 127.0.0.1 is in use" in err


@pytest.mark.parametrize(
    "flags",
    [
        ("--port", "65536"),
        ("--port", "-1"),
        ("--port", "many"),
        ("--host", "no such host"),
        ("--host", "x" * 70),
        ("--host", "192.0.2.1", "--port", "0"),
        ("--world-rate", "0"),
        ("--world-rate", "61"),
        ("--world-rate", "nan"),
        ("--log", "xml"),
        ("--lan", "--host", "127.0.0.1"),
        ("--nonsense",),
    ],
)
def test_rs_24_a_bad_value_is_one_sentence_and_exit_code_2(start_server, flags):
    code, out, err = start_server(*flags).end()
    assert (code, out) == (2, "")
    assert err.startswith("lagtag-server: ")
    assert err.count("\n") == 1


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_as_20_rs_26_a_signal_closes_everybody_with_1001_and_exits_with_0(start_server, raw, number):
    server = start_server("--port", "0", "--log", "json")
    port = server.event("listening")["port"]

    async def play():
        polite, silent = await raw.open(port), await raw.open(port)
        polite.say("polite", HELLO)
        await polite.hear("state")
        server.popen.send_signal(number)
        assert await polite.end() == (1001, "server shutting down")
        while await silent.read() is not None:  # never answers the close, and is cut
            pass

    asyncio.run(play())
    code, out, err = server.end()
    assert (code, err) == (0, "")
    assert '"stopped"' in out
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_server_that_was_told_so_ends_with_its_stdin(start_server, raw):
    server = start_server("--port", "0", "--log", "json", "--until-stdin-closes")
    port = server.event("listening")["port"]

    async def play():
        client = await raw.open(port)
        client.say("ada", HELLO)
        await client.hear("state")
        server.popen.stdin.write("anything before the end means nothing\n")
        server.popen.stdin.flush()
        await client.hear("state")
        server.popen.stdin.close()
        assert (await client.end())[0] == 1001

    asyncio.run(play())
    assert server.popen.wait(timeout=20) == 0


def test_without_that_flag_a_closed_stdin_ends_nothing(start_server, raw):
    server = start_server("--port", "0", "--log", "json")
    port = server.event("listening")["port"]
    server.popen.stdin.close()

    async def play():
        client = await raw.open(port)
        client.say("ada", HELLO)
        for _ in range(10):
            await client.hear("state")

    asyncio.run(play())
    assert server.popen.poll() is None


def test_a_reader_of_the_log_that_goes_away_ends_nothing(start_server, raw):
    server = start_server("--port", "0", "--log", "json")
    port = json.loads(server.popen.stdout.readline())["port"]
    server.popen.stdout.close()

    async def play():
        for name in ("a", "b", "c"):
            client = await raw.open(port)
            client.say(name, HELLO)
            await client.hear("state")

    asyncio.run(play())
    assert server.popen.poll() is None


def test_names_are_logged_on_terminals_that_know_only_ascii(start_server, raw, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    server = start_server("--port", "0")
    line = server.line()
    assert line.startswith("listening on ws://127.0.0.1:")
    port = int(line.split(":")[2].split("/")[0])

    async def play():
        client = await raw.open(port)
        client.say("ada", HELLO)
        await client.hear("welcome")

    asyncio.run(play())
    assert server.line() == "Ada \\u96ea\\U0001f600 joined / (1 there)\n"


def test_lan_listens_everywhere_and_says_what_others_type_in(start_server, raw):
    server = start_server("--port", "0", "--log", "json", "--lan")
    listening = server.event("listening")
    assert listening["url"] == f"ws://127.0.0.1:{listening['port']}/"
    for url in listening["addresses"]:
        assert url.startswith("ws://")
        assert url.endswith(f":{listening['port']}/")
        assert "127.0.0.1" not in url
        assert "0.0.0.0" not in url

    async def play():
        client = await raw.open(listening["port"])
        client.say("ada", HELLO)
        await client.hear("welcome")

    asyncio.run(play())


def test_the_ticker_catches_up_in_steps_that_are_due_drops_what_is_too_late_and_survives_a_tick_that_raises():
    ticks: list[float] = []
    broken = False

    def tick(now: float) -> None:
        ticks.append(round(now, 6))
        if broken:
            raise RuntimeError("broken tick")

    async def main() -> None:
        nonlocal broken
        clock = ManualClock(10.0)
        ticker = Ticker(clock, tick)
        assert ticks == [10.0]
        clock.advance(3.5 / 60)
        ticker._run()
        assert ticks == [round(10 + i / 60, 6) for i in range(4)]
        clock.advance(1.0)
        ticker._run()
        assert ticks[4:] == [round(10 + i / 60, 6) for i in range(56, 64)]
        assert ticker.dropped == 52
        broken = True
        clock.advance(1 / 60)
        with pytest.raises(RuntimeError):
            ticker._run()
        assert not ticker._timer.cancelled()
        ticker.stop()
        assert ticker._timer.cancelled()

    asyncio.run(main())
