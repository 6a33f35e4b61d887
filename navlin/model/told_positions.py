"""Keys of positions by which an extractor of a file system also tells others what its files are worth as evidence: the index
is asked for them by those who look for what nobody reads."""

from __future__ import annotations

from typing import Final

IMAGE: Final = "image"
"""The transaction of the last image that was read; saved only once all of the image was read."""
ACCESSES: Final = "accesses"
"""Of when an image is at least, and in which weeks it shows that access times were kept. It counts if its image is that of
`IMAGE`."""
ENTRIES: Final = "entries"
"""The setting of that name: whether all files are read, "all", or only those that something names."""
