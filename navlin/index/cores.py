"""Making the three cores, or collections, of a Solr that navlin does not run itself."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from navlin.index.connection import SolrError
from navlin.index.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr import Solr

CORES: Final = (ELEMENTS, RELATIONS, RUNS)
CONFIGSET: Final = "navlin"
"""The folder of the schema in ``conf/solr``; the three cores share it."""


class NotCreated(Exception):
    """A core could not be made; the text names what has to be done on Solr's side."""


def create(solr: Solr, conf: Path, *, shards: int = 1, replicas: int = 1) -> tuple[str, ...]:
    """Makes what is missing of the three and returns its names; what is there reloads the schema and keeps its documents.

    A SolrCloud gets the schema of ``conf`` (the shipped ``conf/solr``) over the wire, and collections of so many shards
    and replicas. A single Solr takes it from a folder of its own, where an administrator puts it.
    """
    if solr.cloud:
        return _create_collections(solr, conf / CONFIGSET, shards, replicas)
    return _create_cores(solr, conf / CONFIGSET)


def missing(solr: Solr) -> tuple[str, ...]:
    """Which of the three are not there."""
    if solr.cloud:
        there = set(solr.admin("collections", {"action": "LIST"})["collections"])
    else:
        there = set(solr.admin("cores", {"action": "STATUS", "indexInfo": "false"})["status"])
    return tuple(core for core in CORES if core not in there)


def _create_collections(solr: Solr, configset: Path, shards: int, replicas: int) -> tuple[str, ...]:
    url = f"{solr.address.url}/admin/configs"
    upload = {"action": "UPLOAD", "name": CONFIGSET, "overwrite": "true", "cleanup": "true"}
    headers = {"Content-Type": "application/octet-stream"}
    solr.session.post(url, params=upload, data=_zipped(configset), headers=headers)
    absent = missing(solr)
    for core in CORES:
        if core in absent:
            layout = {"numShards": str(shards), "replicationFactor": str(replicas)}
            create = {"action": "CREATE", "name": core, "collection.configName": CONFIGSET, **layout}
            answer = solr.admin("collections", {**create, "waitForFinalState": "true"})
            if "failure" in answer:
                raise NotCreated(
                    f"Solr at {solr.address.host} could not make the collection {core}: {answer['failure']}"
                )
        else:
            solr.admin("collections", {"action": "RELOAD", "name": core})
    return absent


def _create_cores(solr: Solr, configset: Path) -> tuple[str, ...]:
    absent = missing(solr)
    for core in CORES:
        if core not in absent:
            solr.admin("cores", {"action": "RELOAD", "core": core})
            continue
        try:
            solr.admin("cores", {"action": "CREATE", "name": core, "configSet": CONFIGSET})
        except SolrError as error:
            if "onfig" not in error.message:
                raise
            home = solr.admin("info/system", {})["solr_home"]
            raise NotCreated(
                f"Solr at {solr.address.host} could not make the core {core}: {error.message}."
                f" On that server, copy the files of {configset} to {home}/configsets/{CONFIGSET}/conf, then try again"
            ) from error
    return absent


def _zipped(folder: Path) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return content.getvalue()
