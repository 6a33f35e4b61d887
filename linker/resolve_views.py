"""Rule 4: what a view is made of, read from its text, where no engine told it.

An engine's record of the view's creation wins: then the linker says nothing of the view, and what it said before goes. Else
it says which tables the text reads and, of those whose columns the index knows, which columns each of the view's own is
made of (DATA_FLOW) and which decide its rows (CONTROL_FLOW): relations straight from table to view and from column to
column, marked ``parsed``, for no operation ran. A text that tells nothing leaves its reason on the view
(``unparsedReason``).

As with `add_locations`, all this is a function of what the index holds now: of views, tables, columns and records. What no
longer holds is removed, and linking everything anew says the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from linker.added import ADDED_FIELDS, said_instead
from linker.ends import end_id, present, relations_of
from linker.linking import Elsewhere, IdRange, Linking, among, batched
from linker.views import RULE, VIEW_FIELDS, Said, View, place_of, said_of, view_of
from navlin.index.documents import Document
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.solr import Solr
from navlin.index.writing import ATTEMPTS, TooManyConflicts, rewrite
from navlin.sql.bounded import SqlReader

VIEWS_A_BATCH = 50
IDS_A_BATCH = 1_000
FEW_VIEWS = 500
"""So many are read in the time in which each range's own parser would have started."""
ADDED = f"+rule:{RULE}"
VIEWS = "+type:VIEW"
_PLACED_FIELDS = ADDED_FIELDS + ",treePath"
_TABLE_LEVEL = ADDED + " +endpoint1Type:(TABLE OR VIEW)"
_ENGINES = "+type:DATA_FLOW +endpoint1Type:OPERATION +endpoint2Type:(TABLE OR VIEW)"
_COLUMNS_AND_TABLES = "type:(TABLE OR VIEW OR FIELD)"


def resolve_views(linking: Linking) -> int:
    """Says of views what their texts say, and no more of those that engines tell of; returns how many documents changed."""
    if linking.everything:
        # A range of views settles all that there are; a range of what was added finds what is no view any more.
        few = linking.solr.count(ELEMENTS, VIEWS) <= FEW_VIEWS
        ranges = (IdRange("*", "*"),) if few else linking.ranges
        settled = sum(linking.each_range(partial(_views_range, linking.elsewhere), ranges))
        return settled + sum(linking.each_range(partial(_added_range, linking.elsewhere), ranges))
    return settle(linking, _touched(linking))


def settle(linking: Linking, view_ids: Iterable[str]) -> int:
    """Sees to it that what the linker says of these views is what the index now warrants. Ids of other things, of former
    views too, are no error.

    What was changed is committed and looked at again, until nothing changes: another run may have changed a table in
    between, and of two that cross, the one that looks later sees what the other did.
    """
    changed = 0
    with SqlReader() as reader:
        for batch in batched(dict.fromkeys(view_ids), VIEWS_A_BATCH):
            todo: Collection[str] = batch
            for _ in range(ATTEMPTS):
                touched, written = _settle_once(linking, reader, todo)
                changed += written
                if not touched:
                    break
                linking.solr.commit(RELATIONS, soft=True)
                todo = touched
            else:
                raise TooManyConflicts(
                    f"what {len(todo)} views are made of kept changing under {ATTEMPTS} attempts to say it"
                )
    return changed


def _settle_once(linking: Linking, reader: SqlReader, ids: Collection[str]) -> tuple[set[str], int]:
    """The views of which something changed or has to be tried again, and how many documents were written or removed."""
    solr = linking.solr
    # What is there is read first: it was warranted by something older than what is read next.
    there = {d["identity"]: d for d in _added_to(solr, ids)}
    documents = solr.cursor(ELEMENTS, VIEWS, VIEW_FIELDS, filters=[among("identity", ids)])
    views = {view.id: view for view in map(view_of, documents)}
    told = _told_by_engines(solr, views)
    said = said_of(solr, reader, [view for view in views.values() if view.id not in told])
    said.update(dict.fromkeys(told, Said()))
    wanted = {identity: d for each in said.values() for identity, d in each.relations.items()}
    touched, changed = said_instead(linking, there, wanted)
    places = {place_of(identity): identity for identity in ids}
    again = {places[(there[i] if i in there else wanted[i])["treePath"]] for i in touched}
    return again, changed + _give_reasons(solr, views.values(), said)


