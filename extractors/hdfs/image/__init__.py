"""HDFS images (fsimage) as record batches: never held whole, read in parts, rejected if unsound.

The format is that of Hadoop 2.4 and later: a magic number, sections of delimited protobuf messages, a summary at the
end with the location of each section (Hadoop's fsimage.proto). An INODE message does not name its parent, and the section
has no order. So `prepare` walks the image once and writes flat files (each inode's parent, each directory's path), and
`read_part` turns any range of inodes into rows.

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
