from __future__ import annotations

import pygame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game.view.text import BOX, LONGEST, MARKS, Lettering, readable
from game.view.theme import Face

WHITE = (255, 255, 255)


@pytest.fixture(scope="module")
def lettering() -> Lettering:
    return Lettering(1.0)


def ink(surface: pygame.Surface) -> int:
    """How many pixels are not transparent."""
    return pygame.mask.from_surface(surface, 40).count()


@pytest.mark.parametrize("name", ["Zoë", "Борис", "Ωmega", "Łukasz", "Nguyễn"])
def test_latin_cyrillic_and_greek_names_need_no_box(lettering: Lettering, name: str) -> None:
    runs = lettering.runs(readable(name), Face.NAME)
    assert all(run.face is not None for run in runs)
    assert "".join(run.text for run in runs) == readable(name)


@pytest.mark.parametrize("name", ["桜さくら", "张伟", "플레이어", "カタカナ"])
def test_cjk_and_hangul_come_from_the_fallback(lettering: Lettering, name: str) -> None:
    assert lettering.runs(name, Face.NAME) == [(Face.FALLBACK, name)]


def test_a_mixed_name_is_split_where_coverage_changes(lettering: Lettering) -> None:
    runs = lettering.runs(readable("Max 桜 Борис"), Face.NAME)
    assert [run.face for run in runs] == [Face.NAME, Face.FALLBACK, Face.NAME]
    assert "".join(run.text for run in runs) == "Max 桜 Борис"


def test_headings_fall_back_too(lettering: Lettering) -> None:
    """Chakra Petch has no Cyrillic."""
    assert lettering.runs("Сервер", Face.TITLE) == [(Face.FALLBACK, "Сервер")]


def test_what_no_font_has_becomes_a_box_of_its_own(lettering: Lettering) -> None:
    runs = lettering.runs(readable("A😀😀B"), Face.NAME)
    assert runs == [(Face.NAME, "A"), (None, BOX * 2), (Face.NAME, "B")]
    one, two = (lettering.render(text, Face.NAME, 16, WHITE) for text in ("😀", "😀😀"))
    assert ink(one) > 0
    assert two.get_width() == 2 * one.get_width()


def test_different_scripts_draw_different_glyphs(lettering: Lettering) -> None:
    """A font that lacks a glyph draws the same box for all: these must differ."""
    pictures = {pygame.image.tobytes(lettering.render(c, Face.NAME, 24, WHITE), "RGBA") for c in "桜张플БΩë"}
    assert len(pictures) == 6


def test_controls_surrogates_and_format_characters_go() -> None:
    assert readable("a\0b\ud800c\u200dd\u202ee\ufefff") == "abcdef"
    assert readable("a\nb\u2028c\u00a0d") == "a b c d"


def test_heaps_of_marks_are_cut() -> None:
    zalgo = "x" + "\u0338" * 50
    assert len(readable(zalgo)) == 1 + MARKS
    assert readable("\u0301\u0301abc") == "abc"


def test_length_is_bounded() -> None:
    assert len(readable("w" * 5000)) == LONGEST


HOSTILE = [
    "",
    " ",
    "\0",
    "\0" * 5000,
    "\ud800\udfff\udc00",
    "x" * 5000,
    "😀" * 5000,
    "שלום עולם",
    "مرحبا",
    "สวัสดี",
    "नमस्ते",
    "\u0301" * 5000,
    "e" + "\u0301\u0302\u0303" * 300,
    "👩\u200d👩\u200d👧\u200d👦",
    "\U0010ffff\ufffe\uffff",
    "\u202eevil\u2066",
    "桜" * 5000,
    "a" + "\t" * 3000 + "b",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("outline", [False, True])
def test_hostile_names_are_drawn_within_bounds(lettering: Lettering, name: str, outline: bool) -> None:
    surface = lettering.render(name, Face.NAME, 15, WHITE, outline=outline, max_width=150)
    assert 1 <= surface.get_width() <= 150 + 2 * 2
    assert surface.get_height() <= 40


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_any_text_is_drawn(text: str) -> None:
    lettering = test_any_text_is_drawn.__dict__.setdefault("lettering", Lettering(1.0))
    surface = lettering.render(text, Face.NAME, 15, WHITE, outline=True, max_width=120)
    assert surface.get_width() <= 120 + 2 * 2


def test_a_long_name_ends_in_an_ellipsis_and_uses_the_room(lettering: Lettering) -> None:
    short = lettering.render("Wide name, very wide", Face.NAME, 15, WHITE, max_width=80)
    full = lettering.render("Wide name, very wide", Face.NAME, 15, WHITE)
    assert full.get_width() > 80
    assert 55 < short.get_width() <= 80


def test_lines_are_shared_and_bounded(lettering: Lettering) -> None:
    first = lettering.render("same", Face.LABEL, 14, WHITE)
    assert lettering.render("same", Face.LABEL, 14, WHITE) is first
    for i in range(1000):
        lettering.render(f"name {i}", Face.NUMBER, 12, WHITE)
    assert len(lettering._lines) <= lettering._lines.limit < 1000
    assert lettering.render("same", Face.LABEL, 14, WHITE) is not first


def test_huge_text_is_not_kept_as_a_key(lettering: Lettering) -> None:
    lettering.render("k" * 1_000_000, Face.NAME, 14, WHITE, max_width=90)
    assert max(len(line.text) for line in lettering._lines._kept) <= 4 * LONGEST


def test_text_grows_with_the_scale() -> None:
    small, large = (Lettering(ui).render("Scale", Face.LABEL, 20, WHITE).get_width() for ui in (1.0, 2.0))
    assert 1.8 < large / small < 2.2
