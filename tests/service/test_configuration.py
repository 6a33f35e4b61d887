"""The configuration: accepted values, and errors that are all reported at once with their line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

from navlin.model.extractor import GIVEN, PULL, PUSH, Extractor, Registration
from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Split
from navlin.model.source import Estate, Source
from navlin.service.loader import load_extractors
from navlin.service.settings.configuration import (
    PATHS_OF_SOURCES,
    BadConfiguration,
    Configuration,
    SparkSettings,
    read_configuration,
)
from navlin.service.settings.toml_positions import line_of
from tests.support.shipped_extractors import SHIPPED


@dataclass(frozen=True, slots=True)
class Notes(Extractor):
    """An extractor with settings of every type."""

    source: Source
    estate: Estate
    directory: str
    patterns: tuple[str, ...] = ("*.log",)
    lines: int = 100
    share: float = 0.5
    follow: bool = False
    password: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.lines < 1:
            raise ValueError("lines must be at least 1")

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return (f"notes://{settings['directory']}",)

    def plan(self, positions: Positions) -> Plan:
        return Plan()

    def read(self, split: Split) -> Iterator[Record]:
        yield from ()


EXTRACTORS = {
    "notes": Registration("notes", "NOTES", PULL, 1, Notes),
    "note_events": Registration("note_events", "NOTES", PUSH, 1, Notes),
}

LEAST = '[navlin]\ncluster = "one"\n'
EXTERNAL = '[solr]\nurl = "http://solr/solr"\n'


def read(tmp_path: Path, text: str, environment: dict[str, str] | None = None) -> Configuration:
    file = tmp_path / "navlin.toml"
    file.write_text(text)
    return read_configuration(file, EXTRACTORS, environment or {})


def problems(tmp_path: Path, text: str, environment: dict[str, str] | None = None) -> list[tuple[int, str]]:
    with pytest.raises(BadConfiguration) as error:
        read(tmp_path, text, environment)
    return [(problem.line, problem.text) for problem in error.value.problems]


def test_only_the_cluster_name_is_required(tmp_path: Path) -> None:
    configuration = read(tmp_path, LEAST)

    assert configuration.navlin.cluster == "one"
    assert configuration.navlin.state_directory == Path("/var/lib/navlin")
    assert configuration.solr.embedded
    assert configuration.purge.before_days == 60
    assert configuration.sources == ()


def test_a_source_has_its_settings_interval_and_served_authorities(tmp_path: Path) -> None:
    configuration = read(
        tmp_path,
        LEAST
        + """
        [[source]]
        name = "N-1"
        extractor = "notes"
        directory = "/notes"
        patterns = ["*.a", "*.b"]
        share = 1
        serves = ["Notes://Elsewhere/"]

        [[source]]
        name = "N-2"
        extractor = "note_events"
        interval_s = 2
        directory = "/events"
        """,
    )

    pull, push = configuration.sources
    assert pull.settings() == {
        "directory": "/notes",
        "patterns": ("*.a", "*.b"),
        "lines": 100,
        "share": 1.0,
        "follow": False,
        "password": "",
    }
    assert pull.serves == ("notes://elsewhere", "notes:///notes")
    assert (pull.interval_s, push.interval_s) == (600, 2)


def test_all_errors_are_reported_at_once_with_their_lines(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """[navlin]
cluster = "one"
state_directry = "/x"

[solr]
port = "any"
user = "me"

[slor]
x = 1

[[source]]
name = "N-1"
extractor = "notes"
directory = "/a"
patterns = [
    "*.a",
    3,
]

[[source]]
name = "N-1"
extractor = "notes"
directory = "/b"
lines = 0

[[source]]
name = "N-3"
extractor = "note_evnts"

[[source]]
extractor = "notes"

