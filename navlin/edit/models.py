"""Models that Navigator's clients register: packages, classes, namespaces, managed properties, mappings.

Registering again replaces the previous model, so a program may send its models at each start. The type of a property
cannot change, because the property's values are indexed by type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from navlin.edit.values import BadValue
from navlin.index.people.editing import Author
from navlin.index.people.managed_properties import ModelKind, Registered, registered, save_models
from navlin.index.schema.fields import MANAGED, solr_date
from navlin.index.solr.solr import Solr
from navlin.index.write.rewriting import ATTEMPTS, TooManyConflicts

PATTERN_CHARS: Final = 1_000
NAME_CHARS: Final = 120
_PLURALS: Final = {
    "packages": ModelKind.PACKAGE,
    "classes": ModelKind.CLASS,
    "namespaces": ModelKind.NAMESPACE,
    "properties": ModelKind.PROPERTY,
}
_DESCRIBED: Final = ("name", "displayName", "description")
KEYS: Final[Mapping[ModelKind, tuple[str, ...]]] = {
    ModelKind.PACKAGE: (*_DESCRIBED, "external", "defaultPackage"),
    ModelKind.CLASS: (*_DESCRIBED, "packageName"),
    ModelKind.NAMESPACE: (*_DESCRIBED, "external", "defaultNamespace", "creator", "createdDate"),
    ModelKind.PROPERTY: (
        *("name", "namespace", "displayName", "description", "multiValued", "maxLength", "pattern"),
        *("enumValues", "type", "creator", "createdDate"),
    ),
}
"""JSON keys of each kind; all of them are always present."""
_FLAGS: Final = frozenset({"external", "defaultPackage", "defaultNamespace", "multiValued"})
PARENTS: Final = {ModelKind.CLASS: "packageName", ModelKind.PROPERTY: "namespace"}
"""Kind → the JSON key that names the parent, for classes and properties."""


@dataclass(frozen=True, slots=True)
class Property:
    """A registered managed property. ``pattern`` must match the whole text."""

    namespace: str
    name: str
    type: str
    multi_valued: bool = False
    max_length: int | None = None
    pattern: str = ""
    enum_values: tuple[str, ...] = ()


Properties = Mapping[tuple[str, str], Property]
"""(namespace, name) → property."""


def properties_of(solr: Solr) -> Properties:
    return {
        (each.namespace, each.name): each for each in map(_property, list_models(solr, ModelKind.PROPERTY))
    }


def list_models(solr: Solr, kind: ModelKind) -> list[Mapping[str, Any]]:
    """Return all models of a kind, sorted by name, each with the kind's `KEYS`."""
    named = registered(solr)[0][kind]
    return [named[name] for name in sorted(named)]


def mappings(solr: Solr) -> dict[str, list[str]]:
    """Return a mapping from ``package.class`` to the ``namespace.name`` of each property of the class, in the order of
    registration."""
    mapped = registered(solr)[0][ModelKind.MAPPING]
    return {name: list(body["properties"]) for name, body in sorted(mapped.items())}


def register(solr: Solr, given: Any, author: Author) -> dict[str, Any]:
    """Register models in the form of POST /models, and return them in the same form. Raises `BadValue` if any model is
    invalid, and then registers nothing."""
    if not isinstance(given, Mapping):
        raise BadValue("models must be an object with packages, classes, namespaces, properties, mappings")
    for _ in range(ATTEMPTS):
        known, read = registered(solr)
        made = _made(known, given, author)
        if save_models(solr, made, read):
            break
    else:
        raise TooManyConflicts(f"these models kept changing during {ATTEMPTS} attempts to register them")
    answer: dict[str, Any] = {key: list(made[kind].values()) for key, kind in _PLURALS.items()}
    answer["mappings"] = {name: body["properties"] for name, body in made[ModelKind.MAPPING].items()}
    return answer


def _made(known: Registered, given: Mapping[str, Any], author: Author) -> dict[ModelKind, dict[str, Any]]:
    """Convert the models of a request to stored models: kind → name → model. Raises `BadValue`."""
    made: dict[ModelKind, dict[str, Any]] = {kind: {} for kind in ModelKind}
    for key, kind in _PLURALS.items():
        for item in _listed(key, given.get(key)):
            name = name_of(kind, item)
            made[kind][name] = _checked(kind, item, known[kind].get(name), author)
    for owner, names in _object("mappings", given.get("mappings")).items():
        _require(owner, made[ModelKind.CLASS], known[ModelKind.CLASS], "class", taken_as_is="nav.")
        before = known[ModelKind.MAPPING].get(owner, {}).get("properties", [])
        for name in _listed(f"mappings of {owner}", names):
            _require(name, made[ModelKind.PROPERTY], known[ModelKind.PROPERTY], "property")
        made[ModelKind.MAPPING][owner] = {"properties": list(dict.fromkeys([*before, *names]))}
    return made


