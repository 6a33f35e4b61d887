"""The Hive Metastore extractor.

`client` connects to a metastore; `thrift` is the protocol, and `idl` has the calls. `plan` decides what to read:
everything, or the objects `touched` according to `events`. `reading` and `fetch` get the objects, and `entities`
converts them to records.
"""

from extractors.hms.extractor import HiveMetastore

__all__ = ["HiveMetastore"]
