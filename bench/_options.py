"""Options of the benches. Some run in a Python with PySpark alone."""

from __future__ import annotations

import argparse


def options(doc: str | None, **numbers: float) -> argparse.ArgumentParser:
    """Return a parser with the bench's docstring as its help, and an option for each number with its default."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"by default {default:,}")
    return parser