def _added_to(solr: Solr, view_ids: Iterable[str]) -> Iterator[Document]:
    for batch in batched(view_ids, VIEWS_A_BATCH):
        filters = [among("treePath", map(place_of, batch))]
        yield from solr.cursor(RELATIONS, ADDED, _PLACED_FIELDS, filters=filters)


def _told_by_engines(solr: Solr, view_ids: Collection[str]) -> set[str]:
    """Those views of which the record of an engine tells that an operation made them. A metastore's own operations are
    renames: they say nothing of what a view is made of."""
    fields = "endpoint2Ids,endpoint2SourceId,writer"
    operations = relations_of(solr, view_ids, _ENGINES + " +deleted:false", (2,), fields)
    return {end_id(each, 2) for each in operations if each["writer"] != each["endpoint2SourceId"]}


def _give_reasons(solr: Solr, views: Iterable[View], said: dict[str, Said]) -> int:
    due = {view.id: said[view.id].reason for view in views if said[view.id].reason != view.unparsed_reason}

    def give(document: Document) -> Document:
        document.pop("unparsedReason", None)
        if reason := due[document["identity"]]:
            document["unparsedReason"] = reason
        return document

    written = sum(1 for _ in rewrite(solr, ELEMENTS, due, give))
    if written:
        solr.commit(ELEMENTS, soft=True)
    return written


# -- What a run touched --------------------------------------------------------------------------------------------------


def _touched(linking: Linking) -> Iterator[str]:
    """The views that what a run wrote may concern: they themselves and their columns, records of engines that made them,
    tables that they read and the columns of these. From the smaller side: from what was written, or from all views."""
    solr = linking.solr
    views, added = solr.count(ELEMENTS, VIEWS), solr.count(RELATIONS, _TABLE_LEVEL)
    if not views and not added:
        return
    if solr.count(ELEMENTS, _COLUMNS_AND_TABLES, linking.stamped) > views + added:
        yield from (d["identity"] for d in solr.cursor(ELEMENTS, VIEWS, "identity"))
        yield from _views_of(solr.cursor(RELATIONS, _TABLE_LEVEL, "treePath"))
        return
    fields = "identity,firstClassParentId"
    stamped = solr.cursor(ELEMENTS, _COLUMNS_AND_TABLES, fields, filters=[linking.stamped])
    for batch in batched(stamped, IDS_A_BATCH):
        ids = {each.get("firstClassParentId", each["identity"]) for each in batch}
        yield from present(solr, ids, VIEWS)
        yield from _views_of(relations_of(solr, sorted(ids), _TABLE_LEVEL, fields="treePath"))
    yield from _remade(linking, views)


def _remade(linking: Linking, views: int) -> Iterator[str]:
    """The views that engines' records, written or withdrawn, tell of."""
    solr = linking.solr
    if solr.count(RELATIONS, _ENGINES, linking.stamped) > views:
        for batch in batched(solr.cursor(ELEMENTS, VIEWS, "identity"), IDS_A_BATCH):
            filters = [among("endpoint2Ids", (each["identity"] for each in batch)), linking.stamped]
            yield from (
                end_id(d, 2) for d in solr.cursor(RELATIONS, _ENGINES, "endpoint2Ids", filters=filters)
            )
        return
    stamped = solr.cursor(RELATIONS, _ENGINES, "endpoint2Ids", filters=[linking.stamped])
    for batch in batched(stamped, IDS_A_BATCH):
        yield from present(solr, {end_id(each, 2) for each in batch}, VIEWS)


def _views_of(relations: Iterable[Document]) -> Iterator[str]:
    return (each["treePath"].rpartition("/")[2] for each in relations)


# -- Everything ----------------------------------------------------------------------------------------------------------


def _views_range(elsewhere: Elsewhere, ids: IdRange) -> int:
    with Solr(elsewhere.address) as solr:
        views = solr.cursor(ELEMENTS, VIEWS, "identity", filters=[ids.filter])
        return settle(elsewhere.linking(solr), (view["identity"] for view in views))


def _added_range(elsewhere: Elsewhere, ids: IdRange) -> int:
    with Solr(elsewhere.address) as solr:
        added = set(_views_of(solr.cursor(RELATIONS, ADDED, "treePath", filters=[ids.filter])))
        return settle(elsewhere.linking(solr), sorted(added - present(solr, added, VIEWS)))
