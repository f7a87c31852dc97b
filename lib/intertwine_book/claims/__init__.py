"""Printed statements and verdicts on them: verdicts are computed from rows, never typed."""

from intertwine_book.claims.board import scoreboard, summary
from intertwine_book.claims.claim import Claim, Erratum
from intertwine_book.claims.corrected import corrected
from intertwine_book.claims.rules import Verdict, judge_rows

__all__ = ["Claim", "Erratum", "Verdict", "corrected", "judge_rows", "scoreboard", "summary"]
