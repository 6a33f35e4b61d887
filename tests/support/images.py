"""Small fsimages for tests, written as a NameNode would write the tree that the test describes.

The format comes from Hadoop's own description, independently of navlin's reader.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.image_file import Codec, ImageFile, delimited, fixed64, nested, number, varint
from tests.support.image_strings import Strings

ROOT_ID = 16385
LAYOUTS = (-63, -64, -65, -66, -67)
MODIFIED_MS = 1_767_225_600_000
MIB = 1024 * 1024

_EXPANDED_STRING_TABLE = -65
_ERASURE_CODING = -64
_UNLIMITED = (1 << 64) - 1
_FIRST_BLOCK = 1_073_741_825

POLICIES = {
    "RS-6-3-1024k": (1, "rs", 6, 3),
    "RS-3-2-1024k": (2, "rs", 3, 2),
    "RS-LEGACY-6-3-1024k": (3, "rs-legacy", 6, 3),
    "XOR-2-1-1024k": (4, "xor", 2, 1),
    "RS-10-4-1024k": (5, "rs", 10, 4),
    "RS-4-1-256k": (65, "rs", 4, 1),  # a custom policy; ids of custom policies begin at 65
}
"""Erasure coding policies: name → (id, codec, data units, parity units)."""

_ZONE = "raw.hdfs.crypto.encryption.zone"
_POLICY = "system.hdfs.erasurecoding.policy"

Path_ = str | bytes


@dataclass(slots=True)
class Inode:
    """One inode of the tree."""

    id: int
    name: bytes
    kind: int
    owner: str
    group: str
    mode: int
    modified_ms: int
    accessed_ms: int = 0
    acl: Sequence[str] = ()
    xattrs: Mapping[str, bytes] = field(default_factory=dict)
    blocks: Sequence[int] = ()
    block_size: int = 0
    replication: int = 0
    policy: str = ""
    """For a directory, the erasure coding policy set on it; for a file, the policy that it is striped with."""
    under_construction: bool = False
    target: bytes = b""
    zone_key: str = ""
    quota: tuple[int, int] = (_UNLIMITED, _UNLIMITED)

    FILE = 1
    DIRECTORY = 2
    SYMLINK = 3


class Tree:
    """A tree of files, built by one call per file or directory; missing parents are added automatically. `inode_id` may
    be any unused number.
    """

    def __init__(
        self,
        *,
        layout: int = -66,
        mask_bits: int | None = None,
        transaction_id: int = 4711,
        namespace_id: int = 1_234_567,
    ) -> None:
        self.layout, self.transaction_id, self.namespace_id = layout, transaction_id, namespace_id
        expanded = layout <= _EXPANDED_STRING_TABLE
        self._strings = Strings((3 if expanded else 0) if mask_bits is None else mask_bits)
        self.inodes: dict[int, Inode] = {}
        self.children: dict[int, list[int]] = {}
        """Directory → its children. A test may edit this to get a broken image."""
        self.referred: dict[int, list[int]] = {}
        """Directory → the children that it contains through references."""
        self.paths: dict[bytes, int] = {}
        self.inodes_in_header: int | None = None
        self.first_reference = 0
        """The number with which directories refer to the first reference."""
        self.unknown_fields = b""
        """Fields appended to every inode, as a later Hadoop release might write them."""
        self._next_id, self._next_block = ROOT_ID, _FIRST_BLOCK
        self.directory("/", mode=0o755)

    def directory(
        self,
        path: Path_,
        *,
        owner: str = "hdfs",
        group: str = "supergroup",
        mode: int = 0o755,
        modified_ms: int = MODIFIED_MS,
        acl: Sequence[str] = (),
        zone_key: str = "",
        ec_policy: str = "",
        xattrs: Mapping[str, bytes] | None = None,
        quota: tuple[int, int] = (_UNLIMITED, _UNLIMITED),
        inode_id: int | None = None,
        by_reference: bool = False,
        only_in_snapshot: bool = False,
    ) -> int:
        """Add a directory, or replace the attributes of an existing one."""
        more = dict(xattrs or {})
        if zone_key:
            # ZoneEncryptionInfoProto: AES/CTR/NoPadding, ENCRYPTION_ZONES.
            more[_ZONE] = number(1, 2) + number(2, 2) + nested(3, zone_key)
        if ec_policy:
            more[_POLICY] = struct.pack(">I", len(ec_policy.encode())) + ec_policy.encode()
        inode = Inode(
            0, b"", Inode.DIRECTORY, owner, group, mode, modified_ms,
            acl=acl, xattrs=more, policy=ec_policy, zone_key=zone_key, quota=quota,
        )  # fmt: skip
        return self._add(path, inode, inode_id, by_reference=by_reference, gone=only_in_snapshot)

    def file(
        self,
        path: Path_,
        *,
        blocks: Sequence[int] = (1024,),
        owner: str = "hdfs",
        group: str = "supergroup",
        mode: int = 0o644,
        modified_ms: int = MODIFIED_MS,
        accessed_ms: int = MODIFIED_MS + 1,
        block_size: int = 128 * MIB,
        replication: int = 3,
        striped: str = "",
        acl: Sequence[str] = (),
        xattrs: Mapping[str, bytes] | None = None,
        under_construction: bool = False,
        inode_id: int | None = None,
        by_reference: bool = False,
        only_in_snapshot: bool = False,
    ) -> int:
        """Add a file with blocks of the given lengths. `striped` names the erasure coding policy of the file."""
        inode = Inode(
            0, b"", Inode.FILE, owner, group, mode, modified_ms, accessed_ms,
            acl=acl, xattrs=dict(xattrs or {}), blocks=blocks, block_size=block_size, replication=replication,
            policy=striped, under_construction=under_construction,
        )  # fmt: skip
        return self._add(path, inode, inode_id, by_reference=by_reference, gone=only_in_snapshot)

    def symlink(
        self,
        path: Path_,
        target: Path_,
        *,
        owner: str = "hdfs",
        group: str = "supergroup",
        modified_ms: int = MODIFIED_MS,
        accessed_ms: int = MODIFIED_MS + 1,
        inode_id: int | None = None,
    ) -> int:
        inode = Inode(
            0, b"", Inode.SYMLINK, owner, group, 0o777, modified_ms, accessed_ms, target=_bytes(target)
        )
        return self._add(path, inode, inode_id, by_reference=False, gone=False)

    def write(
        self,
        path: Path,
        *,
        codec: Codec = Codec.NONE,
        md5: bool = True,
        inodes_in_sub_section: int = 0,
        order: int = 0,
        strange_sections: Iterable[str] = (),
    ) -> Path:
        """Write the image. `order` is the seed for a random order of inodes; 0 keeps the NameNode's order, which is by
        inode number.
        """
        self._next_block = _FIRST_BLOCK
        with ImageFile(path, layout=self.layout, codec=codec, md5=md5) as image:
            _put(image, "NS_INFO", [self._name_system()])
            if self.layout <= _ERASURE_CODING:
                _put(image, "ERASURE_CODING", [self._policies()])
            self._put_inodes(image, inodes_in_sub_section, order)
            references = self._put_directories(image, inodes_in_sub_section, order)
            _put(image, "FILES_UNDERCONSTRUCTION", self._open_files())
            self._put_snapshots(image)
            _put(image, "INODE_REFERENCE", references)
            key = number(1, 1) + number(2, MODIFIED_MS) + nested(3, b"\x00secret\xff")
            _put(image, "SECRET_MANAGER", [number(1, 1) + number(2, 0) + number(3, 1) + number(4, 0), key])
            _put(image, "CACHE_MANAGER", [number(1, 1) + number(2, 0) + number(3, 0)])
            for name in strange_sections:
                _put(image, name, [b"\xff" * 40])
            _put(image, "STRING_TABLE", self._strings.section())
        return path

    def rows(self) -> dict[str, dict[str, Any]]:
        """Map each path to the row that a reader should return: the attributes that have a value."""
        rows = {}
        for path, inode_id in sorted(self.paths.items()):
            rows[path.decode("utf-8", "backslashreplace")] = self._row(path, self.inodes[inode_id])
            if self.inodes[inode_id].kind == Inode.DIRECTORY:
                rows[path.decode("utf-8", "backslashreplace")] |= self._content(path)
        return rows

    def _content(self, directory: bytes) -> dict[str, Any]:
        """Totals over the files below a directory. Times are rounded up to whole seconds."""
        start = directory.rstrip(b"/") + b"/"
        below = [self.inodes[inode] for path, inode in self.paths.items() if path.startswith(start)]
        files = [inode for inode in below if inode.kind == Inode.FILE]
        sizes = [sum(inode.blocks) for inode in files]
        copies = [1 if inode.policy else inode.replication for inode in files]
        spaces = (size * each for size, each in zip(sizes, copies, strict=True))
        content = {"contentFiles": len(files), "contentSize": sum(sizes), "contentSpace": sum(spaces)}
        if files:
            content["contentModified"] = max(inode.modified_ms // 1000 * 1000 + 1000 for inode in files)
            if all(inode.accessed_ms for inode in files):
                content["contentAccessed"] = max(inode.accessed_ms // 1000 * 1000 + 1000 for inode in files)
        return content

    def _row(self, path: bytes, inode: Inode) -> dict[str, Any]:
        row: dict[str, Any] = {
            "directory": inode.kind == Inode.DIRECTORY,
            "owner": inode.owner,
            "group": inode.group,
            "permissions": _spelled(inode.mode),
            "lastModified": inode.modified_ms,
            "inodeId": inode.id,
            "acl": list(inode.acl),
            "ezKeyName": inode.zone_key,
            "erasureCodingPolicy": inode.policy,
            "symlinkTarget": inode.target.decode("utf-8", "backslashreplace"),
            "underConstruction": inode.under_construction,
            "lastAccessed": inode.accessed_ms,
        }
        if inode.kind == Inode.DIRECTORY:
            row["erasureCodingPolicy"] = self._policy_at(path)
        written = {name: value for name, value in row.items() if value or name == "directory"}
        if inode.kind == Inode.FILE:
            written |= {"size": sum(inode.blocks), "blockSize": inode.block_size}
            written |= {} if inode.policy else {"replication": inode.replication}
        return written

    def _policy_at(self, path: bytes) -> str:
        """Return the erasure coding policy of the path or of its nearest ancestor that has one; "" for none, or for
        `REPLICATION`."""
        while True:
            policy = self.inodes[self.paths[path]].policy
            if policy or path == b"/":
                return "" if policy == "REPLICATION" else policy
            path = path.rpartition(b"/")[0] or b"/"

    def _add(self, path: Path_, inode: Inode, inode_id: int | None, *, by_reference: bool, gone: bool) -> int:
        whole = _bytes(path)
        if (known := self.paths.get(whole)) is not None:
            inode.id, inode.name = known, self.inodes[known].name
            self.inodes[known] = inode
            return known
        above, _, inode.name = whole.rpartition(b"/")
        parent = None if whole == b"/" else self._parent(above)
        inode.id = self._next_id if inode_id is None else inode_id
        self._next_id = max(self._next_id, inode.id) + 1 if inode_id is None else self._next_id
        self.inodes[inode.id] = inode
        if gone:
            return inode.id
        self.paths[whole] = inode.id
        if parent is not None:
            (self.referred if by_reference else self.children).setdefault(parent, []).append(inode.id)
        return inode.id

    def _parent(self, path: bytes) -> int:
        """Return the id of the directory at this path. Missing directories are added."""
        missing = []
        while (found := self.paths.get(path or b"/")) is None:
            missing.append(path)
            path = path.rpartition(b"/")[0]
        for each in reversed(missing):
            found = self.directory(each)
        return found

    def _name_system(self) -> bytes:
        last_block = _FIRST_BLOCK + sum(len(inode.blocks) for inode in self.inodes.values())
        section = number(1, self.namespace_id) + number(2, 1000) + number(3, 1001) + number(4, 0)
        section += number(5, last_block) + number(6, self.transaction_id)
        return section + (number(8, -9_223_372_036_854_775_808) if self.layout <= _ERASURE_CODING else b"")

    def _policies(self) -> bytes:
        section = b""
        for name, (policy_id, codec, data, parity) in POLICIES.items():
            schema = nested(1, codec) + number(2, data) + number(3, parity)
            policy = nested(1, name) + nested(2, schema) + number(3, MIB) + number(4, policy_id)
            section += nested(1, policy + number(5, 2))
        return section

    def _ordered(self, order: int) -> list[Inode]:
        inodes = sorted(self.inodes.values(), key=lambda inode: inode.id)
        if order:
            random.Random(order).shuffle(inodes)
        return inodes

    def _put_inodes(self, image: ImageFile, in_sub_section: int, order: int) -> None:
        written = len(self.inodes) if self.inodes_in_header is None else self.inodes_in_header
        image.write(delimited(number(1, max(self.inodes)) + number(2, written)))
        for at, inode in enumerate(self._ordered(order), start=1):
            image.write(delimited(self._inode(inode) + self.unknown_fields))
            if in_sub_section and at % in_sub_section == 0:
                image.end_sub_section("INODE_SUB")
        if in_sub_section:
            image.end_sub_section("INODE_SUB")
        image.end_section("INODE")

    def _put_directories(self, image: ImageFile, in_sub_section: int, order: int) -> list[bytes]:
        """Write the entries of INODE_DIR. Return the entries of INODE_REFERENCE, in the order of their numbers."""
        references: list[bytes] = []
        written = 0
        known = [inode.id for inode in self._ordered(order)]
        for parent in dict.fromkeys((*known, *self.children)):
            children = sorted(self.children.get(parent, ()), key=self._name_of)
            referred = self.referred.get(parent, ())
            if not children and not referred:
                continue
            entry = number(1, parent)
            entry += nested(2, b"".join(map(varint, children))) if children else b""
            if referred:
                first = self.first_reference + len(references)
                entry += nested(3, b"".join(varint(first + at) for at in range(len(referred))))
                # A DstReference, which has the name of the inode that it refers to.
                references += [number(1, child) + number(3, 7) for child in referred]
            image.write(delimited(entry))
            written += len(children) + len(referred)
            if in_sub_section and written >= in_sub_section:
                written = 0
                image.end_sub_section("INODE_DIR_SUB")
        if in_sub_section:
            image.end_sub_section("INODE_DIR_SUB")
        image.end_section("INODE_DIR")
        return references

    def _name_of(self, inode_id: int) -> bytes:
        return self.inodes[inode_id].name if inode_id in self.inodes else b""

    def _open_files(self) -> list[bytes]:
        path_of = {inode_id: path for path, inode_id in self.paths.items()}
        return [
            number(1, inode.id) + nested(2, path_of[inode.id].decode("utf-8", "replace"))
            for inode in self.inodes.values()
            if inode.under_construction and inode.id in path_of
        ]

    def _put_snapshots(self, image: ImageFile) -> None:
        """Write the snapshot sections. If some inodes exist only in a snapshot, the root has a snapshot from which they
        were deleted.
        """
        gone = sorted(self.inodes.keys() - set(self.paths.values()))
        if not gone:
            _put(image, "SNAPSHOT", [number(1, 0) + number(3, 0)])
            return
        header = number(1, 8) + nested(2, varint(ROOT_ID)) + number(3, 1)
        root = number(1, 7) + (
            nested(2, self._inode(self.inodes[ROOT_ID])) if ROOT_ID in self.inodes else b""
        )
        _put(image, "SNAPSHOT", [header, root])
        entry = number(1, 2) + number(2, ROOT_ID) + number(3, 1)
        difference = number(1, 7) + number(2, len(gone)) + number(3, 1) + nested(4, b"") + number(6, 0)
        _put(image, "SNAPSHOT_DIFF", [entry, difference + nested(7, b"".join(map(varint, gone)))])

    def _inode(self, inode: Inode) -> bytes:
        permission = self._strings.permission(inode.owner, inode.group, inode.mode)
        head = number(1, inode.kind) + number(2, inode.id) + nested(3, inode.name)
        match inode.kind:
            case Inode.FILE:
                return head + nested(4, self._file(inode, permission))
            case Inode.DIRECTORY:
                content = number(1, inode.modified_ms) + number(2, inode.quota[0]) + number(3, inode.quota[1])
                return head + nested(5, content + fixed64(4, permission) + self._features(inode, 5))
            case _:
                content = fixed64(1, permission) + nested(2, inode.target)
                return head + nested(6, content + number(3, inode.modified_ms) + number(4, inode.accessed_ms))

    def _file(self, inode: Inode, permission: int) -> bytes:
        content = b"" if inode.policy else number(1, inode.replication)
        content += number(2, inode.modified_ms) + number(3, inode.accessed_ms) + number(4, inode.block_size)
        content += fixed64(5, permission)
        for block in inode.blocks:
            block_id = self._next_block - (1 << 63 if inode.policy else 0)
            content += nested(6, number(1, block_id) + number(2, 1001) + number(3, block))
            self._next_block += 1
        content += (
            nested(7, nested(1, "DFSClient_1") + nested(2, "host")) if inode.under_construction else b""
        )
        content += self._features(inode, 8) + number(10, 0)
        if self.layout <= _ERASURE_CODING:
            content += number(11, bool(inode.policy))
            content += number(12, POLICIES[inode.policy][0]) if inode.policy else b""
        return content

    def _features(self, inode: Inode, acl_field: int) -> bytes:
        entries = struct.pack(f"<{len(inode.acl)}I", *map(self._strings.acl, inode.acl))
        attributes = b"".join(self._strings.xattr(name, value) for name, value in inode.xattrs.items())
        return (nested(acl_field, nested(2, entries)) if inode.acl else b"") + (
            nested(acl_field + 1, attributes) if attributes else b""
        )


def _put(image: ImageFile, name: str, messages: Iterable[bytes]) -> None:
    for message in messages:
        image.write(delimited(message))
    image.end_section(name)


def _bytes(path: Path_) -> bytes:
    return path.encode() if isinstance(path, str) else path


def _spelled(mode: int) -> str:
    """Format a mode like FsPermission, which shows only the sticky bit of the bits above the lowest nine."""
    letters = [sign if mode & 1 << 8 - at else "-" for at, sign in enumerate("rwxrwxrwx")]
    if mode & 0o1000:
        letters[8] = "t" if mode & 1 else "T"
    return "".join(letters)
