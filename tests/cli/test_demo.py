"""``navlin demo`` as a user runs it: started in one terminal, queried from another, and stopped by Ctrl-C."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from navlin.demo.metastore import Metastore, MetastoreNotStarted
from tests.services.yarn_jobs import submit
from tests.support.demo import (
    COMMAND,
    CTRL_C,
    PATIENCE_S,
    ROOT,
    SERVES,
    Demo,
    offered,
    pasted,
    printed_address,
)
from tests.support.listeners import listeners

NOT_FOUND = 3

BOARD_REPORT = """\
shop.board_report (Hive table)

Upstream
shop.board_report
└── <-- shop.top_markets
    └── <-- shop.revenue
        └── <-- shop.order_facts
            ├── <-- shop.customers
            └── <-- shop.orders

Downstream
  nothing
"""
"""Lineage that combines the statements of the Spark job and of Impala."""
REVENUE = """\
shop.board_report.revenue (Hive column)

Upstream
shop.board_report.revenue
└── <-- shop.top_markets.revenue
    └── <-- shop.revenue.revenue
        └── <-- shop.order_facts.amount
            └── <-- shop.orders.amount
"""


Start = Callable[..., Demo]


@pytest.fixture
def start(tmp_path: Path, solr_jars: Path, metastore_jars: Path, hadoop_jars: Path) -> Iterator[Start]:
    started: list[Demo] = []

    def launch(*command: str) -> Demo:
        started.append(Demo(tmp_path, *command))
        return started[-1]

    yield launch
    for each in started:
        each.close()


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory, solr_jars: Path, metastore_jars: Path, hadoop_jars: Path
) -> Iterator[Demo]:
    """A running demo, for all tests that do not stop it."""
    started = Demo(tmp_path_factory.mktemp("demo"), *COMMAND)
    try:
        started.until_printed(SERVES)
        yield started
    finally:
        started.close()


@pytest.mark.services
def test_the_demo_prints_the_lineage_of_a_table(demo: Demo) -> None:
    _, _, after = demo.printed.partition("navlin lineage shop.board_report\n")

    assert after.startswith(BOARD_REPORT)


@pytest.mark.services
def test_statements_of_the_demo_ran_in_the_order_in_which_data_flows(demo: Demo) -> None:
    command, *_ = offered(demo)
    evidence = command.partition(" lineage ")[0] + " evidence shop.board_report --json"
    answer = json.loads(pasted(demo, evidence).stdout)
    last = {each["label"]: each["executions"]["last"] for each in answer["statements"]}
    ran = [
        next(at for label, at in last.items() if label.endswith(f"→ shop.{name}"))
        for name in ("order_facts", "revenue", "top_markets", "board_report")
    ]
    assert ran == sorted(ran), last


@pytest.mark.services
def test_the_demo_extracts_and_links_all_five_sources(demo: Demo) -> None:
    extracted = re.findall(r"extracted and linked (\S+)", demo.printed)

    assert sorted(extracted) == ["HDFS-1", "HIVE-1", "IMPALA-1", "SPARK-1", "YARN-1"]


@pytest.mark.services
def test_the_printed_commands_work_in_another_terminal(demo: Demo) -> None:
    lineage, status, _, _ = offered(demo)

    asked = pasted(demo, lineage)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "<-- nightly revenue → shop.revenue  [operation]" in asked.stdout
    asked = pasted(demo, status)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "navlin serve: running for" in asked.stdout


@pytest.mark.services
def test_the_printed_user_may_query_navigators_api(demo: Demo) -> None:
    url, *auth = printed_address(demo)
    version = requests.get(f"{url}/api/version", timeout=300).text
    sources = requests.get(
        f"{url}/api/{version}/entities?query=type:SOURCE", auth=(auth[0], auth[1]), timeout=300
    ).json()
    types = [each["sourceType"] for each in sources]
    assert sorted(types) == ["HDFS", "HIVE", "IMPALA", "SPARK", "YARN"], "the SDK wants one of each"
    assert [each["sourceTemplate"] for each in sources if each["sourceType"] == "HIVE"] == [True]


@pytest.mark.services
def test_an_appended_record_is_found_and_logged(demo: Demo) -> None:
    *_, append, search = offered(demo)
    assert pasted(demo, search).returncode == NOT_FOUND

    assert pasted(demo, append).returncode == 0

    demo.until(lambda: pasted(demo, search).returncode == 0, "the record")
    demo.until(lambda: re.search(r"run finished.*source=IMPALA-1", demo.printed), "the run in the log")


@pytest.mark.services
def test_every_extracted_service_keeps_answering(demo: Demo) -> None:
    _, status, *_ = offered(demo)

    checked = pasted(demo, status.removesuffix("status") + "check")

    assert checked.returncode == 0, checked.stdout


@pytest.mark.services
def test_the_demo_listens_only_on_loopback(demo: Demo) -> None:
    listening = listeners(demo.processes())

    assert len(listening) > 5
    assert {address for address in listening if not address.is_loopback} == set()


@pytest.mark.services
def test_ctrl_c_shuts_down_the_demo_and_its_yarn_applications(demo: Demo) -> None:
    configuration = tomllib.loads(Path(shlex.split(offered(demo)[1])[-2]).read_text())
    (yarn,) = [source["urls"][0] for source in configuration["source"] if source["name"] == "YARN-1"]
    submit(yarn, "an endless one", "sleep 86400")
    demo.until(lambda: any("sleep 86400" in each for each in demo.processes().values()), "a container")

    demo.press(CTRL_C)

    assert demo.end() == 0
    assert demo.left() == []
    demo.until_printed("navlin stopped")
    assert "Traceback" not in demo.printed


@pytest.mark.services
def test_with_once_the_demo_ends_by_itself(start: Start) -> None:
    demo = start(*COMMAND, "--once")

    assert demo.end() == 0
    assert demo.left() == []
    demo.until_printed("navlin serve: running for")
    assert "Ctrl-C" not in demo.printed
    assert "Traceback" not in demo.printed


def sigint(demo: Demo) -> None:
    demo.process.send_signal(signal.SIGINT)


def ctrl_c_twice(demo: Demo) -> None:
    demo.press(CTRL_C)
    demo.press(CTRL_C)


def sigterm(demo: Demo) -> None:
    demo.process.send_signal(signal.SIGTERM)


@pytest.mark.services
@pytest.mark.parametrize("interrupt", [sigint, ctrl_c_twice, sigterm, Demo.close_terminal])
def test_a_demo_interrupted_during_startup_leaves_nothing(
    interrupt: Callable[[Demo], None], start: Start
) -> None:
    demo = start(*COMMAND)
    demo.until(lambda: len(demo.processes()) > 2, "two services")

    interrupt(demo)

    assert demo.end() == 1
    assert demo.left() == []
    assert "Traceback" not in demo.printed


@pytest.mark.services
def test_a_closed_output_ends_the_demo_and_leaves_nothing(start: Start) -> None:
    demo = start("sh", "-c", f'{{ {shlex.join(COMMAND)}; echo "ended with $?" >&2; }} | head -n 1')

    demo.end()
    demo.until_printed("ended with 1")
    assert demo.left() == []
    assert "Traceback" not in demo.printed


SLOW_TO_END = """
import subprocess
from navlin.demo.children import Interrupted, end_with_parent, interruptible
slow = ["sh", "-c", "trap '' TERM; echo started; while :; do sleep 1; done"]
child = subprocess.Popen(slow, stdout=subprocess.PIPE, preexec_fn=end_with_parent)
child.stdout.readline()
try:
    with interruptible():
        print("started", flush=True)
        child.wait()
