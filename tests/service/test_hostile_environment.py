"""navlin on an unfamiliar machine: unusual paths, environment variables of a site's Spark and Hadoop, no UTF-8,
unresolvable localhost, a read-only home, and output that is not read.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import requests

from navlin.own_environment import shut_out
from tests.support import full_disk
from tests.support.demo import PATIENCE_S
from tests.support.served_daemon import CONFIGURATION, Served, ready, record

ROOT = Path(__file__).parents[2]
ODD = "a b#c%20d%ü"
OF_A_SITE = {
    "SPARK_HOME": "/opt/spark-2.4",
    "SPARK_CONF_DIR": "{folder}/site",
    "SPARK_DIST_CLASSPATH": "/opt/hadoop/*",
    "SPARK_LOCAL_DIRS": "/nowhere",
    "SPARK_LOCAL_IP": "192.0.2.1",
    "SPARK_MASTER": "yarn",
    "PYSPARK_PYTHON": "/opt/python2/bin/python",
    "PYSPARK_DRIVER_PYTHON": "jupyter",
    "PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell",
    "PYSPARK_GATEWAY_PORT": "1",
    "JAVA_TOOL_OPTIONS": "-javaagent:/opt/agent.jar",
    "_JAVA_OPTIONS": "-Xmx1k",
    "HADOOP_CONF_DIR": "{folder}/site",
    "HADOOP_HOME": "/opt/hadoop",
    "HADOOP_USER_NAME": "hdfs",
    "HADOOP_OPTS": "-Dx=y",
    "PYTHONPATH": "{folder}/other/python:{folder}/other/python/lib/py4j-0.10.7-src.zip",
    "PYTHONIOENCODING": "ascii",
    "LANG": "C",
    "LC_ALL": "C",
}


def environment(folder: Path) -> dict[str, str]:
    """Environment variables of a site: its Spark writes event logs, and its PYTHONPATH contains another PySpark."""
    site, other = folder / "site", folder / "other" / "python"
    (other / "pyspark").mkdir(parents=True, exist_ok=True)
    (other / "pyspark" / "__init__.py").write_text("raise ImportError('another PySpark')\n")
    site.mkdir(exist_ok=True)
    (folder / "events").mkdir(exist_ok=True)
    (site / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir {(folder / 'events').as_uri()}\n"
    )
    found = {**os.environ, **{name: value.format(folder=folder) for name, value in OF_A_SITE.items()}}
    for name in ("tmp", "home"):
        (folder / name).mkdir(exist_ok=True)
    return {**found, "TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home")}


def on_another_machine(folder: Path) -> tuple[str, ...]:
    """Prefix of a command line: the command cannot resolve localhost, and its home directory is read-only."""
    if reason := full_disk.refused():
        pytest.skip(f"nothing can be mounted here: {reason}")
    (folder / "hosts").write_text(f"127.0.1.1 {socket.gethostname()}\n")
    script = (
        'mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/home" "$0/home"'
        ' && mount -o remount,ro,bind "$0/home" && exec "$@"'
    )
    return (*full_disk.NAMESPACE, "sh", "-c", script, str(folder))


def navlin(
    folder: Path, file: Path, *arguments: str, before: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    command = [*before, sys.executable, "-m", "navlin", "--config", str(file), *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(folder), timeout=PATIENCE_S, check=False, capture_output=True
    )


@pytest.mark.services
def test_all_commands_work_with_odd_paths_and_a_sites_shell(tmp_path: Path, solr_jars: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    environment(folder)
    before = on_another_machine(folder)
    home = folder / "navlin"
    (home / "impala").mkdir(parents=True)
    (home / "impala" / "impala_lineage_log_1.0-1").write_text(record(1, "odd.größe"))
    file = home / "navlin.toml"
    text = CONFIGURATION.format(home=".").partition("# Nobody")[0].replace('"./impala"', f'"{home}/impala"')
    file.write_text(f'{text}[web]\nport = 0\n[spark]\nmaster = "local[2]"\n', encoding="utf-8")
    (home / "state").mkdir()
    (home / "state" / "solr-launcher").symlink_to(ROOT / ".jars" / "solr-launcher")

    checked = navlin(folder, file, "check", "--json", before=before)
    findings = {each["subject"]: each for each in json.loads(checked.stdout)}
    assert checked.returncode == 0, findings
    for name in ("SPARK_HOME", "PYTHONPATH", "JAVA_TOOL_OPTIONS", "HADOOP_USER_NAME"):
        assert name in findings["environment"]["text"]

    extracted = navlin(folder, file, "extract", "IMPALA-1", before=before)
    assert extracted.returncode == 0, extracted.stderr.decode()
    drawn = navlin(folder, file, "lineage", "odd.größe", before=before)
    assert drawn.returncode == 0, drawn.stderr.decode()
    assert "daemon.origin" in drawn.stdout.decode("ascii")
    assert "odd.gr\\u00f6\\u00dfe" in drawn.stdout.decode("ascii")
    assert not list((folder / "events").iterdir()), "the site's event logs have nothing of navlin's"

    served = Served(home, environment=environment(folder), before=before)
    try:
        ready(served)
        url = served.logged("web ready")["url"]
        password = (home / "state" / "administrator.password").read_text().strip()
        asked = {"query": "größe"}
        page = requests.get(f"{url}/search", asked, auth=("admin", password), headers={"Accept": "text/html"})
        assert (page.status_code, "odd.größe" in page.text) == (200, True)
    finally:
        served.end()
    assert not list((folder / "home").iterdir())


@pytest.mark.services
def test_the_demo_works_with_odd_paths_and_a_sites_shell(
    tmp_path: Path, solr_jars: Path, metastore_jars: Path, hadoop_jars: Path
) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    environment(folder)
    done = navlin(folder, folder / "no.toml", "demo", "--once", before=on_another_machine(folder))

    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert "shop.board_report" in done.stdout.decode("ascii")
    assert not list((folder / "tmp").iterdir())
    assert not list((folder / "home").iterdir())


def test_site_environment_variables_are_dropped_and_named(tmp_path: Path, odd_file: Path) -> None:
    checked = navlin(tmp_path, odd_file, "check", "--json")

    [said] = [each["text"] for each in json.loads(checked.stdout) if each["subject"] == "environment"]
    left_out = set(said.rpartition(": ")[2].split(", "))
    assert left_out == set(OF_A_SITE) - {"SPARK_LOCAL_IP", "PYTHONIOENCODING", "LANG", "LC_ALL"}


def test_only_network_options_of_java_are_kept(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    own, another = "/opt/extractors", str(tmp_path)
    environment = {
        "JAVA_TOOL_OPTIONS": "-Dhttps.proxyHost=proxy.example -javaagent:/x.jar -Dhttps.proxyPort=3128",
        "JDK_JAVA_OPTIONS": "-Djavax.net.ssl.trustStore=/etc/pki/java/cacerts",
        "PYTHONPATH": f"{own}:{another}",
        "PATH": "/usr/bin",
    }
    path = ["", own, another, "/usr/lib/python3"]

    assert shut_out(environment, path) == ("JAVA_TOOL_OPTIONS", "PYTHONPATH")
    assert environment == {
        "JAVA_TOOL_OPTIONS": "-Dhttps.proxyHost=proxy.example -Dhttps.proxyPort=3128",
        "JDK_JAVA_OPTIONS": "-Djavax.net.ssl.trustStore=/etc/pki/java/cacerts",
        "PYTHONPATH": own,
        "PATH": "/usr/bin",
    }
    assert path == ["", own, "/usr/lib/python3"]


# -- Output that is read partly or not at all ------------------------------------------------------------------------------


@pytest.fixture
def odd_file(tmp_path: Path) -> Path:
    file = tmp_path / "größe-表.toml"
    file.write_text('[navlin]\ncluster = "c"\n', encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("encoding", "form"),
    [
        ("ascii", ()),
        ("ascii", ("--json",)),
        *(pytest.param(name, form, marks=pytest.mark.services) for name in ("latin-1", "gbk") for form in ((), ("--json",))),
    ],
)  # fmt: skip
def test_unprintable_characters_are_escaped(odd_file: Path, encoding: str, form: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "navlin", "--config", str(odd_file), "check", *form],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    printed = done.stdout.decode(encoding)
    assert "Traceback" not in done.stderr.decode(encoding)
    if form:
        assert json.loads(printed)[0]["text"] == f"{odd_file}, 0 sources"
    else:
        shown = str(odd_file)
        for letter in "öß表":
            if letter.encode(encoding, "ignore") == b"":
                shown = shown.replace(letter, f"\\u{ord(letter):04x}")
        assert f"configuration: {shown}" in printed


@pytest.mark.parametrize(
    "form", [(), pytest.param(("--json",), marks=pytest.mark.services)], ids=["text", "JSON"]
)
@pytest.mark.parametrize(
    ("where", "said"),
    [(">/dev/full", "No space left on device"), ("| (exec <&-; sleep 5)", "Broken pipe")],
    ids=["full disk", "closed pipe"],
)
def test_an_answer_that_cannot_be_written_is_a_reported_failure(
    odd_file: Path, where: str, said: str, form: tuple[str, ...]
) -> None:
    script = f'set -o pipefail; "$@" {where}'
    command = [sys.executable, "-m", "navlin", "--config", str(odd_file), "check", *form]
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", script, "bash", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, f"navlin: the answer was not written completely: {said}\n")


def test_closed_standard_streams_are_not_a_failure(odd_file: Path) -> None:
    command = [sys.executable, "-m", "navlin", "--config", str(odd_file), "check"]
    plain = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    closed = subprocess.run(
        [shutil.which("sh") or "sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command], cwd=ROOT, check=False
    )
    assert closed.returncode == plain.returncode
