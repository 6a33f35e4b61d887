"""What the endpoints work with: the index, and what only the process around them knows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from navlin.access.gate import Gate
from navlin.api.openlineage import EventDoor
from navlin.index.solr import Solr, SolrAddress, SolrUnavailable


class Index:
    """The index, wherever it is now: an embedded Solr that was started again may answer at another port."""

    def __init__(self, address: Callable[[], SolrAddress]) -> None:
        """``address`` finds the Solr that runs now; it raises `SolrUnavailable` if there is none."""
        self._address = address
        self._lock = threading.Lock()
        self._solr: Solr | None = None

    @contextmanager
    def solr(self) -> Iterator[Solr]:
        """The index, for one request. If it does not answer, the next request looks for it anew."""
        with self._lock:
            solr = self._solr = self._solr or Solr(self._address())
        try:
            yield solr
        except SolrUnavailable:
            with self._lock:
                if self._solr is solr:
                    self._solr = None
            raise


@dataclass(frozen=True, slots=True)
class Service:
    """Shared by all requests of one process. ``status`` answers as ``navlin status --json``; ``daemon_runs`` says whether
    there is a daemon that takes requests up; ``now_ms`` is epoch ms; ``base_path`` is what a proxy puts before each path.
    ``secure`` says that browsers reach it by TLS, be it a proxy's; ``public_origin`` is what they then show of it, if a
    request does not say so. ``events`` is where OpenLineage's events go, None if they are not taken. ``purges_after_days``
    is what the daemon purges by itself; ``hue_url`` is where Hue is, "" if pages lead to none."""

    index: Index
    gate: Gate
    status: Callable[[Solr], Mapping[str, Any]]
    daemon_runs: Callable[[], bool]
    now_ms: Callable[[], int]
    version: str
    purges_deleted_files: bool = True
    solr_passthrough: bool = False
    base_path: str = ""
    tls: bool = False
    secure: bool = False
    public_origin: str = ""
    purges_after_days: int = 60
    hue_url: str = ""
    events: EventDoor | None = None
