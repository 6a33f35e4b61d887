"""Converts changes to lines of a file: requests for Atlas's REST interface, or messages as Atlas's hooks send them to
Kafka.

A line of requests has one of three keys. A line with ``entities`` can be posted unchanged to
``/api/atlas/v2/entity/bulk``; ``deletions`` and ``renames`` have other endpoints (`navlin.export.atlas.sending`). A
line of messages can be sent unchanged to the topic ``ATLAS_HOOK``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import orjson

from navlin.export.atlas.entities import AtlasEntity, Change, Deletion, Rename, Upsert, numbered, unique

CHANGES_A_REQUEST: Final = 10
"""Number of tables or operations in one request. With this number, Atlas accepts the most entities per second, and a
refused request costs little."""
MESSAGE_BYTES: Final = 900_000
"""Maximum size of a message, in bytes. Kafka accepts 1,000,000 bytes; the hooks split longer messages, which navlin
avoids."""


def requests(changes: Iterable[Change]) -> Iterator[bytes]:
    """Yield lines of requests, in the order of the changes."""
    for kind, group in _grouped(changes):
        if kind is Upsert:
            entities = [*unique(each for change in group for each in change.entities)]
            guids = numbered(entities)
            yield _line({"entities": [each.to_json(guids) for each in entities]})
        elif kind is Deletion:
            yield _line({"deletions": [change.ref.to_json() for change in group]})
        else:
            yield _line({"renames": [_renamed(change) for change in group]})


def messages(changes: Iterable[Change], user: str) -> Iterator[bytes]:
    """Yield lines of messages. Entities that exceed `MESSAGE_BYTES` are divided among several messages."""
    for change in changes:
        match change:
            case Upsert(entities=entities):
                yield from _created([*unique(entities)], user)
            case Deletion(ref=ref):
                yield _message({"type": "ENTITY_DELETE_V2", "user": user, "entities": [ref.to_json()]})
            case Rename():
                renamed = _renamed(change)
                reference = {key: renamed[key] for key in ("typeName", "uniqueAttributes")}
                entity = {"entity": {"typeName": change.ref.type, "attributes": renamed["attributes"]}}
                yield _message(
                    {
                        "type": "ENTITY_PARTIAL_UPDATE_V2",
                        "user": user,
                        "entityId": reference,
                        "entity": {**entity, "referredEntities": {}},
                    }
                )


def _grouped(changes: Iterable[Change]) -> Iterator[tuple[type[Change], list[Any]]]:
    """Yield (kind, changes) for consecutive changes of one kind, at most `CHANGES_A_REQUEST` at a time."""
    group: list[Change] = []
    for change in changes:
        if group and (type(group[0]) is not type(change) or len(group) == CHANGES_A_REQUEST):
            yield type(group[0]), group
            group = []
        group.append(change)
    if group:
        yield type(group[0]), group


def _renamed(change: Rename) -> dict[str, Any]:
    return {**change.ref.to_json(), "attributes": dict(change.attributes)}


def _created(entities: Sequence[AtlasEntity], user: str) -> Iterator[bytes]:
    guids = numbered(entities)
    line = _message(
        {
            "type": "ENTITY_CREATE_V2",
            "user": user,
            "entities": {"entities": [each.to_json(guids) for each in entities], "referredEntities": {}},
        }
    )
    if len(line) <= MESSAGE_BYTES or len(entities) == 1:
        yield line
        return
    # Dependent entities refer to the main entity by its qualifiedName, so they may arrive in a later message.
    middle = len(entities) // 2
    yield from _created(entities[:middle], user)
    yield from _created(entities[middle:], user)


def _message(message: dict[str, Any]) -> bytes:
    # The time of a message is left out, because nothing depends on it, and the same export gives the same text.
    return _line(
        {
            "version": {"version": "1.0.0", "versionParts": [1]},
            "msgCompressionKind": "NONE",
            "msgSplitIdx": 1,
            "msgSplitCount": 1,
            "msgSourceIP": "127.0.0.1",
            "msgCreatedBy": message["user"],
            "msgCreationTime": 0,
            "message": message,
        }
    )


def _line(content: dict[str, Any]) -> bytes:
    return orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
