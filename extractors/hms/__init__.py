"""The Hive Metastore extractor.

`client` talks to a metastore (`thrift` is the protocol, `idl` has the calls). `plan` decides what to read: everything,
or the objects `touched` according to `events`. `reading` and `fetch` get the objects, `entities` turns them into records.
"""

from extractors.hms.extractor import HiveMetastore

__all__ = ["HiveMetastore"]
