"""What the recorded runs say: one module a chapter, with its tables, figures and facts for sentences."""

from intertwine_book.stories.told import tell

__all__ = ["tell"]
