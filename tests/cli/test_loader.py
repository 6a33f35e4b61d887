"""Identities of configured sources, and the sources to which claims are assigned, stay the same after every restart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from navlin.cli.invocation import Exit
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.schema.fields import ELEMENTS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import placeholder_envelopes, source_envelope
from navlin.index.write.writing import Outcome, write
from navlin.model.extractor import PUSH
from navlin.model.keys import table_key
from navlin.model.source import HIVE, source_id
from navlin.service.loader import ConfiguredSources, SharedIdentity, load, load_extractors
from navlin.service.settings.configuration import read_configuration
from tests.support.shipped_extractors import SHIPPED, required_settings

ROOT = Path(__file__).parents[2]
CLUSTER = "loader"


def configured_sources(
    tmp_path: Path, sources: dict[str, str], known: tuple[KnownSource, ...] = ()
) -> ConfiguredSources:
    """Load a configuration of metastores. ``sources`` maps the name of each to its host."""
    file = tmp_path / "navlin.toml"
    tables = [
        f'[[source]]\nname = "{name}"\nextractor = "hms"\nuris = ["thrift://{host}:9083"]\n'
        for name, host in sources.items()
    ]
    file.write_text(f'[navlin]\ncluster = "{CLUSTER}"\n' + "".join(tables))
    return load(read_configuration(file, load_extractors(), {}), known)


def known(name: str, *serves: str, granted: bool = False, identity: str = "") -> KnownSource:
    return KnownSource(identity or source_id(CLUSTER, name), HIVE, name, CLUSTER, serves, granted)


def test_every_module_of_the_package_registers_itself() -> None:
    assert {"hms", "impala_events", "spark_events"} <= set(load_extractors())


def test_a_new_source_has_navigators_id(tmp_path: Path) -> None:
    loaded = configured_sources(tmp_path, {"HIVE-1": "a"}).named("HIVE-1")

    assert loaded is not None
    assert loaded.source.id == source_id(CLUSTER, "HIVE-1")
    assert loaded.source.serves == ("thrift://a:9083",)
    assert loaded.extractor.estate.serving(HIVE, "thrift://a:9083") == loaded.source


def test_a_source_of_followed_files_serves_no_claim(tmp_path: Path) -> None:
    file = tmp_path / "navlin.toml"
    hiveserver2 = f'[[source]]\nname = "HIVESERVER2-1"\nextractor = "hive_events"\ndirectory = "{tmp_path}"\n'
    hms = '[[source]]\nname = "HIVE-1"\nextractor = "hms"\nuris = ["thrift://a:9083"]\n'

    def serving(*sources: str) -> tuple[str, bool]:
        file.write_text(f'[navlin]\ncluster = "{CLUSTER}"\n' + "".join(sources))
        source = load(read_configuration(file, load_extractors(), {}), ()).estate.serving(HIVE)
        return source.name, source.configured

    assert serving(hiveserver2, hms) == ("HIVE-1", True)
    assert serving(hiveserver2) == ("hive", False)


@pytest.mark.parametrize(
    "authority", ["thrift://a:9083", ""], ids=["by its address", "as the only metastore"]
)
def test_a_source_takes_over_the_granted_one_in_its_place(tmp_path: Path, authority: str) -> None:
    granted = known("whatever", authority, granted=True)

    first = configured_sources(tmp_path, {"HIVE-1": "a"}, (granted,))
    # The first run has replaced the SOURCE document that navlin had granted with its own.
    written = known("HIVE-1", "thrift://a:9083", identity=granted.id)
    later = configured_sources(tmp_path, {"HIVE-1": "a"}, (written,))

    assert [each.estate.sources[0].id for each in (first, later)] == [granted.id, granted.id]
    assert later.estate.serving(HIVE).id == granted.id


def test_with_two_metastores_none_takes_over_claims_without_address(tmp_path: Path) -> None:
    granted = known("hive", "", granted=True)

    estate = configured_sources(tmp_path, {"HIVE-1": "a", "HIVE-2": "b"}, (granted,)).estate

    assert granted.id not in [source.id for source in estate.sources]
    assert estate.serving(HIVE).id == granted.id


def test_a_second_metastore_does_not_inherit_the_firsts_claims_without_address(tmp_path: Path) -> None:
    # HIVE-1 once took over the identity that was granted for claims without an address.
    first = known("HIVE-1", "thrift://a:9083", identity=source_id(CLUSTER, "hive"))

    estate = configured_sources(tmp_path, {"HIVE-1": "a", "HIVE-2": "b"}, (first,)).estate

    assert estate.sources[0].id == first.id
    assert estate.serving(HIVE).id not in [source.id for source in estate.sources]


def test_a_renamed_source_keeps_its_identity(tmp_path: Path) -> None:
    before = known("HIVE-1", "thrift://a:9083")

    assert configured_sources(tmp_path, {"HIVE-PROD": "a"}, (before,)).estate.sources[0].id == before.id


def test_a_source_moved_to_another_host_keeps_its_identity(tmp_path: Path) -> None:
    before = known("HIVE-1", "thrift://a:9083")

    assert configured_sources(tmp_path, {"HIVE-1": "b"}, (before,)).estate.sources[0].id == before.id


def test_a_new_source_on_a_vacated_host_has_a_new_identity(tmp_path: Path) -> None:
    before = known("HIVE-1", "thrift://a:9083")

    estate = configured_sources(tmp_path, {"HIVE-2": "a", "HIVE-1": "b"}, (before,)).estate

    assert [source.id for source in estate.sources] == [source_id(CLUSTER, "HIVE-2"), before.id]


def test_sources_that_swap_hosts_keep_their_identities_by_name(tmp_path: Path) -> None:
    before = (known("HIVE-1", "thrift://a:9083"), known("HIVE-2", "thrift://b:9083"))

    estate = configured_sources(tmp_path, {"HIVE-2": "a", "HIVE-1": "b"}, before).estate

    assert [source.id for source in estate.sources] == [before[1].id, before[0].id]


def test_claims_on_a_removed_source_keep_its_identity(tmp_path: Path) -> None:
    before = known("HIVE-1", "thrift://a:9083")

    estate = configured_sources(tmp_path, {}, (before,)).estate

    assert estate.serving(HIVE, "thrift://a:9083").id == before.id
    assert estate.serving(HIVE).id == before.id
    assert not estate.serving(HIVE).configured


def test_a_source_of_another_cluster_is_a_different_one(tmp_path: Path) -> None:
    elsewhere = KnownSource("0" * 32, HIVE, "HIVE-1", "elsewhere", ("thrift://a:9083",), placeholder=False)

    assert configured_sources(tmp_path, {"HIVE-1": "a"}, (elsewhere,)).estate.sources[0].id == source_id(
        CLUSTER, "HIVE-1"
    )


def test_two_sources_never_share_an_identity(tmp_path: Path) -> None:
    # HIVE-1 has taken over the identity granted for the name "thrift", so a source named "thrift" would have the same
    # identity.
    first = known("HIVE-1", "thrift://a:9083", identity=source_id(CLUSTER, "thrift"))

    with pytest.raises(SharedIdentity, match='give "thrift" another name'):
        configured_sources(tmp_path, {"HIVE-1": "a", "thrift": "b"}, (first,))


EXTRACTOR = """
from dataclasses import dataclass

