"""Write the sources of the manual into a folder, with all generated parts."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.from_code.pages import write_sources

write_sources(Path(sys.argv[1]))
