"""The comparison with Colyseus where its harness is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "colyseus.py"


@pytest.mark.parametrize("flags", [[], ["--peers", "nowhere"], ["--peers", "."]])
def test_without_a_harness_it_says_so_in_a_sentence(flags: list[str], tmp_path: Path):
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *flags], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert "there is no harness" in run.stderr
