"""Find the URLs that claims use for an HDFS: its own URL and the addresses of its NameNodes, from settings or
hdfs-site.xml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

RPC_PORT: Final = "8020"
"""Hadoop's default port for a URL without one."""


def authorities(url: str, namenodes: Sequence[str], configuration_directory: str) -> Iterator[str]:
    """Yield every URL under which files of this HDFS may be named, such as ``hdfs://ns1`` and ``hdfs://host:8020``."""
    host = url.removeprefix("hdfs://").strip("/")
    if not host:
        return
    members = tuple(namenodes) or tuple(_namenodes(host, configuration_directory))
    if members:
        yield f"hdfs://{host}"
    # A nameservice has no port. The port of a host may be left out if it is the default.
    for member in members or (host,):
        name, _, port = member.partition(":")
        if port in ("", RPC_PORT):
            yield f"hdfs://{name}"
        yield f"hdfs://{name}:{port or RPC_PORT}"


def _namenodes(nameservice: str, directory: str) -> Iterator[str]:
    """Yield the addresses of a nameservice's NameNodes; nothing if the configuration does not define the nameservice."""
    settings = _settings(Path(directory) / "hdfs-site.xml") if directory else {}
    for each in settings.get(f"dfs.ha.namenodes.{nameservice}", "").split(","):
        if address := settings.get(f"dfs.namenode.rpc-address.{nameservice}.{each.strip()}"):
            yield address


def _settings(file: Path) -> dict[str, str]:
    """Return the properties in a Hadoop configuration file; empty if the file cannot be read, because the error will
    appear when a value is needed.
    """
    try:
        root = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError):
        return {}
    return {
        (each.findtext("name") or "").strip(): (each.findtext("value") or "").strip()
        for each in root.iter("property")
    }
