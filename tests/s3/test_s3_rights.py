"""The policy in the manual allows what navlin asks for, on a real server that checks rights."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from extractors.s3 import S3
from extractors.s3.errors import S3Refused
from navlin.model.plan import Positions
from tests.conftest import REPOSITORY
from tests.services.versitygw import REGION, Versitygw
from tests.support.s3_rounds import AT_MS, BUCKET, ESTATE, SOURCE, Rounds, credentials  # noqa: F401  # for all tests

pytestmark = pytest.mark.services

READER = ("AKIDREADER", "secret-of-the-reader")
ENOUGH = ["/", "/sales", "/sales/part-0"]


@pytest.fixture
def server(versitygw: Versitygw, monkeypatch: pytest.MonkeyPatch) -> Versitygw:
    """A bucket with an object, and a user who reads it with no rights at first."""
    versitygw.client.create_bucket(Bucket=BUCKET)
    versitygw.client.put_object(
        Bucket=BUCKET, Key="sales/part-0", Body=b"123", Metadata={"owner": "ann"}, Tagging="team=ana"
    )
    versitygw.add_user(*READER)
    for name, value in zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), READER, strict=True):
        monkeypatch.setenv(name, value)
    return versitygw


def statements() -> list[dict[str, Any]]:
    """Return the statements of the policy in the manual, with the user they are for: the policy of a bucket names one."""
    [policy] = re.findall(r"```json\n(.*?)```", (REPOSITORY / "docs/how-to/s3.md").read_text(), re.DOTALL)
    return [{**each, "Principal": {"AWS": [READER[0]]}} for each in json.loads(policy)["Statement"]]


def allow(root: Any, granted: list[dict[str, Any]]) -> None:
    policy = {"Version": "2012-10-17", "Statement": granted}
    root.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps(policy))


def reading(server: Versitygw, **settings: object) -> S3:
    return S3(SOURCE, ESTATE, BUCKET, server.url, REGION, entries="all", **settings)  # type: ignore[arg-type] # by name


def test_without_rights_the_bucket_is_refused(server: Versitygw) -> None:
    with pytest.raises(S3Refused, match="needs s3:ListBucket"):
        reading(server).plan(Positions({}, AT_MS))


def test_the_first_statement_is_enough_for_listings(server: Versitygw) -> None:
    allow(server.client, statements()[:1])

    done = Rounds(reading(server)).run()

    assert (sorted(done.kinds), done.rejects) == (ENOUGH, [])
    assert list(reading(server).still_there(["/sales/part-0", "/gone"])) == ["/sales/part-0"]
    with pytest.raises(S3Refused):
        list(reading(server, user_metadata=True).check())


def test_both_statements_are_enough_for_details_of_objects(server: Versitygw) -> None:
    allow(server.client, statements())
    extractor = reading(server, user_metadata=True, object_tags=True)

    row = Rounds(extractor).run().rows["/sales/part-0"]

    assert (row["metadata.owner"], row["objectTags"]) == ("ann", ["team=ana"])
    assert "details of objects may be read" in list(extractor.check())[-1]
    with pytest.raises(Exception, match="AccessDenied"):
        client_of_reader(server).put_object(Bucket=BUCKET, Key="more", Body=b"1")


def client_of_reader(server: Versitygw) -> Any:
    import botocore.session

    return botocore.session.Session().create_client("s3", region_name=REGION, endpoint_url=server.url)
