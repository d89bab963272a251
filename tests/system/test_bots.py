"""A real server and two real bots, each a process, over loopback."""

import json
from typing import Any

import pytest


@pytest.mark.parametrize("network", ["latency=0", "latency=80,jitter=40,seed=3", "latency=200,seed=4"])
def test_two_bots_play_without_a_correction(server: Any, start: Any, network: str):
    bots = [
        start("run_client.py", "--bot", "--connect", server.url, "--name", name, "--seconds", "6", "--net", network)
        for name in ("Борис", "桜")
    ]
    for bot in bots:
        report = json.loads(json.dumps(bot.line()))
        assert bot.wait() == 0
        assert set(report) == {
            "ticks", "snapshots", "pending_max", "corrections", "correction_max_units",
            "rtt_ms", "bytes_up", "bytes_down", "peers_seen", "distance_units",
        }  # fmt: skip
        assert report["corrections"] == 0
        assert report["correction_max_units"] == 0
        assert report["peers_seen"] == 1
        assert report["ticks"] > 100
        assert report["snapshots"] > 30
        assert report["distance_units"] > 5
        assert 10 < report["bytes_up"] / report["ticks"] < 30, "a command has 10 bytes, and the greeting is the rest"
        assert 20 < report["bytes_down"] / report["snapshots"] < 120


def test_a_bot_without_a_server_says_so_in_a_sentence(start: Any):
    bot = start("run_client.py", "--bot", "--connect", "ws://127.0.0.1:9/", "--seconds", "1")
    assert bot.line()["ticks"] == 0
    assert bot.wait() == 1
    assert "lagtag: " in "".join(bot.errors)
    assert "Traceback" not in "".join(bot.errors)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--bot"],
        ["--connect", "http://127.0.0.1/"],
        ["--connect", "ws://127.0.0.1:99999/"],
        ["--connect", "ws:///x"],
        ["--net", "latency=-1"],
        ["--net", "loss=2"],
        ["--net", "speed=3"],
        ["--net", "latency=nan"],
        ["--color", "#000000"],
        ["--seconds", "soon"],
        ["--size", "10x10"],
        ["--demo", "--connect", "ws://127.0.0.1/"],
    ],
)
def test_a_mistake_in_the_call_is_one_sentence_and_exit_code_2(start: Any, arguments: list[str]):
    program = start("run_client.py", *arguments)
    assert program.wait() == 2
    errors = "".join(program.errors)
    assert "lagtag: " in errors
    assert "Traceback" not in errors


@pytest.mark.skipif("sys.platform != 'linux'", reason="only there a display can be taken away")
def test_no_display_is_one_sentence_and_exit_code_2(server: Any, start: Any):
    nowhere = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "SDL_VIDEODRIVER": ""}
    program = start("run_client.py", "--connect", server.url, env=nowhere)
    assert program.wait() == 2
    errors = "".join(program.errors)
    assert errors.count("\n") == 1
    assert "no display" in errors


def test_bots_play_over_a_relay_without_an_authority(start: Any):
    relay = start("run_server.py", "relay", "--port", "0", "--log", "json")
    url = relay.line()["url"] + "attic"
    bots = [start("run_client.py", "--bot", "--relay", url, "--name", n, "--seconds", "5") for n in ("Борис", "桜")]
    for bot in bots:
        report = bot.line()
        assert bot.wait() == 0
        assert report["peers_seen"] == 1
        assert report["snapshots"] > 20
        assert report["distance_units"] > 5
