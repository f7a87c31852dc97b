"""Tables with provenance: a csv file, and beside it a json file that says what it was computed with."""

from intertwine.results.intervals import interval
from intertwine.results.origin import LIBRARY, environment, library_digest
from intertwine.results.shown import beside, largest, provenance, recorded
from intertwine.results.steps import steps
from intertwine.results.tables import PROFILES, RECORDED, default_folder, read, write

__all__ = [
    "LIBRARY",
    "PROFILES",
    "RECORDED",
    "beside",
    "default_folder",
    "environment",
    "interval",
    "largest",
    "library_digest",
    "provenance",
    "read",
    "recorded",
    "steps",
    "write",
]
