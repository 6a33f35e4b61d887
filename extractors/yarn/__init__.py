"""The YARN extractor, which reads the ResourceManager and MapReduce's JobHistoryServer.

`extractors.rest` sends requests to both. `plan` decides what to request, by time in `windows`. `applications`,
`configuration` and `names` parse the responses, and `records` converts them to records. The modules `sqoop` and
``sqoop_…`` read the jobs that Sqoop submitted, and the files of navlin's publisher for Sqoop.
"""

from extractors.yarn.extractor import Yarn
from extractors.yarn.sqoop_publications import SqoopPublications

__all__ = ["SqoopPublications", "Yarn"]
