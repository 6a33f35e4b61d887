"""The last contact with each host, and the reasons for which somebody should look at it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from navlin.forward.contacts import Contacts, HostContact, contacts_in
from tests.support.manual import page


def test_only_the_newest_addresses_of_a_host_are_remembered(tmp_path: Path) -> None:
    now_ms = 1_700_000_000_000
    contacts = Contacts(tmp_path, lambda: now_ms)
    for number in range(6):
        now_ms += 1_000
        contacts.note("one", f"10.0.0.{number}", now=True)
    (contact,) = contacts_in(tmp_path)
    assert contact.addresses.keys() == {"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"}
    assert contact.concern(now_ms).startswith("it reports from 10.0.0.2 and 10.0.0.3")
    now_ms += 3_600_000
    contacts.note("one", "10.0.0.9", now=True)
    (contact,) = contacts_in(tmp_path)
    assert contact.addresses == {"10.0.0.9": now_ms}
    assert contact.concern(now_ms) == ""


def test_a_contact_is_written_at_most_every_half_minute_unless_it_is_a_heartbeat(tmp_path: Path) -> None:
    now_ms = 1_700_000_000_000
    contacts = Contacts(tmp_path, lambda: now_ms)
    contacts.note("one", bytes=1)
    now_ms += 29_000
    contacts.note("one", bytes=2)
    assert [each.bytes for each in contacts_in(tmp_path)] == [1]
    contacts.note("one", now=True, alive_ms=now_ms)
    assert [(each.bytes, each.alive_ms) for each in contacts_in(tmp_path)] == [(2, now_ms)]


def test_lost_files_are_counted_and_a_concern_for_a_day(tmp_path: Path) -> None:
    now_ms = 1_700_000_000_000
    contacts = Contacts(tmp_path, lambda: now_ms)
    contacts.lost("one", 2, 500)
    contacts.lost("one", 1, 500)
    (contact,) = contacts_in(tmp_path)
    assert contact.concern(now_ms) == "3 files of 1,000 bytes were removed unread to make room"
    assert contact.concern(now_ms + 86_400_000) == ""


def test_a_host_without_an_agent_is_never_late() -> None:
    lines_only = HostContact("one", last_ms=1)
    assert not lines_only.late(10**15)
    agent = HostContact("one", last_ms=1_000, alive_ms=1_000)
    assert [agent.late(1_000 + 690_000), agent.late(1_001 + 690_000)] == [False, True]


def test_a_damaged_file_of_a_contact_counts_as_no_contact(tmp_path: Path) -> None:
    directory = tmp_path / "hosts" / "one"
    directory.mkdir(parents=True)
    for content in ("no JSON", "[]", "7"):
        (directory / ".contact").write_text(content)
        assert list(contacts_in(tmp_path)) == [HostContact("one")]


@pytest.mark.parametrize(
    "fields",
    [
        {"alive_ms": 1},
        {"lost_ms": 10**12, "lost_files": 2, "lost_bytes": 5_000},
        {"refused": "the host has 5 files of 7,000 bytes here, which is all that it may have"},
        {"refused": "nothing can be stored: No space left on device"},
        {"refused": "lines of IMPALA-1 are refused: too many are waiting"},
        {"addresses": {"10.0.0.1": 1, "10.0.0.2": 2}},
        {"unreadable": 3},
        {"problem": "IMPALA-1: 403: this token is for SPARK-1"},
        {"problem": "/var/log/impala: [Errno 2] No such file or directory"},
    ],
)
def test_the_runbook_has_each_concern(fields: dict[str, Any]) -> None:
    fields = {**fields, "refused_ms": 10**12} if "refused" in fields else fields
    concern = HostContact("one", **fields).concern(10**12)
    rows = page("operations/runbook").partition("### Hosts that send logs\n")[2].partition("\n#")[0]
    patterns = [re.escape(each).replace("…", ".*") for each in re.findall(r"^\| `(.*?)`", rows, re.MULTILINE)]
    assert sum(re.fullmatch(each, concern) is not None for each in patterns) == 1
