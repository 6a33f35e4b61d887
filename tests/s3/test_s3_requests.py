"""Requests to a bucket that are throttled, fail, are refused or redirected, and the credentials that sign them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from extractors.s3.credentials import CredentialChoice
from extractors.s3.errors import S3Credentials, S3Elsewhere, S3Error, S3Unavailable
from extractors.s3.service import Bucket, BucketAddress
from tests.services.rest import Answer, Query
from tests.services.s3 import StubS3, refusal
from tests.support.s3_rounds import BUCKET, credentials  # noqa: F401  # for all tests


@pytest.fixture
def s3() -> Iterator[StubS3]:
    with StubS3(BUCKET, *(f"k{number:02}" for number in range(25)), page=10) as served:
        yield served


@pytest.fixture
def waited() -> list[float]:
    """The seconds of each wait between two attempts."""
    return []


def address(s3: StubS3, waited: list[float], *, timeout_s: float = 5.0) -> BucketAddress:
    return BucketAddress(BUCKET, s3.url, "us-east-1", timeout_s=timeout_s, wait=waited.append)


def listed(s3: StubS3, waited: list[float]) -> list[str]:
    with closing(Bucket(address(s3, waited))) as bucket:
        return [each.key for page in bucket.pages("", "") for each in page.objects]


def failing(s3: StubS3, times: int, answer: Answer) -> None:
    asked = count()
    s3.instead = lambda query: answer if next(asked) < times else None


@pytest.mark.parametrize(
    "status",
    [
        (503, "SlowDown"),
        *(
            pytest.param(status, marks=pytest.mark.services)
            for status in ((503, ""), (429, "TooManyRequests"), (400, "Throttling"))
        ),
    ],
)
def test_a_throttled_request_is_repeated_with_longer_and_longer_waits(
    s3: StubS3, waited: list[float], status: tuple[int, str]
) -> None:
    failing(s3, 7, refusal(*status))

    assert len(listed(s3, waited)) == 25
    assert waited == [0.5, 1, 2, 4, 8, 16, 32]


def test_a_request_that_fails_is_repeated_twice(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 2, refusal(500, "InternalError"))
    assert len(listed(s3, waited)) == 25

    failing(s3, 1_000, (502, {}, b"<html>proxy</html>"))
    with pytest.raises(S3Unavailable, match="HTTP 502"):
        listed(s3, waited)
    assert waited == [0.5, 1, 0.5, 1]


def test_a_token_that_expires_in_the_middle_is_replaced_by_that_of_the_file(
    s3: StubS3, waited: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    file = tmp_path / "credentials"
    session = "[default]\naws_access_key_id = {}\naws_secret_access_key = s\naws_session_token = t\n"
    file.write_text(session.format("first"))
    asked = count()

    def expires(query: Query) -> Answer | None:
        if next(asked) != 1:
            return None
        file.write_text(session.format("second"))
        return refusal(400, "ExpiredToken", "The provided token has expired.")

    s3.instead = expires
    settings = BucketAddress(
        BUCKET, s3.url, "us-east-1", CredentialChoice(credentials_file=str(file)), wait=waited.append
    )
    with closing(Bucket(settings)) as bucket:
        assert sum(len(each.objects) for each in bucket.pages("", "")) == 25
    assert waited == []


@pytest.mark.services
def test_a_token_that_has_expired_and_was_not_renewed_is_said(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 1_000, refusal(400, "ExpiredToken", "The provided token has expired."))

    with pytest.raises(S3Credentials, match="the credentials have expired, and newer ones were not found"):
        listed(s3, waited)
    assert len(s3.asked) == 2


@pytest.mark.services
@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken"])
def test_wrong_credentials_are_said(s3: StubS3, waited: list[float], code: str) -> None:
    failing(s3, 1_000, refusal(403, code, "no such key"))

    with pytest.raises(S3Credentials, match=f"HTTP 403 {code}: no such key: correct `profile`"):
        listed(s3, waited)
    assert len(s3.asked) == 1


@pytest.mark.services
def test_missing_credentials_are_said(
    s3: StubS3, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(S3Credentials, match="there are no credentials: set `profile`"):
        listed(s3, waited)
    assert s3.asked == []


@pytest.mark.services
def test_an_unknown_profile_is_said(s3: StubS3) -> None:
    settings = BucketAddress(BUCKET, s3.url, identity=CredentialChoice("nobody"))
    with closing(Bucket(settings)) as bucket, pytest.raises(S3Credentials, match="nobody"):
        bucket.first("")


@pytest.mark.services
def test_clocks_that_differ_are_said(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 1_000, refusal(403, "RequestTimeTooSkewed", "too large"))

    with pytest.raises(S3Error, match="the clocks of this machine and of S3 differ"):
        listed(s3, waited)


def test_a_bucket_in_another_region_is_said(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 1_000, refusal(301, "PermanentRedirect", headers={"x-amz-bucket-region": "eu-central-1"}))

    with (
        closing(Bucket(address(s3, waited))) as bucket,
        pytest.raises(S3Elsewhere, match="in the region eu-central-1") as error,
    ):
        bucket.locate("")
    assert error.value.region == "eu-central-1"


def test_an_answer_that_is_not_that_of_an_s3_is_said(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 1_000, (400, {}, b"what?"))

    with pytest.raises(
        S3Error, match=r"HTTP 400: is this the address of an S3 \(http://127.0.0.1:\d+/lake/\)"
    ):
        listed(s3, waited)


@pytest.mark.parametrize(
    ("bucket", "region", "url"),
    [
        ("lake", "eu-west-1", "https://lake.s3.eu-west-1.amazonaws.com/"),
        ("dots.in.it", "eu-west-1", "https://s3.eu-west-1.amazonaws.com/dots.in.it/"),
        ("lake", "cn-north-1", "https://lake.s3.cn-north-1.amazonaws.com.cn/"),
    ],
)
def test_a_bucket_of_aws_has_the_address_of_its_region(bucket: str, region: str, url: str) -> None:
    with closing(Bucket(BucketAddress(bucket, region=region))) as made:
        assert made._host == url


def test_the_secret_key_is_not_in_a_representation(s3: StubS3, waited: list[float]) -> None:
    bucket = Bucket(address(s3, waited))
    bucket.first("")

    assert "not-a-real-one" not in f"{vars(bucket)!r} {bucket._signer!r} {vars(bucket._signer)!r}"
