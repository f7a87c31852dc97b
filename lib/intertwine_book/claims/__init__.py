"""Printed statements and verdicts on them: verdicts are computed from tables, never typed."""

from intertwine_book.claims.ledger import KINDS, Claim, Erratum, load
from intertwine_book.claims.page import errata, filled, scoreboard
from intertwine_book.claims.rules import WORDS, Verdict, judge_rows
from intertwine_book.claims.verdicts import judge, judge_all

__all__ = [
    "KINDS",
    "WORDS",
    "Claim",
    "Erratum",
    "Verdict",
    "errata",
    "filled",
    "judge",
    "judge_all",
    "judge_rows",
    "load",
    "scoreboard",
]
