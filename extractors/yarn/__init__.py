"""The YARN extractor, which reads the ResourceManager and MapReduce's JobHistoryServer.

`extractors.rest` sends requests to both. `plan` decides what to request, by time in `windows`. `applications`,
`configuration` and `names` parse the responses, and `records` converts them to records.
"""

from extractors.yarn.extractor import Yarn

__all__ = ["Yarn"]
