"""Leases of other processes: of one that renews its lease, and of one that has stopped renewing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import orjson

from navlin.index.journal.holder import Holder
from navlin.index.journal.leases import Lease, lease
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr

ANOTHER = Holder("another-host", 4711, "1", machine="another", boot="another", namespace="another")
"""A process on another host, whose state cannot be determined from here."""


@contextmanager
def held_by(solr: Solr, name: str, holder: Holder = ANOTHER) -> Iterator[Lease]:
    """Hold the lease as ``holder``. It is renewed three times a second, so that it is not lost on a busy machine."""
    with lease(solr, name, holder=holder, lives=lambda _: False, length_s=120, renewals=360) as held:
        yield held


def leave(solr: Solr, name: str, holder: Holder = ANOTHER, **more: Any) -> None:
    """Store a lease that no process renews."""
    lay(solr, name, {**asdict(holder), "epoch": 1, **more})


def lay(solr: Solr, name: str, body: object) -> None:
    """Store a lease document with this body."""
    text = orjson.dumps(body).decode()
    solr.add(RUNS, [{"identity": "lease:" + name, "kind": "lease", "source": name, "body": text}])