except Interrupted:
    child.terminate()
    print("ending", flush=True)
    child.wait()
    print("ended")
"""


def test_a_second_ctrl_c_ends_the_wait_for_a_slow_shutdown() -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW_TO_END], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"ending\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"ended\n"
        assert process.wait(PATIENCE_S) == 0


THROWN_AWAY = """
import os, signal, time
from navlin.demo.children import Interrupted, interruptible
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)
try:
    with interruptible():
        Finalized()
        print("went on", flush=True)
        time.sleep(600)
except Interrupted:
    print("interrupted")
"""


def test_an_interrupt_swallowed_by_python_is_repeated() -> None:
    done = subprocess.run(
        [sys.executable, "-c", THROWN_AWAY], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout == "went on\ninterrupted\n", done.stderr


ORPHAN = """
import subprocess
from navlin.demo.children import adopt_orphans, kill_all
adopt_orphans()
parent = ["sh", "-c", "setsid sleep 86400 > /dev/null & echo $!"]
pid = subprocess.run(parent, stdout=subprocess.PIPE, text=True).stdout.strip()
kill_all()
print(pid, flush=True)
"""


def test_a_process_that_outlived_its_parent_is_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN], cwd=ROOT, stdout=subprocess.PIPE, timeout=PATIENCE_S
    )

    assert done.returncode == 0
    assert not Path(f"/proc/{int(done.stdout)}").exists()


@pytest.mark.services
def test_the_readme_shows_the_upstream_that_the_demo_prints(demo: Demo) -> None:
    [(question, shown)] = re.findall(
        r"\nnavlin (lineage [^\n]*)\n```\n```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    before = offered(demo)[0].partition(" lineage ")[0]

    assert shown == REVENUE
    assert pasted(demo, f"{before} {question}").stdout == REVENUE


@pytest.mark.services
def test_a_metastore_that_does_not_start_is_named_with_its_log(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    metastore = Metastore(tmp_path / "home", tmp_path / "no-jars")
    metastore.launch()

    with pytest.raises(MetastoreNotStarted) as refused:
        metastore.await_ready()

    first, _, log = str(refused.value).partition("\n")
    assert first == "the Hive metastore did not start: the process ended"
    assert "DbNotificationListener" in log
