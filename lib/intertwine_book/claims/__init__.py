"""What the papers print, and what our tables say of it: verdicts are computed, never typed."""

from intertwine_book.claims.ledger import KINDS, Claim, load
from intertwine_book.claims.page import errata, filled, scoreboard
from intertwine_book.claims.verdicts import WORDS, Verdict, judge

__all__ = ["KINDS", "WORDS", "Claim", "Verdict", "errata", "filled", "judge", "load", "scoreboard"]
