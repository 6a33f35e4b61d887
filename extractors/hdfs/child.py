"""The Java child that sends requests to HDFS. It is started by the first request, ended if it hangs, and restarted if
it has died.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from extractors.hdfs.errors import HdfsError, HdfsUnavailable, to_error
from navlin.java import JavaProgram, NoJava, own_directory, pyspark_jars
from navlin.java_child import WHOLE, Ended, JavaChild

SOURCE: Final = Path(__file__).with_name("HdfsClient.java")
SLOWEST_BYTES_S: Final = 16 << 10
"""Minimum rate (bytes per second) of a fetch that reports progress. It is checked once the fetch takes longer than a
response may.
"""
_JARS: Final = ("hadoop-client-api-*", "hadoop-client-runtime-*", "slf4j-api-*", "jackson-core-*")
_OPTIONS: Final = (
    "-Xmx192m",
    "-XX:+UseSerialGC",
    # These two options return unused memory to the system.
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    # slf4j complains if no logging library is on the class path.
    "-Dslf4j.internal.verbosity=ERROR",
    "-Djava.net.preferIPv4Stack=true",
)


class Child:
    """One Java child and the connection to it. Requests are sent one at a time; `ask` may be called by several
    threads.
    """

    def __init__(
        self,
        where: str,
        settings: Mapping[str, str],
        *,
        cache: str,
        java_home: str,
        java_options: tuple[str, ...],
        timeout_s: float,
    ) -> None:
        self._where = where
        self._settings = json.dumps(dict(settings))
        self._cache = Path(cache) if cache else None
        self._java_home = Path(java_home) if java_home else None
        self._java_options = java_options
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._child: JavaChild | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child; None if no child is running."""
        return self._child.pid if self._child else None

    def ask(
        self, request: Mapping[str, Any], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request. Return the response and the bytes that follow it. A child that has died since the last
        request is replaced, and the request is sent again.

        Raises an `HdfsError`. This is `HdfsUnavailable` if no response arrives in time or the child dies again.
        """
        with self._lock:
            started_anew = self._child is None
            try:
                return self._ask(request, progress)
            except Ended as first:
                if started_anew:
                    raise HdfsUnavailable(f"{self._where}: Hadoop's client {first}") from first
            try:
                return self._ask(request, progress)
            except Ended as second:
                raise HdfsUnavailable(
                    f"{self._where}: Hadoop's client {second}, for the second time"
                ) from second

    def stop(self) -> None:
        """End the child. The next request starts another. Does nothing if no child is running."""
        with self._lock:
            if self._child is not None:
                with suppress(Ended):
                    self._child.send(orjson.dumps({"op": "end"}) + b"\n")
                self._end(10)  # it may be writing an archive of its classes

    def _ask(
        self, request: Mapping[str, Any], progress: Callable[[int, int], None]
    ) -> tuple[dict[str, Any], bytes]:
        child = self._running()
        try:
            child.send(orjson.dumps(request) + b"\n")
            begun_s = time.monotonic()
            answer = _object(child.line())
            while "progress" in answer:
                done, total = answer["progress"]
                progress(done, total)
                child.go_on()
                if done < SLOWEST_BYTES_S * (time.monotonic() - begun_s - WHOLE * self._timeout_s):
                    raise TimeoutError
                answer = _object(child.line())
            data = child.take(answer.get("bytes", 0))
        except TimeoutError:
            self._end()
            raise HdfsUnavailable(
                f"{self._where}: no answer within {self._timeout_s:.0f} s, or no whole one within {WHOLE} times as long"
            ) from None
        except (ValueError, TypeError) as error:
            self._end()
            raise HdfsUnavailable(
                f"{self._where}: Hadoop's client gave an unexpected answer ({error})"
            ) from error
        except BaseException:
            # If interrupted halfway, the rest of this response would be read as part of the next one.
            self._end()
            raise
        if "error" in answer:
            raise to_error(answer["error"], self._where)
        return answer, data

    def _running(self) -> JavaChild:
        if self._child is None:
            try:
                jars = [jar for name in _JARS for jar in sorted(pyspark_jars().glob(f"{name}.jar"))]
                program = JavaProgram(SOURCE, jars, self._cache or own_directory(), self._java_home)
                options = (*_OPTIONS, *self._java_options)
                command = program.command(options, (self._settings,), archive_classes=True)
                self._child = JavaChild(command, self._timeout_s)
            except (NoJava, OSError) as error:
                raise HdfsError(f"{self._where}: Hadoop's client does not start: {error}") from error
        return self._child

    def _end(self, wait_s: float = 0.0) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            child.end(wait_s)


def _object(line: bytes) -> dict[str, Any]:
    answer = orjson.loads(line)
    if not isinstance(answer, dict):
        raise TypeError("no object")
    return answer
