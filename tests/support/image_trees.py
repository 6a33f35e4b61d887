"""A small tree with an example of everything that an fsimage may contain."""

from __future__ import annotations

from tests.support.images import MIB, Tree

ACL = (
    "user:bob:r-x",
    "group::r--",
    "group:audit:rw-",
    "default:user::rwx",
    "default:mask::r-x",
    "default:other::---",
)


def varied(layout: int = -66) -> Tree:
    tree = Tree(layout=layout)
    tree.directory("/a", owner="alice", group="alice", mode=0o2750, acl=ACL)
    tree.directory("/tmp", owner="hdfs", mode=0o1777)
    tree.directory("/tmp/closed", mode=0o1770)
    tree.directory("/zone", zone_key="key1", xattrs={"user.colour": b"blue", "trusted.x": b"\x00\xff"})
    tree.directory("/zone/below")
    tree.file("/a/b.parquet", blocks=(128 * MIB, 77), owner="bob", group="users")
    tree.file("/a/never-read", accessed_ms=0, replication=1, block_size=MIB)
    tree.file("/a/open", blocks=(128 * MIB, 12), under_construction=True)
    tree.file("/a/empty", blocks=())
    tree.file("/a/shared", acl=("user:alice:rw-", "group::---"), mode=0o660)
    tree.symlink("/link", "/a/b.parquet")
    tree.symlink("/odd-link", b"hdfs://else/\xff")
    tree.directory("/d/e/f/g", quota=(1000, -1))
    tree.file("/d/e/renamed", by_reference=True)
    tree.directory("/d/e/renamed-too", by_reference=True)
    tree.file("/d/e/renamed-too/inside")
    tree.file("/d/e/gone", only_in_snapshot=True)
    if layout <= -64:
        tree.directory("/ec", ec_policy="RS-6-3-1024k")
        tree.directory("/ec/inherits")
        tree.directory("/ec/replicated", ec_policy="REPLICATION")
        tree.directory("/ec/other/below")
        tree.directory("/ec/other", ec_policy="XOR-2-1-1024k")
        tree.file("/ec/inherits/striped", blocks=(6 * MIB, 6 * MIB), striped="RS-6-3-1024k")
        tree.file("/ec/by-somebody's-policy", blocks=(MIB,), striped="RS-4-1-256k")
        tree.file("/ec/replicated/plain")
    return tree
