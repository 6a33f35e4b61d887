"""Totals over all tests and rounds of a soak, printed at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

WHOLE_PROCESSES: Final = frozenset(
    {
        "another_process_is_killed",
        "the_driver_of_another_process_is_killed",
        "the_java_of_another_process_is_killed",
    }
)
AT_REQUESTS: Final = frozenset({"dead_from_a_request_on"})


@dataclass(slots=True)
class Soaked:
    """Number of faults by kind, of documents compared, and of differences found."""

    processes_killed: int = 0
    killed_at_requests: int = 0
    other_faults: int = 0
    damaged_records: int = 0
    documents_compared: int = 0
    differences: int = 0

    def add_struck(self, struck: Mapping[str, int]) -> None:
        """Add faults. ``struck`` maps names of nemeses to counts."""
        for name, count in struck.items():
            if name in WHOLE_PROCESSES:
                self.processes_killed += count
            elif name in AT_REQUESTS:
                self.killed_at_requests += count
            else:
                self.other_faults += count

    def add_compared(self, documents: int, differences: int) -> None:
        self.documents_compared += documents
        self.differences += differences

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)

    def __str__(self) -> str:
        kills = self.processes_killed + self.killed_at_requests
        return (
            f"faults injected: {kills} kills ({self.processes_killed} of whole processes, {self.killed_at_requests} at "
            f"requests), {self.other_faults} others, {self.damaged_records} damaged records; "
            f"differences found: {self.differences} in {self.documents_compared} documents"
        )
