"""The S3 extractor on versitygw, a real server that checks signatures: many objects, versions, and wrong credentials."""

from __future__ import annotations

import time

import pytest

from extractors.s3 import S3
from extractors.s3.errors import S3Credentials
from extractors.s3.splits import RangeSplit
from navlin.model.plan import Positions
from tests.services.versitygw import REGION, Versitygw
from tests.support.s3_buckets import DIRECTORIES, fill_bucket
from tests.support.s3_keys import KINDS, KindOfKeys, counted, shown
from tests.support.s3_rounds import BUCKET, ESTATE, SOURCE, Rounds, credentials  # noqa: F401  # for all tests

pytestmark = pytest.mark.services

OBJECTS = 200_000
HOUR_MS = 3_600_000


def rounds(server: Versitygw, **settings: object) -> Rounds:
    return Rounds(S3(SOURCE, ESTATE, BUCKET, server.url, REGION, **settings))  # type: ignore[arg-type]  # by name


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_200_000_objects_are_listed_once_each_and_again_in_the_same_ranges(versitygw: Versitygw) -> None:
    fill_bucket(versitygw.bucket(BUCKET), OBJECTS)
    listed = rounds(versitygw)

    first = listed.run(now_ms())
    again = listed.run(now_ms() + HOUR_MS)

    kinds = [row["type"] for row in first.rows.values()]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "S3BUCKET": 1,
        "DIRECTORY": DIRECTORIES,
        "FILE": OBJECTS,
    }
    assert (first.repeated, first.rejects) == ({}, [])
    assert first.kinds == again.kinds
    ranges = [each for each in first.splits if isinstance(each, RangeSplit)]
    assert len(ranges) == 16
    assert sum(value for name, value in listed.saved.items() if name.startswith("objects after")) == OBJECTS


@pytest.mark.parametrize(
    "kind",
    [each for each in KINDS.values() if each.kept],
    ids=[name for name, each in KINDS.items() if each.kept],
)
def test_keys_of_a_kind_have_their_paths(versitygw: Versitygw, kind: KindOfKeys) -> None:
    versitygw.bucket(BUCKET)
    for key, size in kind.sizes.items():
        versitygw.client.put_object(Bucket=BUCKET, Key=key, Body=b"0" * size)

    done = rounds(versitygw).run(now_ms())

    assert shown(done) == kind.paths
    assert counted(done) == 0


def test_a_delete_marker_hides_an_object_until_it_is_removed(versitygw: Versitygw) -> None:
    versitygw.bucket(BUCKET)
    client = versitygw.client
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    client.put_object(Bucket=BUCKET, Key="a/b", Body=b"1")
    client.put_object(Bucket=BUCKET, Key="a/b", Body=b"22")
    sizes = [rounds(versitygw).run(now_ms()).rows["/a/b"]["size"]]
    marker = client.delete_object(Bucket=BUCKET, Key="a/b")

    hidden = rounds(versitygw).run(now_ms())
    client.delete_object(Bucket=BUCKET, Key="a/b", VersionId=marker["VersionId"])
    sizes.append(rounds(versitygw).run(now_ms()).rows["/a/b"]["size"])

    assert "/a/b" not in hidden.kinds
    assert sizes == [2, 2]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("AWS_ACCESS_KEY_ID", "AKIDOTHER", "HTTP 403 InvalidAccessKeyId"),
        ("AWS_SECRET_ACCESS_KEY", "another", "HTTP 403 SignatureDoesNotMatch"),
    ],
)
def test_wrong_credentials_are_said(
    versitygw: Versitygw, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    versitygw.bucket(BUCKET)
    monkeypatch.setenv(name, value)

    with pytest.raises(S3Credentials, match=words):
        rounds(versitygw).extractor.plan(Positions({}, now_ms()))
