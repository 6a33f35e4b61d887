"""axe-core, an accessibility checker for tests of pages, fetched from npm's registry.

    python -m tests.services.axe .browser

axe-core is made by Deque under MPL-2.0. It is not part of navlin or of navlin's packages.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from tests.services.third_party import Unlike, check, members

VERSION: Final = "4.14.1"
FILE: Final = Path("axe-core") / "axe.min.js"
_SHA256: Final = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"


def fetch(home: Path) -> None:
    """Fetch the file into ``home`` if it is missing. Raises `Unlike`."""
    file = home / FILE
    if file.exists():
        return
    (data,) = members("axe-core", VERSION, ["package/axe.min.js"])
    check(str(FILE), data, _SHA256)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


if __name__ == "__main__":
    if not shutil.which("npm"):
        sys.exit(
            "axe-core comes from npm's registry, and this machine has no npm: pages are tested without it"
        )
    try:
        fetch(Path(sys.argv[1]))
    except Unlike as error:
        sys.exit(str(error))
