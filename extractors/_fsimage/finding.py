"""Which image to read: a file that is named, or the newest of a NameNode's or standby's checkpoint directory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from extractors._fsimage.checksum import checksum_file
from extractors._fsimage.errors import ImageError

# Not fsimage.ckpt_* (being written), not fsimage_rollback_* (of an upgrade), not the checksums.
_NAME: Final = re.compile(r"fsimage_([0-9]+)")


def find_image(place: Path | str) -> Path:
    """``place`` is an image, or a directory with images (``current`` below it is looked into too).

    In a directory only ``fsimage_<transaction id>`` counts, and only with its ``.md5``: a NameNode writes that last.
    """
    path = Path(place)
    try:
        if not path.is_dir():
            if not path.exists():
                raise ImageError(str(path), "does not exist")
            return path
        below = path / "current"
        directories = [path, below] if below.is_dir() else [path]
        named = [
            (int(found[1]), each)
            for directory in directories
            for each in directory.iterdir()
            if (found := _NAME.fullmatch(each.name)) and each.is_file()
        ]
        whole = [(transaction, each) for transaction, each in named if checksum_file(each).is_file()]
    except ImageError:
        raise
    except OSError as error:
        raise ImageError(str(error.filename or path), f"cannot be read: {error.strerror or error}") from error
    if not whole:
        if named:
            raise ImageError(
                str(path),
                f"has {max(named)[1].name} but not its .md5: it is still being written, or was left",
            )
        raise ImageError(
            str(path), "has no fsimage_<transaction id>: is this a NameNode's or standby's directory?"
        )
    return max(whole)[1]
