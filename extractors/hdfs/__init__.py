"""The HDFS extractor.

`client` sends requests to HDFS through a Java `child`. `plan` decides what to read: an image, a directory listing, or
the paths touched since the last run. `image_reading` and `reading` convert these to `Listing` records, without the
paths that `filters` exclude. `image` decodes an fsimage.
"""

from extractors.hdfs.extractor import Hdfs

__all__ = ["Hdfs"]
