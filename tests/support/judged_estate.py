"""The estate for judged searches (``tests/data/judged``), written as documents of the index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from navlin.index.solr.solr import Solr
from navlin.index.write.documents import source_envelope
from navlin.model.identity import identify
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    column_key,
    database_key,
    execution_key,
    location_key,
    operation_key,
    partition_key,
    path_column_key,
    path_key,
    sub_operation_key,
    table_key,
)
from navlin.model.source import Estate, Source, source_id
from navlin.model.tree import below, tree_path
from tests.support.query_estate import AS_OF_MS, World

FOLDER: Final = Path(__file__).parents[1] / "data" / "judged"


class JudgedEstate(World):
    """The estate in ``estate.json``. `keys` maps the list of strings that identifies an entity in the file to its key."""

    def __init__(self, solr: Solr, name: str) -> None:
        super().__init__(solr, name)
        self.keys: dict[tuple[str, ...], Key] = {}
        estate = json.loads((FOLDER / "estate.json").read_text(encoding="utf-8"))
        for each in estate["sources"]:
            self._source(each)
        self.estate = Estate("estate", tuple(self.sources.values()))
        for each in estate["databases"]:
            key = database_key(self.sources[each["source"]], each["name"])
            self._add(key, (each["source"], each["name"]), each)
        for each in estate["tables"]:
            self._table(each)
        for each in estate["paths"]:
            key = path_key(self.sources[each["source"]], each["path"], EntityType(each["kind"]))
            self._add(key, (each["source"], each["path"]), each, owner=each["owner"], size=each.get("size"))
        for each in estate["datasets"]:
            self._dataset(each)
        for each in estate["operations"]:
            self._operation(each)
        self.index()

    def id_of(self, named: Sequence[str]) -> str:
        """Return the id of the entity that this list of strings identifies."""
        return self.keys[tuple(named)].identity

    def _source(self, given: dict[str, Any]) -> None:
        identity = source_id(self.name + given["cluster"], given["name"])
        serves = tuple(each.replace("s3a://", "s3://") for each in given["serves"])
        source = Source(identity, given["type"], given["name"], given["cluster"], serves)
        self.sources[given["name"]] = source
        self._put(source_envelope(source, AS_OF_MS))

    def _add(self, key: Key, named: tuple[str, ...], given: dict[str, Any], **attributes: Any) -> Key:
        attributes["originalDescription"] = given.get("comment")
        attributes["dataType"] = given.get("type")
        said = {name: value for name, value in attributes.items() if value is not None}
        self.keys[named] = self.entity(key, deleted=given.get("deleted", False), **said)
        self.elements[key.identity].update(given.get("people", {}))
        return key

    def _table(self, given: dict[str, Any]) -> None:
        source, database, name = given["source"], given["database"], given["name"]
        table = table_key(self.sources[source], database, name, EntityType(given["kind"]))
        partitioned = given.get("partition_columns")
        self._add(table, (source, database, name), given, owner=given["owner"], partitionColNames=partitioned)
        for each in given["columns"]:
            column = column_key(table, each["name"])
            deleted = given.get("deleted", False)
            self._add(column, (source, database, name, each["name"]), {**each, "deleted": deleted})
        for each in given.get("partitions", ()):
            self.entity(partition_key(table, each))
        if location := given.get("location"):
            path = location_key(self.estate, location)
            self.relate(RelationType.LOGICAL_PHYSICAL, table, path, writer=source)

    def _dataset(self, given: dict[str, Any]) -> None:
        source, name = self.sources[given["source"]], given["name"]
        identity = identify(source.id, source.name, name)
        dataset = Key(EntityType.DATASET, identity, source, name, tree_path("datasets", source.name, name))
        self._add(dataset, (given["source"], name), given)
        for each in given["columns"]:
            column = each["name"]
            path = below(dataset.tree_path, column.upper())
            identity = identify(dataset.identity, column.upper())
            key = Key(EntityType.FIELD, identity, source, column, path, f"/{name}", parent=dataset)
            self._add(key, (given["source"], name, column), each)

    def _column(self, named: Sequence[str]) -> Key:
        """Return a column's key. A column of a path is granted if the estate does not define it, because no file system
        reports columns.
        """
        if tuple(named) not in self.keys:
            *path, column = named
            self.keys[tuple(named)] = self.granted(path_column_key(self.keys[tuple(path)], column))
        return self.keys[tuple(named)]

    def _operation(self, given: dict[str, Any]) -> None:
        source, text = given["source"], given["text"]
        reads, writes = ([self.keys[tuple(each)] for each in given[side]] for side in ("reads", "writes"))
        ends = tuple(key.identity for key in (*reads, *writes))
        operation = operation_key(self.sources[source], text, ends)
        kind = given.get("operation_type")
        self._add(operation, (source, text), {}, queryText=text, operationType=kind)
        for key in reads:
            self.relate(RelationType.DATA_FLOW, key, operation, writer=source)
        for key in writes:
            self.relate(RelationType.DATA_FLOW, operation, key, writer=source)
        for each in given["parts"]:
            output = self._column(each["output"])
            part = self.entity(sub_operation_key(operation, ".".join(each["output"][1:])))
            self.relate(RelationType.DATA_FLOW, part, output, writer=source)
            for side, kinds in (("inputs", RelationType.DATA_FLOW), ("control", RelationType.CONTROL_FLOW)):
                for end in each.get(side, ()):
                    self.relate(kinds, self._column(end), part, writer=source)
        for each in given["executions"]:
            started, ended = (
                round(datetime.fromisoformat(each[side]).timestamp() * 1000) for side in ("started", "ended")
            )
            run = execution_key(operation, each["id"])
            self.entity(run, principal=each["principal"], started=started, ended=ended, status=each["status"])
