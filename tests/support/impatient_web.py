"""``navlin web`` with short time-outs of connections, as a program: ``python -m tests.support.impatient_web ARGUMENTS``."""

from __future__ import annotations

from typing import Final

from navlin.cli import main
from navlin.service.daemon import connections, web

TIMEOUT_S: Final = 2


if __name__ == "__main__":
    connections.HEADER_S = connections.STALLED_S = TIMEOUT_S  # type: ignore[misc]
    web.KEEP_ALIVE_S = TIMEOUT_S  # type: ignore[misc]
    main()
