"""Sends lines of requests to an Atlas server. If a request is refused, its parts are sent one by one to find the
refused parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import orjson
import requests

from navlin.export.answers import all_named, message_of, not_confirmed, object_of
from navlin.export.connection import Failing, ServerConnection
from navlin.export.parts import in_parts
from navlin.export.target import RefusedRecord

BULK: Final = "/api/atlas/v2/entity/bulk"
BY_NAME: Final = "/api/atlas/v2/entity/uniqueAttribute/type/"
TYPES: Final = "/api/atlas/v2/types/typedefs/headers"
_MUTATION: Final = "Atlas's answer to a change"
_HANGING: Final = (
    "hive_storagedesc hive_column hive_process_execution impala_process_execution hive_column_lineage"
    " impala_column_lineage spark_column_lineage hive_table_ddl"
)
_PARTS: Final = frozenset(_HANGING.split())
"""Types of entities that depend on the entity before them in a request, and are useless without that entity."""


def ask(connection: ServerConnection, options: Any) -> str:
    """Check the server by requesting Atlas's types, which requires the same login as sending. Return a description of
    the server. Raises `NotConfirmed`."""
    answer = connection.send("GET", TYPES)
    types = orjson.loads(answer.content) if answer.ok and answer.content[:1] == b"[" else None
    if not isinstance(types, list) or not any(each.get("name") == "DataSet" for each in types):
        not_confirmed(answer, "Atlas's types")
    return f"Atlas with {len(types)} types"


def send(
    connection: ServerConnection, records: Iterable[bytes], options: Any
) -> Iterator[int | RefusedRecord]:
    """Send lines of requests. Yield the number of accepted entities, or a refused entity. Raises ValueError with the
    option ``hook``, because messages are for Kafka."""
    if options.hook:
        raise ValueError(
            "messages of --hook are for Kafka: write them to a file, and send that to the topic ATLAS_HOOK"
        )
    for line in records:
        content = orjson.loads(line)
        if "entities" in content:
            yield from _create(connection, content["entities"])
        for reference in content.get("deletions", ()):
            yield from _delete(connection, reference)
        for rename in content.get("renames", ()):
            yield from _rename(connection, rename)


def _create(connection: ServerConnection, entities: list[dict[str, Any]]) -> Iterator[int | RefusedRecord]:
    groups = list(_groups(entities))
    try:
        answer = _post(connection, entities)
    except Failing:
        if len(groups) < 2:
            raise
        yield from in_parts(groups, partial(_create, connection), lambda group: _shown(group[0]))
        return
    if answer.ok:
        yield len(entities)
        yield from _label(connection, entities, answer)
        return
    if len(groups) > 1:
        for group in groups:
            yield from _create(connection, group)
        return
    first, *hanging = entities
    if hanging and first["typeName"] not in _PARTS:
        # If a column is refused, its table must still be created.
        alone = _post(connection, [first])
        if alone.ok:
            yield 1
            yield from _label(connection, [first], alone)
            for each in hanging:
                yield from _create(connection, [each])
            return
        answer = alone
    yield RefusedRecord(_shown(first), message_of(answer))


def _post(connection: ServerConnection, entities: list[dict[str, Any]]) -> requests.Response:
    """Create or update entities, and check that Atlas confirms the guid of each, including unchanged ones. Return the
    response."""
    answer = connection.send("POST", BULK, orjson.dumps({"entities": entities}))
    if answer.ok:
        found = object_of(answer, _MUTATION)
        guids = (each["guid"] for each in entities if "guid" in each)
        all_named(answer, guids, found.get("guidAssignments") or (), "guids")
    return _own(answer)


def _own(answer: requests.Response) -> requests.Response:
    """Return the response. Raises `NotConfirmed` for a 404 that is not Atlas's own, that is, without an error code."""
    if answer.status_code == requests.codes.not_found and "errorCode" not in object_of(answer, _MUTATION):
        not_confirmed(answer, _MUTATION)
    return answer


def _label(
    connection: ServerConnection, entities: list[dict[str, Any]], created: requests.Response
) -> Iterator[RefusedRecord]:
    """Set the labels of entities that already existed, because Atlas takes the labels in a request only for new
    entities. Yield refusals."""
    labelled = [each for each in entities if "labels" in each]
    new = _new(created) if labelled else frozenset()
    for each in labelled:
        name = each["attributes"]["qualifiedName"]
        if (each["typeName"], name) in new:
            continue
        named = {"attr:qualifiedName": name}
        path = f"{BY_NAME}{quote(each['typeName'])}/labels"
        answer = _own(connection.send("POST", path, orjson.dumps(each["labels"]), params=named))
        if not answer.ok:
            yield RefusedRecord(f"labels of {_shown(each)}", message_of(answer))


def _new(answer: requests.Response) -> frozenset[tuple[str, str]]:
    """Return (type, name) of the entities that a request created, as far as the response lists them."""
    headers = (object_of(answer, _MUTATION).get("mutatedEntities") or {}).get("CREATE") or ()
    return frozenset(
        (str(each["typeName"]), str((each.get("attributes") or {}).get("qualifiedName"))) for each in headers
    )


def _groups(entities: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield each independent entity together with the entities that depend on it."""
    group: list[dict[str, Any]] = []
    for each in entities:
        if group and each["typeName"] not in _PARTS:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _delete(connection: ServerConnection, reference: dict[str, Any]) -> Iterator[int | RefusedRecord]:
    answer = _own(connection.send("DELETE", BY_NAME + quote(reference["typeName"]), params=_named(reference)))
    # A missing or already deleted entity is not an error.
    if _changed(answer):
        yield 1
    else:
        yield RefusedRecord(f"deletion of {_shown(reference)}", message_of(answer))


def _rename(connection: ServerConnection, rename: dict[str, Any]) -> Iterator[int | RefusedRecord]:
    body = orjson.dumps({"entity": {"typeName": rename["typeName"], "attributes": rename["attributes"]}})
    answer = _own(connection.send("PUT", BY_NAME + quote(rename["typeName"]), body, params=_named(rename)))
    # Atlas may not know the old name; the entity is exported under the new name in any case.
    if _changed(answer):
        yield 1
    else:
        yield RefusedRecord(f"rename of {_shown(rename)}", message_of(answer))


def _changed(answer: requests.Response) -> bool:
    """Whether Atlas changed the entity, or does not have it. Raises `NotConfirmed`."""
    if answer.ok:
        object_of(answer, _MUTATION)
    return answer.ok or answer.status_code == requests.codes.not_found


def _named(reference: dict[str, Any]) -> dict[str, str]:
    return {"attr:qualifiedName": reference["uniqueAttributes"]["qualifiedName"]}


def _shown(entity: dict[str, Any]) -> str:
    named = entity.get("uniqueAttributes") or entity["attributes"]
    return f"{entity['typeName']} {named['qualifiedName']}"
