"""Parse an application's name for the system that started the application and the run to which it belongs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_OOZIE: Final = re.compile(r"oozie:(launcher|action):T=([^:]*):W=")
_OOZIE_ID: Final = re.compile(r"[\w.-]+-[WC](?:@[\w.:-]+)?\Z")
_PIG: Final = "PigLatin:"
ON_TEZ: Final = "Pig ran its script on Tez, and YARN does not show what the script read and wrote"
ON_SPARK: Final = "Pig ran its script on Spark, and YARN does not show what the script read and wrote"
_HIVE_SESSION: Final = re.compile(r"HIVE-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\s.*)?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OozieAction:
    """Components of the name that Oozie gives to an application: a launcher, or the job of an action itself.
    ``workflow_id`` is the id of the workflow's run (``…-oozie-oozi-W``), or "" if the name was cut off before its end.
    """

    launcher: bool
    type: str
    workflow: str
    action: str
    workflow_id: str


def oozie_action(name: str) -> OozieAction | None:
    """Return the Oozie action encoded in an application's name; None if there is none."""
    found = _OOZIE.match(name)
    if found is None:
        return None
    # Names of workflows and actions may contain anything, even these markers. The last markers are Oozie's.
    rest, marked, identity = name[found.end() :].rpartition(":ID=")
    rest = rest if marked else identity
    workflow, _, action = rest.rpartition(":A=") if ":A=" in rest else (rest, "", "")
    identity = identity.strip() if marked else ""
    return OozieAction(
        found[1] == "launcher", found[2], workflow, action, identity if _OOZIE_ID.match(identity) else ""
    )


def without_run(name: str) -> str:
    """Return the name that Oozie gives to an application, without the id of the workflow's run, so that all runs of an
    action are one operation; any other name as it is.
    """
    return name.rpartition(":ID=")[0] if (action := oozie_action(name)) and action.workflow_id else name


def hive_session(name: str, application_type: str) -> str:
    """Return the id of the Hive session, which has many queries, that a Tez application serves; "" for other
    applications.
    """
    if application_type.upper() != "TEZ":
        return ""
    found = _HIVE_SESSION.match(name)
    return found[1] if found else ""


def pig_elsewhere(name: str, application_type: str) -> str:
    """Return the reason why nothing shows what a script of Pig read and wrote, if it did not run as jobs of MapReduce;
    "" for other applications.
    """
    if not name.startswith(_PIG):
        return ""
    return {"TEZ": ON_TEZ, "SPARK": ON_SPARK}.get(application_type.upper(), "")
