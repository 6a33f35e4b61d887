"""The YARN extractor, which reads the ResourceManager and MapReduce's JobHistoryServer.

`rest` talks to both, `plan` decides what to request (`windows` of time). `applications`, `configuration` and `names` parse
the responses, `records` turns them into records.
"""

from extractors.yarn.extractor import Yarn

__all__ = ["Yarn"]
