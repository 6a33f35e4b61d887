"""Leases on a real Solr: two holders, stopped processes, an unavailable Solr, and writes by a process that lost its
lease.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from navlin.index.journal import leases
from navlin.index.journal.holder import Holder, lives, may_live, this_process
from navlin.index.journal.leases import Leased, LeaseLost, held_lease, lease
from navlin.index.journal.runs import (
    Fence,
    RecordTaken,
    RunRecord,
    Status,
    last_run,
    load_positions,
    save_positions,
    save_run,
    save_run_fenced,
)
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr, SolrAddress, SolrUnavailable
from navlin.model.records import Position
from tests.support import namespaces
from tests.support.leases import ANOTHER, held_by, lay, leave
from tests.support.solr_proxy import Call, SolrProxy

REPOSITORY = Path(__file__).parents[2]
SHORT_S = 1.5
"""Length of a lease that must expire, in seconds. Tests may not assert anything about the time before it expires."""
STOPPED_S = 4.0
"""Length of a lease that must expire while its process is stopped, in seconds. The process's timeout for Solr is a
quarter of the length.
"""
LONG_S = 120.0
"""Length of a lease that must not expire even on a busy machine, in seconds."""
OFTEN = 1_200
"""Number of renewals within the length of a lease. With `LONG_S` this means ten per second."""
PATIENT_S = 30.0
"""Maximum time for watching a lease that is renewed that often; watching ends at the first renewal."""
SOON_S = 240.0


@pytest.fixture
def name() -> str:
    return f"source-{uuid4().hex[:8]}"


def epoch_of(solr: Solr, name: str) -> int:
    held = held_lease(solr, name)
    assert held is not None
    return held.epoch


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


# -- Identity of a process ---------------------------------------------------------------------------------------------

ME = this_process()


@pytest.mark.parametrize(
    ("holder", "may", "certain"),
    [
        (ME, True, True),
        (replace(ME, started="long ago"), False, False),
        (replace(ME, pid=2**22 + 1), False, False),
        (replace(ME, host="renamed meanwhile"), True, True),
        (replace(ME, boot="an earlier one", started="long ago"), False, False),
        (replace(ME, boot="an earlier one", host="a copy of the machine"), True, False),
        (replace(ME, boot="another", machine="another", pid=2**22 + 1), True, False),
        (replace(ME, boot="another", machine="", pid=2**22 + 1), True, False),
        (replace(ME, namespace="another", pid=2**22 + 1), True, False),
        (Holder(ME.host, 2**22 + 1, "1"), True, False),
    ],
    ids=[
        "this process",
        "its process id was used again",
        "no such process",
        "the host has another name now",
        "the machine was started again",
        "a machine that was copied with its machine id",
        "another machine of this host's name",
        "another machine that has no machine id",
        "another container of this machine",
        "written by an earlier navlin",
    ],
)
def test_a_process_counts_as_dead_or_alive_only_if_certain(
    holder: Holder, *, may: bool, certain: bool
) -> None:
    assert (may_live(holder), lives(holder)) == (may, certain)


def test_a_zombie_is_dead() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
        child = replace(ME, pid=process.pid, started=stat.rpartition(")")[2].split()[19])
        assert lives(child)
        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not may_live(child)


# -- Acquiring and releasing -------------------------------------------------------------------------------------------


def test_taking_a_lease_raises_the_epoch_and_releasing_keeps_it(solr: Solr, name: str) -> None:
    for epoch in (1, 2, 3):
        with lease(solr, name) as held:
            assert held.epoch == epoch
            found = held_lease(solr, name)
            assert found is not None
            assert found.holder == this_process()
        freed = held_lease(solr, name)
        assert freed is not None
        assert (freed.holder, freed.epoch) == (None, epoch)


def test_a_lease_without_a_document_continues_from_the_saved_epoch(solr: Solr, name: str) -> None:
    save_run(solr, RunRecord("S", name, 1, Status.FINISHED, 1, epoch=41))
    solr.commit(RUNS, soft=True)
    with lease(solr, name) as held:
        assert held.epoch == 42


@pytest.mark.parametrize(
    "holder",
    [
        replace(ANOTHER, host=ME.host),
        replace(ANOTHER, host=ME.host, pid=ME.pid, started=ME.started),
        replace(ME, namespace="another"),
        Holder(ME.host, 1, "1"),
    ],
    ids=["another pid", "the same pid and start", "another container", "an earlier navlin"],
)
def test_a_renewed_lease_of_another_machine_with_the_same_name_is_respected(
    solr: Solr, name: str, holder: Holder
) -> None:
    with held_by(solr, name, holder) as held:
        for _ in range(2):
            with (
                pytest.raises(Leased, match=f"process {holder.pid} on {ME.host}"),
                lease(solr, name, length_s=PATIENT_S),
            ):
                pass
        held.check()
        assert epoch_of(solr, name) == held.epoch


def test_an_unrenewed_lease_is_taken_only_after_its_length(solr: Solr, name: str) -> None:
    leave(solr, name)
    began_s = time.monotonic()
    with lease(solr, name, length_s=SHORT_S) as held:
        assert time.monotonic() - began_s >= SHORT_S
        assert held.epoch == 2


@pytest.mark.parametrize(
    "dead",
    [replace(ME, started="long ago"), replace(ME, boot="an earlier one")],
    ids=["ended", "of an earlier boot"],
)
def test_the_lease_of_a_certainly_dead_process_is_taken_at_once(solr: Solr, name: str, dead: Holder) -> None:
    leave(solr, name, dead)
    with lease(solr, name, length_s=3_600) as held:
        assert held.epoch == 2


@pytest.mark.parametrize(
    "body",
    [
        {"host": "another-host", "pid": 1, "started": "1", "until_ms": 10**15},
        {"host": ME.host, "pid": 2**22 + 1, "started": "1", "until_ms": 1},
        {},
        {"pid": "?"},
        [],
        "words",
        {"free": True, "epoch": "many"},
    ],
    ids=["earlier, elsewhere", "earlier, here", "empty", "strange fields", "a list", "a text", "no number"],
)
def test_a_lease_in_another_format_is_replaced_once_unchanged_for_its_length(
    solr: Solr, name: str, body: object
) -> None:
    lay(solr, name, body)
    began_s = time.monotonic()
    with lease(solr, name, length_s=SHORT_S) as held:
        assert time.monotonic() - began_s >= SHORT_S
        assert held.epoch == 1


def test_a_lease_of_an_earlier_version_is_respected_while_it_is_renewed(solr: Solr, name: str) -> None:
    over = threading.Event()

    def renew() -> None:
        while not over.wait(0.1):
            lay(solr, name, {"host": ME.host, "pid": 7, "started": "1", "until_ms": 1})

    lay(solr, name, {"host": ME.host, "pid": 7, "started": "1", "until_ms": 1})
    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        with pytest.raises(Leased, match="process 7 on"), lease(solr, name, length_s=PATIENT_S):
            pass
    finally:
        over.set()
        renewing.join()


def test_only_one_of_several_concurrent_takers_gets_the_lease(solr: Solr, name: str) -> None:
    leave(solr, name)
    together, both = threading.Barrier(4), threading.Event()
    outcomes: list[str] = []

    def take(number: int) -> None:
        looks = itertools.count()

        def lives(_: Holder) -> bool:
            # Let no thread begin to wait for expiry after another thread has acquired the lease.
            return next(looks) > 0 or together.wait(SOON_S) >= 0

        try:
            with lease(solr, name, holder=replace(ANOTHER, pid=number), lives=lives, length_s=SHORT_S):
                outcomes.append("taken")
                both.wait(SOON_S)
        except Leased:
            outcomes.append("leased")

    threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: len(outcomes) == 4)
    both.set()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["leased", "leased", "leased", "taken"]


# -- Losing a lease ----------------------------------------------------------------------------------------------------


def test_a_loser_is_stopped_at_once_and_does_not_release_the_winners_lease(solr: Solr, name: str) -> None:
    lost = threading.Event()
    with lease(solr, name, length_s=LONG_S, renewals=OFTEN, on_lost=lost.set) as held:
        leave(solr, name, epoch=7)
        assert lost.wait(SOON_S)
        with pytest.raises(LeaseLost, match="was taken by process 4711 on another-host"):
            held.check()
        with pytest.raises(LeaseLost):
            held.renew()
    found = held_lease(solr, name)
    assert found is not None
    assert (found.holder, found.epoch) == (ANOTHER, 7)


def test_an_unnoticed_loss_does_not_release_the_winners_lease(solr: Solr, name: str) -> None:
    with lease(solr, name, length_s=3_600):
        leave(solr, name, epoch=7)
    found = held_lease(solr, name)
    assert found is not None
    assert found.holder == ANOTHER


def test_any_error_of_the_renewing_thread_ends_the_run(
    solr: Solr, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise MemoryError("no room")

    lost = threading.Event()
    with lease(solr, name, length_s=LONG_S, renewals=OFTEN, on_lost=lost.set) as held:
        with monkeypatch.context() as patch:
            patch.setattr(leases, "_write", broken)
            assert lost.wait(SOON_S)
        with pytest.raises(LeaseLost, match="cannot be renewed: MemoryError: no room"):
            held.check()


def test_a_solr_outage_shorter_than_the_length_loses_nothing(solr: Solr, name: str) -> None:
    away, refused, renewed = threading.Event(), threading.Event(), threading.Event()

    def passes(call: Call) -> bool:
        if away.is_set():
            refused.set()
        elif refused.is_set() and call.answered and call.documents:
            renewed.set()
        return not away.is_set()

    with SolrProxy(solr.address, passes) as proxy, Solr(proxy.address) as behind:
        with lease(behind, name, length_s=LONG_S, renewals=OFTEN) as held:
            away.set()
            assert refused.wait(SOON_S)
            away.clear()
            assert renewed.wait(SOON_S)
            held.check()
            assert epoch_of(solr, name) == held.epoch == 1
        freed = held_lease(solr, name)
        assert freed is not None
        assert freed.holder is None


def test_a_solr_outage_of_the_length_loses_the_lease(solr: Solr, name: str) -> None:
    away, lost = threading.Event(), threading.Event()
    with (
        SolrProxy(solr.address, lambda call: not away.is_set()) as proxy,
        Solr(proxy.address) as behind,
        lease(behind, name, length_s=SHORT_S, on_lost=lost.set) as held,
    ):
        away.set()
        assert lost.wait(SOON_S)
        with pytest.raises(LeaseLost, match=r"could not be renewed for (\d+) s: Solr at") as found:
            held.check()
        # The reported time is rounded, but is not less than the length of the lease.
        assert int(re.findall(r"for (\d+) s", str(found.value))[0]) >= round(SHORT_S)


def test_a_lost_answer_loses_nothing(solr: Solr, name: str) -> None:
    answers, enough = itertools.count(), threading.Event()

    def passes(call: Call) -> bool:
        if not (call.answered and call.documents):
            return True
        # Every third write is applied, but its response is lost.
        if (number := next(answers)) > 12:
            enough.set()
        return number % 3 != 0

    with SolrProxy(solr.address, passes) as proxy, Solr(proxy.address) as behind:
        with pytest.raises(SolrUnavailable), lease(behind, name, length_s=LONG_S):
            pytest.fail("its taking was not answered")
        with lease(behind, name, length_s=LONG_S, renewals=OFTEN) as held:
            assert enough.wait(SOON_S)
            held.check()
            assert epoch_of(solr, name) == held.epoch == 2


def test_an_unreleased_lease_is_taken_over_at_once_by_the_same_process(solr: Solr, name: str) -> None:
    away = threading.Event()
    with SolrProxy(solr.address, lambda call: not away.is_set()) as proxy, Solr(proxy.address) as behind:
        with lease(behind, name, length_s=3_600):
            away.set()
        found = held_lease(solr, name)
        assert found is not None
        assert found.holder == this_process()
        away.clear()
        with lease(behind, name, length_s=3_600) as held:
            assert held.epoch == 2


def test_an_error_in_the_run_releases_the_lease(solr: Solr, name: str) -> None:
    with pytest.raises(KeyError), lease(solr, name):
        raise KeyError
    found = held_lease(solr, name)
    assert found is not None
    assert found.holder is None


# -- Writes after losing a lease ---------------------------------------------------------------------------------------


def test_a_losers_record_is_refused_and_replaced_by_the_winners(solr: Solr, name: str) -> None:
    first = RunRecord("S", name, 1, Status.RUNNING, 1, version=-1)
    with lease(solr, name, length_s=3_600) as loser:
        opened = save_run_fenced(solr, replace(first, epoch=loser.epoch), loser.renew)
        with lease(solr, name, length_s=3_600) as winner:  # this process may take a lease over from itself
            # The loser could not end its run, so the winner repeats the run with the same number.
            again = replace(first, epoch=winner.epoch, version=opened.version)
            again = save_run_fenced(solr, again, winner.renew)
            with pytest.raises(RecordTaken):
                save_run(solr, replace(opened, status=Status.FINISHED, ended_ms=3))
            with pytest.raises(LeaseLost, match="was taken by"):
                save_run_fenced(solr, replace(opened, status=Status.FINISHED, ended_ms=3), loser.renew)
            save_run(solr, replace(first, version=0, note="without any lease"))
            save_run_fenced(solr, replace(again, status=Status.FINISHED, ended_ms=4), winner.renew)
            solr.commit(RUNS, soft=True)
            newest = last_run(solr, name)
            assert newest is not None
            assert (newest.status, newest.epoch, newest.note) == (Status.FINISHED, loser.epoch + 1, "")


def test_a_record_opened_late_by_a_loser_belongs_to_the_winner(solr: Solr, name: str) -> None:
    first = RunRecord("S", name, 1, Status.RUNNING, 1, version=-1)
    with lease(solr, name, length_s=3_600) as loser, lease(solr, name, length_s=3_600) as winner:
        late = save_run(solr, replace(first, epoch=loser.epoch))
        save_run_fenced(solr, replace(first, epoch=winner.epoch), winner.renew)
        with pytest.raises(LeaseLost):
            save_run_fenced(solr, replace(late, status=Status.FINISHED, ended_ms=3), loser.renew)


def test_a_losers_positions_are_refused_and_replaced_by_the_winners(solr: Solr, name: str) -> None:
    values = {"a": 1, "b": 1, "gone": 1}
    save_positions(solr, name, "old", [Position("outdated", 1)], {})
    save_positions(solr, name, "f", [Position(key, value) for key, value in values.items()], {})
    solr.commit(RUNS, soft=True)
    before = load_positions(solr, name, "f")
    with lease(solr, name, length_s=3_600) as loser, lease(solr, name, length_s=3_600) as winner:

        def save(held: leases.Lease, values: dict[str, int | None], outdated: list[str]) -> None:
            fence = Fence(held.epoch, before.versions, held.renew)
            positions = [Position(key, value) for key, value in values.items()]
            save_positions(solr, name, "f", positions, before.values, outdated=outdated, fence=fence)

        # A loser may still write values that the winner has not yet written: the values are true, and the winner
        # replaces them.
        save(loser, {"b": 2, "late": 2}, [])
        save(winner, {"a": 9, "b": 9, "late": 9, "gone": 9}, [])
        for values_of_loser in ({"a": 2}, {"b": 2}, {"late": 2}, {"gone": None}):
            with pytest.raises(LeaseLost):
                save(loser, dict(values_of_loser), [])
        save(winner, {}, list(before.outdated))
    solr.commit(RUNS, soft=True)
    after = load_positions(solr, name, "f")
    assert after.values == {"a": 9, "b": 9, "late": 9, "gone": 9}
    assert after.outdated == {}
    epochs = {
        d["key"]: d["epoch_l"] for d in solr.cursor(RUNS, f"sourceId:{name}", "*", filters=["kind:position"])
    }
    assert epochs == dict.fromkeys(after.values, 2)


# -- Separate processes ------------------------------------------------------------------------------------------------

HOLDS = """
import sys, time
from navlin.index.journal.leases import lease, LeaseLost
from navlin.index.solr.solr import Solr, SolrAddress
url, user, password, name, length_s = sys.stdin.readline().split()
if len(sys.argv) > 1:
    from tests.support.namespaces import cross
    url = f"http://127.0.0.1:{cross(sys.argv[1])}/solr"
