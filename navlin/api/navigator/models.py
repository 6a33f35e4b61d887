"""``/models`` and the paths below it: packages, classes, namespaces, managed properties, mappings.

An invalid body is answered with 400, and so is an unregistered class in `_map_to_class`. An unknown
namespace in the path is answered with 404, except by `_namespace`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import HttpError, NoContent
from navlin.api.bodies import EDIT_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.edit.models import list_models, mappings, register
from navlin.index.people.managed_properties import ModelKind
from navlin.questions.declare.shared import Nothing


@dataclass(frozen=True, slots=True)
class NamespaceParameters:
    namespace: Annotated[str, "Its name."]


@dataclass(frozen=True, slots=True)
class ClassParameters:
    package: Annotated[str, "The name of its package; nav is navlin's own."]
    name: Annotated[str, "Its name, such as hv_table."]


def _register(request: ApiRequest) -> dict[str, Any]:
    return register(request.solr, request.body, request.author())


def _namespaces(request: ApiRequest) -> list[Mapping[str, Any]]:
    return list_models(request.solr, ModelKind.NAMESPACE)


def _new_namespace(request: ApiRequest) -> dict[str, Any]:
    (namespace,) = register(request.solr, {"namespaces": [request.body]}, request.author())["namespaces"]
    return dict(namespace)


def _named(request: ApiRequest) -> Mapping[str, Any] | None:
    known = list_models(request.solr, ModelKind.NAMESPACE)
    return next((each for each in known if each["name"] == request.parameters.namespace), None)


def _namespace(request: ApiRequest) -> Mapping[str, Any] | NoContent:
    # If the body is empty, Hue concludes that the namespace does not exist, and creates it. After an error, Hue gives
    # up.
    return _named(request) or NoContent()


def _name(request: ApiRequest) -> str:
    if (namespace := _named(request)) is None:
        raise HttpError(404, f"there is no namespace {request.parameters.namespace}")
    return str(namespace["name"])


def _properties(request: ApiRequest) -> list[Mapping[str, Any]]:
    name = _name(request)
    return [each for each in list_models(request.solr, ModelKind.PROPERTY) if each["namespace"] == name]


def _new_property(request: ApiRequest) -> dict[str, Any]:
    if not isinstance(request.body, Mapping):
        raise HttpError(400, "the body must be a JSON object")
    given = {**request.body, "namespace": _name(request)}
    (made,) = register(request.solr, {"properties": [given]}, request.author())["properties"]
    return dict(made)


def _properties_of_class(request: ApiRequest) -> list[Mapping[str, Any]]:
    """Return the properties of a class; [] for an unknown class."""
    mapped = mappings(request.solr).get(f"{request.parameters.package}.{request.parameters.name}", [])
    known = {
        f"{each['namespace']}.{each['name']}": each for each in list_models(request.solr, ModelKind.PROPERTY)
    }
    return [known[name] for name in mapped if name in known]


def _map_to_class(request: ApiRequest) -> list[Mapping[str, Any]]:
    """Add properties to a class, which keeps those that it has. Return all of them."""
    if not isinstance(request.body, list) or not all(isinstance(each, Mapping) for each in request.body):
        raise HttpError(400, "the body must be a list of objects with namespace and name")
    names = [f"{each.get('namespace')}.{each.get('name')}" for each in request.body]
    mappings_of = {f"{request.parameters.package}.{request.parameters.name}": names}
    register(request.solr, {"mappings": mappings_of}, request.author())
    return _properties_of_class(request)


def _mappings(request: ApiRequest) -> dict[str, list[str]]:
    return mappings(request.solr)


def _reads(path: str, summary: str, parameters: type[Any], answer: Callable[[ApiRequest], Any]) -> Endpoint:
    return Endpoint("GET", path, Role.LINEAGE_VIEWER, summary, parameters, answer, lenient=True)


def _writes(path: str, summary: str, parameters: type[Any], answer: Callable[[ApiRequest], Any]) -> Endpoint:
    role = Role.METADATA_ADMINISTRATOR
    return Endpoint("POST", path, role, summary, parameters, answer, takes_body=True, most_bytes=EDIT_BYTES)


_NAMESPACE = "/models/namespaces/{namespace}"
_CLASS = "/models/packages/{package}/classes/{name}/properties"
ENDPOINTS = (
    _writes("/models", "Register models; repeating this changes nothing.", Nothing, _register),
    _reads("/models/namespaces", "List all namespaces.", Nothing, _namespaces),
    _writes("/models/namespaces", "Register a namespace.", Nothing, _new_namespace),
    _reads(_NAMESPACE, "Get a namespace.", NamespaceParameters, _namespace),
    _reads(
        f"{_NAMESPACE}/properties", "List the properties of a namespace.", NamespaceParameters, _properties
    ),
    _writes(f"{_NAMESPACE}/properties", "Register a property.", NamespaceParameters, _new_property),
    _reads(_CLASS, "List the properties of a class.", ClassParameters, _properties_of_class),
    _writes(_CLASS, "Add properties to a class.", ClassParameters, _map_to_class),
    _reads("/models/properties/mappings", "List the properties of each class.", Nothing, _mappings),
)
