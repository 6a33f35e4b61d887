"""Fixtures shared by all tests: one real Solr for the whole session, services, and the corpora."""

from __future__ import annotations

import fcntl
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from navlin.index.admin.cores import CORES, create, missing
from navlin.index.solr.solr import Solr
from navlin.java import QUICK
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, EmbeddedSolrOptions
from tests.services.python_packages import EXPORT_READERS, Environment, NotInstalled, environment
from tests.services.solrcloud import solr_cloud
from tests.services.spark_jobs import write_logs
from tests.support.soaked import Soaked
from tests.tiers import TwoTiers, group_of, tier_of, turn_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.services.atlas import Atlas
    from tests.services.hadoop import Hadoop
    from tests.services.hdfs import Writer
    from tests.services.kerberos import Kdc
    from tests.services.ldap import LdapServer
    from tests.services.metastore import Metastore
    from tests.services.rest import JobHistory, ResourceManager
    from tests.services.versitygw import Versitygw
    from tests.support.chromium import Chromium
    from tests.support.console_estate import ConsoleEstate
    from tests.support.pipeline_estate import SmallEstate
    from tests.support.web import Web

# No deadline: durations mean nothing on a shared machine. Each run uses the same examples, so that only a change in the
# code makes a test fail. Tests marked soak vary the examples by seed.
settings.register_profile(
    "navlin", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("navlin")

REPOSITORY = Path(__file__).parents[1]
SOAKED = pytest.StashKey[Soaked]()
SOLR = EmbeddedSolrOptions(java_options=QUICK)
"""Without the optimizing compiler: in sessions of a few minutes it costs a quarter of the CPU time and saves less."""


# -- Tiers -------------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    soak = parser.getgroup("soak", "tests marked soak")
    soak.addoption("--seed", default="0", help="what chance begins from")
    soak.addoption("--from", type=int, default=1, dest="first", help="the round to begin with")
    soak.addoption(
        "--rounds", type=int, default=1, help="how many rounds there are; each has a seed of its own"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    option = config.option
    if option.rounds == 1:
        return None
    return f"seed {option.seed}, rounds {option.first} to {option.rounds}; go on with: make soak SEED={option.seed} FROM=…"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        option = metafunc.config.option
        rounds = range(option.first, option.rounds + 1)
        metafunc.parametrize("seed", [f"seed {option.seed} round {number:03d}" for number in rounds])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers = {item: _tier(item) for item in items}
    if hasattr(config, "workerinput"):
        of_files: dict[str, set[str]] = defaultdict(set)
        for item in items:
            of_files[item.path.name].update(_fixtures(item))

        def fixtures(item: pytest.Item) -> Collection[str]:
            return _fixtures(item) if tiers[item] == "test" else of_files[item.path.name]

        for item, tier in tiers.items():
            item.add_marker(pytest.mark.xdist_group(group_of(item.path.name, fixtures(item), tier)))
        items.sort(key=lambda item: turn_of(fixtures(item)))
    # Complete one round of all tests before the next round, so that a soak can resume where it was stopped.
    items.sort(key=_seed)


def _tier(item: pytest.Item) -> str:
    try:
        return tier_of([mark.name for mark in item.iter_markers()])
    except TwoTiers as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def _seed(item: pytest.Item) -> str:
    return str(item.callspec.params.get("seed", "")) if hasattr(item, "callspec") else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if soaked := config.stash.get(SOAKED, None):
        terminalreporter.section("soak")
        terminalreporter.write_line(str(soaked))


@pytest.fixture(scope="session")
def soaked(pytestconfig: pytest.Config) -> Soaked:
    return pytestconfig.stash.setdefault(SOAKED, Soaked())


def fetched(jar_set: str) -> Path:
    """The directory of a jar set; skips the test if it is missing."""
    jars = REPOSITORY / ".jars" / jar_set
    if not jars.is_dir():
        pytest.skip(f"the jars of {jar_set} are missing: `make jars` fetches them")
    return jars


@pytest.fixture(scope="session")
def solr_jars() -> Path:
    return fetched("solr")


@pytest.fixture(scope="session")
def solr_server(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path) -> Iterator[EmbeddedSolr]:
    """The session's embedded Solr. A test that stops it must start it again; its URL stays the same."""
    state = tmp_path_factory.mktemp("state")
    # The compiled launcher is reused by later sessions.
    launcher = solr_jars.parent / "solr-launcher"
    with EmbeddedSolr(state, solr_jars, CONF / "solr", settings=SOLR, cores=CORES, cache=launcher) as server:
        yield server


@pytest.fixture
def solr(solr_server: EmbeddedSolr) -> Iterator[Solr]:
    """The session's Solr, connected. Tests share it, so each uses its own sources and names."""
    with Solr(solr_server.start()) as connected:
        yield connected


@pytest.fixture(scope="session")
def web(solr_server: EmbeddedSolr, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A `navlin web` on the session's Solr."""
    from tests.support.web import running_web

    with running_web(solr_server.start(), tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture(scope="session")
def chromium(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A real browser, logged in as a viewer; skips the test if no browser is installed. A test that changes the window
    size, cookies or preferences must restore them.
    """
    from tests.support.chromium import started_chromium

    with started_chromium(tmp_path_factory.mktemp("downloads")) as started:
        started.size(1400, 900)
        started.log_in(web.url, "viewer")
        yield started


@pytest.fixture(scope="session")
def private_server(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path) -> Iterator[EmbeddedSolr]:
    """A Solr separate from `solr_server`, for tests that examine the whole index."""
    state, launcher = tmp_path_factory.mktemp("private"), solr_jars.parent / "solr-launcher"
    with EmbeddedSolr(state, solr_jars, CONF / "solr", settings=SOLR, cores=CORES, cache=launcher) as server:
        yield server


@pytest.fixture
def private_solr(private_server: EmbeddedSolr) -> Iterator[Solr]:
    """A client of `private_server`, whose index is emptied before each test."""
    with Solr(private_server.start()) as connected:
        for core in CORES:
            connected.client(core).delete(q="*:*")
            connected.commit(core, soft=True)
        yield connected


@pytest.fixture(scope="module")
def console(
    private_server: EmbeddedSolr, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleEstate]:
    """An estate in the private Solr that fills every page of the console, and a `navlin web` that serves it."""
    from tests.support.console_estate import console_estate

    with Solr(private_server.start()) as connected:
        for core in CORES:
            connected.client(core).delete(q="*:*")
            connected.commit(core, soft=True)
        with console_estate(connected, tmp_path_factory.mktemp("console")) as made:
            yield made


@pytest.fixture(scope="module")
def window_of_console(console: ConsoleEstate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A real browser, logged in to `console` as an administrator."""
    from tests.support.chromium import started_chromium

    with started_chromium(tmp_path_factory.mktemp("downloads")) as started:
        started.log_in(console.web.url, "chief")
        yield started


@pytest.fixture
def window(window_of_console: Chromium) -> Iterator[Chromium]:
    """The browser of `window_of_console`, reset to its initial state."""
    from tests.support.visits import DESK

    window_of_console.logged()
    window_of_console.size(*DESK)
    window_of_console.prefer(prefers_color_scheme="light")
    window_of_console.scripts(run=True)
    yield window_of_console


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path) -> Iterator[Solr]:
    """The session's SolrCloud with navlin's four collections, each split into two shards."""
    with solr_cloud(tmp_path_factory.mktemp("cloud"), solr_jars) as server, Solr(server.address) as connected:
        assert connected.cloud
        assert missing(connected) == CORES
        assert create(connected, CONF / "solr", shards=2) == CORES
        yield connected


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], SparkSession]]:
    """The session's Spark, started by the first call."""
    from navlin.pipeline.session import start_session
    from navlin.pipeline.spark_jvm import archive_in

    started: list[SparkSession] = []

    def session() -> SparkSession:
        if not started:
            archive = archive_in(REPOSITORY / ".jars" / "class-archives")
            started.append(start_session(tmp_path_factory.mktemp("scratch"), archive=archive))
            # Tasks run outside this checkout, so Spark must distribute the tests' extractors to them.
            archive = tmp_path_factory.mktemp("modules") / "tests.zip"
            with zipfile.ZipFile(archive, "w") as modules:
                name = "tests/support/scripted_extractors.py"
                modules.write(REPOSITORY / name, name)
            started[0].sparkContext.addPyFile(str(archive))
        return started[0]

    yield session
    for each in started:
        each.stop()


@pytest.fixture
def spark_of_commands(spark: Callable[[], SparkSession], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make commands that run in this process use the session's Spark and leave it running."""
    monkeypatch.setattr("navlin.pipeline.session.start_session", lambda *_, **__: spark())
    monkeypatch.setattr("navlin.pipeline.session.end_session", lambda *_, **__: None)


@pytest.fixture
def estate(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> SmallEstate:
    from tests.support.pipeline_estate import SmallEstate

    return SmallEstate(solr, spark, tmp_path)


@pytest.fixture(scope="session")
def metastore_jars() -> Path:
    """Jars that a Hive metastore needs in addition to PySpark's."""
    return fetched("hive-metastore")


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory, metastore_jars: Path) -> Iterator[Metastore]:
    """The session's Hive metastore, with a notification log. Tests share it, so each uses its own databases."""
    from tests.services.metastore import Metastore

    with Metastore(tmp_path_factory.mktemp("metastore"), metastore_jars) as running:
        yield running


@pytest.fixture(scope="session")
def later_metastore(
    tmp_path_factory: pytest.TempPathFactory, metastore_jars: Path, request: pytest.FixtureRequest
) -> Iterator[Metastore]:
    """A Hive metastore of the release in the test's parameter, with a notification log."""
    from tests.services.metastore import RELEASES, LaterMetastore

    release = RELEASES[request.param]
    jars = metastore_jars.with_name(release.jars)
    if not jars.is_dir():
        pytest.skip(f"the jars of Hive {release.version} are missing: `make test-services` fetches them")
    directory = tmp_path_factory.mktemp(f"metastore-{release.version}")
    with LaterMetastore(directory, jars, release) as running:
        yield running


def fetched_for_services(jar_set: str) -> Path:
    """Like `fetched`, for jar sets that only the service tests need."""
    jars = REPOSITORY / ".jars" / jar_set
    if not jars.is_dir():
        pytest.skip(f"the jars of {jar_set} are missing: `make test-services` fetches them")
    return jars


@pytest.fixture(scope="session")
def solr_8_jars() -> Path:
    """Jars of Solr 8, with its Kerberos plugin."""
    return fetched_for_services("solr-8")


@pytest.fixture(scope="session")
def mapreduce_jars() -> Path:
    """Jars of HDFS, YARN and a JobHistoryServer that run jobs of MapReduce."""
    return fetched_for_services("mapreduce")


@pytest.fixture(scope="session")
def sqoop_jars() -> Path:
    """Jars of Sqoop, of its dependencies other than Hadoop, and of HSQLDB."""
    return fetched_for_services("sqoop")


@pytest.fixture(scope="session")
def kdc_jars() -> Path:
    """Jars that a KDC needs in addition to PySpark's."""
    return fetched("kdc")


@pytest.fixture(scope="session")
def kdc(tmp_path_factory: pytest.TempPathFactory, kdc_jars: Path) -> Iterator[Kdc]:
    from tests.services.kerberos import Kdc

    with Kdc(tmp_path_factory.mktemp("kdc"), kdc_jars) as running:
        yield running


@pytest.fixture(scope="session")
def ldap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LdapServer]:
    """The session's LDAP directory. A test that closes it must open it again."""
    from tests.services.ldap import LdapServer

    with LdapServer(tmp_path_factory.mktemp("ldap"), fetched("ldap")) as running:
        yield running


@pytest.fixture(scope="session")
def kerberized(
    tmp_path_factory: pytest.TempPathFactory, metastore_jars: Path, kdc: Kdc
) -> Iterator[Metastore]:
    """The session's Hive metastore that requires Kerberos tickets and encrypts its traffic."""
    from tests.services.kerberos import kerberized_metastore

    directory = tmp_path_factory.mktemp("kerberized")
    with kerberized_metastore(directory, metastore_jars, kdc, protection="privacy") as running:
        yield running


@pytest.fixture(scope="session")
def hive_jars() -> Path:
    """Jars that Hive needs in addition to PySpark's to execute statements."""
    return fetched("hive")


@pytest.fixture(scope="session")
def hadoop_jars() -> Path:
    """Jars that HDFS and YARN need in addition to PySpark's."""
    return fetched("hadoop")


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory, hadoop_jars: Path) -> Iterator[Hadoop]:
    """The session's HDFS. Tests share it, so each uses its own directories. alice and carol are analysts; bob is not."""
    from tests.services.hadoop import Hadoop

    settings = {
        "hadoop.user.group.static.mapping.overrides": "alice=analysts;carol=analysts;bob=staff;dr.who=",
        # Small limits, so that a few files fill more than one page.
        "dfs.ls.limit": "100",
        "dfs.namenode.inotify.max.events.per.rpc": "100",
    }
    cache = hadoop_jars.parent / "hadoop-launcher"
    with Hadoop(tmp_path_factory.mktemp("hadoop"), hadoop_jars, cache=cache, settings=settings) as running:
        yield running


