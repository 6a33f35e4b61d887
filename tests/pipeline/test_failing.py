"""The error messages of failed runs are readable to operators."""

from __future__ import annotations

import pytest

from navlin.pipeline.failing import in_words

IN_TASK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 7, in read
    document["mtime_ns"]
{raised}
"""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(13, "Permission denied", "/logs/a"), "[Errno 13] Permission denied: '/logs/a'"),
        (ValueError("url must be a URL"), "url must be a URL"),
        (KeyError("mtime_ns"), "KeyError: 'mtime_ns'"),
        (AssertionError(), "AssertionError:"),
        (RuntimeError(IN_TASK.format(raised="KeyError: 'mtime_ns'")), "KeyError: 'mtime_ns'"),
        (
            RuntimeError(IN_TASK.format(raised="extractors.hms.client.Gone: hms:9083 is away")),
            "hms:9083 is away",
        ),
        (RuntimeError(""), "RuntimeError"),
    ],
)
def test_a_programming_error_is_named_by_type_and_others_by_message(error: Exception, words: str) -> None:
    assert in_words(error).strip() == words
