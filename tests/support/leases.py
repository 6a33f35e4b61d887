"""Leases of others: of a process that lives and renews, and of one that no longer does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import orjson

from navlin.index.fields import RUNS
from navlin.index.holder import Holder
from navlin.index.leases import Lease, lease
from navlin.index.solr import Solr

ANOTHER = Holder("another-host", 4711, "1", machine="another", boot="another", namespace="another")
"""A process that nothing can be found out about from here."""


@contextmanager
def held_by(solr: Solr, name: str, holder: Holder = ANOTHER) -> Iterator[Lease]:
    """``holder`` holds the lease, and renews it three times a second, so that it is not lost on a busy machine."""
    with lease(solr, name, holder=holder, lives=lambda _: False, length_s=120, renewals=360) as held:
        yield held


def leave(solr: Solr, name: str, holder: Holder = ANOTHER, **more: Any) -> None:
    """Stores a lease that nobody renews."""
    lay(solr, name, {**asdict(holder), "epoch": 1, **more})


def lay(solr: Solr, name: str, body: object) -> None:
    """Stores a lease with this body."""
    text = orjson.dumps(body).decode()
    solr.add(RUNS, [{"identity": "lease:" + name, "kind": "lease", "source": name, "body": text}])
