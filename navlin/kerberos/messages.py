"""Kerberos errors as sentences that name the responsible side."""

from __future__ import annotations

import os
import re
from typing import Final


class KerberosFailed(OSError):
    """There is no ticket, or the service does not accept it. The message says why, and what to do."""


_REMEDIES: Final = (
    (
        r"Clock skew too great",
        "the clocks of this machine and of {other} differ by more than Kerberos allows (five minutes): set both by the"
        " same time service",
    ),
    (
        r"Client not found in Kerberos database",
        "the KDC does not know {principal}: is it spelled as in the keytab (`klist -kt {keytab}`), with its realm?",
    ),
    (
        r"Server not found in Kerberos database",
        "the KDC does not know the service {service}: is its principal right, and is its host named as the principal names"
        " it?",
    ),
    (
        r"Unable to obtain password from user|Unable to obtain Principal Name|No key to store",
        "{nothing}",
    ),
    (
        r"Pre-?authentication information was invalid|Integrity check on decrypted field failed|Checksum failed"
        r"|Additional pre-authentication required|\(24\)|\(31\)|HMAC",
        "the key for {principal} in {keytab} is not the one that the KDC has: it is of another account, or older than the"
        " last change: export the keytab again; or the clocks of this machine and the KDC differ by more than five minutes,"
        " which some KDCs call by the same name",
    ),
    (
        r"[Ll]ocked out|credentials? .{0,20}revoked|\(18\)|password has expired|\(23\)|\(1\)",
        "the KDC has {principal} locked or expired: ask its administrators",
    ),
    (
        r"has no support for encryption type|etype|\(14\)",
        "this machine and the KDC have no encryption type in common for {principal}: the keytab must hold an AES key, and"
        " krb5.conf allow it",
    ),
    (
        r"Cannot locate (default realm|KDC)|Cannot find KDC|Unable to locate KDC|krb5\.conf|Could not load configuration",
        "krb5.conf does not say where the realm's KDC is (`krb5_conf` names the file)",
    ),
    (
        r"Connection refused|timed out|Unreachable|unreachable|UnknownHost|Name or service not known|No route to host"
        r"|Connection reset|Closed connection|SocketTimeout|Unexpected end of stream|ICMP",
        "no KDC answers: is one running where krb5.conf says, and can this machine reach it?",
    ),
    (
        r"Ticket expired|\(32\)|Failed to find any Kerberos tgt",
        "the ticket has expired: set principal and keytab, and navlin gets another by itself",
    ),
)


def in_words(message: str, principal: str, keytab: str, service: str, *, other: str = "the KDC") -> str:
    """Explain Java's error message in a sentence. ``service`` is the service's principal, without its realm. ``other``
    is the other machine to name if the clocks of two machines differ."""
    who = principal or "the user that runs navlin"
    words = {
        "principal": who,
        "keytab": keytab or "the ticket cache",
        "service": service,
        "nothing": _nothing(who, keytab),
        "other": other,
    }
    short = " ".join(message.split())[:300]
    for pattern, remedy in _REMEDIES:
        if re.search(pattern, message):
            return f"Kerberos: {remedy.format_map(words)} ({short})"
    return f"Kerberos as {who} for {service} failed: {short}"


def _nothing(principal: str, keytab: str) -> str:
    """Explain why there are no credentials to log in with."""
    if not keytab:
        return f"there is no ticket for {principal} in the ticket cache: set principal and keytab"
    try:
        with open(keytab, "rb"):
            pass
    except FileNotFoundError:
        return f"there is no keytab {keytab}"
    except OSError as error:
        return f"the keytab {keytab} cannot be read ({error.strerror}): let the user with the id {os.geteuid()} read it"
    return f"the keytab {keytab} has no key of {principal}: `klist -kt {keytab}` lists those that it has"
