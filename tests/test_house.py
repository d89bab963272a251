"""The house: what may be imported without what."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pygame":
            raise ImportError("pygame is blocked")
sys.meta_path.insert(0, Block())
import importlib, pkgutil
for name in {packages!r}:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        importlib.import_module(module.name)
assert not any(name.partition(".")[0] == "pygame" for name in sys.modules)
"""


@pytest.mark.parametrize("package", ["net", "game.sim", "game.session", "server"])
def test_it_works_where_pygame_cannot_be_imported(package: str):
    run = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(packages=[package])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_the_package_game_is_empty_so_that_its_rules_come_alone():
    assert (ROOT / "game" / "__init__.py").read_bytes() == b""
