"""`run_server.py relay` as a real process."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from server import engines
from server.app import main
from server.engines import MissingEngineError, choose

ROOT = Path(__file__).parents[2]

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking it")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for variable in ("PORT", "HEARTBEAT_MS"):
        monkeypatch.delenv(variable, raising=False)


def test_rs_22_rs_26_it_listens_relays_logs_and_ends(start_server, raw, opcodes, engine):
    server = start_server("relay", "--port", "0", "--log", "json", "--engine", engine.name, "--until-stdin-closes")
    first = json.loads(server.line())
    port = first["port"]
    assert first == {"event": "listening", "url": f"ws://127.0.0.1:{port}/", "port": port, "engine": engine.name}

    async def play():
        sender, mate = await raw.open(port, "/r?x"), await raw.open(port, "/r")
        assert (server.event("connect")["count"], server.event("connect")["count"]) == (1, 2)
        sender.send(opcodes.BINARY, b"\x00\xff")
        assert await mate.read() == (opcodes.BINARY, b"\x00\xff")
        server.popen.stdin.close()
        assert await sender.end() == await mate.end() == (1001, "server shutting down")

    asyncio.run(play())
    assert server.event("disconnect")["room"] == "/r"
    assert server.end()[0] == 0


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_rs_26_a_signal_closes_everybody_with_1001_and_exits_with_0(start_server, raw, engine, number):
    server = start_server("relay", "--port", "0", "--log", "json", "--engine", engine.name)
    port = server.event("listening")["port"]

    async def play():
        client = await raw.open(port)
        server.event("connect")
        server.popen.send_signal(number)
        assert await client.end() == (1001, "server shutting down")

    asyncio.run(play())
    code, _, err = server.end()
    assert (code, err) == (0, "")


def test_rs_23_rs_24_the_environment_has_the_defaults_and_flags_win(start_server, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("PORT", str(port))
        code, _, err = start_server("relay").end()
        assert (code, err.count("\n")) == (2, 1)
        assert f"port {port} on 127.0.0.1 is in use" in err
        server = start_server("relay", "--log", "json", "--port", "0")
        assert server.event("listening")["port"] != port


def test_rs_24_an_empty_variable_is_none(start_server, monkeypatch):
    monkeypatch.setenv("HEARTBEAT_MS", "")
    assert start_server("relay", "--log", "json", "--port", "0").event("listening")["port"] > 0


def test_rs_11_rs_24_the_heartbeat_comes_from_the_environment_or_the_flag(start_server, raw, opcodes, monkeypatch):
    monkeypatch.setenv("HEARTBEAT_MS", "50")
    often = start_server("relay", "--log", "json", "--port", "0")
    never = start_server("relay", "--log", "json", "--port", "0", "--heartbeat-ms", "0")

    async def play():
        pinged = await raw.open(often.event("listening")["port"])
        assert await pinged.read() == (opcodes.PING, b"")
        assert await pinged.read() is None
        port = never.event("listening")["port"]
        sender, mate = await raw.open(port), await raw.open(port)
        never.event("connect")
        never.event("connect")
        sender.send(opcodes.TEXT, b"x")
        assert await mate.read() == (opcodes.TEXT, b"x")

    asyncio.run(play())


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PORT", "many"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "9" * 5000),
        ("HEARTBEAT_MS", "often"),
        ("HEARTBEAT_MS", "nan"),
        ("HEARTBEAT_MS", "-1"),
        ("HEARTBEAT_MS", "inf"),
    ],
)
def test_rs_24_nonsense_in_the_environment_is_one_sentence_and_exit_code_2(monkeypatch, capsys, variable, text):
    monkeypatch.setenv(variable, text)
    with pytest.raises(SystemExit) as exit_:
        main(["relay", *(["--port", "0"] if variable == "HEARTBEAT_MS" else [])])
    assert exit_.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"lagtag-server relay: {variable} in the environment: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "flags",
    [
        ("--port", "65536"),
        ("--heartbeat-ms", "soon"),
        ("--heartbeat-ms", "86400001"),
        ("--max-rooms", "0"),
        ("--max-per-address", "-5"),
        ("--engine", "steam"),
        ("--world-rate", "20"),
    ],
)
def test_rs_24_a_bad_flag_is_one_sentence_and_exit_code_2(capsys, flags):
    with pytest.raises(SystemExit) as exit_:
        main(["relay", *flags])
    assert exit_.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("lagtag-server relay: ")
    assert err.count("\n") == 1


def test_rs_08_base_path_and_bounds_reach_the_relay(start_server, raw):
    server = start_server("relay", "--port", "0", "--log", "json", "--base-path", "/ws", "--max-rooms", "1")
    port = server.event("listening")["port"]
    small = start_server("relay", "--port", "0", "--log", "json", "--max-per-address", "1")
    small_port = small.event("listening")["port"]

    async def play():
        first = await raw.open(port, "/ws/lobby")
        assert server.event("connect")["room"] == "/lobby"
        assert await (await raw.open(port, "/lobby")).end() == (1008, "wrong path")
        assert await (await raw.open(port, "/ws/other")).end() == (1013, "too many rooms")
        only = await raw.open(small_port)
        small.event("connect")
        assert await (await raw.open(small_port)).end() == (1013, "too many connections from your address")
        for client in (first, only):
            client.writer.close()

    asyncio.run(play())


def test_as_01_the_authority_runs_without_and_with_its_name_on_each_engine(start_server, raw, engine):
    for command in ((), ("authority",)):
        server = start_server(*command, "--port", "0", "--log", "json", "--engine", engine.name)
        listening = server.event("listening")
        assert listening["engine"] == engine.name

        async def play(port: int = listening["port"]):
            client = await raw.open(port)
            client.say("ada", {"t": "hello", "protocol": 1})
            assert (await client.hear("welcome"))["you"] == "ada"
            client.say("ada", {"t": "input", "seq": 1, "input": {"dx": 1, "dz": 0}, "dtMs": 16.667})
            await client.hear("state", lastSeq=1)
            assert "ada" in (await client.hear("world"))["players"]

        asyncio.run(play())


def test_the_relay_loads_no_game():
    code = (
        "import sys; sys.modules['game'] = None\n"
        "import server.relay, server.relay_program, server.app\n"
        "server.app.main(['relay', '--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "HEARTBEAT_MS" in done.stdout


# -- which engine


@pytest.fixture
def _no_picows(monkeypatch):
    monkeypatch.setitem(sys.modules, "server.picows_engine", None)


@pytest.mark.usefixtures("_no_picows")
@pytest.mark.parametrize("command", ["relay", "authority"])
def test_an_engine_that_is_not_there_is_one_sentence_and_exit_code_2(capsys, command):
    with pytest.raises(SystemExit) as exit_:
        main([command, "--engine", "picows"])
    assert exit_.value.code == 2
    err = capsys.readouterr().err
    assert "the engine picows is not available" in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("_no_picows")
def test_without_picows_the_one_that_is_always_there_is_taken():
    assert choose().name == choose("websockets").name == "websockets"
    with pytest.raises(MissingEngineError):
        choose("picows")


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop does not run on Windows")
def test_the_fastest_that_is_installed_is_taken_and_only_known_names_are():
    assert choose().name == choose("picows").name == "picows"
    assert choose("websockets").name == "websockets"
    assert engines.NAMES == ("websockets", "picows")
    with pytest.raises(ValueError, match="no engine 'steam'"):
        choose("steam")
