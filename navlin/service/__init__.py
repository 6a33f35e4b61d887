"""The service around the pipeline: configuration, the clock, logs, what `status` and `check` say."""

from pathlib import Path
from typing import Final

DEFAULT_FILE: Final = Path("/etc/navlin/navlin.toml")
"""The configuration, unless another one is named."""
FILE_VARIABLE: Final = "NAVLIN_CONFIG"
"""The environment's variable that names another."""
