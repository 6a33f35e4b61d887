"""Position keys by which a file system's extractor states how much of it the index holds, and as of when. The queries
for unused data depend on them."""

from __future__ import annotations

from typing import Final

IMAGE: Final = "image"
"""The transaction of the last image that was read; saved only after all of the image was read."""
ACCESSES: Final = "accesses"
"""The earliest possible date of an image, and the weeks for which it shows that access times were kept. Valid only if
its image is that of `IMAGE`."""
ENTRIES: Final = "entries"
"""The setting of that name: "all" if all files are read, else only referenced ones."""
