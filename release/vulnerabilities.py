"""Statements on known reports of vulnerabilities (VEX), in CycloneDX 1.6, for the jars of a bill of materials."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from typing import Any, Final

from release.places import SOURCES

REPORTS: Final = SOURCES / "known-reports.json"
"""The reports: identifier, a pattern of the jars' names with versions, and the analysis in CycloneDX's words."""


def statements(bill: dict[str, Any]) -> dict[str, Any]:
    """Return the document that says of each known report on a jar of the bill if navlin is affected, and why not."""
    link = f"urn:cdx:{bill['serialNumber'].removeprefix('urn:uuid:')}/{bill['version']}"
    said = []
    for report in json.loads(REPORTS.read_text()):
        affected = [
            {"ref": f"{link}#{component['bom-ref']}"}
            for component in bill["components"]
            if component["bom-ref"].endswith(".jar")
            and fnmatch(f"{component['name']}-{component['version']}", report["jars"])
        ]
        analysis = {key: report[key] for key in ("state", "justification", "detail")}
        if affected:
            said.append({"id": report["id"], "analysis": analysis, "affects": affected})
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "vulnerabilities": said}
