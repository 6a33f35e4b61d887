"""Creation of the cores (or collections) of a Solr, and their replacement by cores of a new version."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from navlin.index.admin.schema import (
    CORES,
    VERSION,
    Schema,
    configset,
    save_schema,
    schema_name,
    schema_of,
    suffix,
    version_of_cores,
)
from navlin.index.schema.fields import EDITS, RUNS
from navlin.index.solr.connection import SolrError
from navlin.index.solr.solr import Solr

__all__ = [
    "CONFIGSET",
    "CORES",
    "NotCreated",
    "beside",
    "collection_of",
    "create",
    "create_beside",
    "create_edits",
    "missing",
    "opened_schema",
    "outdated",
    "remove_replaced",
    "replace_by_beside",
    "there",
]

CONFIGSET: Final = configset()
"""Folder of the schema in ``conf/solr``; all cores share the schema."""


class NotCreated(Exception):
    """A core is missing or could not be created; the message names the remedy."""


def create(solr: Solr, conf: Path, *, shards: int = 1, replicas: int = 1) -> tuple[str, ...]:
    """Create the missing cores and return their names; existing ones reload the schema and keep their documents.

    A SolrCloud gets the schema of ``conf`` (the shipped ``conf/solr``) over the network, and collections with this
    number of shards and replicas. A standalone Solr reads the schema from its own folder, where an administrator must
    put it.
    """
    if solr.cloud:
        _upload(solr, conf / CONFIGSET)
    absent = missing(solr)
    aliases = _aliases(solr) if solr.cloud else {}
    for core in CORES:
        if core in absent:
            _create(solr, core, conf / CONFIGSET, shards, replicas)
        elif solr.cloud:
            solr.admin("collections", {"action": "RELOAD", "name": aliases.get(core, core)})
        else:
            solr.admin("cores", {"action": "RELOAD", "core": core})
    if absent == CORES:
        save_schema(solr)
    return absent


def create_edits(solr: Solr, conf: Path) -> None:
    """Create ``nav_edits`` if it is the only missing core, because earlier versions did not have it. Raises
    `NotCreated` if cores are missing afterwards."""
    absent = missing(solr)
    if absent == (EDITS,):
        try:
            # One shard suffices for edits. Take the number of replicas from ``nav_runs``.
            _create(solr, EDITS, conf / CONFIGSET, 1, _replicas(solr, RUNS))
        except (SolrError, NotCreated):
            # Another navlin process may have created the core at the same moment.
            absent = missing(solr)
        else:
            return
    if absent:
        names = ", ".join(absent)
        raise NotCreated(
            f"Solr at {solr.address.host} has no {names}: create them with `navlin index create`"
        )


def _replicas(solr: Solr, core: str) -> int:
    if not solr.cloud:
        return 1
    status = solr.admin("collections", {"action": "CLUSTERSTATUS", "collection": core})
    (collection,) = status["cluster"]["collections"].values()
    return max(1, int(collection.get("replicationFactor") or 1))


def there(solr: Solr) -> set[str]:
    """Return the names of all cores, or of all collections and their aliases."""
    if solr.cloud:
        return {*_collections(solr), *_aliases(solr)}
    return set(solr.admin("cores", {"action": "STATUS", "indexInfo": "false"})["status"])


def missing(solr: Solr) -> tuple[str, ...]:
    """Return the cores that do not exist."""
    found = there(solr)
    return tuple(core for core in CORES if core not in found)


def opened_schema(solr: Solr) -> Schema:
    """Return the schema of the index, at the cost of one lookup. If none is recorded and the cores are of the current
    version, record it. Raises `NotCreated` if cores are missing."""
    try:
        schema = schema_of(solr)
        if schema is None:
            schema = Schema(version_of_cores(solr))
            if schema.version == VERSION:
                save_schema(solr)
        return schema
    except SolrError as error:
        if error.status != 404:
            raise
        names = ", ".join(missing(solr))
        raise NotCreated(
            f"Solr at {solr.address.host} has no {names}: create them with `navlin index create`"
        ) from error


# -- A new version -----------------------------------------------------------------------------------------------------


def beside(core: str) -> str:
    """Return the name under which the new version of a core is built before it replaces the core."""
    return core + suffix()


def outdated(solr: Solr) -> tuple[str, ...]:
    """Return the existing cores that were made for another version."""
    absent = missing(solr)
    return tuple(core for core in CORES if core not in absent and schema_name(solr, core) != CONFIGSET)


def create_beside(
    solr: Solr, conf: Path, cores: tuple[str, ...], *, shards: int = 1, replicas: int = 1
) -> None:
    """Create the cores of the current version that are to replace ``cores``, unless they exist."""
    if solr.cloud:
        _upload(solr, conf / CONFIGSET)
    found = there(solr)
    for core in cores:
        if beside(core) not in found:
            _create(solr, beside(core), conf / CONFIGSET, shards, replicas)


def replace_by_beside(solr: Solr, core: str) -> None:
    """Make the core's name refer to its new version, atomically for all clients."""
    if solr.cloud:
        solr.admin("collections", {"action": "CREATEALIAS", "name": core, "collections": beside(core)})
    else:
        solr.admin("cores", {"action": "SWAP", "core": core, "other": beside(core)})


def remove_replaced(solr: Solr) -> None:
    """Remove the cores that `replace_by_beside` has replaced."""
    found = there(solr)
    for core in CORES:
        if core not in found or schema_name(solr, core) != CONFIGSET or beside(core) not in found:
            continue
        if solr.cloud:
            if core in _collections(solr):
                solr.admin("collections", {"action": "DELETE", "name": core})
        elif schema_name(solr, beside(core)) != CONFIGSET:
            unload = {"action": "UNLOAD", "core": beside(core), "deleteInstanceDir": "true"}
            solr.admin("cores", unload)


def collection_of(solr: Solr, core: str) -> str:
    """Return the real name of a core's collection, resolving an alias."""
    return _aliases(solr).get(core, core)


# -- Requests to Solr --------------------------------------------------------------------------------------------------


def _collections(solr: Solr) -> list[str]:
    collections: list[str] = solr.admin("collections", {"action": "LIST"})["collections"]
    return collections


def _aliases(solr: Solr) -> dict[str, str]:
    """Return alias → collection."""
    aliases: dict[str, str] = solr.admin("collections", {"action": "LISTALIASES"})["aliases"]
    return aliases


def _upload(solr: Solr, configset: Path) -> None:
    url = f"{solr.address.url}/admin/configs"
    upload = {"action": "UPLOAD", "name": CONFIGSET, "overwrite": "true", "cleanup": "true"}
    headers = {"Content-Type": "application/octet-stream"}
    solr.session.post(url, params=upload, data=_zipped(configset), headers=headers)


def _create(solr: Solr, name: str, configset: Path, shards: int, replicas: int) -> None:
    if solr.cloud:
        layout = {"numShards": str(shards), "replicationFactor": str(replicas)}
        create = {"action": "CREATE", "name": name, "collection.configName": CONFIGSET, **layout}
        answer = solr.admin("collections", {**create, "waitForFinalState": "true"})
        if "failure" in answer:
            raise NotCreated(
                f"Solr at {solr.address.host} could not make the collection {name}: {answer['failure']}"
            )
        return
    try:
        solr.admin("cores", {"action": "CREATE", "name": name, "configSet": CONFIGSET})
    except SolrError as error:
        if "onfig" not in error.message:
            raise
        home = solr.admin("info/system", {})["solr_home"]
        raise NotCreated(
            f"Solr at {solr.address.host} could not make the core {name}: {error.message}."
            f" On that server, copy the files of {configset} to {home}/configsets/{CONFIGSET}/conf, then try again"
        ) from error


def _zipped(folder: Path) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return content.getvalue()