from navlin.model.extractor import PULL, Extractor, extractor
from navlin.model.plan import Plan
from navlin.model.source import Estate, Source


@extractor("{name}", source_type="ACME", mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Acme{base}:
    source: Source
    estate: Estate
    url: str

    def plan(self, positions):
        return Plan()

    def read(self, split):
        yield from ()
"""
PACKAGE = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-navlin"
version = "1.2"

[project.entry-points."navlin.extractors"]
acme = "acme_navlin"

[tool.hatch.build.targets.wheel]
include = ["acme_navlin.py"]
"""


def installed(tmp_path: Path, module: str) -> dict[str, str]:
    """Install a package with this module, and return the environment of a process that sees it next to navlin."""
    package, target = tmp_path / "package", tmp_path / "site"
    package.mkdir()
    (package / "pyproject.toml").write_text(PACKAGE)
    (package / "acme_navlin.py").write_text(module)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*pip, "--target", str(target), str(package)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), str(ROOT)])}


def asked(tmp_path: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `navlin status` with a source of the installed package and no reachable Solr."""
    file = tmp_path / "navlin.toml"
    file.write_text(
        f'[navlin]\ncluster = "{CLUSTER}"\nstate_directory = "{tmp_path}"\n[solr]\nurl = "http://127.0.0.1:1/solr"\n'
        '[[source]]\nname = "ACME-1"\nextractor = "acme"\nurl = "http://acme"\n'
    )
    command = [sys.executable, "-m", "navlin", "--config", str(file), "status"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)


def test_a_package_may_provide_an_extractor(tmp_path: Path) -> None:
    environment = installed(tmp_path, EXTRACTOR.format(name="acme", base="(Extractor)"))

    assert (
        "127.0.0.1:1" in asked(tmp_path, environment).stderr
    )  # The configuration was accepted; only Solr is missing
    without = {**environment, "PYTHONPATH": str(ROOT)}
    assert 'unknown extractor "acme"' in asked(tmp_path, without).stderr


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        pytest.param(
            "import acme_client",
            "ModuleNotFoundError: No module named 'acme_client'",
            marks=pytest.mark.services,
        ),
        pytest.param(
            EXTRACTOR.format(name="hms", base="(Extractor)"),
            'the extractor "hms" of acme_navlin.Acme has the same name',
            marks=pytest.mark.services,
        ),
        (EXTRACTOR.format(name="acme", base=""), "acme_navlin.Acme must be a subclass of"),
    ],
    ids=["that cannot be imported", "with the name of another", "that is none"],
)
def test_an_invalid_extractor_of_a_package_is_refused_with_the_reason(
    tmp_path: Path, module: str, reason: str
) -> None:
    refused = asked(tmp_path, installed(tmp_path, module))

    assert refused.returncode == Exit.FAILED
    assert refused.stderr.startswith(
        'navlin: the extractor "acme" of the package acme-navlin 1.2 cannot be loaded: '
    )
    assert reason in refused.stderr


@pytest.mark.parametrize("kind", SHIPPED)
def test_only_the_metastores_source_is_navigators_template(tmp_path: Path, kind: str) -> None:
    settings = required_settings(kind)
    if SHIPPED[kind].mode is PUSH:
        settings["directory"] = str(tmp_path)
    own = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    file = tmp_path / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "{CLUSTER}"\n[[source]]\nname = "S"\nextractor = "{kind}"\n{own}\n')
    estate = load(read_configuration(file, load_extractors(), {}), ()).estate
    (source,) = estate.sources

    assert source_envelope(source, 1).fields().get("sourceTemplate") == (True if kind == "hms" else None)
    # If all sources are engines, the metastore that their files name is a granted source.
    granted = placeholder_envelopes(table_key(estate.serving(HIVE), "db", "t"), 1)
    of_sources = [each.fields() for each in granted if each.fields()["type"] == "SOURCE"]
    assert [each["sourceTemplate"] for each in of_sources] == [True]


def test_the_index_knows_granted_and_configured_sources(tmp_path: Path, solr: Solr) -> None:
    estate = configured_sources(tmp_path, {}).estate
    claimed = table_key(estate.serving(HIVE, "thrift://granted:9083"), "db", "t")
    envelopes = [each for each in placeholder_envelopes(claimed, 1) if each.core == ELEMENTS]
    stamp = Stamp("loader##1", 1)
    list(write(solr, ELEMENTS, [(each, Outcome.NEW) for each in envelopes], stamp))
    solr.commit(ELEMENTS, soft=True)

    [granted] = [each for each in known_sources(solr) if each.name == "thrift://granted:9083"]
    taken = configured_sources(tmp_path, {"HIVE-G": "granted"}, (granted,)).estate.sources[0]
    assert granted.placeholder
    assert taken.id == granted.id == claimed.source.id
    assert envelopes[0].placeholder

    list(write(solr, ELEMENTS, [(source_envelope(taken, 2), Outcome.CHANGED)], stamp))
    solr.commit(ELEMENTS, soft=True)
    [configured] = [each for each in known_sources(solr) if each.id == granted.id]
    assert (configured.name, configured.serves, configured.placeholder) == (
        "HIVE-G",
        ("thrift://granted:9083",),
        False,
    )
