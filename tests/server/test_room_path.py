from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.room_path import room_of


@pytest.mark.parametrize(
    ("target", "room"),
    [
        ("", "/"),
        ("/", "/"),
        ("/plaza", "/plaza"),
        ("/plaza?seed=1&x=/y", "/plaza"),
        ("?q", "/"),
        ("/a#b", "/a"),
    ],
)
def test_rs_05_the_path_is_the_room_and_the_query_is_not(target: str, room: str):
    assert room_of(target) == room


def test_rs_06_case_and_a_trailing_slash_make_other_rooms():
    assert len({room_of(path) for path in ("/plaza", "/Plaza", "/plaza/", "/plaza//")}) == 4


@pytest.mark.parametrize(
    ("target", "room"),
    [
        ("/a/../b", "/b"),
        ("/a/./b", "/a/b"),
        ("/a/..", "/"),
        ("/a/b/..", "/a/"),
        ("/a/.", "/a/"),
        ("/../../a", "/a"),
        ("/a/%2e%2E/b", "/b"),
        ("//host/a", "/a"),
        ("//host", "/"),
        ("///host/a", "/a"),
        ("ws://host:1/a", "/a"),
        ("/a\\b", "/a/b"),
        ("/中", "/%E4%B8%AD"),
        ("/%E4%B8%AD", "/%E4%B8%AD"),
        ("/%61", "/%61"),
        ("/a\x00b", "/a%00b"),
    ],
)
def test_rs_07_a_path_is_normalised_like_a_url(target: str, room: str):
    assert room_of(target) == room


@given(st.text())
def test_any_target_is_a_room_of_printable_ascii_and_normalising_it_again_changes_nothing(target: str):
    room = room_of(target)
    assert room.startswith("/")
    assert room.isascii()
    assert room.isprintable()
    assert room.startswith("//") or room_of(room) == room
