"""Tables with provenance: a csv file, and beside it a json file of parameters, seed, data and code."""

from intertwine_book.intervals import interval
from intertwine_book.origin import LIBRARY, PACKAGES, environment, library_digest
from intertwine_book.results.records import on_record, provenance, recorded
from intertwine_book.results.runs import Run, run
from intertwine_book.results.steps import steps
from intertwine_book.results.tables import PROFILES, RECORDED, default_folder, read, write

__all__ = [
    "LIBRARY",
    "PACKAGES",
    "PROFILES",
    "RECORDED",
    "Run",
    "default_folder",
    "environment",
    "interval",
    "library_digest",
    "on_record",
    "provenance",
    "read",
    "recorded",
    "run",
    "steps",
    "write",
]
