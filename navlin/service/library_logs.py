"""Filters the logs of libraries, to keep only relevant lines, without passwords.

Only `navlin serve` and `navlin web` have logs of their own (`navlin.service.logs`). The other commands only print
warnings of libraries, for which the standard library is enough.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Final

from navlin.model.printable import printable
from navlin.urls import without_userinfo

QUIET: Final[Mapping[str, int]] = {
    # Below WARNING, these libraries only log routine work.
    "apscheduler": logging.WARNING,
    "py4j": logging.WARNING,
    "urllib3": logging.WARNING,
    "watchdog": logging.WARNING,
    # Failures of these libraries are also raised, and reported with the source.
    "pysolr": logging.CRITICAL,
    "thrift": logging.CRITICAL,
}


def warnings_on_stderr() -> None:
    """Set up all logging of the process: warnings and worse, one per line. May be called again."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(_WithoutPasswords("%(levelname)s: %(name)s: %(message)s"))
    set_up(to_stderr, logging.WARNING)


def set_up(handler: logging.Handler, level: int | str) -> None:
    """Make ``handler`` the only handler, with minimum level ``level``, and set the levels of `QUIET`."""
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(least)


class _WithoutPasswords(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(without_userinfo(super().format(record)))