with Solr(SolrAddress(url, user, password)) as solr, lease(solr, name, length_s=float(length_s)) as held:
    print("held", held.epoch, flush=True)
    sys.stdin.readline()
    try:
        held.check()
        held.renew()
        print("still held", flush=True)
    except LeaseLost as lost:
        print(lost, flush=True)
"""


class Process:
    """A separate process that holds a lease and continues when it receives a line."""

    def __init__(self, solr: Solr, name: str, length_s: float, bridge: Path | None) -> None:
        host, path = (namespaces.HOST, [str(bridge)]) if bridge is not None else ((), [])
        self.popen = subprocess.Popen(
            [*host, sys.executable, "-c", HOLDS, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )
        address: SolrAddress = solr.address
        self.write_line(f"{address.url} {address.user} {address.password} {name} {length_s}")

    def write_line(self, line: str) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def read_line(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline().strip()


@contextmanager
def process(
    solr: Solr, name: str, length_s: float = STOPPED_S, bridge: Path | None = None
) -> Iterator[Process]:
    holding = Process(solr, name, length_s, bridge)
    try:
        yield holding
    finally:
        holding.popen.send_signal(signal.SIGCONT)
        holding.popen.kill()
        holding.popen.communicate()


def test_a_stopped_process_loses_its_lease_and_notices_on_resuming(solr: Solr, name: str) -> None:
    with process(solr, name) as first:
        assert first.read_line() == "held 1"
        first.popen.send_signal(signal.SIGSTOP)
        with lease(solr, name, length_s=STOPPED_S) as held:
            assert held.epoch == 2
            first.popen.send_signal(signal.SIGCONT)
            first.write_line("go on")
            assert f"was taken by process {os.getpid()} on" in first.read_line()
            first.popen.wait(SOON_S)
            held.renew()
            assert epoch_of(solr, name) == 2


def test_a_stopped_process_keeps_a_lease_that_nobody_took(solr: Solr, name: str) -> None:
    with process(solr, name) as first:
        assert first.read_line() == "held 1"
        first.popen.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S + 0.5)
        first.popen.send_signal(signal.SIGCONT)
        first.write_line("go on")
        assert first.read_line() == "still held"


def test_two_hosts_of_one_name_exclude_each_other_and_then_succeed(
    solr: Solr, name: str, tmp_path: Path
) -> None:
    """Each process has process id 1 on a separate host, and cannot see the other."""
    if why := namespaces.refused():
        pytest.skip(why)
    path, port = tmp_path / "solr", urlsplit(solr.address.url).port
    assert port is not None
    with namespaces.bridge(path, port):
        with process(solr, name, STOPPED_S, bridge=path) as first:
            assert first.read_line() == "held 1"
            held = held_lease(solr, name)
            assert held is not None
            assert held.holder is not None
            assert (held.holder.host, held.holder.pid, held.holder.boot) == (ME.host, 1, ME.boot)
            assert held.holder.namespace != ME.namespace
            with process(solr, name, PATIENT_S, bridge=path) as second:
                assert second.read_line() == "", "it ends with `Leased`: the first renews"
                assert second.popen.wait(SOON_S) == 1
            first.write_line("go on")
            assert first.read_line() == "still held"
            assert first.popen.wait(SOON_S) == 0
        with process(solr, name, STOPPED_S, bridge=path) as third:
            assert third.read_line() == "held 2"
            third.popen.kill()
            third.popen.wait()
            # No other host can know that this process has ended.
            began_s = time.monotonic()
            with process(solr, name, SHORT_S, bridge=path) as fourth:
                assert fourth.read_line() == "held 3"
                assert time.monotonic() - began_s >= SHORT_S


# -- A Solr with several shards ----------------------------------------------------------------------------------------


@pytest.mark.services
@pytest.mark.parametrize(
    "holds",
    [
        test_taking_a_lease_raises_the_epoch_and_releasing_keeps_it,
        test_only_one_of_several_concurrent_takers_gets_the_lease,
        test_a_loser_is_stopped_at_once_and_does_not_release_the_winners_lease,
        test_a_losers_record_is_refused_and_replaced_by_the_winners,
        test_a_losers_positions_are_refused_and_replaced_by_the_winners,
        test_a_stopped_process_loses_its_lease_and_notices_on_resuming,
    ],
    ids=lambda test: test.__name__,
)
def test_leases_on_two_shards_work_as_on_one_server(
    cloud: Solr, name: str, holds: Callable[[Solr, str], None]
) -> None:
    holds(cloud, name)
