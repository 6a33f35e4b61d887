"""Read SQL texts in a child process, whose time and memory are limited."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from navlin.sql.reading import ReadText, TextToRead, answer_of

TEXT_CHARS: Final = 262_144
"""Maximum length of a text. The definition of a view rarely exceeds a hundredth of this."""
CPU_S: Final = 10
MEMORY_BYTES: Final = 1 << 30
WALL_S_PER_CPU_S: Final = 12
"""Maximum silence of a child, in seconds per second of `CPU_S`. On a busy machine a child may wait for the CPU."""

_START = (
    "import sys; cpu_s, memory_bytes, *sys.path = sys.argv[1:];"
    " from navlin.sql.child import main; main(int(cpu_s), int(memory_bytes))"
)


@dataclass(slots=True)
class SqlReader:
    """Reader of SQL texts, one after the other, in a child process that is started for the first text. If a text
    exceeds a limit or ends the child, the answer's ``problem`` says so, and the next text gets a new child. Must be
    closed; also a context manager."""

    text_chars: int = TEXT_CHARS
    cpu_s: int = CPU_S
    memory_bytes: int = MEMORY_BYTES
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def read(self, question: TextToRead) -> ReadText:
        """Return the effects of a text. Never raises because of the text."""
        if len(question.text) > self.text_chars:
            return ReadText(problem=f"it is longer than {self.text_chars:,} characters")
        payload = {
            "text": question.text,
            "schema": {name: list(columns) for name, columns in question.schema.items()},
            "database": question.database,
            "dialects": question.dialects,
        }
        try:
            line = self._ask(json.dumps(payload).encode() + b"\n")
        except _Silent as silent:
            return ReadText(problem=self._end(kill=silent.stalled))
        return answer_of(json.loads(line))

    def close(self) -> None:
        if self._child is not None:
            self._end(kill=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, line: bytes) -> bytes:
        """Return the child's answer. Raises `_Silent` if there is none."""
        child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(line)
            child.stdin.flush()
        except BrokenPipeError:
            raise _Silent(stalled=False) from None
        # `select` only supports descriptors below 1,024, and a process that follows many logs has higher ones.
        waiting = select.poll()
        waiting.register(child.stdout, select.POLLIN)
        answered = b""
        while not answered.endswith(b"\n"):
            if not waiting.poll(self.cpu_s * WALL_S_PER_CPU_S * 1000):
                raise _Silent(stalled=True)
            if not (piece := os.read(child.stdout.fileno(), 1 << 20)):
                raise _Silent(stalled=False)
            answered += piece
        return answered

    def _start(self) -> subprocess.Popen[bytes]:
        arguments = [str(self.cpu_s), str(self.memory_bytes), *sys.path]
        self._child = subprocess.Popen(
            [sys.executable, "-c", _START, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._child

    def _end(self, *, kill: bool) -> str:
        """End the child, which is already dying unless ``kill``; return the reason for its silence."""
        child, self._child = self._child, None
        assert child is not None
        if kill:
            child.kill()
        child.communicate()
        if kill or child.returncode == -signal.SIGXCPU:
            return f"it takes more than {self.cpu_s} s"
        return "it crashes the parser"


class _Silent(Exception):
    """The child did not answer: it took too long (``stalled``), or it died."""

    def __init__(self, *, stalled: bool) -> None:
        super().__init__()
        self.stalled = stalled
