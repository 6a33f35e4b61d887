"""Main loop of the child process, which reads one text after the other until standard input ends.

Each input line is a question as JSON, each output line the answer to it. The kernel limits memory and CPU time, so a
text that takes too much ends only this process.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
from typing import Final

from navlin.sql.reading import ReadText, as_json, question_of
from navlin.sql.texts import answer

FRAMES: Final = 9_000
"""Python's recursion limit, enough for some 400 nested brackets. With a higher limit, the C stack might overflow before
Python notices."""
TOO_MUCH_MEMORY: Final = "it takes too much memory"


def main(cpu_s: int, memory_bytes: int) -> None:
    """Answer the questions on standard input. A text that takes more than ``cpu_s`` seconds of CPU ends the process
    (SIGXCPU)."""
    sys.setrecursionlimit(FRAMES)
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        until_s = int(used.ru_utime + used.ru_stime) + cpu_s + 1
        resource.setrlimit(resource.RLIMIT_CPU, (until_s, resource.RLIM_INFINITY))
        sys.stdout.write(_answered(line) + "\n")
        sys.stdout.flush()


def _answered(line: str) -> str:
    try:
        return json.dumps(answer(question_of(json.loads(line))), default=as_json)
    except MemoryError:
        return json.dumps(ReadText(problem=TOO_MUCH_MEMORY), default=as_json)
    except RecursionError:
        return json.dumps(ReadText(problem="it is nested too deeply"), default=as_json)
    except Exception as error:  # a text that makes the parser fail must not block later ones
        return json.dumps(ReadText(problem=f"the parser fails: {type(error).__name__}"), default=as_json)
