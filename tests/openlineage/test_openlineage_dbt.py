"""dbt runs a project with OpenLineage's wrapper, which sends the inputs and outputs of each model to navlin."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from navlin.access.store import AccessFile
from navlin.model.keys import EntityType
from navlin.solr_server.embedded import EmbeddedSolr
from tests.conftest import REPOSITORY
from tests.services.python_packages import Environment, NotInstalled, environment
from tests.support.openlineage import Follower, columns, flows, statuses
from tests.support.web import running_web

pytestmark = pytest.mark.services

PACKAGES = ("dbt-core==1.10.13", "dbt-duckdb==1.9.4", "duckdb==1.4.1", "openlineage-dbt==1.54.0")
PROJECT = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nmodel-paths: [models]\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, threads: 1}}}\n",
    "models/orders.sql": "{{ config(materialized='table') }} select 1 as id, 'north' as region, 3 as price",
    "models/revenue.sql": (
        "{{ config(materialized='table') }}"
        " select region, sum(price) as total from {{ ref('orders') }} group by region"
    ),
    "models/report.sql": "{{ config(materialized='view') }} select region, total from {{ ref('revenue') }}",
    "models/broken.sql": "{{ config(materialized='table') }} select nothing from {{ ref('revenue') }}",
}


@pytest.fixture(scope="module")
def dbt() -> Environment:
    try:
        return environment(REPOSITORY / ".jars", *PACKAGES)
    except NotInstalled as why:
        pytest.skip(f"pip does not install {', '.join(PACKAGES)}: {why}")


def test_inputs_and_outputs_of_each_dbt_model_are_read(
    dbt: Environment, solr_server: EmbeddedSolr, tmp_path: Path
) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    home = tmp_path / "navlin"
    home.mkdir()
    settings = ('openlineage_directory = "events"', 'openlineage_users = ["viewer"]')
    with running_web(solr_server.start(), home, *settings) as web:
        programs = dbt.python.parent
        sends = {
            "OPENLINEAGE_URL": web.url,
            "OPENLINEAGE_API_KEY": AccessFile(home / "state").add_token("viewer", "dbt", None, 0),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        }
        built = subprocess.run(
            [programs / "dbt-ol", "build", "--profiles-dir", ".", "--project-dir", "."],
            cwd=tmp_path,
            env={**os.environ, **sends},
            capture_output=True,
            text=True,
            check=False,
        )
    assert "PASS=3 WARN=0 ERROR=1" in built.stdout, built.stdout + built.stderr

    got = Follower(home / "events").read()
    assert got.rejects == []
    # A failed run has no outputs.
    assert flows(got) == {
        "operation -> shop.main.orders",
        "shop.main.orders -> operation",
        "operation -> shop.main.revenue",
        "shop.main.revenue -> operation",
        "operation -> shop.main.report",
    }
    assert columns(got) == {
        "shop.main.revenue.region": {"shop.main.orders.region"},
        "shop.main.revenue.total": {"shop.main.orders.price"},
        "shop.main.report.region": {"shop.main.revenue.region"},
        "shop.main.report.total": {"shop.main.revenue.total"},
    }
    assert sorted(statuses(got).values()) == ["FAILED"] * 2 + ["SUCCEEDED"] * 3
    texts = {each.attributes.get("queryText", "") for each in got.of(EntityType.OPERATION)}
    assert any("sum(price) as total" in each for each in texts)
