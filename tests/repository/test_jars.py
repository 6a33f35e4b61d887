"""Sets of jars: the real Ivy fetches them over a real socket from a small repository of the test."""

import base64
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench._referee_parts import PARTS
from navlin.solr_server.jars import SETS, SETTINGS, JarsNotFetched, fetch, progress_on
from navlin.solr_server.jars_repository import DEFAULT_REPOSITORY, JarsRepository
from tests.services.fetch_jars import renew_sums

ROOT = Path(__file__).parents[2]
ALPHA = b"the bytes of alpha"
BETA = b"the bytes of beta"
NO_JAVA = "a Java that nobody has"


@dataclass
class Repository:
    """A Maven repository on the loopback interface. `answers` maps a path to the bytes served; requests for paths in
    `silent` get no response. With a `login` (user:password), requests without it are refused.
    """

    url: str = ""
    answers: dict[str, bytes] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    login: str = ""

    def publish(self, name: str, revision: str, content: bytes) -> str:
        """Add an artifact, and return the path of its jar."""
        stem = f"/org/example/{name}/{revision}/{name}-{revision}"
        self.answers[f"{stem}.jar"] = content
        self.answers[f"{stem}.pom"] = (
            f"<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
            f"<artifactId>{name}</artifactId><version>{revision}</version></project>"
        ).encode()
        return f"{stem}.jar"

    def times_asked_for(self, path: str) -> int:
        return self.asked.count(f"GET {path}")


@pytest.fixture
def repository() -> Iterator[Repository]:
    served = Repository()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            expected = f"Basic {base64.b64encode(served.login.encode()).decode()}"
            if served.login and self.headers.get("Authorization") != expected:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="a realm that nobody told"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            served.asked.append(f"{self.command} {self.path}")
            if self.path in served.silent:
                served.over.wait(60)
                return
            content = served.answers.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            if content and self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    served.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield served
    served.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def sets(tmp_path: Path, repository: Repository) -> Path:
    """The directory of the jar set "pair", which consists of alpha and beta, with the checksums of the jars in the
    repository.
    """
    repository.publish("alpha", "1.0", ALPHA)
    repository.publish("beta", "2.1", BETA)
    directory = tmp_path / "sets"
    directory.mkdir()
    (directory / "ivysettings.xml").write_text(
        '<ivysettings><settings defaultResolver="own"/><timeout-constraints>'
        '<timeout-constraint name="impatient" connectionTimeout="2000" readTimeout="2000"/></timeout-constraints>'
        f'<resolvers><ibiblio name="own" m2compatible="true" root="{repository.url}"'
        ' timeoutConstraint="impatient"/></resolvers></ivysettings>'
    )
    (directory / "pair.xml").write_text(
        '<ivy-module version="2.0"><info organisation="test" module="pair"/>'
        '<dependencies defaultconf="default->default">'
        '<dependency org="org.example" name="alpha" rev="1.0"/>'
        '<dependency org="org.example" name="beta" rev="2.1"/></dependencies></ivy-module>'
    )
    (directory / "pair.sha256").write_text(
        f"{hashlib.sha256(ALPHA).hexdigest()}  alpha-1.0.jar\n{hashlib.sha256(BETA).hexdigest()}  beta-2.1.jar\n"
    )
    return directory


@dataclass
class Fetching:
    """Runs `fetch` for the jar set "pair". Records the reports, and the pauses instead of making them."""

    sets: Path
    into: Path
    reported: list[str] = field(default_factory=list)
    paused_s: list[float] = field(default_factory=list)
    at_pause: Callable[[], object] = bool
    repository: JarsRepository = DEFAULT_REPOSITORY

    def __call__(self, java: str = "java") -> list[Path]:
        def pause(pause_s: float) -> None:
            self.paused_s.append(pause_s)
            self.at_pause()

        return fetch(
            "pair",
            self.into,
            report=self.reported.append,
            java=java,
            repository=self.repository,
            sets=self.sets,
            pause=pause,
        )


@pytest.fixture
def fetching(sets: Path, tmp_path: Path) -> Fetching:
    return Fetching(sets, tmp_path / "some [jars] (here)" / "pair")


def content_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_set_is_fetched_completely_and_a_second_run_starts_no_java(
    fetching: Fetching, repository: Repository
) -> None:
    jars = fetching()
    assert [jar.name for jar in jars] == ["alpha-1.0.jar", "beta-2.1.jar"]
    assert content_of(fetching.into) == {"alpha-1.0.jar": ALPHA, "beta-2.1.jar": BETA}
    assert fetching.reported[-1] == "pair: 2 of 2 jars, 0.0 MB, checksums verified"

    fetching.reported.clear()
    repository.asked.clear()
    assert fetching(java=NO_JAVA) == jars
    assert (fetching.reported, repository.asked) == ([], [])


