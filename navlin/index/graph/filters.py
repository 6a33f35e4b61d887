"""Filters for entities and relations. All conditions of a filter must hold; those that are not set are ignored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from navlin.index.graph.entity import REPORTED
from navlin.index.schema.fields import solr_date
from navlin.index.solr import solr_query as q

NOT_OF_USERS: Final = "-userEntity:true"
"""Filter that excludes entities written for users (`navlin.index.people.user_entities`)."""


class IdRange(NamedTuple):
    """A range of identities, ``first <= identity < before``; an asterisk leaves a side open. Identities are hex, so 16
    or 256 ranges split them evenly."""

    first: str
    before: str


def id_ranges(digits: int = 1) -> tuple[IdRange, ...]:
    """Return 16 ** ``digits`` ranges that together contain all identities. The first and the last range are open,
    because an identity need not be a hash."""
    starts = [f"{number:0{digits}x}" for number in range(16**digits)]
    bounds = ["*", *starts[1:], "*"]
    return tuple(IdRange(first, before) for first, before in pairwise(bounds))


@dataclass(frozen=True, slots=True)
class EntityFilter:
    """A filter for entities. ``runs`` are the ids of the runs that stamped them, ``parents`` the ids of their parents
    (`StoredEntity.parent_id`), ``sources`` the ids of the sources that own them."""

    types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    deleted: bool | None = None
    runs: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    ids: IdRange | None = None
    after_id: str = ""
    deleted_before_ms: int | None = None
    """Entities flagged deleted before this time. A recorded time of 0 means unknown and does not match."""
    executed_before_ms: int | None = None
    """Executions that ended before this time; without a known end, those that started before it; without either, those
    with an earlier record. Running ones never match, because a stream reads for months."""
    not_executed_before_ms: int | None = None
    """Entities that ``executed_before_ms`` with this time would exclude."""
    as_of_before_ms: int | None = None
    as_of_from_ms: int | None = None
    has_last_run: bool = False
    """Operations with a summary left by purge."""
    incomplete: bool = False
    but_incomplete_for: str = ""
    """Operations without this reason for incompleteness."""
    incomplete_for: str = ""
    awaited: bool = False
    """Entities that a program described before their source showed them."""
    applications: tuple[str, ...] = ()
    """Executions of one of these few applications (`StoredEntity.application`)."""
    reported: bool | None = None
    """If True, executions reported in addition to an engine's own record; if False, all other entities."""

    def filters(self) -> Iterator[str]:
        """Yield the filters in Solr's syntax."""
        return _among_few(self._filters()) if self.runs else self._filters()

    def _filters(self) -> Iterator[str]:
        if self.types:
            yield q.one_of("type", self.types)
        if self.sources:
            yield q.terms("sourceId", self.sources)
        yield from _flag("deleted", self.deleted)
        if self.runs:
            yield q.terms("extractorRunId", self.runs)
        if self.parents:
            yield q.terms("firstClassParentId", self.parents)
        yield from _in_ids(self.ids)
        if self.after_id:
            yield q.after("identity", self.after_id)
        if self.deleted_before_ms is not None:
            yield f"+deleted:true +{q.in_range('deleteTime', 1, self.deleted_before_ms)}"
        if self.executed_before_ms is not None:
            yield _executed_before(self.executed_before_ms)
        if self.not_executed_before_ms is not None:
            yield f"{q.EVERYTHING} -({_executed_before(self.not_executed_before_ms)})"
        if self.as_of_before_ms is not None:
            yield q.in_range("asOf", "*", self.as_of_before_ms)
        if not (self.deleted_before_ms is self.executed_before_ms is self.as_of_before_ms is None):
            # Entities written by users' programs do not age, because nobody would write them again.
            yield NOT_OF_USERS
        if self.as_of_from_ms is not None:
            yield q.in_range("asOf", self.as_of_from_ms)
        if self.has_last_run:
            yield q.present("lastExecuted")
        if self.incomplete:
            yield "incomplete:true"
        if self.but_incomplete_for:
            yield q.none_of("incompleteReasons", [self.but_incomplete_for])
        if self.incomplete_for:
            yield q.term("incompleteReasons", self.incomplete_for)
        if self.awaited:
            yield "+userEntity:true +granted:true"
        if self.applications:
            yield q.one_of("jobId", self.applications)
        if self.reported is not None:
            reported = q.term("internalType", REPORTED)
            yield reported if self.reported else f"{q.EVERYTHING} -internalType:{REPORTED}"


