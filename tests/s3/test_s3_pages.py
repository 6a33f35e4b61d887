"""Pages of a listing and error documents, as they are parsed, and how pages follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest

from extractors.s3.errors import S3Misshapen
from extractors.s3.pages import MOST_MARKUP, BadPage, S3ErrorDocument, to_error, to_page, to_tags
from extractors.s3.service import Bucket, BucketAddress
from tests.services.rest import Answer, Query
from tests.services.s3 import StubS3
from tests.support.s3_rounds import BUCKET, credentials  # noqa: F401  # for all tests

HEAD = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>lake</Name>'
WHOLE = HEAD + "<IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents></ListBucketResult>"


@pytest.fixture
def s3() -> Iterator[StubS3]:
    with StubS3(BUCKET, *(f"k{number:02}" for number in range(25)), page=10) as served:
        yield served


def listed(s3: StubS3) -> list[str]:
    address = BucketAddress(BUCKET, s3.url, "us-east-1", timeout_s=5.0)
    with closing(Bucket(address)) as bucket:
        return [each.key for page in bucket.pages("", "") for each in page.objects]


def test_the_pages_of_a_bucket_follow_each_other(s3: StubS3) -> None:
    assert listed(s3) == [f"k{number:02}" for number in range(25)]
    assert [query.get("start-after", "") for query in s3.listed] == ["", "k09", "k19"]


# -- One page ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "it is cut off, or is not well-formed XML"),
        ("no XML", "it is cut off, or is not well-formed XML"),
        (WHOLE[:-30], "it is cut off, or is not well-formed XML"),
        (WHOLE[: len(WHOLE) // 2], "it is cut off, or is not well-formed XML"),
        ("<html><body>login</body></html>", "not a ListBucketResult, but 'html'"),
        ("<ListAllMyBucketsResult/>", "not a ListBucketResult"),
        (WHOLE.replace("lake", "other"), "it is about the bucket 'other'"),
        (WHOLE.replace("<IsTruncated>false</IsTruncated>", ""), "does not tell whether there are more"),
        (WHOLE.replace("false", "maybe"), "does not tell whether there are more"),
        (WHOLE.replace("<Key>a</Key>", ""), "an object without a key"),
        (WHOLE.replace("<Key>a</Key>", f"<Key>{'a' * 1_025}</Key>"), "a key of more than 1024 characters"),
        (WHOLE.replace("<Key>a</Key>", "<Key>a\x01</Key>"), "it is cut off, or is not well-formed XML"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa">]>' + WHOLE, "declares a document type"),
        (HEAD + "<x/>" * (MOST_MARKUP + 1) + "</ListBucketResult>", "more than 200,000 elements"),
        (HEAD + "<x>" * 90_000, "it is cut off, or is not well-formed XML"),
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


def test_a_page_that_is_sent_again_ends_the_listing_with_an_error(s3: StubS3) -> None:
    def first_again(query: Query) -> Answer:
        first = {key: value for key, value in query.items() if key != "start-after"}
        return 200, {}, s3.listing(first).encode()

    s3.instead = first_again

    with pytest.raises(S3Misshapen, match="keys are not in order, or were sent already: 'k00'"):
        listed(s3)


def test_a_cut_page_without_a_token_is_continued_after_its_last_key(s3: StubS3) -> None:
    def without_token(query: Query) -> Answer:
        return (
            200,
            {},
            s3.listing(query).replace("<NextContinuationToken>token</NextContinuationToken>", "").encode(),
        )

    s3.instead = without_token

    assert len(listed(s3)) == 25


def test_empty_pages_are_followed_by_their_tokens_as_long_as_these_change(s3: StubS3) -> None:
    tokens = count()
    empty = (
        HEAD
        + "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken></ListBucketResult>"
    )

    def some(query: Query) -> Answer | None:
        at = next(tokens)
        return (200, {}, empty.format(at).encode()) if at < 3 else None

    s3.instead = some

    assert len(listed(s3)) == 25
    assert [query.get("continuation-token") for query in s3.listed[:4]] == [None, "0", "1", "2"]
