"""A Sphinx extension: the bibliography's labels are authors and year, as in the text."""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pybtex import plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx; the style is named by `bibtex_default_style` in `_config.yml`."""
    plugin.register_plugin("pybtex.style.formatting", "authors_and_year", _Style)
    # each citation looks for the style, in the files of all that is installed
    plugin.entry_points = functools.cache(plugin.entry_points)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class _Labels(BaseLabelStyle):
    def format_labels(self, sorted_entries: Sequence[Any]) -> Iterator[str]:
        """`Godfrey et al., 2022`; a letter tells two of one year apart."""
        labels = [f"{_authors(entry)}, {entry.fields['year']}" for entry in sorted_entries]
        seen: Counter[str] = Counter()
        for label in labels:
            seen[label] += 1
            yield label + ("abcdef"[seen[label] - 1] if labels.count(label) > 1 else "")


def _authors(entry: Any) -> str:
    names = ["".join(map(str, person.rich_last_names)) for person in entry.persons["author"]]
    return f"{names[0]} et al." if len(names) > 2 else " and ".join(names)


class _Style(Style):
    default_label_style = _Labels
    default_sorting_style = "author_year_title"
