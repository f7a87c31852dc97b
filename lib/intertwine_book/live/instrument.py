"""The fragment of a page in which an instrument stands."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from IPython.display import HTML

_STATIC = Path(__file__).parent / "_static"
_SVG = '<svg xmlns="http://www.w3.org/2000/svg"'
_PAGE = """<div class="widget live" id="{name}">
<style>
{style}</style>
<div class="still">
{still}
<p>{sentence}</p>
</div>
</div>
<script>
(() => {{
"use strict";
{source}
Controls.start("{name}", {function}, {data});
}})();
</script>
"""


def instrument(name: str, parts: Sequence[str], data: Mapping[str, Any], still: str, sentence: str) -> HTML:
    """An instrument: a still picture and a sentence, in whose place a script builds what the reader moves.

    Example:
        >>> page = instrument("bench-3", ["engine"], {}, "<svg></svg>", "Two networks are joined.")
        >>> "const Engine" in page.data and "const Controls" in page.data
        True

    The script is inline and classic, so that it also runs from a file and in a notebook; nothing is loaded.
    The last of the parts has a function of its name, which is called with an element of the page, to be
    filled, and with the data. The picture is shown where there is no JavaScript, and in print.

    Args:
        name: the id of the element, one for each instrument of a page.
        parts: files of `live/_static`, without their suffix, in order; `controls` is always there.
        data: what JSON can hold.
        still: an SVG, drawn with numbers of the library, in `currentColor`, with an `aria-label` or a title.
        sentence: what is seen in the picture, and what a reader with JavaScript could do.

    Raises:
        ValueError: the data are no JSON: NaN or an infinite number.
    """
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return HTML(
        _PAGE.format(
            name=name,
            style=(_STATIC / "live.css").read_text(),
            still=still.replace("<svg", _SVG, 1) if "xmlns" not in still else still,
            sentence=escape(sentence),
            source=sources("controls", *parts),
            function=parts[-1],
            data=written.replace("</", "<\\/"),  # a page would end the script there
        )
    )


def sources(*parts: str) -> str:
    """The text of files of JavaScript, one after another.

    Example:
        >>> sources("engine", "linear_algebra").count("use strict")
        0
    """
    return "\n".join((_STATIC / f"{part}.js").read_text().rstrip() for part in parts)
