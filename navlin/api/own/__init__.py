"""navlin's own API, below ``/api/navlin/v1``: the command line's questions, with the same JSON as ``--json``.

A new endpoint is one module here, named in `ENDPOINTS`, and one test.
"""

from __future__ import annotations

from typing import Final

from navlin.api.endpoint import Endpoint
from navlin.api.own import (
    count,
    edit,
    edits,
    evidence,
    export,
    extract,
    impact,
    incomplete,
    inherited,
    lineage,
    link,
    purge,
    rejects,
    requests,
    runs,
    saved,
    search,
    show,
    status,
    unlinked,
    unused,
    users,
)

ROOT: Final = "/api/navlin/v1"
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    search.ENDPOINT,
    count.ENDPOINT,
    saved.LIST,
    saved.ADD,
    saved.REMOVE,
    show.ENDPOINT,
    lineage.ENDPOINT,
    impact.ENDPOINT,
    evidence.ENDPOINT,
    unused.ENDPOINT,
    inherited.ENDPOINT,
    status.ENDPOINT,
    unlinked.ENDPOINT,
    incomplete.ENDPOINT,
    rejects.ENDPOINT,
    runs.ENDPOINT,
    edits.ENDPOINT,
    export.ENDPOINT,
    edit.ENDPOINT,
    extract.ENDPOINT,
    link.ENDPOINT,
    purge.ENDPOINT,
    requests.READ,
    users.LOG_OUT,
)
