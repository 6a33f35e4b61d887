"""The Java child that talks to HDFS: started when first asked, ended when it hangs, started again when it died."""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from extractors.hdfs.errors import HdfsError, HdfsUnavailable, to_error
from navlin.java import JavaProgram, NoJava, own_directory, pyspark_jars

SOURCE: Final = Path(__file__).with_name("HdfsClient.java")
_JARS: Final = ("hadoop-client-api-*", "hadoop-client-runtime-*", "slf4j-api-*", "jackson-core-*")
_OPTIONS: Final = (
    "-Xmx192m",
    "-XX:+UseSerialGC",
    # What it needed once it gives back.
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    # It has no logging library on its path, and would complain.
    "-Dslf4j.internal.verbosity=ERROR",
    "-Djava.net.preferIPv4Stack=true",
)
_CHUNK_BYTES: Final = 1 << 20
_LAST_WORDS_BYTES: Final = 2000


class Died(Exception):
    """The child ended without an answer; the text has its last words."""


class Child:
    """One Java child and the line to it. One request at a time; `ask` may be called by several threads."""

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
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()
        self._last_words = bytearray()

    @property
    def pid(self) -> int | None:
        """Process id of the child, None where there is none."""
        return self._process.pid if self._process else None

    def ask(
        self, request: Mapping[str, Any], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> tuple[dict[str, Any], bytes]:
        """The answer and the bytes that belong to it. A child that has died in the meantime is replaced, and asked again.

        Raises an `HdfsError`; `HdfsUnavailable` if there is silence for longer than the timeout.
        """
        with self._lock:
            started_anew = self._process is None
            try:
                return self._ask(request, progress)
            except Died as first:
                if started_anew:
                    raise HdfsUnavailable(f"{self._where}: Hadoop's client ended: {first}") from first
            try:
                return self._ask(request, progress)
            except Died as second:
                raise HdfsUnavailable(f"{self._where}: Hadoop's client ended again: {second}") from second

    def stop(self) -> None:
        """Ends the child; the next request starts another. Harmless where none runs."""
        with self._lock:
            if self._process is not None:
                assert self._process.stdin is not None
                with suppress(OSError):
                    self._process.stdin.write(orjson.dumps({"op": "end"}) + b"\n")
                    self._process.stdin.close()
                with suppress(subprocess.TimeoutExpired):  # it may be leaving an archive of its classes
                    self._process.wait(10)
                self._kill()

    def _ask(
        self, request: Mapping[str, Any], progress: Callable[[int, int], None]
    ) -> tuple[dict[str, Any], bytes]:
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(orjson.dumps(request) + b"\n")
            process.stdin.flush()
            answer = self._line(process)
            while "progress" in answer:
                progress(*answer["progress"])
                answer = self._line(process)
            data = self._take(process, answer.get("bytes", 0))
        except BrokenPipeError:
            raise Died(self._kill()) from None
        except BaseException:
            # Interrupted half way: what is still under way would be taken for the next answer.
            self._kill()
            raise
        if "error" in answer:
            raise to_error(answer["error"], self._where)
        return answer, data

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                jars = [jar for name in _JARS for jar in sorted(pyspark_jars().glob(f"{name}.jar"))]
                program = JavaProgram(SOURCE, jars, self._cache or own_directory(), self._java_home)
                options = (*_OPTIONS, *self._java_options)
                command = program.command(options, (self._settings,), archive_classes=True)
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C is for navlin
                )
            except (NoJava, OSError) as error:
                raise HdfsError(f"{self._where}: Hadoop's client does not start: {error}") from error
            self._received.clear()
            self._last_words.clear()
            listening = (self._process, self._last_words)
            threading.Thread(target=_listen, args=listening, name="hdfs-stderr", daemon=True).start()
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            self._receive(process)
        line = self._received[:end]
        del self._received[: end + 1]
        answer: dict[str, Any] = orjson.loads(line)
        return answer

    def _take(self, process: subprocess.Popen[bytes], count: int) -> bytes:
        while len(self._received) < count:
            self._receive(process)
        data = bytes(self._received[:count])
        del self._received[:count]
        return data

    def _receive(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        waiting = select.poll()
        waiting.register(process.stdout, select.POLLIN)
        deadline_s = time.monotonic() + self._timeout_s
        while not waiting.poll(1000):
            if time.monotonic() > deadline_s:
                raise HdfsUnavailable(f"{self._where}: no answer within {self._timeout_s:.0f} s")
        data = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not data:
            raise BrokenPipeError
        self._received += data

    def _kill(self) -> str:
        """Ends the child at once; its last words."""
        if self._process is None:
            return ""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        code = self._process.returncode
        self._process = None
        self._received.clear()
        last_words = bytes(self._last_words).decode(errors="replace").strip()
        return last_words or f"it wrote nothing (code {code})"


def _listen(process: subprocess.Popen[bytes], last_words: bytearray) -> None:
    """Reads what the child complains of for ever: a full pipe would stop it."""
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            last_words += line
            del last_words[:-_LAST_WORDS_BYTES]