def test_a_jar_with_another_checksum_is_named_with_both_and_nothing_kept(
    fetching: Fetching, repository: Repository
) -> None:
    repository.publish("beta", "2.1", b"something else")
    with pytest.raises(JarsNotFetched) as refused:
        fetching()
    message = str(refused.value)
    for part in (
        "beta-2.1.jar",
        hashlib.sha256(BETA).hexdigest(),
        hashlib.sha256(b"something else").hexdigest(),
    ):
        assert part in message
    assert "alpha" not in message
    assert not fetching.into.exists()

    repository.publish("beta", "2.1", BETA)
    assert len(fetching()) == 2


def test_an_unlisted_jar_is_refused(fetching: Fetching) -> None:
    sums = fetching.sets / "pair.sha256"
    sums.write_text(sums.read_text().splitlines(keepends=True)[0])
    with pytest.raises(JarsNotFetched, match=r"beta-2\.1\.jar is not in the list"):
        fetching()


@pytest.mark.services
def test_a_damaged_missing_or_added_jar_is_repaired(fetching: Fetching) -> None:
    alpha, beta = fetching()
    alpha.write_bytes(ALPHA[:-1] + b"!")
    beta.rename(beta.with_name("beta-2.0.jar"))
    fetching()
    assert content_of(fetching.into) == {"alpha-1.0.jar": ALPHA, "beta-2.1.jar": BETA}


def test_a_jar_missing_in_the_repository_is_named_and_not_retried(
    fetching: Fetching, repository: Repository
) -> None:
    for path in [path for path in repository.answers if "beta" in path]:
        del repository.answers[path]
    with pytest.raises(JarsNotFetched, match=r"org\.example#beta;2\.1: not found"):
        fetching()
    assert fetching.paused_s == []


@pytest.mark.services
def test_an_unresponsive_repository_is_retried_after_a_pause(
    fetching: Fetching, repository: Repository
) -> None:
    alpha = repository.publish("alpha", "1.0", ALPHA)
    repository.silent.add(repository.publish("beta", "2.1", BETA))
    fetching.at_pause = repository.silent.clear
    assert len(fetching()) == 2
    assert fetching.paused_s == [5.0]
    assert "pair: the repository did not answer; trying again in 5 s" in fetching.reported
    assert repository.times_asked_for(alpha) == 1


@pytest.mark.services
def test_a_repository_that_never_answers_is_reported(fetching: Fetching, repository: Repository) -> None:
    repository.silent.add(repository.publish("beta", "2.1", BETA))
    with pytest.raises(
        JarsNotFetched,
        match=r"It says: Server access error at url .*beta-2\.1\.jar.*Read timed out.*run it again",
    ):
        fetching()
    assert fetching.paused_s == [5.0, 20.0]
    assert not fetching.into.exists()


@pytest.mark.services
def test_a_killed_fetch_leaves_nothing_partial_and_is_resumed(
    fetching: Fetching, repository: Repository
) -> None:
    alpha = repository.publish("alpha", "1.0", ALPHA)
    beta = repository.publish("beta", "2.1", BETA)
    repository.silent.add(beta)
    program = (
        "import sys, pathlib, navlin.solr_server.jars as jars\n"
        "jars.fetch('pair', pathlib.Path(sys.argv[1]), report=print, sets=pathlib.Path(sys.argv[2]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(fetching.into), str(fetching.sets)], cwd=ROOT
    ) as killed:
        wait_until(lambda: any(beta in line for line in repository.asked))
        killed.send_signal(signal.SIGKILL)
    assert not fetching.into.exists()

    repository.silent.clear()
    assert len(fetching()) == 2
    assert content_of(fetching.into) == {"alpha-1.0.jar": ALPHA, "beta-2.1.jar": BETA}
    assert repository.times_asked_for(alpha) == 1
    assert [path.name for path in fetching.into.parent.iterdir() if path.suffix != ".lock"] == ["pair"]


