"""Export to DataHub: metadata change proposals (MCPs), written to a file for DataHub's file source, or posted to
DataHub's metadata service (GMS).

    TABLE, VIEW, path …  dataset: properties, schema, container, owner, tags
    DATABASE             container
    OPERATION            dataJob in the dataFlow of its source, with inputs, outputs and fine-grained lineage
    a view's own text    upstreamLineage of the view
    OPERATION_EXECUTION  dataProcessInstance: properties, relationships, input, output, run events
    deleted              status: removed, and no other aspect

A proposal replaces a whole aspect of one entity, so each is made from a single item. No proposal depends on the time of
the export, so exporting twice sends the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import orjson
import requests

from navlin.export.answers import message_of, not_confirmed, object_of
from navlin.export.connection import Failing, ServerConnection
from navlin.export.datahub import aspects, names
from navlin.export.parts import in_parts
from navlin.export.target import Frame, RefusedRecord, Target, register
from navlin.export.values import (
    ColumnLineage,
    ColumnName,
    DatasetName,
    ExportedDataset,
    ExportedOperation,
    ExportedRun,
    FlowRole,
    Item,
    Renamed,
)
from navlin.model.batches import in_batches

Aspect = Mapping[str, Any]
Proposal = dict[str, Any]
MAX_NAMES: Final = 100
"""Maximum number of columns to list in the control flow of an operation."""


@dataclass(frozen=True, slots=True)
class DataHubOptions:
    """Options of an export. They must match those of the site's own ingestion, so that both use the same names for
    entities."""

    platform_instance: Annotated[str, "Platform instance of tables and databases."] = ""
    storage_instance: Annotated[str, "Platform instance of paths."] = ""
    env: Annotated[str, "Environment in URNs."] = "PROD"
    lowercase: Annotated[bool, "Convert names of tables, databases and columns to lower case."] = False
    describe: Annotated[
        bool, "Describe tables, views, paths and databases; otherwise only lineage is sent."
    ] = True
    owners: Annotated[bool, "Send owners. They replace owners that people set in DataHub."] = True
    tags: Annotated[bool, "Send tags. They replace tags that people set in DataHub."] = True

    @property
    def names(self) -> names.DatahubUrns:
        return names.DatahubUrns(
            self.platform_instance, self.storage_instance, self.env.upper(), self.lowercase
        )


def records(items: Iterable[Item], options: DataHubOptions) -> Iterator[bytes]:
    """Yield the proposals of items, each a line of JSON."""
    export = _DatahubExport(options, options.names)
    for item in items:
        for proposal in export.of(item):
            yield orjson.dumps(proposal) + b"\n"


@dataclass(slots=True)
class _DatahubExport:
    options: DataHubOptions
    names: names.DatahubUrns
    flows: set[str] = field(default_factory=set)
    """URNs of the flows already sent with an earlier operation, because each flow is sent only once."""

    def of(self, item: Item) -> Iterator[Proposal]:
        match item:
            case ExportedDataset(name=DatasetName(type="DATABASE")):
                yield from self._database(item)
            case ExportedDataset():
                yield from self._dataset(item)
            case Renamed():
                # DataHub identifies a dataset by its name, so the new name is exported as another dataset.
                yield _proposal(self.names.dataset(item.before), "status", {"removed": True})
            case ExportedOperation(derived=True):
                yield from self._upstreams(item)
            case ExportedOperation():
                yield from self._job(item)
            case ExportedRun():
                yield from self._run(item)
            case _:
                # Purged entities were flagged deleted, and exported as deleted, long before.
                return

    # -- Databases, tables, paths ------------------------------------------------------------------------------------

    def _database(self, item: ExportedDataset) -> Iterator[Proposal]:
        urn = self.names.container(item.name.name)
        if item.deleted:
            yield _proposal(urn, "status", {"removed": True})
        elif self.options.describe:
            yield _proposal(urn, "containerProperties", aspects.container(item, self.options.env.upper()))
            yield _proposal(urn, "subTypes", {"typeNames": ["Database"]})
            yield from self._of_any(item, urn)

    def _dataset(self, item: ExportedDataset) -> Iterator[Proposal]:
        name = item.name
        urn = self.names.dataset(name)
        if item.deleted:
            yield _proposal(urn, "status", {"removed": True})
            return
        if not self.options.describe:
            return
        yield _proposal(urn, "datasetProperties", aspects.dataset(item))
        yield _proposal(urn, "subTypes", {"typeNames": [aspects.SUB_TYPES.get(name.type, "Dataset")]})
        if item.columns:
            yield _proposal(urn, "schemaMetadata", aspects.schema(item, self.names, tags=self.options.tags))
        if name.type == "VIEW" and item.details.text:
            yield _proposal(urn, "viewProperties", aspects.view(item))
        if name.is_table and not name.source.placeholder and not item.placeholder:
            # Nothing is known about the databases of a metastore that is only referenced, or about a table that was
            # never extracted.
            yield _proposal(urn, "container", {"container": self.names.container(name.database)})
        yield from self._of_any(item, urn)

    def _of_any(self, item: ExportedDataset, urn: str) -> Iterator[Proposal]:
        """Yield the aspects that databases and datasets have in common."""
        platform = {"platform": names.platform_urn(self.names.platform(item.name))}
        if instance := self.names.platform_instance(item.name):
            platform["instance"] = instance
        yield _proposal(urn, "dataPlatformInstance", platform)
        if self.options.owners and item.details.owner:
            yield _proposal(urn, "ownership", aspects.ownership(item.details.owner))
        if self.options.tags and (item.annotations.tags or item.annotations.edited):
            yield _proposal(urn, "globalTags", aspects.global_tags(item.annotations.tags))
        yield _proposal(urn, "status", {"removed": False})

    # -- Operations --------------------------------------------------------------------------------------------------

    def _upstreams(self, item: ExportedOperation) -> Iterator[Proposal]:
        """Yield the upstreams of a view (from its text) or of a dataset (as stated by a person or program). These have
        no job in DataHub."""
        for output in item.outputs:
            if output.deleted or item.deleted:
                continue
            upstreams = [
                {
                    "dataset": self.names.dataset(each.dataset),
                    "type": "VIEW" if output.dataset.type == "VIEW" else "TRANSFORMED",
                    "auditStamp": aspects.stamp(0),
                }
                for each in item.inputs
                if not each.deleted
            ]
            aspect = {"upstreams": upstreams, "fineGrainedLineages": list(self._fine_grained(item))}
            yield _proposal(self.names.dataset(output.dataset), "upstreamLineage", aspect)

    def _job(self, item: ExportedOperation) -> Iterator[Proposal]:
        urn = self.names.job(item)
        if item.deleted:
            yield _proposal(urn, "status", {"removed": True})
            return
        flow = self.names.flow(item)
        if flow not in self.flows:
            self.flows.add(flow)
            yield _proposal(flow, "dataFlowInfo", aspects.flow(item, self.names.env))
            yield _proposal(flow, "status", {"removed": False})
        decide = _deciding(item)
        yield _proposal(urn, "dataJobInfo", aspects.job(item, flow, self.names.env, decide))
        inputs, outputs = self._ends(item)
        yield _proposal(
            urn,
            "dataJobInputOutput",
            {
                "inputDatasets": [],
                "outputDatasets": [],
                "inputDatasetEdges": [{"destinationUrn": each} for each in inputs],
                "outputDatasetEdges": [{"destinationUrn": each} for each in outputs],
                "fineGrainedLineages": list(self._fine_grained(item)),
            },
        )
        if self.options.tags and (item.annotations.tags or item.annotations.edited):
            yield _proposal(urn, "globalTags", aspects.global_tags(item.annotations.tags))
        yield _proposal(urn, "status", {"removed": False})

    def _ends(self, item: ExportedOperation) -> tuple[list[str], list[str]]:
        """Return the URNs of the inputs and of the outputs of an operation, each once per side. A path includes the
        tables at that location."""
        inputs, outputs = (
            {
                self.names.dataset(end.dataset): None
                for each in ends
                for end in (each, *each.tables)
                if not end.deleted
            }
            for ends in (item.inputs, item.outputs)
        )
        return list(inputs), list(outputs)

    def _fine_grained(self, item: ExportedOperation) -> Iterator[Aspect]:
        for part in item.columns:
            whole = [
                self.names.dataset(each.dataset) for each in part.inputs_of(FlowRole.DATA) if not each.name
            ]
            columns = [self.names.column(each) for each in part.inputs_of(FlowRole.DATA) if each.name]
            for output in part.outputs:
                if not output.name:
                    continue
                for kind, upstreams in (("FIELD_SET", columns), ("DATASET", whole)):
                    if upstreams:
                        yield self._lineage_of(part, output, kind, upstreams)

    def _lineage_of(self, part: ColumnLineage, output: ColumnName, kind: str, upstreams: list[str]) -> Aspect:
        lineage: dict[str, Any] = {
            "upstreamType": kind,
            "upstreams": list(dict.fromkeys(upstreams)),
            "downstreamType": "FIELD",
            "downstreams": [self.names.column(output)],
            "confidenceScore": aspects.INFERRED if part.details.inferred else 1.0,
        }
        if made := part.details.expression or part.details.transformation:
            lineage["transformOperation"] = made
        return lineage

    # -- Executions --------------------------------------------------------------------------------------------------

    def _run(self, item: ExportedRun) -> Iterator[Proposal]:
        operation, execution = item.operation, item.execution
        if operation.deleted or operation.derived:
            return
        urn = names.execution(execution.id)
        parents = [names.execution(each.id) for each in (*execution.run_for, *execution.run_as)]
        for parent in parents:
            # The parent must exist, even if it is not exported itself.
            yield _proposal(parent, "status", {"removed": False})
        yield _proposal(urn, "dataProcessInstanceProperties", aspects.run(item))
        relationships: dict[str, Any] = {
            "parentTemplate": self.names.job(operation),
            "upstreamInstances": [],
        }
        if parents:
            relationships["parentInstance"] = parents[0]
        yield _proposal(urn, "dataProcessInstanceRelationships", relationships)
        inputs, outputs = self._ends(operation)
        yield _proposal(urn, "dataProcessInstanceInput", {"inputs": inputs})
        yield _proposal(urn, "dataProcessInstanceOutput", {"outputs": outputs})
        yield _proposal(urn, "subTypes", {"typeNames": [aspects.kind_of(operation)]})
        platform = names.platform_urn(names.engine(operation))
        yield _proposal(urn, "dataPlatformInstance", {"platform": platform})
        for event in aspects.run_events(item):
            yield _proposal(urn, "dataProcessInstanceRunEvent", event)
        yield _proposal(urn, "status", {"removed": False})


def _deciding(item: ExportedOperation) -> list[str]:
    """Return the columns that determine which rows an operation writes, as text, because DataHub has no place for
    control flow."""
    found = {each.id: each for part in item.columns for each in part.inputs_of(FlowRole.CONTROL) if each.name}
    shown = [f"{each.dataset.full_name}.{each.name}" for each in found.values()]
    more = len(shown) - MAX_NAMES
    return [*shown[:MAX_NAMES], f"and {more} more"] if more > 0 else shown


def _proposal(urn: str, aspect_name: str, aspect: Aspect) -> Proposal:
    return {
        "entityType": urn.split(":", 3)[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect_name,
        "aspect": {"json": aspect},
    }


# -- To the metadata service ------------------------------------------------------------------------------------------------

PROPOSALS_A_REQUEST: Final = 100
_PROTOCOL: Final = {"X-RestLi-Protocol-Version": "2.0.0"}


def ask(connection: ServerConnection, options: DataHubOptions) -> str:
    """Check the server by requesting GMS's configuration. Return the version of the server as text. Raises
    `NotConfirmed`."""
    answer = connection.send("GET", "/config")
    found = object_of(answer, "DataHub's configuration")
    if not answer.ok or "noCode" not in found:
        not_confirmed(answer, "DataHub's configuration")
    versions = found.get("versions")
    known = versions.get("acryldata/datahub") if isinstance(versions, dict) else None
    version = known.get("version") if isinstance(known, dict) else None
    return f"DataHub {version or 'of an unknown version'}"


def send(
    connection: ServerConnection, lines: Iterable[bytes], options: DataHubOptions
) -> Iterator[int | RefusedRecord]:
    """Post proposals to GMS in batches. The proposals of a refused batch are posted one by one."""

    def one(proposal: Proposal) -> Iterator[int | RefusedRecord]:
        reason = _refusal(connection, "ingestProposal", {"proposal": proposal})
        yield RefusedRecord(_shown(proposal), reason) if reason else 1

    for batch in in_batches(map(_posted, lines), PROPOSALS_A_REQUEST):
        try:
            taken = len(batch) > 1 and not _refusal(connection, "ingestProposalBatch", {"proposals": batch})
        except Failing:
            taken = False
        if taken:
            yield len(batch)
        else:
            yield from in_parts(batch, one, _shown)


def _shown(proposal: Proposal) -> str:
    return f"{proposal['aspectName']} of {proposal['entityUrn']}"


def _posted(line: bytes) -> Proposal:
    """Convert a proposal to the form for GMS, with the aspect as text."""
    proposal: Proposal = orjson.loads(line)
    value = orjson.dumps(proposal["aspect"]["json"]).decode()
    return {**proposal, "aspect": {"value": value, "contentType": "application/json"}}


def _refusal(connection: ServerConnection, action: str, body: Mapping[str, Any]) -> str:
    """Return why GMS refuses a request; "" if GMS accepts it. Raises `NotConfirmed`."""
    answer = connection.send(
        "POST", "/aspects", orjson.dumps(body), params={"action": action}, headers=_PROTOCOL
    )
    wanted = "GMS's confirmation"
    if answer.status_code == requests.codes.not_found and action == "ingestProposal":
        not_confirmed(answer, wanted)
    if not answer.ok:
        return message_of(answer)
    # All releases confirm a request as a whole, with a single text: "success", or the URN of the first proposal.
    if not isinstance(object_of(answer, wanted).get("value"), str):
        not_confirmed(answer, wanted)
    return ""


register(
    Target(
        "datahub",
        "DataHub, as metadata change proposals",
        "application/json",
        "json",
        DataHubOptions,
        records,
        send,
        ask,
        # DataHub's file source reads a single array.
        frame=Frame(b"[\n", b",", b"]\n"),
    )
)
