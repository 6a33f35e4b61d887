"""A server that answers like a real Oozie 5.2.1, with the contents that tests set."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any, Final

from tests.services.rest import Answer, Query, RestServer, as_json

LISTS: Final = {
    "wf": ("workflows", "id"),
    "coordinator": ("coordinatorjobs", "coordJobId"),
    "bundle": ("bundlejobs", "bundleJobId"),
}
_OF_FILTERS: Final = {"status", "sortby"}


class OozieServer(RestServer):
    """Lists ``jobs``, newest first, and answers requests for each. ``jobs`` maps ids to the answer of ``show=info``
    with all actions; ``definitions`` maps ids to texts. ``changed_ms`` is the time of a job's last change if its answer
    does not contain it. ``sorts`` is False for an older server, which cannot sort by change.
    """

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        super().__init__(now_ms)
        self.jobs: dict[str, dict[str, Any]] = {}
        self.definitions: dict[str, str] = {}
        self.changed_ms: dict[str, int] = {}
        self.sorts = True
        self.routes["/oozie/v2/jobs"] = self._list
        self.routes["/oozie/v2/job/"] = self._job
        self.routes["/oozie/v1/admin/build-version"] = lambda *_: as_json({"buildVersion": "5.2.1"})

    @property
    def address(self) -> str:
        return f"{self.url}/oozie"

    def asked_for(self, kind: str) -> list[str]:
        """Return the ids of the jobs requested with ``show=KIND``."""
        return [path.rpartition("/")[2] for path, query in self.asked if query.get("show") == kind]

    def _list(self, _: str, query: Query) -> Answer:
        key, id_field = LISTS[query["jobtype"]]
        found = [job for job in self.jobs.values() if id_field in job]
        filters = [each.split("=", 1) for each in query.get("filter", "").split(";") if each]
        unknown = [
            name for name, _ in filters if name not in _OF_FILTERS or (name == "sortby" and not self.sorts)
        ]
        if unknown:
            return refused("E0420", f"Invalid jobs filter [{query['filter']}], invalid name [{unknown[0]}]")
        if statuses := [value for name, value in filters if name == "status"]:
            found = [job for job in found if job["status"] in statuses]
        by_change = ["sortby", "lastModifiedTime"] in filters
        found.sort(
            key=lambda job: self._changed_ms(job) if by_change else ms(job["createdTime"]), reverse=True
        )
        offset, length = max(1, int(query.get("offset", 1))), int(query.get("len", 50)) or 50
        shown = [self._listed(job) for job in found[offset - 1 : offset - 1 + length]]
        return as_json({"total": len(found), "offset": offset, "len": length, key: shown})

    def _listed(self, job: Mapping[str, Any]) -> dict[str, Any]:
        hidden = (
            {"actions": [], "appPath": None, "conf": None} if "id" in job else {"actions": [], "total": 0}
        )
        return {**job, **{name: value for name, value in hidden.items() if name in job}}

    def _changed_ms(self, job: Mapping[str, Any]) -> int:
        identity = next(job[field] for _, field in LISTS.values() if field in job)
        return self.changed_ms.get(identity) or ms(job.get("lastModTime") or job["createdTime"])

    def _job(self, path: str, query: Query) -> Answer:
        identity = path.rpartition("/")[2]
        job_id, _, action = identity.partition("@")
        if job_id not in self.jobs:
            return refused("E0604", f"Job does not exist [{identity}]")
        job = self.jobs[job_id]
        if query["show"] == "definition":
            return 200, {"Content-Type": "application/xml"}, self.definitions.get(job_id, "").encode()
        if action:
            found = [each for each in job["actions"] if each["id"] == identity]
            return as_json(found[0]) if found else refused("E0605", f"Action does not exist [{identity}]")
        if "coordJobId" in job:
            return as_json(self._coordinator(job, query))
        return as_json(job)

    def _coordinator(self, job: Mapping[str, Any], query: Query) -> dict[str, Any]:
        actions = sorted(
            job["actions"], key=lambda each: each["actionNumber"], reverse=query.get("order") == "desc"
        )
        offset = int(query.get("offset", 1))
        length = int(query.get("len", 0))
        return {
            **job,
            "total": len(actions),
            "actions": actions[offset - 1 : offset - 1 + length] if length else [],
        }


def refused(code: str, words: str) -> Answer:
    """Return Oozie's answer to a request that it does not accept."""
    payload = {"errorMessage": f"{code}: {words}", "httpStatusCode": 400}
    return 400, {"oozie-error-code": code, "Content-Type": "application/json"}, json.dumps(payload).encode()


def gmt(at_ms: int) -> str:
    """Return a time as Oozie prints it."""
    return format_datetime(datetime.fromtimestamp(at_ms // 1_000, UTC), usegmt=True)


def ms(printed: str) -> int:
    return int(parsedate_to_datetime(re.sub("GMT$", "+0000", printed)).timestamp() * 1_000)