[[source]]
name = "N-5"
extractor = "notes"
directory = "/c"
interval_s = -1
""",
    )

    assert found == [
        (3, '[navlin] unknown setting "state_directry"; did you mean "state_directory"?'),
        (6, "[solr] port must be a whole number, not text"),
        (9, 'unknown section "slor"; did you mean "solr"?'),
        (16, "[[source]] patterns must be an array of text, not an array of other values"),
        (21, "[[source]] lines must be at least 1"),
        (22, '[[source]] duplicate source "N-1"; each source needs a name of its own'),
        (
            29,
            '[[source]] unknown extractor "note_evnts"; did you mean "note_events"?'
            " (known: note_events, notes)",
        ),
        (31, "[[source]] name is missing"),
        (31, "[[source]] directory is missing"),
        (38, "[[source]] interval_s must be more than 0"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[navlin]\ncluster = \n", 2, "Invalid value"),
        ('[navlin]\ncluster = "a"\ncluster = "b"\n', 3, "Cannot overwrite a value"),
        (LEAST + '[solr]\nurl = "solr:8983"\n', 4, "[solr] url must begin with http:// or https://"),
        (LEAST + '[solr]\nurl = "http://me:pw@solr/solr"\n', 4, "[solr] url must not contain a password"),
        (LEAST + "[solr]\nshards = 2\n", 4, "[solr] shards is for a Solr of your own"),
        (LEAST + '[solr]\nauth = "kerberos"\n', 4, "[solr] auth is for a Solr of your own"),
        (
            LEAST + EXTERNAL + 'keytab = "k"\nprincipal = "p"\n',
            5,
            '[solr] keytab is for Kerberos: it cannot be combined with auth = "password"',
        ),
        (
            LEAST + EXTERNAL + 'auth = "kerberos"\nuser = "u"\n',
            6,
            '[solr] user is for a password: it cannot be combined with auth = "kerberos"',
        ),
        (
            LEAST + EXTERNAL + 'auth = "kerberos"\nkeytab = "k"\n',
            6,
            "[solr] keytab needs a principal",
        ),
        (
            LEAST + '[solr]\nurl = "http://solr/solr"\nmemory = "512m"\n',
            5,
            "[solr] memory is for the embedded",
        ),
        (
            LEAST + '[solr]\njars_repository = "https://u:p@maven.example/central"\n',
            4,
            "[solr] jars_repository must not contain a password: set jars_repository_user",
        ),
        (
            LEAST + '[solr]\njars_repository = "maven.example"\n',
            4,
            "[solr] jars_repository must be like https://maven.example/repository/central, but is 'maven.example'",
        ),
        (
            LEAST + '[solr]\njars_repository_user = "u"\n',
            4,
            "[solr] jars_repository_user needs jars_repository",
        ),
        (
            LEAST + EXTERNAL + 'jars_repository = "https://maven.example/"\n',
            5,
            "[solr] jars_repository is for the embedded Solr",
        ),
        (LEAST + '[solr]\nmemory = "plenty"\n', 4, "[solr] memory must be a size"),
        (LEAST + "[solr]\nport = 70000\n", 4, "[solr] port must be from 0"),
        (LEAST + '[spark]\ndriver_memory = "much"\n', 4, "[spark] driver_memory must be a size"),
        (LEAST + '[spark.conf]\n"park.x" = "1"\n', 3, '[spark] "park.x" is not a setting of Spark'),
        (LEAST + '[spark.conf]\n"spark.master" = "yarn"\n', 3, '[spark] "spark.master" cannot be set here'),
        (
            LEAST + '[spark.conf]\nspark.authenticate.secret = "x"\n',
            3,
            '[spark] "spark.authenticate.secret" cannot be set: Spark always requires a secret',
        ),
        (LEAST + '[spark.conf]\nspark.remote = "sc://h"\n', 3, '[spark] "spark.remote" cannot be set here'),
        (LEAST + '[purge]\nat = "25:00"\n', 4, "[purge] at must be a time of day"),
        (LEAST + '[log]\nformat = "xml"\n', 4, '[log] format must be one of "json", "console"'),
        (LEAST + "[log]\nlevel = true\n", 4, '[log] level must be one of "debug"'),
        ("navlin = 3\n", 1, "[navlin] must be a section"),
        (LEAST + "[source]\nname = 1\n", 3, "[[source]] each source needs a section of its own"),
        ("", 1, "[navlin] cluster is missing"),
        ('[navlin]\ncluster = "${NOWHERE}"\n', 2, "[navlin] the environment variable NOWHERE is not set"),
    ],
)
def test_an_error_is_reported_at_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    found = problems(tmp_path, text)

    assert (found[0][0], found[0][1][: len(words)]) == (line, words)


MASTERS = {
    "local": True,
    "local[2]": True,
    "local[*]": True,
    "local[*,4]": True,
    "local[2,3]": True,
    "local[2, 3]": True,
    "local[0]": False,
    "local[2,0]": False,
    "local[-1]": False,
    "local[]": False,
    "local[two]": False,
    "local[2": False,
    "local[2,3,4]": False,
    "local-cluster[1,1,1024]": False,
    "localhost": False,
    "Local": False,
    "yarn-client": False,
    "spark://h:7077": False,
    "spark://h1:7077,h2:7077": False,
    "k8s://https://h": False,
    "mesos://h:5050": False,
    "": False,
    " local": False,
    "local\\n": False,
    "garbage": False,
}
"""Spark masters, valid and invalid, except "yarn" → whether navlin accepts them. Includes forms that Spark no longer
has.
"""


@pytest.mark.parametrize(("master", "taken"), MASTERS.items(), ids=lambda each: repr(each))
def test_spark_runs_locally_or_on_yarn_and_nothing_else(tmp_path: Path, master: str, *, taken: bool) -> None:
    text = f'{LEAST}[spark]\ndriver_memory = "2g"\nmaster = "{master}"\n'
    if taken:
        assert read(tmp_path, text).spark.master == master
        return

    assert problems(tmp_path, text) == [
        (
            5,
            '[spark] master must be "yarn", or local as in "local[*,4]" (all cores, four attempts a task) or "local[2]"',
        )
    ]


SPARK_ON: Mapping[str, tuple[str, bool, bool]] = {
    "master": ('"yarn"', True, True),
    "driver_memory": ('"2g"', True, True),
    "hadoop_configuration_directory": ('"/etc/hadoop/conf"', False, True),
    "executor_python": ('"/opt/python/bin/python3"', False, True),
    "principal": ('"navlin@EXAMPLE.ORG"', False, True),
    "keytab": ('"/etc/navlin.keytab"', False, True),
    "conf": ('{"spark.sql.shuffle.partitions" = "8"}', True, True),
}
"""Every setting of [spark] → (a value, whether it has an effect locally, whether it has an effect on YARN)."""


def test_every_spark_setting_is_accepted_only_for_its_master(tmp_path: Path) -> None:
    assert list(SPARK_ON) == [item.name for item in fields(SparkSettings)]
    own_solr = LEAST + '[solr]\nurl = "http://solr/solr"\n[spark]\n'
    on_yarn = [f"{name} = {value}" for name, (value, _, yarn) in SPARK_ON.items() if yarn]
    here = [
        f"{name} = {value}".replace("yarn", "local") for name, (value, here, _) in SPARK_ON.items() if here
    ]

    assert read(tmp_path, own_solr + "\n".join(on_yarn)).spark.on_yarn
    assert not read(tmp_path, own_solr + "\n".join(here)).spark.on_yarn
    everything = [line.replace("yarn", "local") for line in on_yarn]
    assert {words for _, words in problems(tmp_path, own_solr + "\n".join(everything))} == {
        f'[spark] {name} is for YARN: it needs master = "yarn"'
        for name, (_, here, _) in SPARK_ON.items()
        if not here
    }


YARN = '[spark]\nmaster = "yarn"\n'
HADOOP = 'hadoop_configuration_directory = "/etc/hadoop/conf"\n'
OWN_SOLR = '[solr]\nurl = "http://solr/solr"\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            YARN + HADOOP,
            4,
            '[spark] master = "yarn" needs a url in [solr]: executors on other machines write to the index',
        ),
        (YARN + OWN_SOLR, 4, '[spark] master = "yarn" needs hadoop_configuration_directory'),
        (
            YARN + HADOOP + OWN_SOLR + 'auth = "kerberos"\n',
            4,
            '[spark] master = "yarn" cannot be combined with auth = "kerberos" of [solr], because executors have no keytab',
        ),
        (YARN + HADOOP + 'principal = "a@B"\n' + OWN_SOLR, 6, "[spark] principal needs a keytab as well"),
        (YARN + HADOOP + 'keytab = "/a"\n' + OWN_SOLR, 6, "[spark] keytab needs a principal"),
        (
            YARN + HADOOP + 'executor_python = "python3"\n' + OWN_SOLR,
            6,
            "[spark] executor_python must be a path",
        ),
    ],
)
def test_missing_settings_of_spark_on_yarn_are_named(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    found = problems(tmp_path, LEAST + text)

    assert [(each[0], each[1][: len(words)]) for each in found] == [(line, words)]


def test_two_sources_cannot_serve_one_authority(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        LEAST
        + """
