"""The endpoints' environment: the index, and the settings and functions of the process around them."""

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
    """The index at its current address: an embedded Solr may have another port after a restart."""

    def __init__(self, address: Callable[[], SolrAddress]) -> None:
        """``address`` finds the running Solr; it raises `SolrUnavailable` if there is none."""
        self._address = address
        self._lock = threading.Lock()
        self._solr: Solr | None = None

    @contextmanager
    def solr(self) -> Iterator[Solr]:
        """The index, for one request. If it does not answer, the next request looks up its address again."""
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
    """Shared by all requests of one process. ``status`` returns the JSON of ``navlin status``; ``daemon_runs`` says
    whether there is a daemon that takes requests; ``now_ms`` is epoch ms; ``base_path`` is a proxy's prefix of each
    path. ``secure`` says that browsers reach it by TLS, maybe a proxy's; ``public_origin`` is the origin that they show,
    if it differs from the Host header. ``events`` takes OpenLineage's events, None if they are not accepted.
    ``purges_after_days`` is the age at which the daemon purges on its own; ``hue_url`` is the address of Hue, "" if
    pages have no links to it."""

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
