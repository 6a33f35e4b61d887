"""The service around the pipeline: configuration, the schedule, logs, and the answers of `status` and `check`."""

from pathlib import Path
from typing import Final

DEFAULT_FILE: Final = Path("/etc/navlin/navlin.toml")
"""The configuration file, unless another one is given."""
FILE_VARIABLE: Final = "NAVLIN_CONFIG"
"""The environment variable that names another one."""
