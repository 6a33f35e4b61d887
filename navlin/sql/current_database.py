"""The current database after a statement that chooses one (USE, Spark's SET CATALOG)."""

from __future__ import annotations

from typing import Final

import sqlglot
from sqlglot import exp

from navlin.sql.reading import METASTORES
from navlin.sql.sources import NotUnderstood

_CATALOGS: Final = METASTORES - {"hive"}
"""Names of the metastore's catalog, except ``hive``, which may also be the name of a database."""


def chosen_database(database: str, statement: exp.Expr) -> str | None:
    """Return the database chosen by a USE, or by Spark's SET CATALOG, with its catalog unless that is the metastore's;
    None for any other statement."""
    catalog, _, inside = database.partition(".")
    match statement:
        case exp.Use(this=exp.Table() as chosen) if statement.text("kind").upper() != "CATALOG":
            parts = [part.name for part in chosen.parts]
            # The parser reads USE NAMESPACE x as a table NAMESPACE with the alias x.
            if [part.upper() for part in parts] == ["NAMESPACE"] and chosen.alias:
                parts = [chosen.alias]
            if len(parts) == 1 and parts[0].lower() in _CATALOGS:
                return _of_catalog(parts[0], database)
            if len(parts) == 1 and inside:
                parts = [catalog, *parts]
            return ".".join(parts[1:] if len(parts) > 1 and parts[0].lower() in METASTORES else parts)
        case exp.Use(this=exp.Table() as chosen):
            return _of_catalog(chosen.name, database)
        case exp.Command() if str(statement.this).upper() == "SET":
            words = sqlglot.tokenize(statement.text("expression"), read="spark")
            if len(words) > 1 and words[0].text.upper() == "CATALOG" and words[1].text != "=":
                if len(words) > 2:
                    raise NotUnderstood("the catalog that it sets is computed")
                return _of_catalog(words[1].text, database)
    return None


def _of_catalog(chosen: str, database: str) -> str:
    """Return the current database after choosing a catalog: unchanged if it is already in that catalog."""
    catalog, _, inside = database.partition(".")
    if chosen.lower() in METASTORES:
        return "default" if inside else database
    return database if inside and chosen.lower() == catalog.lower() else f"{chosen}.default"