[[source]]
name = "N-1"
extractor = "notes"
directory = "/same"
[[source]]
name = "N-2"
extractor = "notes"
directory = "/same"
""",
    )

    assert found == [(8, '[[source]] notes:///same is already served by the source "N-1"')]


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="the file does not exist: name one with --config"):
        read_configuration(tmp_path / "none.toml", EXTRACTORS, {})


def test_an_error_does_not_repeat_the_value(tmp_path: Path) -> None:
    found = problems(
        tmp_path, LEAST + '[[source]]\nname = "N"\nextractor = "notes"\ndirectory = "/"\nlines = "hunter2"\n'
    )

    assert "hunter2" not in str(found)


def test_environment_variables_are_substituted_in_any_value(tmp_path: Path) -> None:
    configuration = read(
        tmp_path,
        LEAST
        + '[solr]\nurl = "https://solr/solr"\npassword_file = "${CREDENTIALS_DIRECTORY}/solr"\n'
        + '[[source]]\nname = "N"\nextractor = "notes"\ndirectory = "/"\npatterns = ["${ONE}.log"]\npassword = "${ONE}"\n',
        {"CREDENTIALS_DIRECTORY": "/run/c", "ONE": "first"},
    )

    assert configuration.solr.password_file == Path("/run/c/solr")
    assert configuration.sources[0].settings()["patterns"] == ("first.log",)


def test_a_secret_is_in_no_representation(tmp_path: Path) -> None:
    configuration = read(
        tmp_path,
        LEAST + '[[source]]\nname = "N"\nextractor = "notes"\ndirectory = "/"\npassword = "${PW}"\n',
        {"PW": "hunter2"},
    )

    assert configuration.sources[0].settings()["password"] == "hunter2"
    assert "hunter2" not in repr(configuration)


def test_relative_paths_are_resolved_from_the_file(tmp_path: Path) -> None:
    configuration = read(tmp_path, '[navlin]\ncluster = "one"\nstate_directory = "state"\n')

    assert configuration.navlin.state_directory == tmp_path / "state"


def test_relative_paths_of_a_source_are_resolved_from_the_file(tmp_path: Path) -> None:
    text = """