@pytest.mark.services
def test_only_one_of_two_concurrent_fetches_works(fetching: Fetching, repository: Repository) -> None:
    alpha = repository.publish("alpha", "1.0", ALPHA)
    other = Fetching(fetching.sets, fetching.into)
    threads = [threading.Thread(target=each) for each in (fetching, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content_of(fetching.into) == {"alpha-1.0.jar": ALPHA, "beta-2.1.jar": BETA}
    assert repository.times_asked_for(alpha) == 1
    assert "pair: another fetch is under way, waiting for it" in fetching.reported + other.reported


@pytest.mark.services
def test_a_mirror_is_asked_with_its_login_and_a_wrong_password_fetches_nothing(
    fetching: Fetching, repository: Repository
) -> None:
    shutil.copy(SETS / SETTINGS, fetching.sets / SETTINGS)
    repository.login = "bank:s3cret$ {env}"
    fetching.repository = JarsRepository(repository.url, "bank", "wrong")
    with pytest.raises(JarsNotFetched, match=r"org\.example#alpha;1\.0: not found") as refused:
        fetching()
    assert "wrong" not in str(refused.value)
    assert repository.asked == []

    fetching.repository = JarsRepository(repository.url.rstrip("/"), "bank", "s3cret$ {env}")
    assert len(fetching()) == 2
    assert content_of(fetching.into) == {"alpha-1.0.jar": ALPHA, "beta-2.1.jar": BETA}


@pytest.mark.services
def test_a_mirror_without_a_login_is_asked(fetching: Fetching, repository: Repository) -> None:
    shutil.copy(SETS / SETTINGS, fetching.sets / SETTINGS)
    fetching.repository = JarsRepository(repository.url)
    assert len(fetching()) == 2


def test_renewed_checksums_of_a_changed_set_are_accepted(fetching: Fetching, repository: Repository) -> None:
    repository.publish("beta", "2.2", b"beta, newer")
    pair = fetching.sets / "pair.xml"
    pair.write_text(pair.read_text().replace('rev="2.1"', 'rev="2.2"'))
    with pytest.raises(JarsNotFetched, match=r"beta-2\.1\.jar is missing; beta-2\.2\.jar is not in the list"):
        fetching()
    renew_sums("pair", fetching.into, report=print, sets=fetching.sets)
    assert [jar.name for jar in fetching(java=NO_JAVA)] == ["alpha-1.0.jar", "beta-2.2.jar"]


def test_a_directory_with_other_files_is_left_alone(fetching: Fetching) -> None:
    fetching.into.mkdir(parents=True)
    letter = fetching.into / "letter.txt"
    letter.write_text("dear")
    with pytest.raises(JarsNotFetched, match=r"letter\.txt, which is not a jar"):
        fetching()
    assert letter.read_text() == "dear"


def test_a_missing_java_is_reported_with_the_required_version(fetching: Fetching) -> None:
    with pytest.raises(
        JarsNotFetched, match=r"a Java that nobody has does not start .* Java 17 or newer is needed"
    ):
        fetching(java=NO_JAVA)


def test_an_unknown_set_is_reported_with_the_existing_ones(fetching: Fetching) -> None:
    with pytest.raises(JarsNotFetched, match="unknown set of jars 'trio'; known: pair"):
        fetch("trio", fetching.into, report=print, sets=fetching.sets)


def test_progress_uses_one_line_on_a_terminal() -> None:
    leader, follower = os.openpty()
    with os.fdopen(follower, "w") as terminal:
        with progress_on(terminal) as report:
            report("1 of 2")
            report("2 of 2")
        # A terminal may pass output on in any number of pieces.
        shown = b""
        while not shown.endswith(b"\n"):
            shown += os.read(leader, 1000)
    assert shown == b"\r\x1b[K1 of 2\r\x1b[K2 of 2\r\n"
    os.close(leader)


def test_progress_elsewhere_is_an_occasional_line_and_the_last(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as stream, progress_on(stream) as report:
        for done in range(100):
            report(f"{done} of 99")
    assert log.read_text() == "0 of 99\n99 of 99\n"


@pytest.mark.parametrize("jar_set", sorted(path.stem for path in SETS.glob("*.sha256")))
def test_the_checkouts_jars_have_their_recorded_checksums(jar_set: str) -> None:
    directory = ROOT / ".jars" / jar_set
    if jar_set in {part.jars for part in PARTS.values()} and not directory.exists():
        pytest.skip("these jars are fetched by the bench that needs them, and it has not run here")
    later = re.search(r"^LATER +:= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert later is not None
    if jar_set in later[1].split() and not directory.exists():
        pytest.skip("`make test-services` fetches these jars, and it has not run here")
    jars = fetch(jar_set, directory, report=print, java=NO_JAVA)
    assert all(jar.stat().st_size > 0 for jar in jars)


def test_the_command_reports_the_reason_and_fails(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    command = [sys.executable, "-m", "tests.services.fetch_jars", "solr", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("navlin: ")
    assert "letter.txt" in ended.stderr


def test_no_file_of_the_sets_names_a_host() -> None:
    for path in SETS.iterdir():
        without_namespaces = re.sub(r'xmlns:\w+="[^"]*"', "", path.read_text())
        assert "://" not in without_namespaces, path.name


def wait_until(reached: Callable[[], bool], within_s: float = 300) -> None:
    end_s = time.monotonic() + within_s
    while not reached():
        assert time.monotonic() < end_s
        time.sleep(0.05)
