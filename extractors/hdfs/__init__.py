"""HDFS.

`client` talks to it through a Java `child`. `plan` decides what to read: an image, a listing, or the paths touched
since the last run. `image_reading` and `reading` turn it into listings, without paths that `filters` exclude. `image`
decodes an fsimage.
"""

from extractors.hdfs.extractor import Hdfs

__all__ = ["Hdfs"]
