"""What several parts say in the same words: a table in markdown, and that a name is unknown."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, the first of them the head; a cell becomes one line.

    Example:
        >>> print(markdown_table([["n", "what"], ["1", "a | b"]]))
        | n | what |
        | --- | --- |
        | 1 | a \\| b |
    """
    head, *body = ([" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body))


def unknown(kind: str, given: str, known: Collection[str]) -> str:
    """The sentence for a name that does not exist, with the nearest one that does.

    Example:
        >>> unknown("profile", "quik", ["smoke", "quick"])
        "Unknown profile 'quik': did you mean 'quick'? Known: smoke, quick."
    """
    near = get_close_matches(given, known, n=1, cutoff=0.5)
    hint = f": did you mean '{near[0]}'?" if near else "."
    return f"Unknown {kind} '{given}'{hint} Known: {', '.join(known) or 'none'}."