[[source]]
name = "A"
extractor = "impala_events"
directory = ["impala", "/var/log/impala", "odd größe"]
[[source]]
name = "B"
extractor = "spark_events"
directory = "hdfs://ns1/spark"
hadoop_configuration_directory = "conf"
namenodes = []
[[source]]
name = "C"
extractor = "hms"
uris = ["thrift://h:9083"]
tls = true
ca_file = "ca.pem"
"""
    file = tmp_path / "navlin.toml"
    file.write_text(LEAST + text, encoding="utf-8")
    one, two, three = (
        source.settings() for source in read_configuration(file, load_extractors(), {}).sources
    )

    assert one["directory"] == (f"{tmp_path}/impala", "/var/log/impala", f"{tmp_path}/odd größe")
    assert (two["directory"], two["hadoop_configuration_directory"]) == (
        "hdfs://ns1/spark",
        f"{tmp_path}/conf",
    )
    assert three["ca_file"] == f"{tmp_path}/ca.pem"


def test_a_text_setting_of_an_extractor_whose_name_is_of_a_path_is_one() -> None:
    texts = {
        item.name
        for registration in SHIPPED.values()
        for item in fields(registration.make)
        if item.name not in GIVEN and str(item.type).startswith("str")
    }
    assert {name for name in texts if re.search(r"(directory|_file|keytab|_conf)$", name)} == PATHS_OF_SOURCES


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "navlin.toml"
    file.write_bytes(b"\xef\xbb\xbf" + LEAST.encode())
    assert read_configuration(file, EXTRACTORS, {}).navlin.cluster == "one"

    file.write_bytes(b"\xef\xbb\xbf" + LEAST.encode() + b"wrong = 1\n")
    with pytest.raises(BadConfiguration) as error:
        read_configuration(file, EXTRACTORS, {})
    assert [problem.line for problem in error.value.problems] == [3]


@pytest.mark.parametrize(
    ("content", "line", "byte"),
    [
        (LEAST.encode() + "# Prüfung\n".encode("latin-1"), 3, "0xfc"),
        (LEAST.encode("utf-16"), 1, "0xff"),
    ],
    ids=["latin-1", "UTF-16"],
)
def test_a_file_that_is_not_utf_8_names_its_line(
    tmp_path: Path, content: bytes, line: int, byte: str
) -> None:
    file = tmp_path / "navlin.toml"
    file.write_bytes(content)
    with pytest.raises(BadConfiguration) as error:
        read_configuration(file, EXTRACTORS, {})
    assert str(error.value) == f"{file}:{line}: byte {byte} is not valid UTF-8: save the file as UTF-8"


def test_spark_settings_may_be_quoted_or_not(tmp_path: Path) -> None:
    configuration = read(
        tmp_path, LEAST + '[spark.conf]\n"spark.a.b" = "x"\nspark.c.d = true\nspark.c.e = 5\n'
    )

    assert configuration.spark.conf == {"spark.a.b": "x", "spark.c.d": "true", "spark.c.e": "5"}


TOML = '''# a comment
[a]
b = """
c = 1
"""
d = [
  1,
  2, # two
]
"e f" = { g = 1 }

[[h]]
i = 1
[[h]]
# another
i = 2
j.k = 3
[h.l]
m = 4
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("a", "b"), 3),
        (("a", "c"), 2),
        (("a", "d"), 6),
        (("a", "e f", "g"), 10),
        (("h", 0, "i"), 13),
        (("h", 1), 14),
        (("h", 1, "i"), 16),
        (("h", 1, "j", "k"), 17),
        (("h", 1, "l", "m"), 19),
        (("h", 1, "nothing"), 14),
        (("nothing",), 1),
    ],
)
def test_the_line_of_a_key_is_found(path: tuple[str | int, ...], line: int) -> None:
    assert line_of(TOML, path) == line
