"""Times measured side by side, the budgets that they must keep, and the tables that the book shows."""

import contextlib
import csv
import ctypes
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from importlib import metadata
from pathlib import Path

import torch
import yaml

HERE = Path(__file__).parent
BUDGETS: dict[str, dict] = yaml.safe_load((HERE / "budgets.yml").read_text())
ROUNDS = 5


def medians(*calls: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """CPU seconds of each call, the median of rounds in turn, after one run of each that does not count.

    In turn, so that other work on the machine slows all sides; CPU time, so that it does not count as ours.
    """
    times: list[list[float]] = []
    for _ in range(rounds + 1):
        times.append([])
        for call in calls:
            start = time.process_time()
            call()
            times[-1].append(time.process_time() - start)
    return [statistics.median(column) for column in zip(*times[1:], strict=True)]


def peaks(*calls: Callable[[], object]) -> list[float]:
    """Megabytes that a call takes at its most, beyond what was there: medians of three processes (Linux)."""
    return [statistics.median(_peak(call) for _ in range(3)) for call in calls]


def _peak(call: Callable[[], object]) -> float:
    read, write = os.pipe()
    if not os.fork():
        with contextlib.suppress(BaseException):  # the parent tells: it finds nothing in the pipe
            call()  # what is loaded once does not count
            ctypes.CDLL(None).malloc_trim(0)  # nor is freed memory used again unseen
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            before = _memory("VmRSS")
            call()
            os.write(write, str((_memory("VmHWM") - before) / 1e3).encode())
        os._exit(0)
    os.close(write)
    os.wait()
    with os.fdopen(read) as told:
        return float(told.read())


def _memory(name: str) -> int:
    """Kilobytes of this process."""
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith(name))
    return int(line.split()[1])


def broken(ratios: dict[str, float], kind: str) -> list[str]:
    """Which of these exceed their budget: our seconds as a multiple of the peer's, or of the floor's."""
    budgets = BUDGETS[kind]
    return [
        f"{name}: expected at most {budgets[name]['most']} times the {kind[:-1]}'s time, took {ratio:.2f}"
        for name, ratio in ratios.items()
        if ratio > budgets[name]["most"]
    ]


def write(path: Path, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([[*header], *rows])


def provenance(packages: Iterable[str], notes: dict[str, str]) -> list[tuple[str, str]]:
    """What was measured on what, as rows of a table."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())
    versions = [f"{name} {metadata.version(name)}" for name in ("torch", "numpy", "scipy", *packages)]
    return [
        ("Date", date.today().isoformat()),
        ("Processor", f"{model}, one thread; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"),
        ("Times", f"CPU seconds, medians of {ROUNDS} runs in turn after one that does not count"),
        ("Versions", ", ".join([f"Python {platform.python_version()}", *versions])),
        *notes.items(),
    ]


def one_thread() -> None:
    torch.set_num_threads(1)
    if os.environ.get("OMP_NUM_THREADS") != "1":  # read by numpy and the peers when they are loaded
        os.environ["OMP_NUM_THREADS"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
