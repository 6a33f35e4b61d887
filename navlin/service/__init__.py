"""The service around the pipeline: configuration, schedule, logs, and the results of `status` and `check`."""

from pathlib import Path
from typing import Final

DEFAULT_FILE: Final = Path("/etc/navlin/navlin.toml")
"""Default path of the configuration file."""
FILE_VARIABLE: Final = "NAVLIN_CONFIG"
"""Environment variable with the path of another configuration file."""
