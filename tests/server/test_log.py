from __future__ import annotations

import io
import json
import os
import threading

import pytest

from server.log import LineLog, json_line, text_line


def test_a_json_line_is_one_ascii_object_whatever_a_name_holds():
    line = json_line("join", {"name": "雪\x00\ud800\n🙂", "players": 1})
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == {"event": "join", "name": "雪\x00\ud800\n🙂", "players": 1}


@pytest.mark.parametrize(
    ("event", "fields", "text"),
    [
        ("listening", {"url": "ws://a/", "port": 1, "engine": "e"}, "listening on ws://a/ by e"),
        ("connect", {"room": "/", "address": "10.0.0.7", "count": 2}, "10.0.0.7 came to / (2 there)"),
        (
            "disconnect",
            {"room": "/", "address": "10.0.0.7", "count": 0, "code": 1006, "reason": ""},
            "10.0.0.7 went from / (0 there): 1006",
        ),
        ("join", {"room": "/", "peer": "p", "name": "Ada", "players": 2}, "Ada joined / (2 there)"),
        (
            "leave",
            {"room": "/", "peer": "p", "name": "Ada", "players": 0, "code": 1000, "reason": "bye"},
            "Ada left / (0 there): 1000 bye",
        ),
        (
            "refused",
            {"room": "/x", "peer": "", "address": "10.0.0.7", "code": 1013, "reason": "too many rooms"},
            "10.0.0.7 was refused by /x: 1013 too many rooms",
        ),
    ],
)
def test_a_text_line_reads_like_a_sentence(event: str, fields: dict[str, object], text: str):
    assert text_line(event, fields) == text


def test_lan_addresses_stand_below_the_first_line():
    assert text_line("listening", {"url": "ws://a/", "engine": "e", "addresses": ["ws://b/"]}).endswith(
        "\n  others connect to ws://b/"
    )


def test_lines_come_out_in_order_and_close_waits_for_them():
    stream = io.StringIO()
    log = LineLog(stream, json_line)
    for i in range(100):
        log("n", i=i)
    assert log.close(timeout=10)
    assert [json.loads(line)["i"] for line in stream.getvalue().splitlines()] == list(range(100))


def test_a_pipe_that_nobody_reads_stops_nobody():
    reading, writing = os.pipe()
    stream = os.fdopen(writing, "w")
    log = LineLog(stream, json_line)
    for _ in range(20_000):
        log("n", text="x" * 100)
    assert log.dropped > 0
    assert log.close(timeout=0.01) is False
    # reading on lets the thread go, so that the test leaves none behind
    drained = threading.Thread(target=lambda: os.fdopen(reading).read())
    drained.start()
    while not log.close(timeout=1):
        pass
    stream.close()
    drained.join()


def test_a_closed_stream_is_no_error():
    stream = io.StringIO()
    stream.close()
    log = LineLog(stream, json_line)
    log("n")
    assert log.close(timeout=10)
