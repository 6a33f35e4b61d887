"""Errors of HDFS, with messages that say who can resolve them."""

from __future__ import annotations

import re
from typing import Any, Final

from navlin.model.redaction.literals import words_of_peer

_DENIED: Final = re.compile(
    r"Permission denied: user=(?P<user>[^,]*), access=(?P<access>[^,]*), "
    r'inode="(?P<path>.*)":(?P<owner>[^:"]*):(?P<group>[^:"]*):(?P<mode>\S{10,11})'
)
_SUPERUSER: Final = re.compile(r"[Ss]uperuser privilege is required|is not (a|an) super ?user", re.IGNORECASE)
_KERBEROS: Final = re.compile(
    r"SIMPLE authentication is not enabled|Kerberos|GSS|neither a keytab", re.IGNORECASE
)
# Prefixes of the Java classes of temporary errors.
_GONE: Final = (
    "java.net.",
    "java.nio.channels.",
    "java.util.concurrent.Timeout",
    "java.io.EOFException",
    "java.io.InterruptedIOException",
    "javax.net.ssl.SSLException",
    "org.apache.hadoop.net.",
    "org.apache.hadoop.ipc.StandbyException",
    "org.apache.hadoop.ipc.RetriableException",
    "org.apache.hadoop.ipc.ObserverRetryOnActiveException",
    "org.apache.hadoop.ipc.RpcNoSuchProtocolException",
    "org.apache.hadoop.hdfs.BlockMissingException",
    "org.apache.hadoop.hdfs.CannotObtainBlockLengthException",
    "org.apache.hadoop.hdfs.server.namenode.SafeModeException",
    "HdfsClient$NoImage",
)


class HdfsError(OSError):
    """A request to HDFS failed. ``path`` and ``user`` belong to the request, and are "" if unknown. ``kind`` is the
    Java class of the error.
    """

    def __init__(self, message: str, path: str = "", user: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.user = user
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.path, self.user, self.kind)


class HdfsUnavailable(HdfsError):
    """HDFS cannot be reached or cannot serve the request now, but a retry may succeed. This is also raised for a
    missing block, safe mode, an image that is not offered or arrives damaged, and a failed login.
    """


class HdfsRefused(HdfsError, PermissionError):
    """The user lacks permission, or Kerberos authentication failed. The message includes a remedy if Hadoop's text
    suggests one.
    """


class HdfsNotFound(HdfsError, FileNotFoundError):
    """The path does not exist, or does not have the requested type."""


class MissingEvents(HdfsError):
    """The NameNode no longer has the transaction ``expected_txid``. ``actual_txid`` is the oldest transaction that it
    has, or the newest if it was restored from an older image.
    """

    def __init__(self, expected_txid: int, actual_txid: int) -> None:
        super().__init__(f"the NameNode has no edits of transaction {expected_txid}, only {actual_txid}")
        self.expected_txid = expected_txid
        self.actual_txid = actual_txid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.expected_txid, self.actual_txid)


def to_error(answer: dict[str, Any], where: str) -> HdfsError:
    """Convert the error in the Java child's response to an exception. The response has class, message, path and user,
    and for missing events also expected and actual. ``where`` is the file system's URL.
    """
    kind, message = answer["class"], answer["message"]
    path, user = answer.get("path", ""), answer.get("user", "")
    if "expected" in answer:
        return MissingEvents(answer["expected"], answer["actual"])
    about = f"{where}{path}" if path else where
    simple = kind.rpartition(".")[2].rpartition("$")[2]
    if "AccessControlException" in kind or "AuthorizationException" in kind or "Kerberos" in kind:
        return HdfsRefused(_who_may(message, about, user), path, user, kind)
    if "FileNotFoundException" in kind or "NoSuchFile" in kind or "ParentNotDirectory" in kind:
        # Without a path, the missing file is a configuration file.
        return (HdfsNotFound if path else HdfsError)(f"{about}: {words_of_peer(message)}", path, user, kind)
    if kind.startswith(_GONE) or "LoginException" in kind:
        return HdfsUnavailable(f"{about}: {_short(message)} ({simple})", path, user, kind)
    return HdfsError(f"{about}: {_short(message)} ({simple})", path, user, kind)


def _who_may(message: str, about: str, user: str) -> str:
    if denied := _DENIED.search(message):
        owner, group, mode = denied["owner"], denied["group"], denied["mode"]
        access = {"READ": "read", "READ_EXECUTE": "list", "EXECUTE": "look into", "WRITE": "write"}
        verb = access.get(denied["access"], denied["access"].lower())
        with_acl = " with an access control list" if mode.endswith("+") else ""
        who = f"{denied['user']} may not {verb} {denied['path']} (owner {owner}, group {group}, {mode[:10]}{with_acl})"
        return f"{about}: {who}: {_remedy(denied['user'], denied['access'], group, mode)}"
    if _SUPERUSER.search(message):
        return (
            f"{about}: {user} is not a superuser of HDFS, as this request requires: add {user} to the group"
            " that dfs.permissions.superusergroup names"
        )
    if _KERBEROS.search(message):
        return f"{about}: {_short(message)}: set principal and keytab, or give the user a ticket"
    return f"{about}: {_short(message)}"


def _remedy(user: str, access: str, group: str, mode: str) -> str:
    """Return the remedy for a denied access: joining the group if the group's permission bits allow the access,
    otherwise an ACL entry.
    """
    bits = {"READ": "r", "WRITE": "w", "EXECUTE": "x", "READ_EXECUTE": "rx"}.get(access, "rwx")
    if all(bit in mode[4:7] for bit in bits):
        return f"add {user} to the group {group}"
    return f"not even the group {group} may: add an entry for {user} to its access control list"


def _short(message: str) -> str:
    """Return Hadoop's message without its boilerplate suffix."""
    return words_of_peer(message.split("; For more details see:")[0].partition("\n")[0])
