"""The string table of an fsimage, and functions that pack string ids and other bits into numbers.

The layouts for permissions, ACL entries and extended attributes are those of Hadoop's PermissionStatusFormat,
AclEntryStatusFormat and XAttrFormat.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.image_file import fixed32, nested, number

_USER, _GROUP, _XATTR = 1, 2, 3
_NAMESPACES = ("user", "trusted", "security", "system", "raw")


@dataclass(slots=True)
class Strings:
    """The string table. Without mask bits, all strings share one numbering. With mask bits, each kind of string has its
    own numbering, and the kind is stored in the highest bits of an id.
    """

    mask_bits: int
    _ids: dict[tuple[int, str], int] = field(default_factory=dict)

    def id(self, kind: int, value: str) -> int:
        """Return the id of a string, which is assigned if the string is new; 0 for an empty string."""
        if not value:
            return 0
        kind = kind if self.mask_bits else 0
        known = sum(1 for each, _ in self._ids if each == kind)
        return self._ids.setdefault((kind, value), known + 1)

    def section(self) -> list[bytes]:
        header = number(1, len(self._ids)) + (number(2, self.mask_bits) if self.mask_bits else b"")
        entries = (
            number(1, (kind << (32 - self.mask_bits) if kind else 0) | at) + nested(2, value)
            for (kind, value), at in self._ids.items()
        )
        return [header, *entries]

    def permission(self, owner: str, group: str, mode: int) -> int:
        return self.id(_USER, owner) << 40 | self.id(_GROUP, group) << 16 | mode

    def acl(self, entry: str) -> int:
        """Pack an ACL entry, given as in `hdfs dfs -setfacl`: [default:]user|group|mask|other:[name]:rwx."""
        *scope, kind, name, allowed = entry.split(":")
        types = ("user", "group", "mask", "other")
        bits = sum(bit for bit, sign in zip((4, 2, 1), allowed, strict=True) if sign != "-")
        name_id = self.id(_GROUP if kind == "group" else _USER, name)
        return name_id << 6 | bool(scope) << 5 | types.index(kind) << 3 | bits

    def xattr(self, name: str, value: bytes) -> bytes:
        space, _, rest = name.partition(".")
        at = _NAMESPACES.index(space)
        bits = (at & 3) << 30 | self.id(_XATTR, rest) << 6 | (at >> 2) << 5
        return nested(1, fixed32(1, bits) + nested(2, value))
