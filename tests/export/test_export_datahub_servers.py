"""DataHub proposals for a real index: as a file, as parsed by DataHub's own classes, and as accepted by GMS."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from navlin.export.choosing import Selection
from navlin.export.connection import ServerAddress, ServerConnection
from navlin.export.datahub import DataHubOptions, records, send
from navlin.export.target import RefusedRecord, targets
from navlin.export.writing import Exported, ExportQuestion, PositionFile, write_file
from navlin.index.graph.details import Details
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, RelationType
from navlin.model.source import HIVE
from tests.services.python_packages import Environment
from tests.support.datahub_proposals import proposals
from tests.support.exported import (
    AT_MS,
    dataset,
    described,
    every_kind,
)
from tests.support.query_estate import World


# -- A real index ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    made = World(solr, f"datahub-{request.node.name}")
    orders = made.table("orders", "id", "amount", tableType="MANAGED_TABLE", tags=["pii"])
    daily = made.table("daily", "total")
    view = made.table("v", "id", kind=EntityType.VIEW, queryText="select id from db.orders")
    path = made.path("/landing")
    insert = made.operation(
        "insert into db.daily select sum(amount) from db.orders",
        [orders],
        [daily],
        parts={"daily.total": ["orders.amount"]},
        operationType="INSERT",
    )
    made.operation("load", [path], [orders], operationType="LOAD")
    made.execution(insert, "run 1", started=AT_MS, ended=AT_MS + 1, principal="ann", status="SUCCEEDED")
    made.relate(RelationType.DATA_FLOW, orders, view, writer=HIVE)
    made.index()
    return made


def question(world: World, **options: Any) -> ExportQuestion:
    query = f"sourceId:({' '.join(source.id for source in world.sources.values())})"
    return ExportQuestion(targets()["datahub"], Selection(query), DataHubOptions(**options))


def test_an_index_gives_the_expected_proposals(world: World) -> None:
    asked = question(world)
    found = json.loads(b"".join(asked.records(asked.batches(world.solr))))
    kinds = Counter((each["entityType"], each["aspectName"]) for each in found)

    assert kinds["dataset", "datasetProperties"] == 4
    assert kinds["dataset", "schemaMetadata"] == 3
    assert kinds["dataset", "upstreamLineage"] == 1
    assert kinds["dataset", "globalTags"] == 1
    assert kinds["container", "containerProperties"] == 1
    assert kinds["dataFlow", "dataFlowInfo"] == 1
    assert kinds["dataJob", "dataJobInputOutput"] == 2
    assert kinds["dataProcessInstance", "dataProcessInstanceRunEvent"] == 2
    (fine,) = (
        fine
        for each in found
        if each["aspectName"] == "dataJobInputOutput"
        for fine in each["aspect"]["json"]["fineGrainedLineages"]
    )
    assert fine["upstreams"] == [
        "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD),amount)"
    ]


def test_a_resumed_file_is_one_array(world: World, tmp_path: Path) -> None:
    straight, cut = tmp_path / "straight.json", tmp_path / "cut.json"
    asked = question(world)
    write_file(world.solr, asked, straight, PositionFile(tmp_path / "1"), lambda _: None)

    def cut_off(done: Exported) -> None:
        if done.counts["operations"] == 0 and done.counts["datasets"]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(world.solr, asked, cut, PositionFile(tmp_path / "2"), cut_off)
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut.read_bytes())
    done = write_file(world.solr, asked, cut, PositionFile(tmp_path / "2"), lambda _: None)

    assert done.resumed
    # The resumed file may contain records from before the interruption twice, unchanged.
    whole, resumed = (
        {json.dumps(each) for each in json.loads(file.read_bytes())} for file in (straight, cut)
    )
    assert whole == resumed and len(whole) > 40


def test_an_empty_export_is_an_empty_array(world: World, tmp_path: Path) -> None:
    asked = replace(question(world), selection=Selection("originalName:nothing_is_called_so"))
    write_file(world.solr, asked, tmp_path / "none.json", PositionFile(tmp_path / "1"), lambda _: None)

    assert json.loads((tmp_path / "none.json").read_bytes()) == []


# -- DataHub's own classes ------------------------------------------------------------------------------------------------
@pytest.mark.services
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"platform_instance": "cm", "storage_instance": "dc1", "env": "dev", "lowercase": True},
        {"describe": False, "owners": False, "tags": False},
    ],
    ids=["as it is", "with instances", "lineage alone"],
)
def test_datahubs_own_classes_and_file_source_accept_every_proposal(
    options: dict[str, Any], export_readers: Environment, tmp_path: Path
) -> None:
    sent = proposals(every_kind(), **options)
    file = tmp_path / "proposals.json"
    file.write_text(json.dumps(sent))
    answer = export_readers.answer(REPOSITORY / "tests/services/read_datahub.py", file)

    assert answer["problems"] == []
    assert answer["ingested"] == len(sent)
    assert len(answer["kinds"]) >= (10 if "describe" in options else 25)


@pytest.mark.services
def test_datahubs_own_classes_refuse_invalid_proposals(export_readers: Environment, tmp_path: Path) -> None:
    """Otherwise the classes might accept everything. Each case has exactly one error."""
    (right,) = (
        each
        for each in proposals([described(dataset("a.t"), details=Details("etl"))])
        if each["aspectName"] == "ownership"
    )
    aspect = right["aspect"]["json"]
    wrong = [
        {**right, "entityUrn": "urn:li:dataset:(urn:li:dataPlatform:hive,a,b,PROD)"},
        {**right, "aspectName": "schemaFieldInfo"},
        {**right, "aspect": {"json": {**aspect, "unknown": 1}}},
        {**right, "aspect": {"json": {"owners": [{"owner": "ann", "type": "NOBODY"}]}}},
    ]
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps([right, *wrong]))
    problems = export_readers.answer(REPOSITORY / "tests/services/read_datahub.py", file)["problems"]

    assert [
        sum(each.startswith(f"{it['aspectName']} of {it['entityUrn']}") for each in problems) > 0
        for it in wrong
    ] == ([True] * 4)
    assert len(problems) >= 4


# -- GMS ------------------------------------------------------------------------------------------------------------------
@dataclass
class Service:
    """A server that accepts proposals as GMS does. If a request contains a proposal of the entity type ``refuses``, it
    refuses the whole request.
    """

    url: str = ""
    refuses: str = ""
    batches: bool = True
    taken: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, int]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)


REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def gms() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = urlsplit(self.path)
            (action,) = parse_qs(asked.query)["action"]
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            sent = body["proposals"] if action == "ingestProposalBatch" else [body["proposal"]]
            service.requests.append((action, len(sent)))
            service.tokens.add(self.headers["Authorization"])
            refused = any(each["entityType"] == service.refuses for each in sent)
            unknown = action == "ingestProposalBatch" and not service.batches
            status = 422 if refused else 400 if unknown or asked.path != "/aspects" else 200
            if status == 200:
                service.taken += sent
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"no such thing" if status != 200 else b'{"value":"success"}')

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}"
    yield service
    server.shutdown()
    thread.join()
    server.server_close()


def sent_to(gms: Service) -> list[int | RefusedRecord]:
    connection = ServerConnection(ServerAddress(gms.url, token="a-token"), wait=lambda _: None)
    try:
        return list(send(connection, records(every_kind(), DataHubOptions()), DataHubOptions()))
    finally:
        connection.close()


def test_proposals_are_posted_in_batches_with_the_token(gms: Service) -> None:
    sent = proposals(every_kind())

    assert sum(each for each in sent_to(gms) if isinstance(each, int)) == len(sent) > 200
    assert gms.tokens == {"Bearer a-token"}
    assert {action for action, _ in gms.requests} == {"ingestProposalBatch"}
    assert max(count for _, count in gms.requests) == 100
    assert [
        (each["entityUrn"], each["aspectName"], json.loads(each["aspect"]["value"])) for each in gms.taken
    ] == [(each["entityUrn"], each["aspectName"], each["aspect"]["json"]) for each in sent]
    assert {each["aspect"]["contentType"] for each in gms.taken} == {"application/json"}


def test_a_refused_proposal_is_named_and_the_rest_accepted(gms: Service) -> None:
    gms.refuses = "container"
    sent = proposals(every_kind())
    answers = sent_to(gms)
    refused = [each for each in answers if isinstance(each, RefusedRecord)]

    assert [each.what for each in refused] == [
        f"{each['aspectName']} of {each['entityUrn']}" for each in sent if each["entityType"] == "container"
    ]
    assert refused[0].reason == "HTTP 422: no such thing"
    assert len(gms.taken) == len(sent) - len(refused)


def test_a_service_without_batches_gets_proposals_one_by_one(gms: Service) -> None:
    gms.batches = False

    assert all(each == 1 for each in sent_to(gms))
    assert len(gms.taken) == len(proposals(every_kind()))
