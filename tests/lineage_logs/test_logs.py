"""Logs: all events have one format, and no line contains a secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from navlin.service.logs import configure_logs
from navlin.service.settings.configuration import LogSettings


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """A stream for the log; the previous handlers are restored after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_event_is_one_line_with_its_bound_fields(stream: io.StringIO) -> None:
    configure_logs(LogSettings(), stream)
    log = structlog.stdlib.get_logger("test")

    with structlog.contextvars.bound_contextvars(source="HIVE-1"):
        log.info("run finished", new=3)
    log.info("navlin ready")

    run, ready = lines(stream)
    assert (run["event"], run["new"], run["source"], run["level"]) == ("run finished", 3, "HIVE-1", "info")
    assert run["timestamp"].endswith("Z")
    assert "source" not in ready


def test_library_logs_have_the_same_format(stream: io.StringIO) -> None:
    configure_logs(LogSettings(), stream)

    logging.getLogger("some.library").warning("%s is odd", "this")

    assert lines(stream)[0]["event"] == "this is odd"
    assert lines(stream)[0]["logger"] == "some.library"


@pytest.mark.parametrize(
    "library", ["apscheduler.scheduler", "py4j.java_gateway", "urllib3", "watchdog.observers"]
)
def test_routine_messages_of_libraries_are_not_logged(stream: io.StringIO, library: str) -> None:
    configure_logs(LogSettings(level="debug"), stream)

    logging.getLogger(library).info("added job")

    assert stream.getvalue() == ""


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_is_logged(stream: io.StringIO, form: Any) -> None:
    configure_logs(LogSettings(form), stream)
    log = structlog.stdlib.get_logger("test")

    log.info("connected to https://me:hunter2@host/", solr_password="hunter2", api_token="hunter2")
    logging.getLogger("library").error("refused: jdbc:hive2://u:hunter2@host:10000/db")
    try:
        raise ValueError("no answer from ldap://admin:hunter2@host")
    except ValueError:
        log.exception("failed")

    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue().count("***") >= 4


def test_events_below_the_level_are_not_logged(stream: io.StringIO) -> None:
    configure_logs(LogSettings(level="warning"), stream)

    structlog.stdlib.get_logger("test").info("nothing new")

    assert stream.getvalue() == ""
