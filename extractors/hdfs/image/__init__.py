"""Convert HDFS images (fsimage) to record batches. An image is never held in memory as a whole, is read in parts, and
is rejected if it is damaged.

The format is that of Hadoop 2.4 and later (Hadoop's fsimage.proto): a magic number, sections of delimited protobuf
messages, and a summary at the end with the location of each section. An INODE message does not name its parent, and
the messages are in no order. `prepare` therefore walks the image once and writes flat files: the parent of each inode,
and the path of each directory. `read_part` then converts any range of inodes to rows.

This package does not depend on the extractors. It needs pyarrow and NumPy, so it is imported only where it is used.
"""

from extractors.hdfs.image.errors import ImageError
from extractors.hdfs.image.files import check_md5, find_image, md5_beside
from extractors.hdfs.image.layout import ImageSummary, describe_image
from extractors.hdfs.image.prepared import ImagePart, Prepared
from extractors.hdfs.image.preparing import prepare
from extractors.hdfs.image.rows import read_part

__all__ = [
    "ImageError",
    "ImagePart",
    "ImageSummary",
    "Prepared",
    "check_md5",
    "describe_image",
    "find_image",
    "md5_beside",
    "prepare",
    "read_part",
]
