"""Keys of Oozie's applications and runs.

An application is identified by its path without the host, a workflow also by its name. Oozie names a coordinator in a
bundle by the bundle's word for it, so a coordinator's name identifies nothing. The first run of a workflow is
identified by the workflow's id alone, as in the jobs that it starts on YARN; a repeated run by its number, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from extractors.oozie.answers import JobKind
from navlin.model.identity import SEPARATOR
from navlin.model.keys import (
    Key,
    claimed_execution_key,
    execution_key,
    operation_key,
    split_location,
    sub_operation_key,
)
from navlin.model.source import Source
from navlin.model.tree import below

PARTS: Final = "parts"
"""The branch below an application for its actions. A definition covers this branch."""
_FILES: Final = ("/workflow.xml", "/coordinator.xml", "/bundle.xml")
_OPERATION_TYPES: Final = {
    JobKind.WORKFLOW: "WORKFLOW",
    JobKind.COORDINATOR: "COORDINATOR",
    JobKind.BUNDLE: "BUNDLE",
}


def operation_type(kind: JobKind) -> str:
    """Return Navigator's ``operationType`` of an application."""
    return _OPERATION_TYPES[kind]


def path_of(location: str) -> str:
    """Return the path of an application without its host, and without the name of its definition's file."""
    path = split_location(location)[2] if location else ""
    for file in _FILES:
        path = path.removesuffix(file)
    return path


def application_key_of(source: Source, kind: JobKind, location: str, name: str) -> Key:
    """Return the key of an application at a location (a URI or a path)."""
    path = path_of(location)
    by_name = (name,) if kind is JobKind.WORKFLOW or not path else ()
    text = SEPARATOR.join((operation_type(kind), path, *by_name))
    return operation_key(source, text, (), name=name or path)


def part_key(application: Key, action: str) -> Key:
    """Return the key of an action of an application."""
    key = sub_operation_key(application, action)
    return replace(key, tree_path=below(application.tree_path, PARTS, key.identity))


def run_key(source: Source, identity: str, run: int = 0, application: Key | None = None) -> Key:
    """Return the key of one run of a job, or of a coordinator's action."""
    of_run = f"{identity}{SEPARATOR}{run}" if run else identity
    if application is None:
        return replace(claimed_execution_key(source, of_run), name=identity)
    return replace(execution_key(application, of_run), name=identity)
