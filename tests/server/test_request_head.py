from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.request_head import RequestHead

HEAD = "GET /雪?é HTTP/1.1\r\nHost: ü\r\nX: \r\n\r\n".encode()
ESCAPED = b"GET /%E9%9B%AA?%C3%A9 HTTP/1.1\r\n" + "Host: ü\r\nX: \r\n\r\n".encode()


@given(st.lists(st.integers(1, len(HEAD) + 6), max_size=12))
def test_rs_07_however_a_request_is_cut_its_path_is_escaped_and_what_follows_is_told_apart(cuts: list[int]):
    data = HEAD + b"frames"
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    head = RequestHead()
    taken, rest = b"", None
    for start, end in itertools.pairwise(edges):
        if rest is None:
            part, rest = head.take(data[start:end])
            taken += part
        else:
            rest += data[start:end]
    assert (taken, rest) == (ESCAPED, b"frames")


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n", b"\r\r\n\n", b"\r\n\r"])
def test_nothing_but_an_empty_line_ends_a_head(end: bytes):
    head = RequestHead()
    assert head.take(b"GET / HTTP/1.1" + end) == (b"GET / HTTP/1.1" + end, None)


def test_a_head_may_end_with_its_chunk():
    assert RequestHead().take(b"GET / HTTP/1.1\r\n\r\n") == (b"GET / HTTP/1.1\r\n\r\n", b"")