def name_of(kind: ModelKind, item: Any) -> str:
    """Return the name under which a model is stored. Raises `BadValue` if the name is missing or not allowed."""
    parts = [_object(kind.value, item).get(key) for key in (PARENTS.get(kind), "name") if key]
    for part in parts:
        if not isinstance(part, str) or not part or len(part) > NAME_CHARS or not part.isprintable():
            raise BadValue(f"{part!r:.60} cannot be the name of a {kind}")
        if kind is ModelKind.NAMESPACE and "." in part:
            # Fields are called namespace.name, and only the name may have dots.
            raise BadValue(f"{part!r:.60} cannot be the name of a namespace: it has a dot")
    return ".".join(map(str, parts))


# -- Inside ------------------------------------------------------------------------------------------------------------


def _checked(
    kind: ModelKind, item: Mapping[str, Any], before: Mapping[str, Any] | None, author: Author
) -> Any:
    made: dict[str, Any] = {key: item.get(key) for key in KEYS[kind]}
    for key in _FLAGS & made.keys():
        made[key] = made[key] if isinstance(made[key], bool) else False
    for key in ("displayName", "description"):
        if made[key] is not None and not isinstance(made[key], str):
            raise BadValue(f"{key} of {made['name']} must be a text")
    if "creator" in made:
        first = before or {"creator": author.name, "createdDate": solr_date(author.now_ms)}
        made |= {key: first[key] for key in ("creator", "createdDate")}
    if kind is ModelKind.PROPERTY:
        made["type"] = made["type"] or "TEXT"
        if not isinstance(made["type"], str) or made["type"] not in MANAGED:
            raise BadValue(f"type of {made['name']} must be one of {', '.join(MANAGED)}")
        if before is not None and MANAGED[before["type"]] != MANAGED[made["type"]]:
            raise BadValue(
                f"{made['namespace']}.{made['name']} is of type {before['type']}, which cannot be changed"
            )
        _check_limits(made)
    return made


def _check_limits(made: Mapping[str, Any]) -> None:
    name, longest, pattern, words = (made[key] for key in ("name", "maxLength", "pattern", "enumValues"))
    if longest is not None and (not isinstance(longest, int) or isinstance(longest, bool) or longest < 0):
        raise BadValue(f"maxLength of {name} must be a whole number")
    if pattern is not None and pattern != "":
        if not isinstance(pattern, str) or len(pattern) > PATTERN_CHARS:
            raise BadValue(f"pattern of {name} must be a text of at most {PATTERN_CHARS:,} characters")
        matcher(pattern)
    if words is not None and not (isinstance(words, list) and all(isinstance(each, str) for each in words)):
        raise BadValue(f"enumValues of {name} must be a list of texts")
    if made["type"] == "ENUM" and not words:
        raise BadValue(f"enumValues of {name} are missing")


@lru_cache(maxsize=256)
def matcher(pattern: str) -> Callable[[str], object]:
    """Return a function that matches a whole text, in time linear in its length. Raises `BadValue` for patterns that do
    not allow this, such as those with a look-ahead."""
    # Imported only when needed, because most installations have no patterns.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        match: Callable[[str], object] = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise BadValue(f"{pattern!r:.80} is not a valid RE2 pattern: {reason}") from None
    return match


def _property(body: Mapping[str, Any]) -> Property:
    return Property(
        body["namespace"],
        body["name"],
        body["type"],
        body["multiValued"],
        body["maxLength"] or None,
        body["pattern"] or "",
        tuple(body["enumValues"] or ()),
    )


def _require(
    name: Any, made: Mapping[str, Any], known: Mapping[str, Any], kind: str, *, taken_as_is: str = "\0"
) -> None:
    if not isinstance(name, str) or not (name in made or name in known or name.startswith(taken_as_is)):
        raise BadValue(f"there is no {kind} {name!r:.60}: register it first, or with its mapping")


def _listed(what: str, value: Any) -> Iterable[Any]:
    if value is not None and not isinstance(value, list):
        raise BadValue(f"{what} must be a list")
    return value or ()


def _object(what: str, value: Any) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise BadValue(f"{what} must be an object")
    return value or {}
