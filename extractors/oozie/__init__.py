"""The Oozie extractor, which reads workflows, coordinators and bundles from Oozie's REST service.

`server` builds the requests, and `extractors.rest` sends them. `plan` decides which jobs to read, and `reading` reads
them. `answers`, `definitions`, `ends` and `xml_texts` parse Oozie's answers. `records` converts them to records, with
the keys of `names`.
"""

from extractors.oozie.extractor import Oozie

__all__ = ["Oozie"]
