"""Printed statements and verdicts on them: verdicts are computed from tables, never typed."""

from intertwine_book.claims.ledger import CLAIM_KINDS, Claim, Erratum, load
from intertwine_book.claims.page import scoreboard, summary
from intertwine_book.claims.rules import Verdict, judge_rows
from intertwine_book.claims.verdicts import judge, judge_all, rows_of

__all__ = [
    "CLAIM_KINDS",
    "Claim",
    "Erratum",
    "Verdict",
    "judge",
    "judge_all",
    "judge_rows",
    "load",
    "rows_of",
    "scoreboard",
    "summary",
]
