"""HDFS.

`client` talks to it through a Java `child`. `plan` decides what to read: an image, a listing, or what was touched since the
last run. `image_reading` and `reading` turn it into listings, without what `filters` leave out. `image` decodes an fsimage.
"""

from extractors.hdfs.extractor import Hdfs

__all__ = ["Hdfs"]
