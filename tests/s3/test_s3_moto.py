"""The S3 extractor on moto's S3: fields, keys of all kinds, versions, delete markers, user metadata and tags."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.session
import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

from extractors.s3 import S3
from tests.support.s3_keys import KINDS, KindOfKeys, counted, shown
from tests.support.s3_rounds import ENVIRONMENT, ESTATE, SOURCE, Round, Rounds, credentials  # noqa: F401  # for all tests


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


class MotoBucket:
    """A bucket of a test's own, filled by AWS's client."""

    def __init__(self, url: str) -> None:
        self.name, self.url = f"b-{uuid.uuid4().hex[:12]}", url
        self.client: Any = botocore.session.Session().create_client(
            "s3",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id=ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        )
        self.client.create_bucket(Bucket=self.name)

    def put(self, key: str, body: bytes = b"123", **more: Any) -> Any:
        return self.client.put_object(Bucket=self.name, Key=key, Body=body, **more)

    def store(self, sizes: Mapping[str, int]) -> None:
        """Store objects without a request, because clients leave dots and slashes out of the URL of an object."""
        for key, size in sizes.items():
            s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(self.name, key, b"0" * size)

    def versioned(self) -> None:
        self.client.put_bucket_versioning(Bucket=self.name, VersioningConfiguration={"Status": "Enabled"})

    def listed(self, **settings: Any) -> Round:
        """List the bucket once."""
        extractor = S3(SOURCE, ESTATE, self.name, self.url, **settings)
        return Rounds(extractor).run(time.time_ns() // 1_000_000)


@pytest.fixture
def bucket(moto: str) -> MotoBucket:
    return MotoBucket(moto)


@pytest.mark.services
def test_an_object_has_the_fields_of_s3(bucket: MotoBucket) -> None:
    before_ms = time.time_ns() // 1_000_000 - 1_000
    bucket.put("sales/part-0", b"12345", StorageClass="STANDARD_IA")

    done = bucket.listed(region="us-east-1")

    row = done.rows["/sales/part-0"]
    assert before_ms <= row.pop("lastModified") <= time.time_ns() // 1_000_000 + 1_000
    assert row.pop("ownerId")
    assert row.pop("as_of_ms")
    assert row == {
        "type": "FILE",
        "bucketName": bucket.name,
        "region": "us-east-1",
        "depth": 2,
        "size": 5,
        "eTag": "827ccb0eea8a706c4c34a16891f84e7b",
        "storageClass": "STANDARD_IA",
    }
    assert done.plan.source_time is not None
    assert abs(done.plan.source_time.at_ms - time.time_ns() // 1_000_000) < 60_000


@pytest.mark.services
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_keys_of_a_kind_have_their_paths(bucket: MotoBucket, kind: KindOfKeys) -> None:
    bucket.store(kind.sizes)

    done = bucket.listed()

    assert shown(done) == kind.paths
    assert counted(done) == kind.odd


@pytest.mark.services
def test_only_the_newest_version_counts_and_a_delete_marker_hides_it(bucket: MotoBucket) -> None:
    bucket.versioned()
    bucket.put("kept", b"1")
    bucket.put("kept", b"22")
    bucket.put("hidden", b"1")
    marker = bucket.client.delete_object(Bucket=bucket.name, Key="hidden")

    hidden = bucket.listed()
    bucket.client.delete_object(Bucket=bucket.name, Key="hidden", VersionId=marker["VersionId"])
    restored = bucket.listed()

    assert (set(hidden.kinds), hidden.rows["/kept"]["size"]) == ({"/", "/kept"}, 2)
    assert set(restored.kinds) == {"/", "/kept", "/hidden"}


@pytest.mark.services
def test_an_older_version_is_restored_by_removing_the_newest_or_by_copying_it(bucket: MotoBucket) -> None:
    bucket.versioned()
    first = bucket.put("a", b"1")["VersionId"]
    second = bucket.put("a", b"22")["VersionId"]
    sizes = [bucket.listed().rows["/a"]["size"]]

    older = {"Bucket": bucket.name, "Key": "a", "VersionId": first}
    bucket.client.copy_object(Bucket=bucket.name, Key="a", CopySource=older)
    sizes.append(bucket.listed().rows["/a"]["size"])
    copied = bucket.client.head_object(Bucket=bucket.name, Key="a")["VersionId"]
    bucket.client.delete_object(Bucket=bucket.name, Key="a", VersionId=copied)
    sizes.append(bucket.listed().rows["/a"]["size"])
    bucket.client.delete_object(Bucket=bucket.name, Key="a", VersionId=second)
    sizes.append(bucket.listed().rows["/a"]["size"])

    assert sizes == [2, 1, 2, 1]


@pytest.mark.services
def test_an_upload_in_parts_is_an_object_only_when_it_is_complete(bucket: MotoBucket) -> None:
    at = {"Bucket": bucket.name, "Key": "large"}
    upload = bucket.client.create_multipart_upload(**at)["UploadId"]
    part = bucket.client.upload_part(**at, UploadId=upload, PartNumber=1, Body=b"123")
    begun = bucket.listed()
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    bucket.client.complete_multipart_upload(**at, UploadId=upload, MultipartUpload=parts)

    assert set(begun.kinds) == {"/"}
    assert bucket.listed().rows["/large"]["eTag"].endswith("-1")


@pytest.mark.services
def test_user_metadata_and_tags_are_asked_for_only_if_wanted(bucket: MotoBucket) -> None:
    bucket.put(
        "a/b",
        Metadata={"owner": "ann", "Project": "x"},
        Tagging="team=ana&cost=7",
        ServerSideEncryption="AES256",
    )
    bucket.put("a/c")

    plain = bucket.listed().rows["/a/b"]
    rows = bucket.listed(user_metadata=True, object_tags=True).rows

    wanted = {
        "metadata.owner": "ann",
        "metadata.project": "x",
        "objectTags": ["cost=7", "team=ana"],
        "encryption": "AES256",
    }
    assert not wanted.keys() & plain.keys()
    assert {name: rows["/a/b"].get(name) for name in wanted} == wanted
    assert not wanted.keys() & rows["/a/c"].keys() - {"encryption"}
    assert not wanted.keys() & rows["/a"].keys()


@pytest.mark.services
def test_a_bucket_without_objects_is_a_bucket(bucket: MotoBucket) -> None:
    done = bucket.listed()

    assert (done.kinds, done.rejects) == ({"/": "S3BUCKET"}, [])


@pytest.mark.services
def test_what_was_deleted_is_not_there_by_name(bucket: MotoBucket) -> None:
    bucket.put("a/b")
    bucket.put("a/c")
    bucket.client.delete_object(Bucket=bucket.name, Key="a/b")

    there = S3(SOURCE, ESTATE, bucket.name, bucket.url).still_there(["/a", "/a/b", "/a/c"])

    assert set(there) == {"/a", "/a/c"}
