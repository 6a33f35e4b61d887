"""YARN: its ResourceManager and MapReduce's JobHistoryServer.

`rest` talks to both, `plan` decides what to ask (`windows` of time), `applications`, `configuration` and `names` parse
the answers, `records` turns them into records.
"""

from extractors.yarn.extractor import Yarn

__all__ = ["Yarn"]
