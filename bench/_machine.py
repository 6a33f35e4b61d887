"""The load of the machine, without which figures mean little."""

from __future__ import annotations

import os


def load_of_machine() -> str:
    """Return the load average of the last minute and the number of processors."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()}"
