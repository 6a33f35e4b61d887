"""Parse the definitions of workflows, coordinators and bundles.

In a coordinator's definition, a property of its workflow contains ``${coord:dataIn('X')}`` or
``${coord:dataOut('X')}``. Oozie resolves the expression for each run, and passes the result to the workflow in the
property of the same name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from extractors.oozie.answers import MAX_ACTIONS, MAX_NAME_BYTES
from extractors.oozie.xml_texts import parsed, without_secrets, words
from navlin.model.redaction import bounded

MAX_EVENTS: Final = 1_000
"""Maximum number of a coordinator's inputs and outputs, and of the properties that refer to them."""
_CALL: Final = re.compile(r"coord:data(In|Out)\s*\(\s*(['\"])(.*?)\2\s*\)", re.DOTALL)
_TRANSITIONS: Final = frozenset({"ok", "error"})


@dataclass(frozen=True, slots=True)
class Definition:
    """The content common to all definitions: the application's name, the text without secrets, and a hash of the
    original text, to distinguish versions.
    """

    name: str
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class WorkflowDefinition(Definition):
    """The definition of a workflow. ``actions`` maps name → type of its actions, in the order of the definition."""

    actions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """One input or output of a coordinator. ``template`` is the URI of its dataset, with expressions; "" if the dataset
    is defined in another file.
    """

    name: str
    template: str
    output: bool


@dataclass(frozen=True, slots=True)
class CoordinatorDefinition(Definition):
    """The definition of a coordinator. ``inputs`` and ``outputs`` are the names of the properties with resolved inputs
    and outputs. ``mixed`` are the properties that contain both, so that they cannot be told apart. ``named`` are the
    names of all events in these properties.
    """

    events: tuple[Event, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()

    @property
    def unnamed(self) -> tuple[Event, ...]:
        """The events that no property refers to."""
        return tuple(each for each in self.events if each.name not in self.named)

    @property
    def has_outputs(self) -> bool:
        return any(each.output for each in self.events)


def to_workflow_definition(text: str) -> WorkflowDefinition | None:
    """Return the definition of a workflow; None if the text is not one."""
    root = _root(text, "workflow-app")
    if root is None:
        return None
    actions: dict[str, str] = {}
    for each in root.iter("action"):
        kind = next((child.tag for child in each if child.tag not in _TRANSITIONS), "")
        if (name := bounded(each.get("name", ""), MAX_NAME_BYTES)) and len(actions) < MAX_ACTIONS:
            actions[name] = kind
    return WorkflowDefinition(*_common(text, root), actions)


def to_coordinator_definition(text: str) -> CoordinatorDefinition | None:
    """Return the definition of a coordinator; None if the text is not one."""
    root = _root(text, "coordinator-app")
    if root is None:
        return None
    templates = {
        each.get("name", ""): words(each.find("uri-template")) for each in root.iterfind("datasets/dataset")
    }
    events = [
        Event(each.get("name", ""), templates.get(each.get("dataset", ""), ""), output)
        for path, output in (("input-events/data-in", False), ("output-events/data-out", True))
        for each in root.iterfind(path)
    ]
    inputs: list[str] = []
    outputs: list[str] = []
    mixed: list[str] = []
    named: set[str] = set()
    for each in list(root.iterfind("action/workflow/configuration/property"))[:MAX_EVENTS]:
        calls = _CALL.findall(words(each.find("value")))
        directions = {direction for direction, _, _ in calls}
        if directions and (name := words(each.find("name"))):
            side = mixed if len(directions) > 1 else inputs if "In" in directions else outputs
            side.append(name)
            named.update(event for _, _, event in calls)
    return CoordinatorDefinition(
        *_common(text, root),
        tuple(events[:MAX_EVENTS]),
        tuple(inputs),
        tuple(outputs),
        tuple(mixed),
        frozenset(named),
    )


def to_bundle_definition(text: str) -> Definition | None:
    """Return the definition of a bundle; None if the text is not one."""
    root = _root(text, "bundle-app")
    return Definition(*_common(text, root)) if root is not None else None


def _root(text: str, tag: str) -> Element | None:
    root = parsed(text.strip())
    return root if root is not None and root.tag == tag else None


def _common(text: str, root: Element) -> tuple[str, str, str]:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    name = bounded(root.get("name", "").strip(), MAX_NAME_BYTES)
    return name, bounded(without_secrets(text, root)), digest
