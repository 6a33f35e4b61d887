"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(file: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a new file, readable only by its owner, that replaces ``file`` when it is complete. After any error ``file``
    is unchanged, and the partial file is removed. With ``durable``, either the old or the new content survives a power
    failure."""
    unfinished = file.with_name(file.name + ".new")
    unfinished.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
            out.flush()
            if durable:
                os.fsync(out.fileno())
        unfinished.replace(file)
    except BaseException:
        # The disk may be full, so the partial file must not remain.
        with suppress(OSError):
            unfinished.unlink()
        raise


def replace_content(file: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file's content as `replaced` does."""
    with replaced(file, durable=durable) as out:
        out.write(content)
