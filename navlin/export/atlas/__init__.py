"""Export to Apache Atlas: the entities that Atlas's Hive and Impala hooks would have created, under the same names.

Sources: the type definitions, hooks and REST interface of apache/atlas; "Impala entities created in Atlas" (Cloudera)
and "Hook & Bridge for Apache Hive" (Atlas). The two documents differ from the hooks as listed in `documented`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from navlin.export.atlas import catalog, processes
from navlin.export.atlas.entities import Change, Ref
from navlin.export.atlas.names import Namespace
from navlin.export.atlas.processes import Form
from navlin.export.atlas.requests import messages, requests
from navlin.export.atlas.sending import ask, send
from navlin.export.target import Target, register
from navlin.export.values import ExportedDataset, ExportedOperation, ExportedRun, Item, Renamed


@dataclass(frozen=True, slots=True)
class Options:
    namespace: Annotated[
        str,
        "Namespace after the @ of names: Atlas's atlas.metadata.namespace (default: the cluster's name).",
    ] = ""
    hook: Annotated[bool, "Write messages for the Kafka topic ATLAS_HOOK instead of requests."] = False
    as_documented: Annotated[
        bool,
        "Use the names and kinds of dependency that Cloudera and Atlas document, not those of the hooks.",
    ] = False
    hook_user: Annotated[str, "User name in the messages of --hook."] = "navlin"


def records(items: Iterable[Item], options: Options) -> Iterator[bytes]:
    """Yield one line per request for Atlas's REST interface; with the option ``hook``, one line per message for
    Kafka."""
    form = Form(Namespace(options.namespace), options.as_documented)
    found = (change for item in _newest(list(items), form) for change in _changes(item, form))
    return messages(found, options.hook_user) if options.hook else requests(found)


def _newest(items: Sequence[Item], form: Form) -> Iterator[Item]:
    """Yield the items. If several operations are the same process in Atlas, yield only the operation that ran last, but
    the executions of all these operations."""
    newest: dict[Ref, tuple[int, str]] = {}
    names = {
        each.id: Ref(processes.type_of(each), processes.qualified_name(each, form))
        for each in items
        if isinstance(each, ExportedOperation) and not each.deleted
    }
    for each in items:
        if isinstance(each, ExportedOperation) and not each.deleted:
            name = names[each.id]
            newest[name] = max(newest.get(name, (0, "")), _ran(each))
    for each in items:
        older = (
            isinstance(each, ExportedOperation) and not each.deleted and newest[names[each.id]] != _ran(each)
        )
        if not older:
            yield each


def _ran(operation: ExportedOperation) -> tuple[int, str]:
    latest = operation.latest.details.started_ms if operation.latest is not None else operation.runs.last_ms
    return latest, operation.id


def _changes(item: Item, form: Form) -> Iterator[Change]:
    match item:
        case Renamed():
            yield from catalog.renamed(item, form.namespace)
        case ExportedDataset():
            yield from catalog.changes(item, form.namespace)
        case ExportedOperation():
            yield from processes.changes(item, form)
        case ExportedRun():
            yield from processes.run_changes(item, form)


register(Target("atlas", "Apache Atlas", "application/x-ndjson", "jsonl", Options, records, send, ask))
