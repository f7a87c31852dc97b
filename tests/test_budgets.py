"""The budgets of speed, at one size of each method: multiples of a peer's time, or of the machine's floor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize("script", ["bench_peers.py", "bench_floors.py"])
def test_no_method_exceeds_its_budget(script):
    run, one_thread = [sys.executable, BENCHMARKS / script, "--short"], {**os.environ, "OMP_NUM_THREADS": "1"}
    for _ in range(2):  # a machine that does other things for a while fails once, a slow method twice
        found = subprocess.run(run, env=one_thread, capture_output=True, text=True)
        if found.returncode == 0:
            break
    assert found.returncode == 0, found.stdout + found.stderr