@pytest.fixture(scope="session")
def hdfs_writer(hdfs: Hadoop, hadoop_jars: Path) -> Iterator[Writer]:
    """A superuser's client for modifying the session's HDFS."""
    from tests.services.hdfs import Writer

    with Writer(hdfs, hadoop_jars.parent / "hadoop-launcher") as writer:
        yield writer


@pytest.fixture(scope="session")
def yarn(hdfs: Hadoop) -> Hadoop:
    """The session's HDFS, with YARN started as well."""
    hdfs.start_yarn()
    return hdfs


@pytest.fixture
def resource_manager() -> Iterator[ResourceManager]:
    """A fake ResourceManager; the test sets its contents."""
    from tests.services.rest import ResourceManager

    with ResourceManager() as service:
        yield service


@pytest.fixture
def history() -> Iterator[JobHistory]:
    """A fake JobHistoryServer; the test sets its contents."""
    from tests.services.rest import JobHistory

    with JobHistory() as service:
        yield service


@pytest.fixture
def versitygw(tmp_path: Path) -> Iterator[Versitygw]:
    """An empty versitygw, a real S3; skips the test if it cannot be built. The first build takes some 140 s of CPU time."""
    from tests.services.versitygw import NoVersitygw, built, running_versitygw

    try:
        program = built(REPOSITORY / ".jars")
    except NoVersitygw as why:
        pytest.skip(str(why))
    with running_versitygw(program, tmp_path / "versitygw") as running:
        yield running


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Directory of real files from other projects; skips the test if it is not next to the checkout."""
    folder = REPOSITORY.parent / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip("the corpora are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def export_readers() -> Environment:
    """Third-party readers of navlin's exports in a separate environment; skips the test if it cannot be installed."""
    try:
        return environment(REPOSITORY / ".jars", *EXPORT_READERS)
    except NotInstalled as why:
        pytest.skip(f"pip does not install {', '.join(EXPORT_READERS)}: {why}")


