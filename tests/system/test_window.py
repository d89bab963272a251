"""Real windows on a real (if unseen) screen, driven with real keys."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pygame
import pytest

from game.wire import DEFAULT_COLORS

PATIENCE = 60.0


def press(screen: dict[str, str], window: int, *keys: str) -> None:
    xdotool(screen, "windowfocus", "--sync", str(window), "key", *keys)


def xdotool(screen: dict[str, str], *words: str) -> None:
    subprocess.run(["xdotool", *words], env={**os.environ, **screen}, check=True, timeout=PATIENCE)


def near(pixels: pygame.Surface, place: list[float], color: str, reach: int = 60) -> bool:
    """Whether a capsule of about this colour stands near that pixel."""
    wanted = pygame.Color(color).hsva[0]
    left, top = round(place[0]) - reach // 2, round(place[1]) - reach
    for x in range(max(0, left), min(pixels.get_width(), left + reach), 2):
        for y in range(max(0, top), min(pixels.get_height(), top + reach + 10), 2):
            hue, saturation, value, _ = pixels.get_at((x, y)).hsva
            if saturation > 60 and value > 60 and abs((hue - wanted + 180) % 360 - 180) < 12:
                return True
    return False


@pytest.fixture
def window(server: Any, start: Any, screen: dict[str, str], tmp_path: Path) -> Any:
    program = start(
        "run_client.py", "--connect", server.url, "--name", "Zoë", "--color", DEFAULT_COLORS[1], "--log", "json",
        "--software", "--screenshots", str(tmp_path), env=screen,
    )  # fmt: skip
    program.id = program.until(lambda line: line["link"] == "connected" and line["avatars"])["window"]
    return program


def me(line: dict[str, Any]) -> dict[str, Any]:
    return next(avatar for avatar in line["avatars"].values() if avatar["me"])


def test_two_avatars_stand_where_the_server_says(
    server: Any, start: Any, window: Any, screen: dict[str, str], tmp_path: Path
):
    start(
        "run_client.py", "--connect", server.url, "--name", "桜", "--color", DEFAULT_COLORS[2], "--log", "json",
        "--software", env=screen,
    )  # fmt: skip
    before = me(window.until(lambda line: len(line["avatars"]) == 2))["at"]
    xdotool(screen, "windowfocus", "--sync", str(window.id), "keydown", "d", "keydown", "Up")
    window.until(lambda line: me(line)["at"][0] > before[0] + 1 and me(line)["at"][2] < before[2] - 1)
    xdotool(screen, "keyup", "d", "keyup", "Up")
    resting = window.until(lambda line: all(a["truth"] == a["at"] for a in line["avatars"].values()))
    places = {avatar["name"]: avatar for avatar in resting["avatars"].values()}
    assert set(places) == {"Zoë", "桜"}

    def agrees(line: dict[str, Any]) -> bool:
        if line["event"] != "world":
            return False
        told = {player["name"]: [player["x"], player["y"], player["z"]] for player in line["players"].values()}
        at = {name: avatar["at"] for name, avatar in places.items()}
        return told == {name: pytest.approx(place, abs=1 / 256) for name, place in at.items()}

    server.until(agrees)
    press(screen, window.id, "F12")
    picture = tmp_path / "lagtag-001.png"
    end = time.monotonic() + PATIENCE
    pixels = None
    while pixels is None:
        assert time.monotonic() < end
        with contextlib.suppress(FileNotFoundError, pygame.error):  # not there yet, or not whole yet
            pixels = pygame.image.load(picture)
    assert near(pixels, places["Zoë"]["pixel"], DEFAULT_COLORS[1])
    assert near(pixels, places["桜"]["pixel"], DEFAULT_COLORS[2])
    assert not near(pixels, [640, 40], DEFAULT_COLORS[2]), "the colour is not just anywhere"


def test_each_hotkey_does_what_it_says(window: Any, screen: dict[str, str]):
    def after(*keys: str, **fields: Any) -> None:
        press(screen, window.id, *keys)
        window.until(lambda line: all(line[name] == value for name, value in fields.items()))

    after("F1", help=True)
    after("Escape", help=False)
    after("F2", prediction=False)
    after("F2", prediction=True)
    after("F3", reconciliation=False)
    after("F4", remote_motion="raw")
    after("F4", remote_motion="exponential smoothing")
    after("F5", truth=True)
    after("F6", graph=False)
    after("F7", preset="LAN")
    after("F7", preset="Wi-Fi")
    after("F8", preset="custom")
    latency = window.line()["latency_ms"]
    after("shift+F8", latency_ms=pytest.approx(latency - 20))
    size = window.line()["size"]
    press(screen, window.id, "F11")
    full = window.until(lambda line: line["size"] == [1400, 900])
    press(screen, full["window"], "F11")
    back = window.until(lambda line: line["size"] == size)
    press(screen, back["window"], "Escape")
    assert window.wait() == 0


def test_losing_the_server_leaves_the_window_open_and_says_so(server: Any, window: Any):
    server.process.kill()
    window.until(lambda line: line["link"] == "reconnecting")
    for _ in range(2):
        window.line()
    assert window.process.poll() is None


@pytest.mark.skipif("sys.platform == 'win32'", reason="there a child cannot be killed by a signal")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_the_demo_ends_with_its_first_window_however_that_ends(start: Any, screen: dict[str, str], how: signal.Signals):
    import psutil

    demo = start("run_client.py", "--demo", "--log", "json", "--software", env=screen)
    demo.until(lambda line: len(line["avatars"]) == 2)
    children = psutil.Process(demo.process.pid).children(recursive=True)
    assert len(children) == 2
    demo.process.send_signal(how)
    demo.wait()
    _, alive = psutil.wait_procs(children, PATIENCE)
    assert not alive


def test_windows_without_a_server_see_each_other_and_say_what_game_this_is(start: Any, screen: dict[str, str]):
    channel = f"test-{os.getpid()}-{time.monotonic_ns()}"
    windows = [
        start("run_client.py", "--channel", channel, "--name", name, "--log", "json", "--software", env=screen)
        for name in ("Zoë", "桜")
    ]
    line = windows[1].until(lambda line: len(line["avatars"]) == 2 and line["link"] == "connected")
    assert line["authority"] is False
    assert line["title"] == "no server: a channel"
    seen = windows[0].until(lambda line: len(line["avatars"]) == 2)
    assert {avatar["name"] for avatar in seen["avatars"].values()} == {"Zoë", "桜"}
    press(screen, line["window"], "2")
    windows[0].until(lambda line: "Nice one!" in [avatar["emote"] for avatar in line["avatars"].values()])
    press(screen, line["window"], "Escape")
    assert windows[1].wait() == 0
    windows[0].until(lambda line: len(line["avatars"]) == 1)


def test_a_window_alone_plays_offline_with_bots(start: Any, screen: dict[str, str]):
    window = start("run_client.py", "--offline", "--opponents", "4", "--log", "json", "--software", env=screen)
    line = window.until(lambda line: line["link"] == "connected" and len(line["avatars"]) == 5)
    assert line["title"] == "offline"
    before = me(line)["at"]
    xdotool(screen, "windowfocus", "--sync", str(line["window"]), "keydown", "d")
    window.until(lambda line: me(line)["at"][0] > before[0] + 1)
    xdotool(screen, "keyup", "d")
    press(screen, line["window"], "Escape")
    assert window.wait() == 0


def test_a_hosts_friend_sees_him_and_goes_home_with_him(start: Any, screen: dict[str, str]):
    host = start("run_client.py", "--host", "0", "--log", "json", "--software", "--autopilot", env=screen)
    line = host.until(lambda line: line["link"] == "connected" and line["avatars"])
    kind, _, port = line["title"].rpartition(" ")
    assert kind == "listen server on port"
    friend = start(
        "run_client.py", "--bot", "--connect", f"ws://127.0.0.1:{port}/", "--name", "Friend", "--until-stdin-closes"
    )
    host.until(lambda line: "Friend" in {avatar["name"] for avatar in line["avatars"].values()})
    press(screen, line["window"], "Escape")
    assert host.wait() == 0
    friend.process.stdin.close()
    assert friend.line()["peers_seen"] == 1


@pytest.mark.parametrize(
    "flags",
    [
        ("--host", "0", "--bot"),
        ("--host", "70000"),
        ("--offline", "--bots", "3"),
        ("--offline", "--opponents", "999"),
        ("--connect", "ws://127.0.0.1:9/", "--opponents", "2"),
        ("--connect", "ws://127.0.0.1:9/", "--bot", "--net", "ordered=no"),
    ],
)
def test_what_makes_no_sense_together_is_one_sentence(start: Any, flags: tuple[str, ...]):
    program = start("run_client.py", *flags)
    assert program.wait() == 2
    words = "".join(program.errors)
    assert "lagtag: " in words
    assert "Traceback" not in words
