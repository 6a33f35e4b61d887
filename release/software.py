"""The software bill of materials, in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json): every Python package, every jar
of PySpark, Solr and navlin, and the libraries of the console."""

from __future__ import annotations

import json
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from email.parser import Parser
from pathlib import Path
from typing import Any, Final

from release.jars import hashes, jar_component
from release.places import REPOSITORY, SOLR_JARS, version
from release.unused_jars import is_unused

_OF_NAVLIN: Final = "navlin"
_PYSPARK_JARS: Final = "pyspark/jars/"
_LICENCE: Final = "License :: OSI Approved :: "


def bill_of_materials(wheels: Sequence[Path], *, of_package: bool) -> dict[str, Any]:
    """Return the bill of a release with these wheels and Solr's jars. Jars are at their places in the wheels; those of a
    package are at their places in its environment, and PySpark's unused ones are left out."""
    components: list[dict[str, Any]] = []
    for wheel in wheels:
        components += _of_wheel(wheel, of_package=of_package)
    for jar in sorted(SOLR_JARS.glob("*.jar")):
        components.append(jar_component(jar.name, jar.read_bytes(), f"jars/solr/{jar.name}"))
    components += _of_console()
    purl = f"pkg:pypi/{_OF_NAVLIN}@{version()}"
    itself = {"type": "application", "name": _OF_NAVLIN, "version": version(), "bom-ref": purl, "purl": purl}
    # The serial number is computed, so that the same release has the same bill.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {"component": itself},
        "components": components,
    }


def _of_wheel(wheel: Path, *, of_package: bool) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (
            name for name in names if name.endswith(".dist-info/METADATA") and name.count("/") == 1
        )
        fields = Parser().parsestr(archive.read(metadata).decode())
        name = str(fields["Name"]).lower().replace("_", "-")
        if name != _OF_NAVLIN:
            purl = f"pkg:pypi/{name}@{fields['Version']}"
            component: dict[str, Any] = {
                "type": "library",
                "name": name,
                "version": str(fields["Version"]),
                "purl": purl,
            }
            component |= {"bom-ref": purl, "hashes": hashes(wheel.read_bytes())}
            if licence := _licence(fields.get("License-Expression"), fields.get_all("Classifier", [])):
                component["licenses"] = [licence]
            yield component
        # pip puts these files beside the packages, because the packages have no other place (`--target`).
        data = metadata.removesuffix(".dist-info/METADATA") + ".data/data/"
        for path in names:
            if path.endswith(".jar") and not (of_package and _is_left_out(path)):
                place = path.removeprefix(data) if of_package else path
                yield jar_component(path.rpartition("/")[2], archive.read(path), place)


def _is_left_out(path: str) -> bool:
    inside = path.removeprefix(_PYSPARK_JARS)
    return inside != path and is_unused(inside.partition("/")[0])


def _licence(expression: str | None, classifiers: list[str]) -> dict[str, Any] | None:
    if expression:
        return {"expression": expression}
    names = [each.removeprefix(_LICENCE) for each in classifiers if each.startswith(_LICENCE)]
    return {"license": {"name": ", ".join(names)}} if names else None


def _of_console() -> Iterator[dict[str, Any]]:
    manifest = json.loads((REPOSITORY / "navlin" / "console" / "third_party" / "manifest.json").read_text())
    for file in manifest["files"]:
        if "package" in file and not file["licence"].startswith("the text"):
            purl = f"pkg:npm/{file['package'].replace('@', '%40')}@{file['version']}"
            yield {
                "type": "library",
                "name": file["package"],
                "version": file["version"],
                "purl": purl,
                "bom-ref": purl,
                "hashes": [{"alg": "SHA-256", "content": file["sha256"]}],
                "licenses": [{"license": {"name": file["licence"]}}],
            }
