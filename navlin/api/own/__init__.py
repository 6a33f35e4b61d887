"""navlin's own API, below ``/api/navlin/v1``: the same queries as on the command line, with the same JSON as
``--json``.

Most endpoints are made from declarations (`navlin.questions`); every other endpoint has a module here, named in
`ENDPOINTS`.
"""

from __future__ import annotations

from typing import Final

from navlin.api.endpoint import Endpoint
from navlin.api.own import (
    export,
    requests,
    users,
)
from navlin.api.own.questions import endpoint_of
from navlin.questions import all_questions

ROOT: Final = "/api/navlin/v1"
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    *map(endpoint_of, all_questions()),
    export.ENDPOINT,
    requests.READ,
    users.LOG_OUT,
)
