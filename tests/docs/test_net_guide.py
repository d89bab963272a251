"""docs/net.md: every snippet runs as it stands, those of a section one after the other."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "net.md"


def sections() -> dict[str, list[tuple[int, str]]]:
    """By heading: line number and text of each Python block."""
    found: dict[str, list[tuple[int, str]]] = {}
    heading, block, start = "", None, 0
    for number, line in enumerate(GUIDE.read_text("utf-8").splitlines(), start=1):
        if block is None and line.startswith("## "):
            heading = line.removeprefix("## ")
            found[heading] = []
        elif block is None and line == "```python":
            block, start = [], number
        elif block is not None and line == "```":
            found[heading].append((start, "\n".join(block)))
            block = None
        elif block is not None:
            block.append(line)
    assert block is None, "a block has no end"
    return found


SECTIONS = sections()


@pytest.mark.parametrize("heading", SECTIONS)
def test_its_snippets_run(heading: str):
    assert SECTIONS[heading], "a section without a snippet"
    namespace = {"__name__": "guide"}
    for start, text in SECTIONS[heading]:
        code = compile("\n" * start + text, str(GUIDE), "exec")  # so that a traceback names the line of the page
        exec(code, namespace)


def test_every_snippet_claims_something_and_none_sleeps():
    for heading, blocks in SECTIONS.items():
        for start, text in blocks:
            tree = ast.parse(text)
            assert any(isinstance(node, ast.Assert) for node in ast.walk(tree)), f"{heading}, line {start}"
            assert "sleep(" not in text


def test_the_table_of_contents_leads_somewhere():
    text = GUIDE.read_text("utf-8")
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in SECTIONS}
    links = re.findall(r"\(#([\w-]+)\)", text)
    assert links
    assert set(links) <= anchors
    for file in re.findall(r"\]\(([\w./]+)\)", text):
        assert (GUIDE.parent / file).exists(), file
