"""Names by which an HDFS is claimed: its URL and its NameNodes' addresses, from the settings or from hdfs-site.xml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

RPC_PORT: Final = "8020"
"""Hadoop's default, if a URL has no port."""


def authorities(url: str, namenodes: Sequence[str], configuration_directory: str) -> Iterator[str]:
    """Yields every spelling under which its files may be named: ``hdfs://ns1``, ``hdfs://host:8020`` …"""
    host = url.removeprefix("hdfs://").strip("/")
    if not host:
        return
    members = tuple(namenodes) or tuple(_namenodes(host, configuration_directory))
    if members:
        yield f"hdfs://{host}"
    # A nameservice has no port; a host's may be left out if it is the default.
    for member in members or (host,):
        name, _, port = member.partition(":")
        if port in ("", RPC_PORT):
            yield f"hdfs://{name}"
        yield f"hdfs://{name}:{port or RPC_PORT}"


def _namenodes(nameservice: str, directory: str) -> Iterator[str]:
    """Yields the addresses of a nameservice's NameNodes; none if the configuration does not have it."""
    settings = _settings(Path(directory) / "hdfs-site.xml") if directory else {}
    for each in settings.get(f"dfs.ha.namenodes.{nameservice}", "").split(","):
        if address := settings.get(f"dfs.namenode.rpc-address.{nameservice}.{each.strip()}"):
            yield address


def _settings(file: Path) -> dict[str, str]:
    """Reads a Hadoop configuration file; empty if it cannot be read: the error shows when a value is needed."""
    try:
        root = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError):
        return {}
    return {
        (each.findtext("name") or "").strip(): (each.findtext("value") or "").strip()
        for each in root.iter("property")
    }
