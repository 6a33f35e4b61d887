"""Keys of the positions in which an extractor of a file system says how much of it the index has, and of when. Questions
about what nobody reads depend on them."""

from __future__ import annotations

from typing import Final

IMAGE: Final = "image"
"""The transaction of the last image that was read; saved only once all of the image was read."""
ACCESSES: Final = "accesses"
"""Of when an image is at least, and in which weeks it shows that access times were kept. It counts if its image is that of
`IMAGE`."""
ENTRIES: Final = "entries"
"""The setting of that name: whether all files are read, "all", or only those that something names."""
