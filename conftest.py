"""Tests and doctests are checked by one run-time type checker, whichever of them are asked for."""

import sys

import jaxtyping
import pytest
from type_checks import decorator

sys.dont_write_bytecode = False  # set in some containers, where every process would compile all tests anew
jaxtyping.jaxtyped = decorator  # before the library is imported
collect_ignore = ["tests/pretend"]  # importing it is to pretend


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests did not run for want of data sets, which are not part of the repository."""
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    if wanting := sum("INTERTWINE_DATA" in reason for reason in skipped):
        terminalreporter.write_line(f"{wanting} tests skipped for want of data (data/README.md)")
