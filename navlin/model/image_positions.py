"""Keys of the positions in which a file system's extractor records how much of the file system the index has, and as of
what time. The queries for unused data depend on these positions."""

from __future__ import annotations

from typing import Final

IMAGE: Final = "image"
"""The transaction of the last image that was read; saved only after all of the image was read."""
ACCESSES: Final = "accesses"
"""The earliest possible date of an image, and the weeks for which it shows that access times were kept. Valid only if
this image is that of `IMAGE`."""
ENTRIES: Final = "entries"
"""The setting ``entries``: "all" if all files are read, otherwise only referenced ones."""
