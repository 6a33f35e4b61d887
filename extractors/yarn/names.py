"""Information in an application's name: the system that started it, and the run that it belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_OOZIE: Final = re.compile(r"oozie:(launcher|action):T=([^:]*):W=")
_OOZIE_ID: Final = re.compile(r"[\w.-]+-[WC](?:@[\w.:-]+)?\Z")
_HIVE_SESSION: Final = re.compile(r"HIVE-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\s.*)?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OozieAction:
    """The name that Oozie gives an application it starts: a launcher, or the job of an action itself.

    ``workflow_id`` is the run's (``…-oozie-oozi-W``); "" if the name was cut off before its end.
    """

    launcher: bool
    type: str
    workflow: str
    action: str
    workflow_id: str


def oozie_action(name: str) -> OozieAction | None:
    """Returns the Oozie action in an application's name; None if there is none."""
    found = _OOZIE.match(name)
    if found is None:
        return None
    # Names of workflows and actions may contain anything, these marks too: the last ones are Oozie's.
    rest, marked, identity = name[found.end() :].rpartition(":ID=")
    rest = rest if marked else identity
    workflow, _, action = rest.rpartition(":A=") if ":A=" in rest else (rest, "", "")
    identity = identity.strip() if marked else ""
    return OozieAction(
        found[1] == "launcher", found[2], workflow, action, identity if _OOZIE_ID.match(identity) else ""
    )


def hive_session(name: str, application_type: str) -> str:
    """Returns the id of the Hive session that a Tez application serves: many queries run in one. "" for all others."""
    if application_type.upper() != "TEZ":
        return ""
    found = _HIVE_SESSION.match(name)
    return found[1] if found else ""
