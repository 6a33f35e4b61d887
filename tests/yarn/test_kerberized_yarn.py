"""The pipeline on a YARN and an HDFS that require Kerberos tickets: Spark gets tickets with the keytab, and renews them
in time.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from extractors.hms.client import connected
from extractors.hms.idl import Database
from navlin.index.solr.solr import Solr
from navlin.kerberos.client import Login
from tests.access.test_kerberos import SERVICE, asking
from tests.services.hadoop import Hadoop
from tests.services.kerberos import Kdc, of_hdfs, of_the_web, of_yarn
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, Metastore, table
from tests.services.spark_on_yarn import Driver, configuration_text
from tests.spark.test_spark_on_yarn import extract, named, no_spark, take_out
from tests.support.pipeline_estate import FIRST_MS, SmallEstate

pytestmark = pytest.mark.services
SOURCE = f"""
[[source]]
name = "HIVE-1"
extractor = "hms"
uris = ["{{metastore}}"]
databases = ["{{database}}"]
sasl = "kerberos"
metastore_principal = "{SERVICE}"
principal = "{{principal}}"
keytab = "{{keytab}}"
krb5_conf = "{{krb5_conf}}"
"""
TOKENS_RENEWED_S = 90
TOKENS_LIVE_S = 2 * TOKENS_RENEWED_S
"""Maximum lifetime of HDFS delegation tokens in seconds. Hadoop's default is a week, with a renewal every day."""


@pytest.fixture(scope="module")
def login(kdc: Kdc) -> Login:
    return kdc.login("navlin", kdc.keytab("navlin-on-yarn.keytab", "navlin"))


@pytest.fixture(scope="module")
def secure(kdc: Kdc, hadoop_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    folder = tmp_path_factory.mktemp("secure")
    settings = {
        **of_hdfs(kdc),
        **of_the_web(kdc, folder),
        **of_yarn(kdc),
        "dfs.namenode.delegation.token.renew-interval": str(TOKENS_RENEWED_S * 1_000),
        "dfs.namenode.delegation.token.max-lifetime": str(TOKENS_LIVE_S * 1_000),
    }
    options, cache = [f"-Djava.security.krb5.conf={kdc.krb5_conf}"], hadoop_jars.parent / "hadoop-launcher"
    hadoop = Hadoop(folder / "hadoop", hadoop_jars, cache=cache, settings=settings, java_options=options)
    with hadoop:
        hadoop.start_yarn()
        yield hadoop


def test_a_kerberized_metastore_is_extracted_on_a_kerberized_yarn(
    secure: Hadoop, login: Login, kdc: Kdc, kerberized: Metastore, cloud: Solr, tmp_path: Path
) -> None:
    database = f"secure_{uuid.uuid4().hex[:8]}"
    with connected(asking(kerberized, kdc, Path(login.keytab))._address) as client:
        client.call(CREATE_DATABASE, Database(database, "about it", None, {}))
        for number in range(10):
            client.call(CREATE_TABLE, table(database, f"t{number}"))
    file = tmp_path / "navlin.toml"
    text = configuration_text(secure, cloud.address, tmp_path, database, master="yarn", login=login)
    file.write_text(text + SOURCE.format(**asdict(login), metastore=kerberized.uri, database=database))

    run = extract(file, "HIVE-1")

    assert (run["status"], run["counts"]["failed_splits"]) == ("finished", 0), run
    types = Counter(document["type"] for document in take_out(cloud, database).values())
    assert (types["DATABASE"], types["TABLE"], types["FIELD"]) == (1, 10, 20), types


def test_expiring_tokens_are_replaced_while_it_runs(
    secure: Hadoop, login: Login, cloud: Solr, tmp_path: Path
) -> None:
    estate = SmallEstate(cloud, no_spark, tmp_path, cluster="tokens")
    file = tmp_path / "navlin.toml"
    file.write_text(
        configuration_text(secure, cloud.address, tmp_path, estate.cluster, master="yarn", login=login)
    )
    with Driver(file, cloud.address, estate.cluster, tmp_path) as driver:
        driver.do("start")
        begun_s, tables, number = time.monotonic(), {}, 0
        while time.monotonic() - begun_s < 2 * TOKENS_LIVE_S:
            tables[f"tokens.t{number:03d}"] = ["id", "amount"]
            estate.tables(tables)
            run = driver.do("pull", now_ms=FIRST_MS + number * 600_000)
            assert (run["status"], run["error"]) == ("finished", ""), run
            number += 1
            time.sleep(TOKENS_RENEWED_S / 6)
    assert estate.live("TABLE", "FIELD") == named(tables)
    assert number > 3