@dataclass(frozen=True, slots=True)
class RelationFilter:
    """A filter for relations. ``end_types``: at least one of the two ends has one of these types. ``writers`` are the
    ids of the sources that state the relations. ``rule`` is the linker's rule that added the relations; "" for
    relations that a source states."""

    types: tuple[str, ...] = ()
    but_types: tuple[str, ...] = ()
    deleted: bool | None = None
    unlinked: bool | None = None
    ep1_types: tuple[str, ...] = ()
    ep2_types: tuple[str, ...] = ()
    but_ep2_types: tuple[str, ...] = ()
    end_types: tuple[str, ...] = ()
    ep1_sources: tuple[str, ...] = ()
    ep2_sources: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()
    rule: str | None = None
    runs: tuple[str, ...] = ()
    tree_paths: tuple[str, ...] = ()
    ids: IdRange | None = None
    but_reason: str = ""
    """Relations other than those that are unlinked for this reason."""
    claims_or_waits: bool = False
    """Relations that have a claim or are unlinked."""

    def filters(self) -> Iterator[str]:
        """Yield the filters in Solr's syntax."""
        return _among_few(self._filters()) if self.runs else self._filters()

    def _filters(self) -> Iterator[str]:
        if self.types:
            yield q.one_of("type", self.types)
        if self.but_types:
            yield q.none_of("type", self.but_types)
        yield from _flag("deleted", self.deleted)
        yield from _flag("unlinked", self.unlinked)
        if self.ep1_types:
            yield q.one_of("endpoint1Type", self.ep1_types)
        if self.ep2_types:
            yield q.one_of("endpoint2Type", self.ep2_types)
        if self.but_ep2_types:
            yield q.none_of("endpoint2Type", self.but_ep2_types)
        if self.end_types:
            yield f"{q.one_of('endpoint1Type', self.end_types)} {q.one_of('endpoint2Type', self.end_types)}"
        if self.ep1_sources:
            yield q.terms("endpoint1SourceId", self.ep1_sources)
        if self.ep2_sources:
            yield q.terms("endpoint2SourceId", self.ep2_sources)
        if self.writers:
            yield q.terms("writer", self.writers)
        if self.rule is not None:
            yield q.term("rule", self.rule) if self.rule else q.absent("rule")
        if self.runs:
            yield q.terms("extractorRunId", self.runs)
        if self.tree_paths:
            yield q.terms("treePath", self.tree_paths)
        yield from _in_ids(self.ids)
        if self.but_reason:
            yield f"{q.EVERYTHING} -unlinkedReason:{q.phrase(self.but_reason)}"
        if self.claims_or_waits:
            yield f"{q.present('claimedIds')} unlinked:true"


def _among_few(filters: Iterator[str]) -> Iterator[str]:
    """Yield the filters with caching disabled, except those with local parameters, because a selective filter
    accompanies them. To cache a filter, Solr would evaluate it over the whole index, and again after every commit."""
    for each in filters:
        if each.startswith("{!"):
            yield each
        else:
            yield (
                f"{{!cache=false}}{q.EVERYTHING} {each}"
                if each.startswith("-")
                else f"{{!cache=false}}{each}"
            )


def _flag(field: str, wanted: bool | None) -> Iterator[str]:
    # A document without the field counts as false.
    if wanted is not None:
        yield f"{field}:true" if wanted else f"-{field}:true"


def _in_ids(ids: IdRange | None) -> Iterator[str]:
    if ids is not None:
        first, before = (bound if bound == "*" else q.phrase(bound) for bound in ids)
        yield f"{{!cache=false}}identity:[{first} TO {before}}}"


def _executed_before(before_ms: int) -> str:
    date = solr_date(before_ms)
    ended, started = q.present("ended"), q.present("started")
    ended_before, started_before = (q.in_range(name, "*", date) for name in ("ended", "started"))
    return (
        f"+type:OPERATION_EXECUTION -status:RUNNING +({ended_before} (+{started_before} -{ended})"
        f" (+{q.in_range('asOf', '*', before_ms)} -{ended} -{started}))"
    )
