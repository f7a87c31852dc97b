"""A table in markdown."""

from collections.abc import Sequence


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
