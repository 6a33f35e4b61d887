"""Rule 3: a path that data flows from or to lies in a table.

Metastores say where tables and partitions lie, and engines name paths. A path that is an end of a flow and lies deeper
than a location gets LOGICAL_PHYSICAL(table or partition, path) from the longest location that contains it, compared by
component and within one file system; ``inferred`` where more than ``k=v`` directories lie between. No end is ever
rewritten: lineage walks through these relations.

They are a function of the flows and locations that are live now. When a location changes hands, or the last flow of a
path goes, those that no longer hold are removed, not flagged: a flag would tell of the order of events, and linking
everything anew could not tell the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from linker.added import ADDED_FIELDS, said_instead
from linker.ends import END_FIELDS, end_id, named, relations_of
from linker.linking import Elsewhere, IdRange, Linking, batched
from linker.locations import (
    ADDED,
    FLOWS,
    PATH_FLOWS,
    STATEMENTS,
    Path,
    flows_below,
    locations_above,
    path_end,
    path_ends,
    statements_on,
    wanted_relations,
)
from navlin.index.documents import Document
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.solr import Solr
from navlin.index.writing import ATTEMPTS, TooManyConflicts

PATHS_A_BATCH = 500
_TABLES = "type:(TABLE OR PARTITION)"
_LIVE_FLOWS = FLOWS + " +deleted:false"


def add_locations(linking: Linking) -> int:
    """Adds, corrects and removes the relations between tables and paths; returns how many changed."""
    if linking.everything:
        # A range of flows settles every path that has one; a range of what was added finds those that have none any more.
        settled = sum(linking.each_range(partial(_flows_range, linking.elsewhere), linking.ranges))
        return settled + sum(linking.each_range(partial(_added_range, linking.elsewhere), linking.ranges))
    flows = linking.solr.cursor(RELATIONS, PATH_FLOWS, END_FIELDS, filters=[linking.stamped])
    return settle(linking, chain.from_iterable(map(path_ends, flows))) + settle(linking, _touched(linking))


def settle(linking: Linking, paths: Iterable[Path]) -> int:
    """Sees to it that what the linker says of these paths is what the index now warrants.

    What was changed is committed and looked at again, until nothing changes: another run may have moved a location in
    between, and of two that cross, the one that looks later sees what the other did.
    """
    changed = 0
    for batch in batched(_apart(paths), PATHS_A_BATCH):
        todo = {path.id: path for path in batch}
        for _ in range(ATTEMPTS):
            touched, written = _settle_once(linking, todo)
            changed += written
            if not touched:
                break
            linking.solr.commit(RELATIONS, soft=True)
            todo = {identity: path for identity, path in todo.items() if identity in touched}
        else:
            raise TooManyConflicts(
                f"where {len(todo)} paths lie kept changing under {ATTEMPTS} attempts to say it"
            )
    return changed


def _apart(paths: Iterable[Path]) -> Iterator[Path]:
    """Drops what came shortly before: one path's many flows stand together more often than not."""
    seen: dict[str, str] = {}
    for path in paths:
        if seen.get(path.id) != path.type:
            if len(seen) >= 100_000:
                seen.clear()
            seen[path.id] = path.type
            yield path


def _settle_once(linking: Linking, paths: dict[str, Path]) -> tuple[set[str], int]:
    """The paths of which something changed or has to be tried again, and how many relations were written or removed."""
    solr = linking.solr
    # What is there is read first: it was warranted by something older than what is read next.
    there = {d["identity"]: d for d in relations_of(solr, paths, ADDED, (2,), ADDED_FIELDS)}
    types = {end_id(relation, 2): relation["endpoint2Type"] for relation in there.values()}
    located = locations_above(solr, paths.values())
    wanted: dict[str, Document] = {}
    for path in paths.values():
        wanted.update(wanted_relations(path, located))
    concerned = {end_id(relation, 2) for relation in chain(there.values(), wanted.values())}
    flowing = named(solr, sorted(concerned), _LIVE_FLOWS)
    wanted = {identity: d for identity, d in wanted.items() if end_id(d, 2) in flowing}
    for relation in wanted.values():
        # Whoever says that it is a file knows more than who only saw a path.
        if types.get(end_id(relation, 2)) == "FILE":
            relation["endpoint2Type"] = "FILE"

    touched, changed = said_instead(linking, there, wanted)
    return {end_id(there[i] if i in there else wanted[i], 2) for i in touched}, changed


# -- What a run touched --------------------------------------------------------------------------------------------------


def _touched(linking: Linking) -> Iterator[Path]:
    """The paths that may have come to lie elsewhere by what a run wrote: statements on locations, new and withdrawn, and
    tables and partitions, dropped and revived. From the smaller side: from these, or from all flows of paths."""
    solr = linking.solr
    told = solr.count(RELATIONS, STATEMENTS, linking.stamped)
    told += solr.count(ELEMENTS, _TABLES, linking.stamped)
    flows = solr.count(RELATIONS, PATH_FLOWS, "deleted:false") if told else 0
    if told > flows > 0:
        everywhere = solr.cursor(RELATIONS, PATH_FLOWS, END_FIELDS, filters=["deleted:false"])
        yield from chain.from_iterable(map(path_ends, everywhere))
    elif told and flows:
        stamped = solr.cursor(RELATIONS, STATEMENTS, END_FIELDS, filters=[linking.stamped])
        for batch in batched(stamped, PATHS_A_BATCH):
            # What others say of the same table counts no longer once its own source speaks.
            tables = {end_id(statement, 1) for statement in batch}
            yield from _lying_in(solr, chain(batch, statements_on(solr, sorted(tables))))
        tables_stamped = solr.cursor(ELEMENTS, _TABLES, "identity", filters=[linking.stamped])
        for entities in batched(tables_stamped, PATHS_A_BATCH):
            ids = [entity["identity"] for entity in entities]
            yield from _lying_in(solr, statements_on(solr, ids))


def _lying_in(solr: Solr, statements: Iterable[Document]) -> Iterator[Path]:
    return flows_below(solr, [path for statement in statements if (path := path_end(statement, 2))])


# -- Everything ----------------------------------------------------------------------------------------------------------


def _flows_range(elsewhere: Elsewhere, ids: IdRange) -> int:
    return _settle_range(elsewhere, f"{PATH_FLOWS} +deleted:false", ids, path_ends)


def _added_range(elsewhere: Elsewhere, ids: IdRange) -> int:
    return _settle_range(elsewhere, ADDED, ids, _physical_end)


def _physical_end(relation: Document) -> Iterator[Path]:
    path = path_end(relation, 2)
    return iter(() if path is None else (path,))


def _settle_range(
    elsewhere: Elsewhere, query: str, ids: IdRange, paths: Callable[[Document], Iterator[Path]]
) -> int:
    with Solr(elsewhere.address) as solr:
        relations = solr.cursor(RELATIONS, query, END_FIELDS, filters=[ids.filter])
        return settle(elsewhere.linking(solr), chain.from_iterable(map(paths, relations)))
