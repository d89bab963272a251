"""Remote motion on the benchmark's own networks, on seeds that nothing was tuned on: what a viewer may demand of it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "motion.py"
SEEDS = range(7001, 7006)


@pytest.fixture(scope="module")
def motion() -> ModuleType:
    spec = spec_from_file_location("benchmark_motion", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("network", "rms", "latency"),
    [
        ("clean", 0.015, 138),
        ("jitter", 0.015, 155),
        ("loss", 0.02, 138),
        ("heavy_tail", 0.125, 265),
        ("heavy_tail_ordered", 0.3, 292),
        ("stall", 0.11, 294),
    ],
)
def test_motion_is_close_to_the_truth_smooth_and_never_backward(
    motion: ModuleType, network: str, rms: float, latency: float
) -> None:
    """RI-09."""
    traces = [motion.make_trace(getattr(motion, network), seed) for seed in SEEDS]
    ours = [motion.measure(trace, motion.adaptive(trace)) for trace in traces]
    before = [motion.measure(trace, motion.buffered(trace)) for trace in traces]
    assert median(measures.rms for measures in ours) <= rms
    assert median(measures.latency for measures in ours) <= latency
    assert all(measures.backward == 0 for measures in ours)
    harsh = network in ("heavy_tail", "heavy_tail_ordered", "stall")
    assert all(measures.jerks <= (5 if harsh else 0) for measures in ours)
    assert all(measures.frozen <= (5 if harsh else 0) for measures in ours)
    if harsh:
        assert median(measures.rms for measures in ours) < 0.8 * median(measures.rms for measures in before)
        assert median(measures.jerks for measures in before) > 10


def test_a_frozen_display_a_jerk_and_a_step_back_are_counted(motion: ModuleType) -> None:
    trace = motion.make_trace(motion.clean, 1)
    log = motion.adaptive(trace)
    good = motion.measure(trace, log)
    assert (good.frozen, good.jerks, good.backward) == (0, 0, 0)
    bad = [(frame[0], *log[i - i % 6][1:]) for i, frame in enumerate(log)]
    worse = motion.measure(trace, bad)
    assert worse.frozen > 2000
    assert worse.jerks > 300
    shaken = [(log[i][0], *log[i + (1, -1)[i % 2]][1:]) for i in range(len(log) - 1)]
    assert motion.measure(trace, shaken).backward > 1000


def test_a_trace_from_elsewhere_is_played(tmp_path: Path, motion: ModuleType) -> None:
    path = tmp_path / "trace.json"
    made = motion.make_trace(motion.clean, 5)
    told = [{"sendTime": s.sent, "arriveTime": s.arrived, "x": s.x, "y": s.y} for s in made.snapshots]
    path.write_text(json.dumps({"durationMs": made.duration, "snapshots": told}), encoding="utf-8")
    done = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["frames"] == [list(frame) for frame in motion.adaptive(made)]


@pytest.mark.parametrize("text", ["", "[]", '{"durationMs": 3}', '{"snapshots": [{}], "durationMs": 3}'])
def test_what_is_no_trace_is_said_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is no trace" in done.stderr
    assert "Traceback" not in done.stderr
