"""Jars as components of a software bill of materials: their Maven coordinates, checksums, and the projects shaded into them.

A jar made by Maven has ``META-INF/maven/GROUP/ARTIFACT/pom.properties``, one for each project inside
(https://maven.apache.org/shared/maven-archiver). Others are named by their files.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from typing import Any, Final

_NAME: Final = re.compile(r"(?P<artifact>.+?)-(?P<version>\d.*)")
_PROPERTIES: Final = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_LONGEST_PROPERTIES: Final = 65_536
"""Maximum size of a ``pom.properties`` that is read, in bytes."""

Coordinates = tuple[str, str, str]
"""Group, artifact and version; the group may be "" if nothing names it."""


def jar_component(name: str, content: bytes, place: str) -> dict[str, Any]:
    """Return the component of a jar, whose projects shaded into it are nested. ``place`` is its path in the release."""
    stem = name.removesuffix(".jar")
    inside = sorted(set(_coordinates(content)))
    own = next((each for each in inside if _is_named(stem, each)), _from_name(stem))
    component = _component(own)
    component["bom-ref"] = f"file:{place}"
    component["hashes"] = hashes(content)
    component["properties"] = [{"name": "navlin:file", "value": place}]
    if shaded := [
        {**_component(each), "bom-ref": f"file:{place}#{':'.join(each)}"} for each in inside if each != own
    ]:
        component["components"] = shaded
    return component


def hashes(content: bytes) -> list[dict[str, str]]:
    """Return the checksums of a file. Scanners look jars up by SHA-1."""
    digests = {"SHA-1": hashlib.sha1(content, usedforsecurity=False), "SHA-256": hashlib.sha256(content)}
    return [{"alg": name, "content": digest.hexdigest()} for name, digest in digests.items()]


def _component(coordinates: Coordinates) -> dict[str, Any]:
    group, artifact, version = coordinates
    component: dict[str, Any] = {"type": "library", "name": artifact, "version": version}
    if group:
        component |= {"group": group, "purl": f"pkg:maven/{group}/{artifact}@{version}"}
    return component


def _coordinates(content: bytes) -> list[Coordinates]:
    found = []
    with zipfile.ZipFile(io.BytesIO(content)) as jar:
        for entry in jar.infolist():
            if _PROPERTIES.fullmatch(entry.filename) and entry.file_size <= _LONGEST_PROPERTIES:
                lines = jar.read(entry).decode(errors="replace").splitlines()
                values = dict(
                    line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")
                )
                group, artifact, version = (
                    values.get(key, "").strip() for key in ("groupId", "artifactId", "version")
                )
                if group and artifact and version:
                    found.append((group, artifact, version))
    return found


def _is_named(stem: str, coordinates: Coordinates) -> bool:
    _, artifact, version = coordinates
    return stem == f"{artifact}-{version}" or stem.startswith(f"{artifact}-{version}-")


def _from_name(stem: str) -> Coordinates:
    named = _NAME.fullmatch(stem)
    return ("", named["artifact"], named["version"]) if named else ("", stem, "")
