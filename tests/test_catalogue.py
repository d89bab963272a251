"""The catalogue of behaviours that peers and users may notice: each is tested, or decided otherwise.

A row counts when a test names it, in its name (`test_pr_01_…`, `test_er01_…`), in a docstring or beside it (`PR-01`,
`SB-03 to SB-05`, `TW-09..12`), or when docs/decisions.md does, with the reason why we do otherwise.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = {
    "TL": 11,  # local transport
    "TB": 6,  # broadcast
    "TW": 21,  # WebSocket
    "EN": 11,  # envelope
    "RS": 29,  # relay
    "PR": 29,  # presence
    "SB": 10,  # snapshot buffer
    "PD": 16,  # prediction
    "IC": 8,  # inputs and states
    "EB": 5,  # event bus
    "ER": 11,  # events between peers
    "RR": 8,  # drawing what is remote
    "AS": 22,  # authority
    "GS": 12,  # a game's socket
    "IP": 7,  # in-process transports
    "NC": 13,  # channel
    "HS": 13,  # greeting and schema
    "CO": 11,  # what is written how
    "RE": 38,  # replication
    "IN": 25,  # interest
    "RI": 12,  # playback of what is replicated
    "PI": 20,  # prediction of what is owned
}
ALL = [f"{area}-{number:02}" for area, count in ROWS.items() for number in range(1, count + 1)]
WIDEST = 5
"""rows that one mention may span: a heading that claims a whole area names none of them"""

MENTION = re.compile(
    r"(?:\b(?P<upper>[A-Z]{2})-|(?<=_)(?P<lower>[a-z]{2})_?)(?P<first>\d\d)(?!\d)"
    r"(?:(?:\.\.| to |_to_)(?:[A-Za-z]{2}[-_]?)?(?P<last>\d\d)(?!\d))?"
)


def named(text: str) -> set[str]:
    """The rows that a text names."""
    found = set()
    for mention in MENTION.finditer(text):
        area = (mention["upper"] or mention["lower"]).upper()
        first = int(mention["first"])
        last = int(mention["last"] or first)
        if last - first < WIDEST:
            found |= {f"{area}-{number:02}" for number in range(first, last + 1)}
    return found


@pytest.fixture(scope="module")
def covered() -> set[str]:
    files = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    texts = [path.read_text("utf-8") for path in (*files, ROOT / "docs" / "decisions.md")]
    return set().union(*map(named, texts))


@pytest.mark.parametrize("row", ALL)
def test_every_row_is_tested_or_decided(covered: set[str], row: str):
    assert row in covered


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("TL-01", {"TL-01"}),
        ("def test_tl01_er_02_so():", {"TL-01", "ER-02"}),
        ("RS-05 to RS-07", {"RS-05", "RS-06", "RS-07"}),
        ("TW-09..11", {"TW-09", "TW-10", "TW-11"}),
        ("TW-01 to TW-21", set()),
        ("UTF-8, NC-1, TL-123, _12", set()),
    ],
)
def test_what_counts_as_naming_a_row(text: str, rows: set[str]):
    assert named(text) == rows
