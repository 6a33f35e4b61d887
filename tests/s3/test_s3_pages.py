"""Hostile and damaged answers of an S3: nothing of them is believed, and nothing is taken for deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from extractors.s3.credentials import CredentialChoice
from extractors.s3.errors import S3Credentials, S3Elsewhere, S3Error, S3Misshapen, S3Unavailable
from extractors.s3.pages import MOST_MARKUP, BadPage, S3ErrorDocument, to_error, to_page, to_tags
from extractors.s3.service import Bucket, BucketAddress
from tests.services.rest import Answer, Query
from tests.services.s3 import StubS3, refusal
from tests.support.s3_rounds import credentials  # noqa: F401  # for all tests

BUCKET = "lake"
HEAD = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>lake</Name>'
WHOLE = HEAD + "<IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents></ListBucketResult>"


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


def page(s3: StubS3, query: Query, change: Callable[[str], str] = str) -> Answer:
    return 200, {}, change(s3.listing(query)).encode()


def test_the_pages_of_a_bucket_follow_each_other(s3: StubS3, waited: list[float]) -> None:
    assert listed(s3, waited) == [f"k{number:02}" for number in range(25)]
    assert [query.get("start-after", "") for query in s3.listed] == ["", "k09", "k19"]


# -- One page ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "not whole, or not XML"),
        ("no XML", "not whole, or not XML"),
        (WHOLE[:-30], "not whole, or not XML"),
        (WHOLE[: len(WHOLE) // 2], "not whole, or not XML"),
        ("<html><body>login</body></html>", "not a ListBucketResult, but 'html'"),
        ("<ListAllMyBucketsResult/>", "not a ListBucketResult"),
        (WHOLE.replace("lake", "other"), "it is about the bucket 'other'"),
        (WHOLE.replace("<IsTruncated>false</IsTruncated>", ""), "does not tell whether there are more"),
        (WHOLE.replace("false", "maybe"), "does not tell whether there are more"),
        (WHOLE.replace("<Key>a</Key>", ""), "an object without a key"),
        (WHOLE.replace("<Key>a</Key>", f"<Key>{'a' * 1_025}</Key>"), "a key of more than 1024 characters"),
        (WHOLE.replace("<Key>a</Key>", "<Key>a\x01</Key>"), "not whole, or not XML"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa">]>' + WHOLE, "declares a document type"),
        (HEAD + "<x/>" * (MOST_MARKUP + 1) + "</ListBucketResult>", "more than 200,000 elements"),
        (HEAD + "<x>" * 90_000, "not whole, or not XML"),
    ],
)
def test_a_damaged_page_is_not_believed(body: str, words: str) -> None:
    with pytest.raises(BadPage, match=words):
        to_page(body.encode(), BUCKET)


def test_a_page_in_another_encoding_cannot_hide_a_document_type() -> None:
    with pytest.raises(BadPage, match="not UTF-8"):
        to_page(('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x>' + WHOLE).encode("utf-16"), BUCKET)


@pytest.mark.parametrize(
    ("written", "encoding", "key"),
    [
        ("a%2Bb+c%25d/%C3%BC%01", "<EncodingType>url</EncodingType>", "a+b c%d/ü\x01"),
        ("a%2Bb+c", "", "a%2Bb+c"),
        ("%FF", "<EncodingType>url</EncodingType>", "\udcff"),
    ],
)
def test_keys_are_decoded_if_the_page_says_that_they_are_encoded(
    written: str, encoding: str, key: str
) -> None:
    body = WHOLE.replace("<Key>a</Key>", f"<Key>{written}</Key>").replace(
        "<IsTruncated>", encoding + "<IsTruncated>"
    )

    [found] = to_page(body.encode(), BUCKET).objects

    assert found.key == key
    assert (found.size_bytes, found.modified_ms, found.storage_class, found.owner) == (
        None,
        None,
        "STANDARD",
        "",
    )


def test_an_error_document_shows_code_message_and_region_alone() -> None:
    body = (
        b"<Error><Code>X</Code><Message>a\n b</Message><Region>eu-west-1</Region>"
        b"<StringToSign>secret</StringToSign></Error>"
    )

    assert to_error(body) == S3ErrorDocument("X", "a b", "eu-west-1")
    assert to_error(b"<html>") == S3ErrorDocument("", "")


def test_tags_are_read_and_damaged_ones_refused() -> None:
    body = "<Tagging><TagSet><Tag><Key>team</Key><Value>ä</Value></Tag><Tag><Value>x</Value></Tag></TagSet></Tagging>"

    assert list(to_tags(body.encode())) == [("team", "ä")]
    with pytest.raises(BadPage):
        list(to_tags(body[:-5].encode()))


# -- Many pages ----------------------------------------------------------------------------------------------------------


def test_a_page_that_is_sent_again_ends_the_listing_with_an_error(s3: StubS3, waited: list[float]) -> None:
    s3.instead = lambda query: page(s3, {key: value for key, value in query.items() if key != "start-after"})

    with pytest.raises(S3Misshapen, match="keys are not in order, or were sent already: 'k00'"):
        listed(s3, waited)


def test_a_cut_page_without_a_token_is_continued_after_its_last_key(s3: StubS3, waited: list[float]) -> None:
    def without_token(query: Query) -> Answer:
        return page(
            s3, query, lambda text: text.replace("<NextContinuationToken>token</NextContinuationToken>", "")
        )

    s3.instead = without_token

    assert len(listed(s3, waited)) == 25


def test_empty_pages_are_followed_by_their_tokens_as_long_as_these_change(
    s3: StubS3, waited: list[float]
) -> None:
    tokens = count()
    empty = (
        HEAD
        + "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken></ListBucketResult>"
    )

    def some(query: Query) -> Answer | None:
        at = next(tokens)
        return (200, {}, empty.format(at).encode()) if at < 3 else None

    s3.instead = some

    assert len(listed(s3, waited)) == 25
    assert [query.get("continuation-token") for query in s3.listed[:4]] == [None, "0", "1", "2"]


@pytest.mark.parametrize("token", ["", "<NextContinuationToken>same</NextContinuationToken>"])
def test_an_empty_page_that_leads_nowhere_ends_the_listing_with_an_error(
    s3: StubS3, waited: list[float], token: str
) -> None:
    body = f"{HEAD}<IsTruncated>true</IsTruncated>{token}</ListBucketResult>".encode()
    s3.instead = lambda query: (200, {}, body)

    with pytest.raises(S3Misshapen, match="says that there are more, but leads nowhere"):
        listed(s3, waited)
    assert len(s3.asked) <= 2


def test_endless_empty_pages_end_the_listing_with_an_error(s3: StubS3, waited: list[float]) -> None:
    tokens = count()
    body = (
        HEAD
        + "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken></ListBucketResult>"
    )
    s3.instead = lambda query: (200, {}, body.format(next(tokens)).encode())

    with pytest.raises(S3Misshapen, match="leads nowhere"):
        listed(s3, waited)
    assert len(s3.asked) == 1_001


@pytest.mark.parametrize("key", ["a", "k0", "z"])
def test_a_key_that_was_not_asked_for_ends_the_listing_with_an_error(
    s3: StubS3, waited: list[float], key: str
) -> None:
    s3.instead = lambda query: (200, {}, WHOLE.replace("<Key>a", f"<Key>{key}").encode())

    with closing(Bucket(address(s3, waited))) as bucket, pytest.raises(S3Misshapen, match="not asked for"):
        list(bucket.pages("k00", ""))


# -- Throttling, failures, credentials, regions ----------------------------------------------------------------------------


def failing(s3: StubS3, times: int, answer: Answer) -> None:
    asked = count()
    s3.instead = lambda query: answer if next(asked) < times else None


@pytest.mark.parametrize(
    "status", [(503, "SlowDown"), (503, ""), (429, "TooManyRequests"), (400, "Throttling")]
)
def test_a_throttled_request_is_repeated_with_longer_and_longer_waits(
    s3: StubS3, waited: list[float], status: tuple[int, str]
) -> None:
    failing(s3, 7, refusal(*status))

    assert len(listed(s3, waited)) == 25
    assert waited == [0.5, 1, 2, 4, 8, 16, 32]


def test_a_request_that_stays_throttled_fails_after_eight_attempts(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 1_000, refusal(503, "SlowDown", "Please reduce your request rate."))

    with pytest.raises(S3Unavailable, match="HTTP 503 SlowDown: Please reduce your request rate"):
        listed(s3, waited)
    assert len(s3.asked) == 8


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


def test_a_token_that_has_expired_and_was_not_renewed_is_said(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 1_000, refusal(400, "ExpiredToken", "The provided token has expired."))

    with pytest.raises(S3Credentials, match="the credentials have expired, and newer ones were not found"):
        listed(s3, waited)
    assert len(s3.asked) == 2


@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken"])
def test_wrong_credentials_are_said(s3: StubS3, waited: list[float], code: str) -> None:
    failing(s3, 1_000, refusal(403, code, "no such key"))

    with pytest.raises(S3Credentials, match=f"HTTP 403 {code}: no such key: correct `profile`"):
        listed(s3, waited)
    assert len(s3.asked) == 1


def test_missing_credentials_are_said(
    s3: StubS3, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(S3Credentials, match="there are no credentials: set `profile`"):
        listed(s3, waited)
    assert s3.asked == []


def test_an_unknown_profile_is_said(s3: StubS3) -> None:
    settings = BucketAddress(BUCKET, s3.url, identity=CredentialChoice("nobody"))
    with closing(Bucket(settings)) as bucket, pytest.raises(S3Credentials, match="nobody"):
        bucket.first("")


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


def test_a_redirect_is_not_followed(s3: StubS3, waited: list[float]) -> None:
    failing(s3, 1_000, (307, {"Location": "http://127.0.0.2:1/"}, b""))

    with pytest.raises(S3Elsewhere, match="leads to another address"):
        listed(s3, waited)
    assert len(s3.asked) == 1


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
