"""A Solr that navlin does not start itself: a SolrCloud with two shards, a single server, and a server with TLS."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from navlin.index.admin import cores
from navlin.index.admin.cores import CONFIGSET, CORES
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrError
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.certificates import certificate
from tests.support.solr_proxy import SolrProxy


@pytest.mark.services
def test_collections_are_created_once_and_keep_their_documents(cloud: Solr) -> None:
    cloud.add(RUNS, [{"identity": "kept"}])
    assert cores.create(cloud, CONF / "solr", shards=2) == ()
    assert cores.missing(cloud) == ()
    assert cloud.get(RUNS, ["kept"], "identity") == [{"identity": "kept"}]
    assert len(cloud.shards(RUNS)) == 2


@pytest.mark.services
def test_two_shards_behave_like_one(cloud: Solr) -> None:
    cloud.client(ELEMENTS).delete(q="*:*")
    documents = [
        {"identity": f"c{n:05d}", "type": "TABLE", "asOf": n, "treePath": f"/db{n % 7}/t{n}"}
        for n in range(5_000)
    ]
    assert len(cloud.add(ELEMENTS, documents).applied) == 5_000
    ids = [f"c{n:05d}" for n in range(0, 5_000, 3)]
    assert {document["identity"] for document in cloud.get(ELEMENTS, ids, "identity")} == set(ids)
    cloud.commit(ELEMENTS, soft=True)
    assert cloud.count(ELEMENTS, "identity:c*") == 5_000
    assert cloud.count(ELEMENTS, r"treePath:\/db3\/*") == 714
    paged = [document["identity"] for document in cloud.cursor(ELEMENTS, "identity:c*", "identity", rows=700)]
    assert paged == [document["identity"] for document in documents]
    by_shard = [
        {
            document["identity"]
            for document in cloud.export(ELEMENTS, "identity:c*", "identity", shards=[shard])
        }
        for shard in cloud.shards(ELEMENTS)
    ]
    assert all(len(found) > 1_000 for found in by_shard), "both shards hold a fair part"
    assert len(by_shard[0] | by_shard[1]) == len(by_shard[0]) + len(by_shard[1]) == 5_000
    some = cloud.export(ELEMENTS, "*:*", "identity,asOf", first="c01000", before="c02000")
    assert sorted(document["asOf"] for document in some) == list(range(1_000, 2_000))


@pytest.mark.services
def test_two_shards_report_each_conflict_and_each_refusal(cloud: Solr) -> None:
    cloud.add(RELATIONS, [{"identity": f"r{n}"} for n in range(0, 700, 7)])
    mixed = [
        {"identity": f"r{n}", "rule": "x", **({"_version_": -1} if n % 7 == 0 else {}), **({"odd": 1} if n % 5 == 4 else {})}
        for n in range(700)
    ]  # fmt: skip
    outcome = cloud.add(RELATIONS, mixed)
    odd = {f"r{n}" for n in range(700) if n % 5 == 4}
    there = {f"r{n}" for n in range(0, 700, 7)}
    assert {refused.identity for refused in outcome.refused} | set(outcome.conflicts) == odd | there
    assert there - odd <= set(outcome.conflicts)
    assert {refused.reason for refused in outcome.refused if refused.identity in odd - there} == {
        f"ERROR: [doc={identity}] unknown field 'odd'" for identity in odd - there
    }
    assert set(outcome.applied) == {f"r{n}" for n in range(700)} - odd - there
    cloud.commit(RELATIONS, soft=True)
    assert cloud.count(RELATIONS, "rule:x") == len(outcome.applied)


@pytest.mark.services
def test_two_shards_delete_only_unchanged_documents(cloud: Solr) -> None:
    cloud.add(RUNS, [{"identity": f"read-{n}"} for n in range(100)])
    read = {
        document["identity"]: document["_version_"]
        for document in cloud.get(RUNS, [f"read-{n}" for n in range(100)])
    }
    cloud.add(RUNS, [{"identity": f"read-{n}", "count": 1} for n in range(10)])
    assert set(cloud.delete_versions(RUNS, read)) == {f"read-{n}" for n in range(10)}
    cloud.commit(RUNS, soft=True)
    assert cloud.count(RUNS, "identity:read-*") == 10


@pytest.mark.services
def test_the_cloud_requires_its_password(cloud: Solr) -> None:
    with (
        Solr(replace(cloud.address, user=None)) as stranger,
        pytest.raises(SolrError, match="requires a password"),
    ):
        stranger.count(ELEMENTS)


@pytest.mark.services
def test_a_single_server_gets_its_cores_from_an_installed_schema(tmp_path: Path, solr_jars: Path) -> None:
    cache = solr_jars.parent / "solr-launcher"
    with (
        EmbeddedSolr(tmp_path, solr_jars, CONF / "solr", cores=(), cache=cache) as server,
        Solr(server.address) as solr,
    ):
        configset = server.home / "configsets" / CONFIGSET
        configset.rename(tmp_path / "elsewhere")
        with pytest.raises(
            cores.NotCreated, match=f"copy the files of .*conf/solr/{CONFIGSET} to {configset}/conf"
        ):
            cores.create(solr, CONF / "solr")
        shutil.copytree(CONF / "solr" / CONFIGSET, configset / "conf")
        assert cores.create(solr, CONF / "solr") == CORES
        assert cores.create(solr, CONF / "solr") == ()
        assert solr.shards(ELEMENTS) == (f"{server.address.url}/nav_elements",)
        assert solr.add(ELEMENTS, [{"identity": "first", "type": "TABLE"}]).applied.keys() == {"first"}


@pytest.mark.services
def test_a_core_with_another_configuration_refuses_no_single_document(
    tmp_path: Path, solr_jars: Path
) -> None:
    conf = shutil.copytree(CONF / "solr", tmp_path / "conf")
    solrconfig = conf / CONFIGSET / "solrconfig.xml"
    solrconfig.write_text(solrconfig.read_text().replace('name="tolerant"', 'name="another"'))
    cache = solr_jars.parent / "solr-launcher"
    with (
        EmbeddedSolr(tmp_path, solr_jars, conf, cores=CORES, cache=cache) as server,
        Solr(server.address) as solr,
        pytest.raises(SolrError, match="unknown UpdateRequestProcessorChain: tolerant"),
    ):
        solr.add(ELEMENTS, [{"identity": each, "_version_": -1} for each in "ab"])


@pytest.mark.services
def test_tls_trusts_only_the_configured_authority(
    solr: Solr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = certificate(tmp_path)
    with SolrProxy(solr.address, certificate=made.certificate, key=made.key) as proxy:
        assert proxy.address.url.startswith("https://127.0.0.1:")
        address = replace(proxy.address, ca_file=str(made.certificate))
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/dev/null")
        with Solr(address) as believing:
            assert believing.add(RELATIONS, [{"identity": "over-tls"}]).applied.keys() == {"over-tls"}
            believing.commit(RELATIONS, soft=True)
            exported = believing.export(RELATIONS, "identity:over-tls", "identity")
            assert list(exported) == [{"identity": "over-tls"}]
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(made.certificate))
        with (
            Solr(proxy.address) as stranger,
            pytest.raises(SolrError, match=r"TLS failed: .*certificate verify failed"),
        ):
            stranger.ping(ELEMENTS)
