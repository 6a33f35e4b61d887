"""Strings that an image stores once and refers to by number: users, groups, names of attributes, and erasure coding
policies.

The number of an entry has the kind in its highest ``maskBits`` bits (1 user, 2 group, 3 attribute). Without mask bits
(Hadoop 2), all kinds share one table. Permissions and ACL entries hold the number without the kind. For ACL entries
and attributes, see fsimage.proto, AclFeatureProto and XAttrCompactProto.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from extractors.hdfs.image.errors import Malformed, placed
from extractors.hdfs.image.layout import (
    ERASURE_CODING,
    STRING_TABLE,
    ImageSummary,
    small_section,
)
from extractors.hdfs.image.wire import fields_by_number, read_fields, read_frames

USER, GROUP, ATTRIBUTE = 1, 2, 3
MAX_NAME_BYTES: Final = 4096
"""Maximum length of the name of a user, group, attribute, policy or key, because many rows repeat these names.
Hadoop's own maximum is 255.
"""
MAX_TEXT_BYTES: Final = 64 << 10
MAX_ACL_ENTRIES: Final = 1024
"""Maximum number of ACL entries. HDFS allows 32, and 32 default entries."""

# Names of the policies that are part of Hadoop (SystemErasureCodingPolicies). An image only contains their numbers.
_SYSTEM_POLICIES: Final = {
    1: "RS-6-3-1024k",
    2: "RS-3-2-1024k",
    3: "RS-LEGACY-6-3-1024k",
    4: "XOR-2-1-1024k",
    5: "RS-10-4-1024k",
}

REPLICATED: Final = "replication"

_NAMESPACES: Final = ("user", "trusted", "security", "system", "raw")
_ENCRYPTION_ZONE: Final = ("raw", "hdfs.crypto.encryption.zone")
_POLICY: Final = ("system", "hdfs.erasurecoding.policy")
_ACL_TYPES: Final = ("user", "group", "mask", "other")
_ACTIONS: Final = tuple(
    f"{'r' if bits & 4 else '-'}{'w' if bits & 2 else '-'}{'x' if bits & 1 else '-'}" for bits in range(8)
)


@dataclass(frozen=True, slots=True)
class Strings:
    """The strings of an image. ``by_kind`` maps (kind, number without the kind) to a string; ``policies`` maps the
    number of an erasure coding policy to its name.
    """

    by_kind: dict[tuple[int, int], str]
    policies: dict[int, str]

    def text(self, kind: int, number: int) -> str | None:
        # Number 0 means no name, as in an ACL entry for the owner.
        return self.by_kind.get((kind, number)) if number else ""


def read_strings(summary: ImageSummary) -> Strings:
    return Strings(_read_table(summary), _read_policies(summary))


def _read_table(summary: ImageSummary) -> dict[tuple[int, int], str]:
    data = small_section(summary, STRING_TABLE)
    table: dict[tuple[int, int], str] = {}
    with placed(summary.path, STRING_TABLE, _base(summary, STRING_TABLE)):
        frames = read_frames(data)
        begin, end = next(frames, (0, 0))
        header = fields_by_number(data, begin, end)
        count, mask_bits = header.get(1, 0), header.get(2, 0)
        if not isinstance(mask_bits, int) or mask_bits > 8:
            raise Malformed("mask bits that are not a small number", begin)
        low = (1 << (32 - mask_bits)) - 1
        entries = 0
        for begin, end in frames:
            entry = fields_by_number(data, begin, end)
            number, text = entry.get(1, 0), entry.get(2, b"")
            if not isinstance(number, int) or isinstance(text, int):
                raise Malformed("an entry is not a number and a text", begin)
            kinds = (number >> (32 - mask_bits),) if mask_bits else (USER, GROUP, ATTRIBUTE)
            for kind in kinds:
                table[kind, number & low] = _name(text, begin)
            entries += 1
        if entries != count:
            raise Malformed(f"the header says {count!r} entries, but there are {entries}", 0)
    return table


def _read_policies(summary: ImageSummary) -> dict[int, str]:
    data = small_section(summary, ERASURE_CODING)
    policies = dict(_SYSTEM_POLICIES)
    with placed(summary.path, ERASURE_CODING, _base(summary, ERASURE_CODING)):
        for begin, end in read_frames(data):
            for field in read_fields(data, begin, end):
                if (field.number, field.wire) == (1, 2):
                    policy = fields_by_number(data, field.start, field.end)
                    name, number = policy.get(1), policy.get(4)
                    if isinstance(name, bytes) and isinstance(number, int):
                        policies[number] = _name(name, field.start)
    return policies


def _name(text: bytes, at: int) -> str:
    if len(text) > MAX_NAME_BYTES:
        raise Malformed(f"a name of {len(text)} bytes", at)
    return text.decode("utf-8", "backslashreplace")


def _base(summary: ImageSummary, name: str) -> int:
    section = summary.section(name)
    return 0 if summary.codec or section is None else section.offset


def permission_text(mode: int) -> str:
    """Format a mode like Hadoop's FsPermission, including the sticky bit."""
    text = _ACTIONS[mode >> 6 & 7] + _ACTIONS[mode >> 3 & 7] + _ACTIONS[mode & 7]
    if mode & 0o1000:
        text = text[:-1] + ("t" if mode & 1 else "T")
    return text


