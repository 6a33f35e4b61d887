"""The Hive Metastore.

`client` talks to it (`thrift` is the wire, `idl` its calls). `plan` decides what to read: everything, or the objects
`touched` according to `events`. `reading` and `fetch` get them, `entities` turns them into records.
"""

from extractors.hms.extractor import HiveMetastore

__all__ = ["HiveMetastore"]
