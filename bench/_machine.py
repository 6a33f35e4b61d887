"""What else the machine was doing: figures without it say little."""

from __future__ import annotations

import os


def load_of_machine() -> str:
    """The load average of the last minute and the processors it is shared among."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()}"
