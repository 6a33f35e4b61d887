"""``/models`` and the paths below it: packages, classes, namespaces, managed properties, mappings.

An invalid body is answered with 400, and so is an unregistered class in `_map_to_class`. An unknown
namespace in the path is answered with 404, except by `_namespace`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import Empty, Problem
from navlin.api.bodies import EDIT_BYTES
from navlin.api.endpoint import Asked, Endpoint
from navlin.edit.models import list_models, mappings, register
from navlin.index.people.managed_properties import Kind
from navlin.questions.declare.shared import Nothing


@dataclass(frozen=True, slots=True)
class NamespaceParameters:
    namespace: Annotated[str, "Its name."]


@dataclass(frozen=True, slots=True)
class ClassParameters:
    package: Annotated[str, "The name of its package; nav is navlin's own."]
    name: Annotated[str, "Its name, such as hv_table."]


def _register(asked: Asked) -> dict[str, Any]:
    return register(asked.solr, asked.body, asked.author())


def _namespaces(asked: Asked) -> list[Mapping[str, Any]]:
    return list_models(asked.solr, Kind.NAMESPACE)


def _new_namespace(asked: Asked) -> dict[str, Any]:
    (namespace,) = register(asked.solr, {"namespaces": [asked.body]}, asked.author())["namespaces"]
    return dict(namespace)


def _named(asked: Asked) -> Mapping[str, Any] | None:
    known = list_models(asked.solr, Kind.NAMESPACE)
    return next((each for each in known if each["name"] == asked.parameters.namespace), None)


def _namespace(asked: Asked) -> Mapping[str, Any] | Empty:
    # If the body is empty, Hue concludes that the namespace does not exist, and creates it. After an error, Hue gives
    # up.
    return _named(asked) or Empty()


def _name(asked: Asked) -> str:
    if (namespace := _named(asked)) is None:
        raise Problem(404, f"there is no namespace {asked.parameters.namespace}")
    return str(namespace["name"])


def _properties(asked: Asked) -> list[Mapping[str, Any]]:
    name = _name(asked)
    return [each for each in list_models(asked.solr, Kind.PROPERTY) if each["namespace"] == name]


def _new_property(asked: Asked) -> dict[str, Any]:
    if not isinstance(asked.body, Mapping):
        raise Problem(400, "the body must be a JSON object")
    given = {**asked.body, "namespace": _name(asked)}
    (made,) = register(asked.solr, {"properties": [given]}, asked.author())["properties"]
    return dict(made)


def _properties_of_class(asked: Asked) -> list[Mapping[str, Any]]:
    """Return the properties of a class; [] for an unknown class."""
    mapped = mappings(asked.solr).get(f"{asked.parameters.package}.{asked.parameters.name}", [])
    known = {f"{each['namespace']}.{each['name']}": each for each in list_models(asked.solr, Kind.PROPERTY)}
    return [known[name] for name in mapped if name in known]


def _map_to_class(asked: Asked) -> list[Mapping[str, Any]]:
    """Add properties to a class, which keeps those that it has. Return all of them."""
    if not isinstance(asked.body, list) or not all(isinstance(each, Mapping) for each in asked.body):
        raise Problem(400, "the body must be a list of objects with namespace and name")
    names = [f"{each.get('namespace')}.{each.get('name')}" for each in asked.body]
    mappings_of = {f"{asked.parameters.package}.{asked.parameters.name}": names}
    register(asked.solr, {"mappings": mappings_of}, asked.author())
    return _properties_of_class(asked)


def _mappings(asked: Asked) -> dict[str, list[str]]:
    return mappings(asked.solr)


def _reads(path: str, summary: str, parameters: type[Any], answer: Callable[[Asked], Any]) -> Endpoint:
    return Endpoint("GET", path, Role.LINEAGE_VIEWER, summary, parameters, answer, lenient=True)


def _writes(path: str, summary: str, parameters: type[Any], answer: Callable[[Asked], Any]) -> Endpoint:
    role = Role.METADATA_ADMINISTRATOR
    return Endpoint("POST", path, role, summary, parameters, answer, takes_body=True, most_bytes=EDIT_BYTES)


_NAMESPACE = "/models/namespaces/{namespace}"
_CLASS = "/models/packages/{package}/classes/{name}/properties"
ENDPOINTS = (
    _writes("/models", "Registers models; again as often as one likes.", Nothing, _register),
    _reads("/models/namespaces", "All namespaces.", Nothing, _namespaces),
    _writes("/models/namespaces", "Registers a namespace.", Nothing, _new_namespace),
    _reads(_NAMESPACE, "One namespace.", NamespaceParameters, _namespace),
    _reads(f"{_NAMESPACE}/properties", "The properties of a namespace.", NamespaceParameters, _properties),
    _writes(f"{_NAMESPACE}/properties", "Registers a property.", NamespaceParameters, _new_property),
    _reads(_CLASS, "The properties that a class has.", ClassParameters, _properties_of_class),
    _writes(_CLASS, "Gives a class properties.", ClassParameters, _map_to_class),
    _reads("/models/properties/mappings", "Which properties each class has.", Nothing, _mappings),
)
