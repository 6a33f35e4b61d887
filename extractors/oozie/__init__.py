"""The Oozie extractor, which reads workflows, coordinators and bundles over Oozie's REST service.

`extractors.rest` sends the requests that `server` words. `plan` decides which jobs to read, and `reading` reads them.
`answers`, `definitions`, `ends` and `xml_texts` parse what Oozie says, and `records` converts it to records, with the
keys of `names`.
"""

from extractors.oozie.extractor import Oozie

__all__ = ["Oozie"]
