"""The build: jupytext → papermill → jupyter-book, and the command line over it."""

import signal
import sys

# jsonschema would compile its grammar of web addresses, which takes a second; notebooks have none to check
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def main() -> None:
    """Entry point of the command `intertwine`."""
    try:
        from intertwine_book.build.cli import cli, interrupt

        signal.signal(signal.SIGTERM, interrupt)
        cli()
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"The command line builds the book and needs {missing.name}: "
            "install it with `pip install -e '.[book]'` in the checkout."
        ) from None
