"""Relate each workflow of Oozie to the operations that its runs started on YARN.

Oozie knows which applications a run started, and YARN and the engines know what these applications were: a query of
Hive, a Spark job, a MapReduce job. So a workflow gets PARENT_CHILD(workflow, operation) for each operation with an
execution that is one of the applications of a run of the workflow, or that ran as one of them.

    workflow  ── INSTANCE_OF ──▶ run ── LOGICAL_PHYSICAL ──▶ application on YARN
    operation ── INSTANCE_OF ──▶ run ── LOGICAL_PHYSICAL ──▶ the same application

Oozie's own launchers, which only start the application that does the work, are left out. A workflow that once started
an operation keeps the relation, because purge removes runs, and then nothing shows it any more. So the result does not
depend on the order in which the sources are read, and relinking everything adds nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from linker.linking import Linking, LinkingTask
from linker.own_relations import replace_relations
from navlin.index.graph.filters import EntityFilter, IdRange, RelationFilter
from navlin.index.graph.relation import LINKER_TREE, NAMED, End, StoredRelation
from navlin.index.graph.sources import known_sources
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.model.source import OOZIE

RULE = "add_started_operations"
LAUNCHER = "oozie:launcher:"
"""Beginning of the names of Oozie's launchers on YARN."""
APPLICATIONS_A_BATCH = 500
_EXECUTIONS = ("OPERATION_EXECUTION",)
_RAN_AS = RelationFilter(
    types=(RelationType.LOGICAL_PHYSICAL,), deleted=False, ep1_types=_EXECUTIONS, ep2_types=_EXECUTIONS
)
_INSTANCES = RelationFilter(types=(RelationType.INSTANCE_OF,), deleted=False)


def add_started_operations(linking: Linking) -> int:
    """Add the relations that follow from what was written. Return the number of changes."""
    oozies = tuple(
        each.id for each in known_sources(linking.solr) if each.type == OOZIE and not each.placeholder
    )
    if not oozies:
        return 0
    if linking.everything:
        return sum(linking.each_range(partial(_range, linking.for_task, oozies), linking.ranges))
    return _add(linking, oozies, _concerned(linking))


def _range(task: LinkingTask, oozies: Sequence[str], ids: IdRange) -> int:
    with task.linking() as linking:
        started = linking.graph.relations(replace(_RAN_AS, ep1_sources=tuple(oozies), ids=ids))
        return _add(linking, oozies, (relation.ep2.id for relation in started))


def _concerned(linking: Linking) -> Iterator[str]:
    """Yield the ids of the applications, and of other executions, of which a run wrote something."""
    graph = linking.graph
    yield from (relation.ep2.id for relation in graph.relations(replace(_RAN_AS, runs=linking.runs)))
    written = graph.entities(EntityFilter(_EXECUTIONS, deleted=False, runs=linking.runs))
    for batch in in_batches((execution.id for execution in written), APPLICATIONS_A_BATCH):
        yield from batch
        yield from (relation.ep2.id for relation in graph.relations(_RAN_AS, of=batch, sides=(1,)))


def _add(linking: Linking, oozies: Collection[str], applications: Iterable[str]) -> int:
    changed = 0
    for batch in in_batches(dict.fromkeys(applications), APPLICATIONS_A_BATCH):
        wanted = {each.id: each for each in _wanted(linking, oozies, batch)}
        stored = linking.graph.relations_now(sorted(wanted), NAMED)
        changed += replace_relations(linking, stored, wanted)[1]
    return changed


def _wanted(
    linking: Linking, oozies: Collection[str], applications: Sequence[str]
) -> Iterator[StoredRelation]:
    graph = linking.graph
    runs: dict[str, list[End]] = defaultdict(list)
    for relation in graph.relations(_RAN_AS, of=applications, sides=(2,)):
        runs[relation.ep2.id].append(relation.ep1)
    # Only the applications that a run of Oozie started.
    started = {each: ends for each, ends in runs.items() if any(end.source_id in oozies for end in ends)}
    executions = {*started, *(end.id for ends in started.values() for end in ends)}
    operations: dict[str, list[End]] = defaultdict(list)
    for relation in graph.relations(_INSTANCES, of=sorted(executions), sides=(2,)):
        operations[relation.ep2.id].append(relation.ep1)
    for application, ends in started.items():
        workflows = [each for end in ends if end.source_id in oozies for each in operations[end.id]]
        others = [each for end in ends if end.source_id not in oozies for each in operations[end.id]]
        others += [each for each in operations[application] if not each.name.startswith(LAUNCHER)]
        for workflow in workflows:
            for operation in others:
                yield StoredRelation.by_rule(
                    RULE, RelationType.PARENT_CHILD, workflow, operation, LINKER_TREE
                )
