"""Environment of the endpoints: the index, and the settings and functions of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navlin.access.authentication import Authentication
from navlin.api.hosts import HostReceiver
from navlin.api.openlineage import EventReceiver
from navlin.index.solr.solr import Solr, SolrAddress, SolrUnavailable


class Index:
    """Connection to the index at its current URL, which changes if an embedded Solr has another port after a
    restart."""

    def __init__(self, address: Callable[[], SolrAddress]) -> None:
        """``address`` finds the running Solr. It raises `SolrUnavailable` if Solr does not run."""
        self._address = address
        self._lock = threading.Lock()
        self._solr: Solr | None = None

    @contextmanager
    def solr(self) -> Iterator[Solr]:
        """Yield the connection for one request. If Solr does not respond, the next request looks up the URL again."""
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
    """Data shared by all requests of one process.

    - ``status`` returns the JSON of ``navlin status``.
    - ``daemon_runs`` returns whether a daemon runs that accepts jobs.
    - ``now_ms`` returns epoch ms.
    - ``base_path`` is a proxy's prefix of each path.
    - ``secure`` is whether browsers connect by TLS, possibly to a proxy.
    - ``public_origin`` is the origin that browsers send, if it differs from the Host header.
    - ``events`` accepts OpenLineage events; None if they are not accepted.
    - ``hosts`` accepts the data of other hosts; None if it is not accepted.
    - ``purges_after_days`` is the age at which the daemon purges automatically.
    - ``hue_url`` is the URL of Hue; "" if pages do not link to Hue.
    - ``manual`` is the folder of the built manual; it may be missing. With ``public_docs`` the manual needs no login.
    """

    index: Index
    authentication: Authentication
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
    events: EventReceiver | None = None
    hosts: HostReceiver | None = None
    manual: Path = Path("manual")
    public_docs: bool = False
