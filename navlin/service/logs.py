"""The log of `navlin serve` and `navlin web`: events with fields, by structlog, on standard error, as JSON lines or as
text for a terminal.

Libraries that log through the standard library are included in the same form. Values whose names suggest secrets, and
users and passwords in URLs, are hidden. Only top-level fields are checked by name (a name such as ``tokens`` is hidden
too), and only strings are searched for URLs. So pass ``str(error)``, not exceptions, bytes or dicts.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from navlin.model.printable import printable
from navlin.service.library_logs import set_up
from navlin.service.settings.configuration import LogSettings
from navlin.urls import HIDDEN, without_userinfo

_SECRET_NAME = re.compile(r"password|passwd|secret|token|credential|api_?key|authorization", re.IGNORECASE)


def configure_logs(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Set up all logging of the process, replacing all handlers of the root logger. May be called again."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        hide_secrets,
        only_printable,
    ]
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer(sort_keys=False, default=str)
    to = stream or sys.stderr
    if settings.format == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=to.isatty())
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    to_stream = logging.StreamHandler(to)
    to_stream.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    set_up(to_stream, settings.level.upper())


def only_printable(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace unprintable characters, so that the log is safe to show in a terminal (a structlog processor)."""
    return {name: printable(value) if isinstance(value, str) else value for name, value in event.items()}


def hide_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide values whose names suggest secrets, and users and passwords in URLs (a structlog processor)."""
    for name, value in event.items():
        if _SECRET_NAME.search(name):
            event[name] = HIDDEN
        elif isinstance(value, str):
            event[name] = without_userinfo(value)
    return event
