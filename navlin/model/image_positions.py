"""Keys of the positions in which a file system's extractor records how much of the file system the index has, and as of
what time. The queries for unused data depend on these positions."""

from __future__ import annotations

from typing import Final

IMAGE: Final = "image"
"""Key of the position with the transaction of the last image; saved only after the whole image was read."""
ACCESSES: Final = "accesses"
"""Key of the position with the earliest possible date of an image, and the weeks for which the image shows that access
times were recorded. Valid only if the image is that of `IMAGE`."""
ENTRIES: Final = "entries"
"""Key of the position with the setting ``entries``: `ALL` if all files are read, otherwise only referenced ones."""
ALL: Final = "all"
