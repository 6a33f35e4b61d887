"""The metastore extractor on a metastore with PostgreSQL: repeats the tests of `test_hms`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path

import pytest

from tests.hms import test_hms
from tests.hms.test_hms import client, databases, hms
from tests.services.debian import NoPackage
from tests.services.metastore import Metastore
from tests.services.postgresql import MetastoreOnPostgres, NoPostgres, driver, running_postgres

pytestmark = pytest.mark.services

__all__ = ["client", "databases", "hms"]

SHARED: dict[str, Callable[..., None]] = {
    name: test
    for name, test in vars(test_hms).items()
    if name.startswith("test_") and {"hms", "client", "metastore"} & signature(test).parameters.keys()
}
globals().update(SHARED)


@pytest.fixture(scope="module")
def on_postgres(tmp_path_factory: pytest.TempPathFactory, metastore_jars: Path) -> Iterator[Metastore]:
    home = tmp_path_factory.mktemp("postgresql")
    try:
        jar = driver(home)
        with (
            running_postgres() as url,
            MetastoreOnPostgres(home / "hms", metastore_jars, url, jar) as running,
        ):
            yield running
    except (NoPackage, NoPostgres) as error:
        pytest.skip(f"no metastore on PostgreSQL: {error}")


@pytest.fixture
def metastore(on_postgres: Metastore) -> Metastore:
    return on_postgres
