"""The load of the machine: figures mean little without it."""

from __future__ import annotations

import os


def load_of_machine() -> str:
    """The load average of the last minute and the number of processors."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()}"
