"""In which database a text is after a statement that chooses one."""

from __future__ import annotations

from typing import Final

import sqlglot
from sqlglot import exp

from navlin.sql.reading import METASTORES
from navlin.sql.sources import NotUnderstood

_CATALOGS: Final = METASTORES - {"hive"}
"""What the metastore's catalog is called, without the name that a database may have as well."""


def chosen_database(database: str, statement: exp.Expr) -> str | None:
    """The database that a USE, or Spark's SET CATALOG, chooses, with its catalog, where that is not the metastore."""
    catalog, _, inside = database.partition(".")
    match statement:
        case exp.Use(this=exp.Table() as chosen) if statement.text("kind").upper() != "CATALOG":
            parts = [part.name for part in chosen.parts]
            # The parser takes USE NAMESPACE x for a table NAMESPACE that is called x.
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
    """The database in which one is after choosing a catalog: Spark stays where it is if it is in that one."""
    catalog, _, inside = database.partition(".")
    if chosen.lower() in METASTORES:
        return "default" if inside else database
    return database if inside and chosen.lower() == catalog.lower() else f"{chosen}.default"
