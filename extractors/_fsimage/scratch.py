"""The flat files that `prepare` lays down, and columns of numbers too long for memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import numpy as np
from numpy.typing import NDArray

CHUNK: Final = 1 << 20


class Column:
    """A file of numbers of one type, written once from the first to the last."""

    def __init__(self, path: Path, dtype: str) -> None:
        self.path, self.dtype, self.count = path, np.dtype(dtype), 0
        self._file: BinaryIO = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, values: NDArray[Any]) -> None:
        self._file.write(values.astype(self.dtype, copy=False).data)
        self.count += len(values)


def read_column(path: Path, dtype: str, first: int = 0, count: int = -1) -> NDArray[Any]:
    kind = np.dtype(dtype)
    values = np.fromfile(path, kind, count, offset=first * kind.itemsize)
    if len(values) < count:
        raise OSError(f"{path} has {len(values)} numbers from {first} on, and {count} are due")
    return values


def chunks(path: Path, dtype: str, count: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """The column in pieces, each with the number of its first value."""
    for first in range(0, count, CHUNK):
        yield first, read_column(path, dtype, first, min(CHUNK, count - first))


def filled(path: Path, dtype: str, count: int, value: int) -> NDArray[Any]:
    """A column of ``count`` times ``value``, mapped so that it can be changed in any order."""
    kind = np.dtype(dtype)
    chunk = np.full(min(CHUNK, count), value, kind)
    with path.open("wb") as file:
        for first in range(0, count, CHUNK):
            file.write(chunk[: count - first].data)
    return np.memmap(path, kind, "r+", shape=(count,))
