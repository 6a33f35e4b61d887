"""Names of partitions as a Hive metastore builds them, such as ``ds=2026-01-01/region=a%2Fb``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# org.apache.hadoop.hive.common.FileUtils.charToEscape
_ESCAPED = re.compile(r"[\x01-\x1f\"#%'*/:=?\\\x7f{\[\]^]")


def partition_name(keys: Iterable[str], values: Iterable[str]) -> str:
    """Return the name of the partition with these values of the partition keys."""
    return "/".join(
        f"{_escape(key.lower())}={_escape(value)}" for key, value in zip(keys, values, strict=False)
    )


def partition_values(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (keys, values) from a partition's name."""
    parts = [part.partition("=") for part in name.split("/")]
    return tuple(_unescape(key) for key, _, _ in parts), tuple(_unescape(value) for _, _, value in parts)


def _escape(part: str) -> str:
    if not part:
        return DEFAULT_PARTITION
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", part)


def _unescape(part: str) -> str:
    return unquote(part, errors="surrogateescape") if "%" in part else part
