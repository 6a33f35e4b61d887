"""The load of the machine, without which figures mean little, and the time and memory that processes have taken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


def load_of_machine() -> str:
    """Return the load average of the last minute and the number of processors."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()}"


def processes() -> dict[int, int]:
    """Map each process of the machine to its parent."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found[int(entry.name)] = int(_fields(int(entry.name))[1])
        except OSError:  # it has ended
            continue
    return found


def processor_s(process: int, *, with_children: bool = False) -> float:
    """Return the CPU seconds of a process so far, and of its ended children if asked. Raises OSError if it has
    ended."""
    return sum(map(int, _fields(process)[11 : 15 if with_children else 13])) / _TICKS_A_SECOND


def peak_mib(process: int) -> float:
    """Return the most memory that a process has had so far, in MiB."""
    return _memory_mib(process, "VmHWM")


def resident_mib(process: int) -> float:
    """Return the memory that a process has now, in MiB."""
    return _memory_mib(process, "VmRSS")


def command_of(process: int) -> str:
    """Return the command line of a process, with NUL between its words. Raises OSError if it has ended."""
    return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")


def own_java() -> int:
    """Return the Java process that this process has started, a Solr. Raises LookupError."""
    for child, parent in processes().items():
        if parent == os.getpid() and command_of(child).partition("\0")[0].endswith("java"):
            return child
    raise LookupError("no Solr runs")


def _memory_mib(process: int, name: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


def _fields(process: int) -> list[str]:
    """Return the fields of proc(5)'s stat from the third, the state, on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
