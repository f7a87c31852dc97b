"""A Sphinx extension: what a page loads comes from the book itself; drawings have its font and a dark twin.

Figures that move find plotly.js in the folder `_static`.
"""

import re
import shutil
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

# ink, paper, blue and grey of the figures' style, on a dark page
DARK = {"#222222": "#dddddd", "#fdfdfd": "#14181e", "#0072b2": "#2189cc", "#7a7a7a": "#9a9a9a"}
# the theme's
PAGE_FONT = "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
_CLASSES = r' class="(?:row-odd|row-even|reference internal)"'
_FOLDED = re.compile(r'(<div class="proof dropdown admonition") id="[^"]*">(\s*)<p>Proof\. ')
_DRAWING = re.compile(r'<img (?=[^>]*src="([^"]*_images/[^"]*)\.svg")[^>]*>')


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _load)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def paired(body: str, sizes: Mapping[str, str] | None = None) -> str:
    """A page's html with every drawing twice, of which a theme shows one; its size keeps its place free.

    Example:
        >>> paired('<img alt="A line." src="../_images/a.svg" />').count('<span class="only-dark">')
        1
    """

    def pair(found: re.Match[str]) -> str:
        name = f"{found[1].rpartition('/')[2]}.svg"
        light = found[0].replace("<img", f"<img{(sizes or {}).get(name, '')}")
        dark = light.replace(f"{found[1]}.svg", f"{found[1]}-dark.svg").replace("<img", '<img loading="lazy"')
        return f'<span><span class="only-light">{light}</span><span class="only-dark">{dark}</span></span>'

    return _DRAWING.sub(pair, body)


def foldable(body: str) -> str:
    """A page's html in which a proof that folds has a title and a name of its own, or others fold."""
    names = count(1)
    title = '<p class="admonition-title">Proof</p><p>'
    return _FOLDED.sub(lambda found: f'{found[1]} id="folded-{next(names)}">{found[2]}{title}', body)


def dark(svg: str) -> str:
    """A drawing with light ink, and lighter blue and grey; every other colour stays as it is."""
    return re.sub("|".join(DARK), lambda found: DARK[found[0]], svg)


def in_page_font(svg: str) -> str:
    """A drawing whose words have the font of the page, instead of the wider one that laid it out."""
    return re.sub(r"'DejaVu Sans'[^;\"]*", PAGE_FONT, svg)


@cache
def _size(path: Path) -> str:
    """Attributes of an image: the pixels of a drawing whose size is in points, as matplotlib writes it.

    A wide one is as wide as its column (book.css).
    """
    head = path.read_text()[:2_000]
    found = (re.search(rf'<svg[^>]*? {side}="([\d.]+)pt"', head) for side in ("width", "height"))
    width, height = (round(float(each[1]) * 4 / 3) if each else 0 for each in found)
    wide = ' data-wide=""' if width > 450 else ""
    return f' width="{width}" height="{height}"{wide}' if width and height else ""


def _load(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    # thebe would run cells elsewhere; we have no button for it, and declared twice it is an error
    scripts = context["script_files"]  # changed in place, as later additions go to the same list
    scripts[:] = [script for script in scripts if "thebe" not in f"{script.filename} {script.attributes}"]
    drawings = {name: source for source, name in app.builder.images.items() if name.endswith(".svg")}
    sizes = {name: _size(Path(app.srcdir) / source) for name, source in drawings.items()}
    context["body"] = body = foldable(paired(context.get("body", ""), sizes))
    if "plotly-graph-div" in body:
        app.add_js_file("plotly.min.js", loading_method="defer")  # figures call it once they are seen
    if 'class="scoreboard' in body:
        # a third of a long table would be markup
        context["body"] = re.sub(r"(?<=<td>)<p>|</p>(?=</td>)|" + _CLASSES, "", body)


def _copy(app: Any, error: Exception | None) -> None:
    if error is None:
        static = Path(app.outdir) / "_static"
        shutil.copy(_of("plotly") / "package_data/plotly.min.js", static)
        for path in (Path(app.outdir) / "_images").glob("*.svg"):
            drawing = in_page_font(path.read_text())
            path.write_text(drawing)
            path.with_stem(f"{path.stem}-dark").write_text(dark(drawing))


def _of(package: str) -> Path:
    """The folder of a package, which is not imported."""
    found = find_spec(package)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent
