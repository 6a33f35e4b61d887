"""Access to Solr, embedded or not: one session, four cores, and the outcome for every document written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

import orjson
import pysolr

from navlin.index.solr.connection import (
    POOLED_CONNECTIONS,
    SolrAddress,
    SolrError,
    SolrSession,
    SolrUnavailable,
)
from navlin.index.solr.export_handler import documents_of_export
from navlin.model.batches import in_batches

__all__ = ["AddOutcome", "RefusedDocument", "Solr", "SolrAddress", "SolrError", "SolrUnavailable"]

IDS_A_REQUEST: Final = 1_000
Document = Mapping[str, Any]
VisibleState = tuple[str, ...]
"""State of a core's visible index, to be compared only."""
_STATE: Final = ("version", "numDocs", "maxDoc", "segmentCount", "segmentsFile", "userData")
"""Lucene's version of the index changes with every change, but after a crash of Solr, or a restored backup, it may be
reached a second time. The time of the core's start and the segments tell these apart."""


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """A document that Solr rejects whatever its version."""

    identity: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddOutcome:
    """The outcome of one `Solr.add`. Each document is in exactly one of the three fields."""

    applied: Mapping[str, int] = field(default_factory=dict)
    """identity → new ``_version_``; 0 if a SolrCloud forwarded the document without a requested version, and returns
    none"""
    conflicts: tuple[str, ...] = ()
    """identities for which the index has another ``_version_`` than the requested one, or a document that had to be
    absent"""
    refused: tuple[RefusedDocument, ...] = ()


class Solr:
    """The four cores of one Solr. Cheap to create: nothing is sent before the first call. Thread-safe.

    Every method raises `SolrUnavailable` if Solr does not respond, and `SolrError` if it refuses.
    """

    def __init__(self, address: SolrAddress) -> None:
        self.address = address
        self.session = SolrSession(address)
        self._clients: dict[str, Any] = {}

    def client(self, core: str) -> Any:
        """Return pysolr's client of a core; it shares the session, and so raises `SolrError` as well."""
        if core not in self._clients:
            self._clients[core] = pysolr.Solr(f"{self.address.url}/{core}", session=self.session)
        return self._clients[core]

    # -- Reading -----------------------------------------------------------------------------------------------------

    def select(self, core: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return Solr's complete response to a search. The search is sent as JSON, because a list of ids may be long,
        and escaping it for a form takes longer than Solr takes to find the ids."""
        # Solr indents by default, which takes a sixth of the bytes. Macros are off, because a name may contain `${...}`.
        fixed = {"wt": "json", "indent": "false", "omitHeader": "true", "expandMacros": "false"}
        body = orjson.dumps({"params": {**fixed, **params}})
        url, headers = f"{self.address.url}/{core}/select", {"Content-Type": "application/json"}
        # Solr 9 starts the clock before it reads the body, so a limit given only in the body has no effect.
        in_address = {name: params[name] for name in ("timeAllowed",) if name in params}
        return self._json(self.session.post(url, params=in_address, data=body, headers=headers), core)

    def select_each(self, core: str, searches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return Solr's responses to several searches, sent in parallel."""
        if len(searches) < 2:
            return [self.select(core, params) for params in searches]
        others = self._threads.map(lambda params: self.select(core, params), searches[1:])
        return [self.select(core, searches[0]), *others]

    def page(
        self,
        core: str,
        query: str,
        fields: str = "*",
        *,
        filters: str | Sequence[str] = (),
        sort: str = "score desc",
        rows: int,
        start: int = 0,
    ) -> tuple[list[dict[str, Any]], int]:
        """Return at most ``rows`` of the visible documents that match, from the position ``start`` on, and the number of
        all that match."""
        params = {"q": query, "fq": filters, "fl": fields, "sort": sort, "rows": rows, "start": start}
        response = self.select(core, params)["response"]
        return response["docs"], int(response["numFound"])

    def get(self, core: str, ids: Iterable[str], fields: str = "*") -> list[dict[str, Any]]:
        """Return the current documents with these ids, committed or not; absent ones are left out."""
        found: list[dict[str, Any]] = []
        for batch in in_batches(ids, IDS_A_REQUEST):
            answer = self._post(core, "get", {"id": batch, "fl": fields})
            if "doc" in answer:
                found.extend([answer["doc"]] if answer["doc"] else [])
            else:
                found.extend(answer["response"]["docs"])
        return found

    def count(self, core: str, query: str = "*:*", *filters: str) -> int:
        """Count the visible documents that match."""
        return int(self.select(core, {"q": query, "fq": filters, "rows": 0})["response"]["numFound"])

    def facet(self, core: str, field: str, params: Mapping[str, Any] | None = None) -> dict[str, int]:
        """Return value → number of visible documents for a field. ``params`` selects the documents; the default is all
        documents."""
        every = {"q": "*:*", "rows": 0, "facet": "true", "facet.field": field, "facet.limit": -1}
        answer = self.select(core, {**every, "facet.mincount": 1, **(params or {})})
        flat = answer["facet_counts"]["facet_fields"][field]
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def cursor(
        self, core: str, query: str, fields: str, *, filters: Sequence[str] = (), rows: int = 5_000
    ) -> Iterator[dict[str, Any]]:
        """Yield all visible documents that match, ordered by identity. Concurrent writes may or may not be seen."""
        mark = "*"
        params = {"q": query, "fq": filters, "fl": fields, "sort": "identity asc", "rows": rows}
        while True:
            answer = self.select(core, {**params, "cursorMark": mark})
            yield from answer["response"]["docs"]
            # A page that is not full is taken as the last, because most results fit on one page, and another request
            # costs as much as the first.
            if len(answer["response"]["docs"]) < rows or answer["nextCursorMark"] == mark:
                return
            mark = answer["nextCursorMark"]

    def export(
        self,
        core: str,
        query: str,
        fields: str,
        *,
        sort: str = "identity asc",
        filters: Sequence[str] = (),
        shards: Sequence[str] | None = None,
        first: str | None = None,
        before: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield all visible documents that match and whose identity is in [``first``, ``before``), streamed shard after
        shard (each shard is in order). Fields must have docValues; those that a document lacks are left out. ``shards``
        are some of `shards(core)`; None means all."""
        if first is not None or before is not None:
            filters = [*filters, f"{{!cache=false}}identity:[{_quoted(first)} TO {_quoted(before)}}}"]
        form = {"q": query, "fq": filters, "fl": fields, "sort": sort, "distrib": "false", "indent": "false"}
        for shard in self.shards(core) if shards is None else shards:
            with self.session.post(f"{shard}/export", data=form, stream=True) as response:
                yield from documents_of_export(response, core)

    def shards(self, core: str) -> tuple[str, ...]:
        """Return the URL of a live core for each shard of a collection, preferably the leader; without SolrCloud,
        return the URL of the core."""
        if not self.cloud:
            return (f"{self.address.url}/{core}",)
        status = self.admin("collections", {"action": "CLUSTERSTATUS", "collection": core})
        # The status has only one collection, under its own name, which differs from ``core`` if ``core`` is an alias.
        (collection,) = status["cluster"]["collections"].values()
        shards = collection["shards"]
        return tuple(
            self._live(core, name, shard)
            for name, shard in sorted(shards.items())
            if shard["state"] == "active"
        )

    def _live(self, core: str, name: str, shard: Mapping[str, Any]) -> str:
        replicas = [replica for replica in shard["replicas"].values() if replica["state"] == "active"]
        if not replicas:
            raise SolrUnavailable(self.address.host, core, None, f"{name} has no live replica")
        best = min(replicas, key=lambda replica: (replica.get("leader") != "true", replica["core"]))
        return f"{best['base_url']}/{best['core']}"

    @cached_property
    def cloud(self) -> bool:
        """Whether this is a SolrCloud, whose collections may have several shards."""
        mode: str = self.admin("info/system", {})["mode"]
        return mode == "solrcloud"

    def visible_states(self) -> dict[str, VisibleState]:
        """Return core → state of the index that searches see now, in one request. Every commit that adds, replaces or
        removes a document changes the state. Empty for a SolrCloud, whose replicas each have a state, and for a Solr
        that does not tell the user its state."""
        try:
            cores = {} if self.cloud else self.admin("cores", {"action": "STATUS"})["status"]
        except SolrUnavailable:
            raise
        except SolrError:
            return {}
        return {core: tuple(_state(status)) for core, status in cores.items() if "index" in status}

    # -- Writing -----------------------------------------------------------------------------------------------------

    def add(self, core: str, documents: Sequence[Document]) -> AddOutcome:
        """Add documents (or atomic updates: fields of the form ``{"set": value}``), each independently of the others.

        A document with ``_version_`` is written only if the index has that version (-1: only if absent, 1: only if
        present). A document that conflicts or is refused does not affect the others. Acknowledged documents survive a
        crash of Solr, or of one node of a SolrCloud, but are not yet visible.
        """
        sendable: list[tuple[str, bytes]] = []
        refused: list[RefusedDocument] = []
        for document in documents:
            identity = document.get("identity")
            if not isinstance(identity, str) or not identity:
                refused.append(RefusedDocument(str(identity), "has no identity"))
                continue
            try:
                sendable.append((identity, orjson.dumps(document)))
            except TypeError as error:
                refused.append(RefusedDocument(identity, f"is not valid JSON: {error}"))
        outcome = self.add_json(core, sendable)
        return AddOutcome(outcome.applied, outcome.conflicts, (*refused, *outcome.refused))

    def add_all(self, core: str, documents: Sequence[Document]) -> AddOutcome:
        """Add documents as `add` does, but raise `SolrError` if any is refused. The other documents may have been
        written even then."""
        added = self.add(core, documents)
        self.raise_refused(core, added.refused)
        return added

    def raise_refused(self, core: str, refused: Iterable[RefusedDocument]) -> None:
        """Raise `SolrError` for the first refused document, if there is any."""
        for each in refused:
            raise SolrError(self.address.host, core, None, f"{each.identity} was refused: {each.reason}")

    def add_json(self, core: str, documents: Sequence[tuple[str, bytes]]) -> AddOutcome:
        """Add documents as `add` does, each given as its identity and its JSON."""
        if len(documents) < 2 or not any(_VERSION in text for _, text in documents):
            return self._add_strictly(core, documents)
        try:
            answer = self._update(core, _listed(documents), _TOLERANT)
        except SolrError as error:
            if error.status != 400 or "UpdateRequestProcessorChain" in error.message:
                raise  # no document is at fault, because the core has another configuration than navlin's
            # Solr could not read the list because of one of the documents. Documents applied before the error may now
            # conflict; then the caller reads them again, which is harmless.
            half = len(documents) // 2
            return _both(self.add_json(core, documents[:half]), self.add_json(core, documents[half:]))
        failed = {error["id"]: error["message"] for error in answer["responseHeader"].get("errors", [])}
        texts = dict(documents)
        if strange := failed.keys() - texts.keys():
            raise SolrError(self.address.host, core, None, f"{strange}: {failed[strange.pop()]}")
        applied = {
            identity: version
            for identity, version in _pairs(answer.get("adds", [])).items()
            if identity not in failed
        }
        passed_on = {identity: texts[identity] for identity, version in applied.items() if version == 0}
        outcome = _both(AddOutcome(applied), self._confirmed(core, passed_on))
        conflicts = [identity for identity, message in failed.items() if message.startswith(_CONFLICT)]
        for identity in failed.keys() - set(conflicts):
            # The response has no status for each document. Sent alone, a document shows whether it or Solr is at fault.
            outcome = _both(outcome, self._add_strictly(core, [(identity, texts[identity])]))
        return _both(outcome, AddOutcome(conflicts=tuple(conflicts)))

    def _add_strictly(self, core: str, documents: Sequence[tuple[str, bytes]]) -> AddOutcome:
        """Add documents with Solr's default chain, which reports that a document was lost, but not which one."""
        if not documents:
            return AddOutcome()
        try:
            answer = self._update(core, _listed(documents), _VERSIONS)
        except SolrError as error:
            if error.status not in (400, 409):
                raise
            if len(documents) > 1:
                half = len(documents) // 2
                return _both(
                    self._add_strictly(core, documents[:half]), self._add_strictly(core, documents[half:])
                )
            ((identity, _),) = documents
            if error.status == 409:
                return AddOutcome(conflicts=(identity,))
            return AddOutcome(refused=(RefusedDocument(identity, _reason(error.message)),))
        return AddOutcome(_pairs(answer["adds"]))

    def _confirmed(self, core: str, passed_on: Mapping[str, bytes]) -> AddOutcome:
        """Return the outcome of documents that a node of a SolrCloud accepted and forwarded to another.

        If the other node dies, Solr's tolerant chain does not report that (TolerantUpdateProcessor.finish keeps only
        errors that are SolrExceptions), and responds as if all were well. So the documents themselves are fetched.
        """
        if not passed_on:
            return AddOutcome()
        asked = {identity: orjson.loads(text).get("_version_", 0) for identity, text in passed_on.items()}
        # Presence proves nothing if any previous version was allowed; writing twice is harmless.
        again = [(identity, passed_on[identity]) for identity, version in asked.items() if version in (0, 1)]
        found = self._versions(
            core, [identity for identity, version in asked.items() if version not in (0, 1)]
        )
        lost = [identity for identity, version in found.items() if version in (-1, asked[identity])]
        if lost:
            raise SolrUnavailable(
                self.address.host,
                core,
                None,
                f"a node accepted {len(lost):,} documents that are missing: it died",
            )
        return _both(AddOutcome(found), self._add_strictly(core, again))

    def _versions(self, core: str, ids: Sequence[str]) -> dict[str, int]:
        """Return id → current ``_version_``; -1 for an absent document."""
        found = self.get(core, ids, "identity,_version_")
        return dict.fromkeys(ids, -1) | {each["identity"]: each["_version_"] for each in found}

    def delete_ids(self, core: str, ids: Iterable[str]) -> None:
        """Delete documents whatever their version; absent ones are ignored."""
        for batch in in_batches(ids, IDS_A_REQUEST):
            self.client(core).delete(id=batch)

    def delete_versions(self, core: str, versions: Mapping[str, int]) -> tuple[str, ...]:
        """Delete documents that still have the ``_version_`` that was read, and return the ids of all others (changed
        since, or gone)."""
        stayed: list[str] = []
        for batch in in_batches(versions, IDS_A_REQUEST):
            # Solr takes several versioned deletions as JSON with a repeated key.
            deletions = (
                orjson.dumps({"id": identity, "_version_": versions[identity]}) for identity in batch
            )
            body = b"{" + b",".join(b'"delete":' + deletion for deletion in deletions) + b"}"
            answer = self._update(core, body, _TOLERANT)
            for error in answer["responseHeader"].get("errors", []):
                if not error["message"].startswith(_CONFLICT):
                    raise SolrError(
                        self.address.host, core, None, f"{error['id']} was not deleted: {error['message']}"
                    )
                stayed.append(error["id"])
            # Check forwarded deletions, as with additions. They lack the version of a tombstone, which would be
            # negative.
            deleted = _pairs(answer.get("deletes", []))
            passed_on = [each for each in deleted.keys() - set(stayed) if deleted[each] >= 0]
            if any(version == versions[each] for each, version in self._versions(core, passed_on).items()):
                raise SolrUnavailable(
                    self.address.host, core, None, "a node accepted deletions that were not made: it died"
                )
        return tuple(stayed)

    def commit(self, core: str, *, soft: bool) -> None:
        """Make written data visible; a hard commit also protects it from power loss."""
        self.client(core).commit(softCommit=soft, waitSearcher=True)

    # -- Administration ----------------------------------------------------------------------------------------------

    def ping(self, core: str) -> None:
        """Check that the core responds to a search. Raises `SolrError` if it does not."""
        self._post(core, "admin/ping", {"distrib": "false"})

    def admin(self, path: str, params: Mapping[str, str]) -> dict[str, Any]:
        """Return the response of Solr's administrative endpoint ``admin/<path>``."""
        response = self.session.get(f"{self.address.url}/admin/{path}", params={"wt": "json", **params})
        return self._json(response, "")

    def answer(self, core: str, handler: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the response of a core's handler."""
        asked = {"wt": "json", **(params or {})}
        response = self.session.get(f"{self.address.url}/{core}/{handler}", params=asked)
        return self._json(response, core)

    def close(self) -> None:
        """Close the pooled connections; the next call opens new ones."""
        if threads := self.__dict__.pop("_threads", None):
            threads.shutdown()
        self.session.close()

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(POOLED_CONNECTIONS, "solr")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _post(self, core: str, handler: str, form: Mapping[str, Any]) -> dict[str, Any]:
        return self._json(self.session.post(f"{self.address.url}/{core}/{handler}", data=form), core)

    def _update(self, core: str, body: bytes, params: Mapping[str, str]) -> dict[str, Any]:
        url = f"{self.address.url}/{core}/update"
        headers = {"Content-Type": "application/json"}
        return self._json(
            self.session.post(url, data=body, params={"wt": "json", **params}, headers=headers), core
        )

    def _json(self, response: Any, core: str) -> dict[str, Any]:
        try:
            answer = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            answer = None
        if isinstance(answer, dict):
            return answer
        text = " ".join(response.text[:2000].split())[:200]
        raise SolrError(self.address.host, core, response.status_code, f"is not a Solr; it answers: {text}")


_VERSIONS: Final = {"versions": "true"}
_TOLERANT: Final = {"update.chain": "tolerant", "maxErrors": "-1", **_VERSIONS}
_CONFLICT: Final = "version conflict for "
_VERSION: Final = b'"_version_":'


def _state(status: Mapping[str, Any]) -> Iterator[str]:
    yield str(status.get("startTime"))
    yield from (str(status["index"].get(name)) for name in _STATE)


def _listed(documents: Sequence[tuple[str, bytes]]) -> bytes:
    return b"[" + b",".join(text for _, text in documents) + b"]"


def _both(one: AddOutcome, other: AddOutcome) -> AddOutcome:
    return AddOutcome(
        {**one.applied, **other.applied}, one.conflicts + other.conflicts, one.refused + other.refused
    )


def _reason(message: str) -> str:
    """Strip the text that a SolrCloud puts before the message of the shard."""
    return message.rpartition("Remote error message: ")[2]


def _pairs(flat: Sequence[Any]) -> dict[str, int]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _quoted(bound: str | None) -> str:
    if bound is None:
        return "*"
    return '"' + bound.replace("\\", "\\\\").replace('"', '\\"') + '"'
