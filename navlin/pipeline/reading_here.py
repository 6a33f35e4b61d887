"""Reads splits on this machine, in child processes, one per processor, while Spark computes on other machines.

A child (``python -m navlin.pipeline.reading_here``) gets its order on standard input, and writes the name of each file
to standard output as soon as the file is complete. It ends when its standard input is closed.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Final

from navlin.model.extractor import Extractor
from navlin.model.records import Split
from navlin.pipeline.reading import read_into_files

LENGTH_BYTES: Final = 8


class ReaderEnded(Exception):
    """A child process ended before it had read everything."""


def read_here(
    extractor: Extractor, splits: Sequence[Split], folder: Path, *, processes: int | None = None
) -> Iterator[Path]:
    """Read splits into Parquet files below ``folder``. Yield the path of each file when it is complete.

    With a single split, or a single processor, this process reads by itself, because a child takes a second to start.
    Raises `ReaderEnded`.
    """
    readers = min(len(splits), processes or os.cpu_count() or 1)
    if readers == 1:
        yield from read_into_files(extractor, splits, folder)
        return
    found: SimpleQueue[Path | int] = SimpleQueue()
    children = [
        _start(extractor, splits[number::readers], folder / str(number), found) for number in range(readers)
    ]
    try:
        waiting = readers
        while waiting:
            each = found.get()
            if isinstance(each, Path):
                yield each
            elif each:
                raise ReaderEnded(f"a process that reads on this machine exited with code {each}")
            else:
                waiting -= 1
    finally:
        for child in children:
            child.kill()
            child.wait()
            assert child.stdin is not None
            child.stdin.close()


def _start(
    extractor: Extractor, splits: Sequence[Split], folder: Path, found: SimpleQueue[Path | int]
) -> subprocess.Popen[bytes]:
    folder.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C must only reach navlin, which stops the child itself
    )

    def listen() -> None:
        order = pickle.dumps((extractor, splits, folder))
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(len(order).to_bytes(LENGTH_BYTES) + order)
            child.stdin.flush()
        except BrokenPipeError:
            pass  # the child has ended; its exit code is reported below
        with child.stdout as lines:
            for line in lines:
                found.put(folder / line.decode().strip())
        found.put(child.wait())

    threading.Thread(target=listen, name="reading-here", daemon=True).start()
    return child


def main() -> None:
    """Read an order (extractor, splits and folder, pickled) from standard input. Read these splits, and print the name
    of each file written."""
    orders, names = sys.stdin.buffer, sys.stdout.buffer
    extractor, splits, folder = pickle.loads(orders.read(int.from_bytes(orders.read(LENGTH_BYTES))))  # noqa: S301 (pickled by the parent)
    sys.stdout = sys.stderr  # only file names may be written to the pipe to the parent
    threading.Thread(target=_end_with, args=(orders,), daemon=True).start()
    for file in read_into_files(extractor, splits, folder):
        names.write(f"{file.name}\n".encode())
        names.flush()
    os._exit(0)


def _end_with(orders: BinaryIO) -> None:
    orders.read()
    os._exit(1)


if __name__ == "__main__":
    main()