@pytest.fixture(scope="session")
def atlas(tmp_path_factory: pytest.TempPathFactory, corpora: Path) -> Iterator[Atlas]:
    """The session's Atlas with the current type definitions; skips the test if Atlas cannot run here. Tests share it,
    so each uses its own cluster name.
    """
    from tests.services.atlas import NoAtlas, running_atlas, unpack
    from tests.support import namespaces

    models, unpacked = corpora / "atlas-models", REPOSITORY / ".atlas"
    [war] = fetched_for_services("atlas").glob("*.war")
    if why := namespaces.refused():
        pytest.skip(f"this machine gives no network of one's own: {why}")
    try:
        unpack(war, unpacked)
        with running_atlas(unpacked, models, tmp_path_factory.mktemp("atlas")) as running:
            yield running
    except NoAtlas as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark_logs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Event logs of a real Spark job, see `tests.services.spark_jobs`. The job runs once for all test processes."""
    if worker_id == "master":
        folder = tmp_path_factory.mktemp("spark")
        write_logs(folder)
        return folder
    folder = tmp_path_factory.getbasetemp().parent / "spark-logs"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        whole = folder.with_suffix(".whole")
        if not whole.exists():
            # The folder cannot be renamed afterwards, because the logs contain its name.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write_logs(folder)
            whole.touch()
    return folder