def acl_texts(strings: Strings, feature: bytes) -> list[str]:
    """Format the entries of an AclFeatureProto like Hadoop's AclEntry."""
    packed = b""
    for field in read_fields(feature, 0, len(feature)):
        match field.number, field.wire:
            case (2, 2) | (2, 5):
                packed += feature[field.start : field.end]
    if len(packed) > 4 * MAX_ACL_ENTRIES:
        raise Malformed(f"{len(packed) // 4} ACL entries", 0)
    if len(packed) % 4:
        raise Malformed(f"{len(packed)} bytes are not a whole number of ACL entries", 0)
    return [
        _acl_text(strings, int.from_bytes(packed[at : at + 4], "little")) for at in range(0, len(packed), 4)
    ]


def _acl_text(strings: Strings, entry: int) -> str:
    kind = entry >> 3 & 3
    # Entries for the mask and for others have no name. Users and groups are numbered separately.
    number = entry >> 6 & 0xFFFFFF
    name = strings.text(GROUP if kind == 1 else USER, number)
    if name is None:
        raise Malformed(f"an ACL entry names string {number}, which the string table does not have", 0)
    return f"{'default:' if entry >> 5 & 1 else ''}{_ACL_TYPES[kind]}:{name}:{_ACTIONS[entry & 7]}"


@dataclass(frozen=True, slots=True)
class DirectoryAttributes:
    """The erasure coding policy and the encryption zone's key in a directory's extended attributes; "" for none.

    A ``policy`` of `REPLICATED` overrides policies set above, so that files below are not erasure-coded by default.
    """

    policy: str = ""
    zone_key: str = ""


def directory_attributes(strings: Strings, feature: bytes) -> DirectoryAttributes:
    """Return the encryption zone's key and the erasure coding policy in an XAttrFeatureProto."""
    policy = zone_key = ""
    for field in read_fields(feature, 0, len(feature)):
        if (field.number, field.wire) != (1, 2):
            continue
        attribute = fields_by_number(feature, field.start, field.end)
        code, value = attribute.get(1, 0), attribute.get(2, b"")
        if not isinstance(code, int) or not isinstance(value, bytes):
            raise Malformed("an extended attribute is not a number and bytes", field.start)
        space = code >> 30 & 3 | (code >> 5 & 1) << 2
        name = strings.text(ATTRIBUTE, code >> 6 & 0xFFFFFF)
        match (_NAMESPACES[space] if space < len(_NAMESPACES) else "", name):
            case found if found == _POLICY:
                # The format of Hadoop's WritableUtils.writeString: the length in four bytes, then the text.
                policy = _name(value[4:], field.start)
                policy = REPLICATED if policy.lower() == REPLICATED else policy
            case found if found == _ENCRYPTION_ZONE:
                zone = fields_by_number(value, 0, len(value))
                key = zone.get(3, b"")
                zone_key = _name(key, field.start) if isinstance(key, bytes) else ""
    return DirectoryAttributes(policy, zone_key)
