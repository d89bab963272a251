"""Many bots in one real process, against real servers over loopback."""

import os
import time
from typing import Any

import pytest

from game.session.online import PENDING_LIMIT

FIELDS = {
    "players", "joined", "stayed", "seconds", "ticks", "corrections", "correction_max_units", "rtt_ms_median",
    "rtt_ms_max", "snapshots_per_second", "bytes_up_per_second", "bytes_down_per_second", "pending_max", "cpu_share",
    "refused", "interrupted", "lost",
}  # fmt: skip


def test_eight_bots_play_over_a_bad_network_and_sum_up(server: Any, start: Any):
    crew = start(
        "run_client.py", "--bots", "8", "--seconds", "3", "--connect", server.url, "--name", "Zoë",
        "--net", "latency=60,jitter=20,seed=5",
    )  # fmt: skip
    names = {server.until(lambda line: line["event"] == "join")["name"] for _ in range(8)}
    assert names == {f"Zoë {number}" for number in range(1, 9)}
    report = crew.line()
    assert crew.wait() == 0, crew.errors
    assert crew.errors == []
    assert set(report) == FIELDS
    assert (report["players"], report["joined"], report["stayed"]) == (8, 8, 8)
    assert (report["refused"], report["interrupted"], report["lost"]) == ({}, {}, {})
    assert report["corrections"] == 0
    assert report["correction_max_units"] == 0
    assert report["seconds"] >= 3
    assert 100 < report["ticks"] <= 8 * 60 * report["seconds"] + 8
    assert 120 - 2 * 20 < report["rtt_ms_median"] <= report["rtt_ms_max"]
    assert 1 < report["snapshots_per_second"] < 40
    assert report["bytes_up_per_second"] > 50
    assert report["bytes_down_per_second"] > 50
    assert 3 < report["pending_max"] < PENDING_LIMIT, "the authority answers"
    assert 0 < report["cpu_share"] < os.cpu_count()


def test_each_bot_goes_its_own_way(server: Any, start: Any):
    crew = start("run_client.py", "--bots", "4", "--connect", server.url, "--until-stdin-closes")
    world = server.until(lambda line: line["event"] == "world" and len(line["players"]) == 4)
    began = {peer: (player["x"], player["z"]) for peer, player in world["players"].items()}
    assert {player["name"] for player in world["players"].values()} == {f"Bot {number}" for number in range(1, 5)}

    def all_moved(line: dict[str, Any]) -> bool:
        players = line["players"].items() if line["event"] == "world" else ()
        ways = {(player["x"] - began[peer][0], player["z"] - began[peer][1]) for peer, player in players}
        return len(ways) == 4 and (0, 0) not in ways

    server.until(all_moved)
    crew.process.stdin.close()
    assert crew.line()["stayed"] == 4
    assert crew.wait() == 0


def test_whoever_is_turned_away_is_counted_with_the_reason(start: Any):
    relay = start("run_server.py", "relay", "--port", "0", "--log", "json", "--max-per-address", "3")
    url = relay.line()["url"] + "attic"
    crew = start("run_client.py", "--bots", "5", "--relay", url, "--seconds", "2")
    report = crew.line()
    assert crew.wait() == 1
    assert (report["players"], report["stayed"]) == (5, 3)
    assert {*report["refused"], *report["interrupted"], *report["lost"]} == {"too many connections from your address"}
    errors = "".join(crew.errors)
    assert errors.startswith(f"lagtag: 2 of 5 did not join or stay at {url}: ")
    assert errors.count("\n") == 1


def test_bots_without_a_server_say_so_in_a_sentence(start: Any):
    crew = start("run_client.py", "--bots", "3", "--connect", "ws://127.0.0.1:9/", "--seconds", "2")
    report = crew.line()
    assert crew.wait() == 1
    assert (report["joined"], report["ticks"]) == (0, 0)
    assert report["refused"] == {"nobody answers at 127.0.0.1:9": 3}
    assert "".join(crew.errors) == (
        "lagtag: 3 of 3 did not join or stay at ws://127.0.0.1:9/: 3 refused (nobody answers at 127.0.0.1:9)\n"
    )


def test_bots_whose_server_dies_are_interrupted_and_lost(server: Any, start: Any):
    crew = start("run_client.py", "--bots", "3", "--connect", server.url, "--seconds", "5")
    for _ in range(3):
        server.until(lambda line: line["event"] == "join")
    server.process.kill()
    report = crew.line()
    assert crew.wait() == 1
    assert (report["joined"], report["stayed"]) == (3, 0)
    assert sum(report["interrupted"].values()) == sum(report["lost"].values()) == 3
    assert "".join(crew.errors).startswith(f"lagtag: 3 of 3 did not join or stay at {server.url}: 3 interrupted (")


def test_bots_meet_on_a_channel_of_this_machine(start: Any):
    channel = f"test-{os.getpid()}-{time.monotonic_ns()}"
    crew = start("run_client.py", "--bots", "3", "--channel", channel, "--seconds", "2")
    report = crew.line()
    assert crew.wait() == 0, crew.errors
    assert report["stayed"] == 3
    assert report["snapshots_per_second"] > 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--bots", "0", "--connect", "ws://127.0.0.1:9/"],
        ["--bots", "201", "--connect", "ws://127.0.0.1:9/"],
        ["--bots", "-3", "--connect", "ws://127.0.0.1:9/"],
        ["--bots", "000000000000201", "--connect", "ws://127.0.0.1:9/"],
        ["--bots", "many", "--connect", "ws://127.0.0.1:9/"],
        ["--bots", "2"],
        ["--bots", "2", "--bot", "--connect", "ws://127.0.0.1:9/"],
    ],
)
def test_a_mistake_in_the_call_is_one_sentence_and_exit_code_2(start: Any, arguments: list[str]):
    program = start("run_client.py", *arguments)
    assert program.wait() == 2
    errors = "".join(program.errors)
    assert errors.count("lagtag: ") == 1
    assert "Traceback" not in errors


def test_whoever_waits_for_the_end_of_stdin_ends_in_peace_before_it(server: Any, start: Any):
    """The thread that watches stdin is stuck in it when the interpreter ends."""
    crew = start("run_client.py", "--bots", "2", "--connect", server.url, "--seconds", "1", "--until-stdin-closes")
    assert crew.line()["stayed"] == 2
    assert crew.wait() == 0
    assert crew.errors == []
