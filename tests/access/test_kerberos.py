"""Kerberos with a real KDC and a metastore that requires tickets: logins from a keytab for longer than a ticket's
lifetime, and error messages.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from extractors.hdfs import Hdfs
from extractors.hdfs.errors import HdfsError
from extractors.hms import HiveMetastore
from extractors.hms.client import MetastoreError, connected
from extractors.rest import RestAddress, RestError, RestService
from extractors.yarn import Yarn
from extractors.yarn.plan import JOBS
from navlin.java import JavaProgram
from navlin.kerberos.client import Kerberos, Login, kerberos
from navlin.kerberos.messages import KerberosFailed, in_words
from navlin.model.extractor import EXTRACTORS
from navlin.model.plan import Positions
from navlin.model.records import Entity, Record, Split
from navlin.model.source import HDFS, HIVE, YARN, Estate, Source, source_id
from tests.cli.test_cli import json_of, run
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.services.job_history import JobHistoryServer
from tests.services.kerberos import REALM, Kdc, kerberized_metastore, of_hdfs, of_the_web
from tests.services.metastore import CREATE_TABLE, Metastore, table
from tests.support.hdfs_runs import Follower

if TYPE_CHECKING:
    from navlin.index.solr.solr import Solr
    from tests.support.pipeline_estate import SmallEstate

NAVLIN = f"navlin@{REALM}"
SERVICE = f"hive/localhost@{REALM}"
CLUSTER = "kerberos"
SOURCE = Source(source_id(CLUSTER, "hive"), HIVE, "hive", CLUSTER)


@pytest.fixture
def keytab(kdc: Kdc) -> Path:
    return kdc.keytab("navlin.keytab", "navlin")


@pytest.fixture
def hms(kdc: Kdc, kerberized: Metastore, keytab: Path) -> HiveMetastore:
    return asking(kerberized, kdc, keytab)


def asking(metastore: Metastore, kdc: Kdc, keytab: Path) -> HiveMetastore:
    return HiveMetastore(
        SOURCE,
        Estate(CLUSTER, (SOURCE,)),
        (metastore.uri,),
        sasl="kerberos",
        metastore_principal=SERVICE,
        principal=NAVLIN,
        keytab=str(keytab),
        krb5_conf=str(kdc.krb5_conf),
    )


def records(hms: HiveMetastore, splits: tuple[Split, ...]) -> Iterator[Record]:
    for split in splits:
        for record in hms.read(split):
            if isinstance(record, Split):
                yield from records(hms, (record,))
            else:
                yield record


def names(hms: HiveMetastore, splits: tuple[Split, ...]) -> set[str]:
    return {each.key.tree_path.lower() for each in records(hms, splits) if isinstance(each, Entity)}


def create(hms: HiveMetastore, name: str) -> None:
    with connected(hms._address) as metastore:
        metastore.call(CREATE_TABLE, table("default", name))


def test_a_kerberized_metastore_is_read_with_a_keytab(hms: HiveMetastore) -> None:
    create(hms, "of_the_keytab")

    plan = hms.plan(Positions())

    assert "/default/of_the_keytab/id" in names(hms, plan.splits)
    first, second = hms.check()
    assert first.startswith(f"{hms.uris[0]} answers: 1 databases")
    assert second.startswith("its notification log is at event ")


@pytest.mark.services
@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        ("authentication", "auth"),
        ("integrity", "auth-int"),
        ("privacy", "auth-conf"),
        ("authentication,integrity,privacy", "auth-conf"),
    ],
)
def test_each_sasl_protection_level_is_supported(
    kdc: Kdc, keytab: Path, metastore_jars: Path, tmp_path: Path, offered: str, agreed: str
) -> None:
    with kerberized_metastore(tmp_path, metastore_jars, kdc, protection=offered) as metastore:
        hms = asking(metastore, kdc, keytab)
        with connected(hms._address) as connection:
            assert connection._protocol.trans._conversation.layer == agreed
            connection.call(CREATE_TABLE, table("default", "protected"))
            # The name is larger than the 64 KiB that SASL negotiates for a message.
            assert connection.table_names("x" * 200_000) == []

        assert "/default/protected/id" in names(hms, hms.plan(Positions()).splits)


@pytest.mark.services
def test_a_ticket_expiring_during_a_run_is_replaced(
    kdc_jars: Path, metastore_jars: Path, tmp_path: Path
) -> None:
    life_s = 5
    with (
        Kdc(tmp_path / "kdc", kdc_jars, life_s=life_s) as kdc,
        kerberized_metastore(tmp_path / "hms", metastore_jars, kdc) as metastore,
    ):
        hms = asking(metastore, kdc, kdc.keytab("navlin.keytab", "navlin"))
        create(hms, "lasting")
        with connected(hms._address) as open_before:
            plan = hms.plan(Positions())
            time.sleep(life_s + 1)

            assert "/default/lasting/id" in names(hms, plan.splits)
            assert open_before.databases() == ["default"]


@pytest.mark.services
def test_the_metastore_refuses_a_client_without_a_ticket(kerberized: Metastore, hms: HiveMetastore) -> None:
    with pytest.raises(MetastoreError, match='sasl = "kerberos"'):
        list(replace(hms, sasl="none", call_timeout_s=5.0).check())


Wrong = Callable[[HiveMetastore, Kdc, Path], HiveMetastore]


def another_key(hms: HiveMetastore, kdc: Kdc, folder: Path) -> HiveMetastore:
    """A source whose keytab contains a key unknown to the KDC."""
    with Kdc(folder / "other", folder / "jars") as other:
        return replace(hms, keytab=str(other.keytab("navlin.keytab", "navlin")))


def unknown_principal(hms: HiveMetastore, kdc: Kdc, folder: Path) -> HiveMetastore:
    with Kdc(folder / "other", folder / "jars") as other:
        return replace(hms, keytab=str(other.keytab("o.keytab", "nobody")), principal=f"nobody@{REALM}")


def unknown_service(hms: HiveMetastore, kdc: Kdc, folder: Path) -> HiveMetastore:
    return replace(hms, metastore_principal=f"hive/elsewhere@{REALM}")


def keytab_of_somebody_else(hms: HiveMetastore, kdc: Kdc, folder: Path) -> HiveMetastore:
    return replace(hms, keytab=str(kdc.keytab("else.keytab", "somebody")))


def no_keytab(hms: HiveMetastore, kdc: Kdc, folder: Path) -> HiveMetastore:
    return replace(hms, keytab=str(folder / "absent.keytab"))


def no_ticket(hms: HiveMetastore, kdc: Kdc, folder: Path) -> HiveMetastore:
    return replace(hms, keytab="")


def kdc_down(hms: HiveMetastore, kdc: Kdc, folder: Path) -> HiveMetastore:
    with Kdc(folder / "other", folder / "jars") as other:
        return replace(hms, krb5_conf=str(other.krb5_conf), keytab=str(other.keytab("n.keytab", "navlin")))


WRONG: dict[str, tuple[Wrong, str]] = {
    "another key": (another_key, "is not the one that the KDC has"),
    "unknown principal": (unknown_principal, f"the KDC does not know nobody@{REALM}"),
    "unknown service": (unknown_service, "the KDC does not know the service hive/elsewhere"),
    "keytab of somebody else": (keytab_of_somebody_else, f"has no key of {NAVLIN}"),
    "no keytab": (no_keytab, "there is no keytab /"),
    "no ticket": (no_ticket, f"there is no ticket for {NAVLIN} in the ticket cache"),
    "kdc down": (kdc_down, "no KDC answers"),
}


@pytest.fixture
def still_running() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.services
def test_a_kerberos_error_is_reported_by_check_and_status(
    hms: HiveMetastore,
    kdc: Kdc,
    kdc_jars: Path,
    solr: Solr,
    estate: SmallEstate,
    tmp_path: Path,
    still_running: ExitStack,
) -> None:
    cases = {name: make(hms, kdc, folder(tmp_path, name, kdc_jars)) for name, (make, _) in WRONG.items()}
    if shutil.which("cc"):
        moved = still_running.enter_context(Kdc(tmp_path / "moved", kdc_jars, ahead_s=600))
        cases["clock"] = replace(
            hms, krb5_conf=str(moved.krb5_conf), keytab=str(moved.keytab("navlin.keytab", "navlin"))
        )
    # Kerby reports the clock difference as a wrong key; the KDCs of MIT and Microsoft name the clock.
    expected = {name: words for name, (_, words) in WRONG.items()} | {
        "clock": "differ by more than five minutes"
    }
    # Two sources may not share an address, so use a different loopback address for each.
    cases = {
        name: replace(each, uris=(each.uris[0].replace("127.0.0.1", f"127.0.0.{number}"),))
        for number, (name, each) in enumerate(cases.items(), 2)
    }
    file = tmp_path / "navlin.toml"
    (tmp_path / "password").write_text(f"{solr.address.password}\n")
    file.write_text(
        f'[navlin]\ncluster = "{estate.cluster}"\nstate_directory = "state"\n'
        f'[solr]\nurl = "{solr.address.url}"\nuser = "{solr.address.user}"\npassword_file = "password"\n'
        + "".join(section(name, each) for name, each in cases.items())
    )

    findings = {each["subject"]: each for each in json_of(run(file, "check", "--json"))}
    for name, each in cases.items():
        source = Source(source_id(estate.cluster, name), HIVE, name, estate.cluster)
        failing = replace(each, source=source, estate=Estate(estate.cluster, (source,)))
        estate.pipeline.run(EXTRACTORS["hms"], failing)
    shown = run(file, "status").output

    for name in cases:
        finding = findings[f"source {name}"]
        assert (finding["fine"], expected[name] in finding["text"]) == (False, True), (name, finding)
        assert expected[name] in " ".join(shown.split()), (name, shown)


def folder(within: Path, name: str, jars: Path) -> Path:
    made = within / name.replace(" ", "-")
    made.mkdir()
    (made / "jars").symlink_to(jars)
    return made


def section(name: str, hms: HiveMetastore) -> str:
    settings = ("uris", "sasl", "metastore_principal", "principal", "keytab", "krb5_conf")
    lines = [f'[[source]]\nname = "{name}"\nextractor = "hms"\n']
    for each in settings:
        value = getattr(hms, each)
        lines.append(f"{each} = {list(value)}\n" if isinstance(value, tuple) else f'{each} = "{value}"\n')
    return "".join(lines)


@pytest.mark.services
def test_a_kerberized_namenode_is_read_with_a_keytab(
    kdc: Kdc, keytab: Path, hadoop_jars: Path, tmp_path: Path
) -> None:
    settings, options = of_hdfs(kdc), (f"-Djava.security.krb5.conf={kdc.krb5_conf}",)
    cache = hadoop_jars.parent / "hadoop-launcher"
    with Hadoop(
        tmp_path / "hadoop", hadoop_jars, cache=cache, settings=settings, java_options=options
    ) as hadoop:
        source = Source(source_id(CLUSTER, "hdfs"), HDFS, "hdfs", CLUSTER)
        hdfs = Hdfs(
            source,
            Estate(CLUSTER, (source,), spool=str(tmp_path / "spool")),
            hadoop.url,
            hadoop_configuration_directory=str(hadoop.configuration_directory),
            principal=NAVLIN,
            keytab=str(keytab),
            java_options=options,
        )

        first, second = hdfs.check()
        assert first.startswith(f"{hadoop.url} answers, and its events may be followed")
        assert second.startswith("the newest image is of transaction")
        for wrong, words in (
            (replace(hdfs, keytab="/absent.keytab"), "keytab"),
            (replace(hdfs, principal="", keytab=""), "neither a keytab nor a ticket"),
        ):
            with pytest.raises(HdfsError, match=words):
                list(wrong.check())


@pytest.mark.services
def test_two_kerberized_namenodes_are_followed_across_a_failover(
    kdc: Kdc, keytab: Path, hadoop_jars: Path, tmp_path: Path
) -> None:
    options, cache = (f"-Djava.security.krb5.conf={kdc.krb5_conf}",), hadoop_jars.parent / "hadoop-launcher"
    pair = Hadoop(
        tmp_path / "pair", hadoop_jars, cache=cache, ha=True, settings=of_hdfs(kdc), java_options=options
    )
    with pair, Writer(pair, cache, login=kdc.login("navlin", keytab)) as writer:
        source = Source(source_id(CLUSTER, "pair"), HDFS, "pair", CLUSTER, (pair.url,))
        follower = Follower(
            Hdfs(
                source,
                Estate(CLUSTER, (source,), spool=str(tmp_path / "spool")),
                pair.url,
                hadoop_configuration_directory=str(pair.configuration_directory),
                principal=NAVLIN,
                keytab=str(keytab),
                java_options=options,
            )
        )
        writer.create("/f", b"1")
        assert "it is the first" in follower.run().plan.note
        follower.run()

        pair.kill(0)
        pair.activate(1)
        writer.append("/f", b"2")
        run = follower.run()
        assert (run.plan.note, run.rows["/f"]["size"]) == ("", 2)

        pair.restart(0)
        pair.activate(0)
        writer.delete("/f")
        run = follower.run()
        assert run.plan.note == "" and run.is_gone("/f")


@pytest.mark.services
def test_a_kerberized_job_history_server_is_read_with_a_keytab(
    kdc: Kdc, keytab: Path, mapreduce_jars: Path, tmp_path: Path
) -> None:
    servers = str(kdc.keytab("jhs.keytab", "jhs/localhost", "HTTP/localhost"))
    settings = {
        **of_the_web(kdc, tmp_path),
        "hadoop.security.authentication": "kerberos",
        "mapreduce.jobhistory.principal": f"jhs/localhost@{REALM}",
        "mapreduce.jobhistory.keytab": servers,
        "mapreduce.jobhistory.webapp.spnego-principal": f"HTTP/localhost@{REALM}",
        "mapreduce.jobhistory.webapp.spnego-keytab-file": servers,
        "hadoop.user.group.static.mapping.overrides": "navlin=supergroup;jhs=supergroup",
    }
    options = [f"-Djava.security.krb5.conf={kdc.krb5_conf}"]
    with JobHistoryServer(
        tmp_path / "history", mapreduce_jars, settings=settings, java_options=options
    ) as server:
        login = kdc.login("navlin", keytab)
        history = RestAddress("JobHistoryServer", "history_urls", (server.url,), auth="kerberos", login=login)
        with closing(RestService(history)) as service:
            assert service.get(JOBS, "jobs", {"limit": 1}) == {"jobs": ""}, "none: nothing ran here"
        with (
            closing(RestService(replace(history, auth="none"))) as service,
            pytest.raises(RestError, match="401"),
        ):
            service.get(JOBS, "jobs")
        absent = replace(history, login=replace(login, keytab="/absent"))
        with (
            closing(RestService(absent)) as service,
            pytest.raises(RestError, match="there is no keytab /absent"),
        ):
            service.get(JOBS, "jobs")


@pytest.mark.services
def test_a_kerberized_resource_manager_is_read_with_a_keytab(
    kdc: Kdc, keytab: Path, hadoop_jars: Path, tmp_path: Path
) -> None:
    settings = of_the_web(kdc, tmp_path)
    options = [f"-Djava.security.krb5.conf={kdc.krb5_conf}"]
    cache = hadoop_jars.parent / "hadoop-launcher"
    hadoop = Hadoop(tmp_path / "hadoop", hadoop_jars, cache=cache, settings=settings, java_options=options)
    with hadoop:
        hadoop.start_yarn()
        url = hadoop.yarn.replace("127.0.0.1", "localhost")
        source = Source(source_id(CLUSTER, "yarn"), YARN, "yarn", CLUSTER)
        yarn = Yarn(source, Estate(CLUSTER, (source,)), (url,))
        with pytest.raises(RestError, match=r'401.*set auth = "kerberos"'):
            list(yarn.check())

        with_keytab = replace(
            yarn, auth="kerberos", principal=NAVLIN, keytab=str(keytab), krb5_conf=str(kdc.krb5_conf)
        )

        assert next(with_keytab.check()).startswith(f"{url} answers: Hadoop 3.5.0")
        with pytest.raises(RestError, match="Kerberos: there is no keytab"):
            list(replace(with_keytab, keytab="/absent").check())


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Clock skew too great (37) - PREAUTH_FAILED", "set both by the same time service"),
        ("Client not found in Kerberos database (6)", f"does not know {NAVLIN}"),
        ("Pre-authentication information was invalid (24)", "export the keytab again"),
        ("KDC has no support for encryption type (14)", "no encryption type in common"),
        ("Clients credentials have been revoked (18)", "locked or expired"),
        ("Cannot locate KDC", "does not say where the realm's KDC is"),
        ("Receive timed out", "no KDC answers"),
        ("something new", f"Kerberos as {NAVLIN} for hive/h failed: something new"),
    ],
)
def test_javas_messages_are_translated(said: str, meant: str) -> None:
    assert meant in in_words(said, NAVLIN, "/etc/navlin.keytab", "hive/h")


def test_a_killed_child_is_replaced(hms: HiveMetastore) -> None:
    login: Login = hms._address.login
    list(hms.check())
    pid = kerberos(login).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    assert len(list(hms.check())) == 2
    assert kerberos(login).pid != pid


def test_a_child_that_cannot_start_reports_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    complaint = "echo 'Could not reserve enough space for object heap' >&2; exit 3"
    monkeypatch.setattr(JavaProgram, "command", lambda *_, **__: ["sh", "-c", complaint])
    asked = Kerberos("", "")

    with pytest.raises(
        KerberosFailed, match=r"^Java's Kerberos ended with code 3: Could not reserve enough space"
    ):
        asked.ask(Login(), SERVICE, "spnego", "", "", "HTTP", "localhost")
