"""Still pictures of instruments: for print, and for readers without JavaScript."""

from collections.abc import Mapping
from html import escape

from intertwine_book.figures.style import COLOURS


def still_bars(shares: Mapping[str, float], *, colour: str = "blue", digits: int = 0) -> str:
    """A bar for each share between 0 and 1, as an SVG that is read on a light and on a dark page.

    Example:
        >>> picture = still_bars({"no map": 0.18, "least squares": 0.405}, digits=1)
        >>> "40.5 %" in picture and 'aria-label="no map: 18.0 %; least squares: 40.5 %"' in picture
        True

    The bars are of one colour out of `figures.style.COLOURS`; shares outside of 0 and 1 are cut there.
    """
    parts = []
    said = {name: f"{100 * share:.{digits}f} %".replace("-", "−") for name, share in shares.items()}
    for k, (name, share) in enumerate(shares.items()):
        y, width = 30 * k, 230 * min(max(share, 0), 1)
        parts += [
            f'<text x="182" y="{y + 19}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="190" y="{y + 5}" width="230" height="20" fill="currentColor" opacity="0.12"/>',
            f'<rect x="190" y="{y + 5}" width="{width:.1f}" height="20" fill="{COLOURS[colour]}"/>',
            f'<text x="428" y="{y + 19}">{said[name]}</text>',
        ]
    label = escape("; ".join(f"{name}: {text}" for name, text in said.items()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 490 {30 * len(shares)}" role="img" '
        f'aria-label="{label}" fill="currentColor" font-size="14">{"".join(parts)}</svg>'
    )
