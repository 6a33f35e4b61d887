"""The user and password of a URL are in no message."""

from __future__ import annotations

import pytest

from navlin.pipeline.failing import in_words
from navlin.urls import without_userinfo


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("'http://ana:S@rm:8088' is not an address", "'http://***@rm:8088' is not an address"),
        ("https://S@host/x", "https://***@host/x"),
        ("http://:S@host", "http://***@host"),
        ("http://ana:S/a+b@host:1/x", "http://***@host:1/x"),
        ("'http://ana:a S@host'", "'http://***@host'"),
        ("http://ana:a@S@host", "http://***@host"),
        ("http://a:S@h, thrift://b:S@i", "http://***@h, thrift://***@i"),
        ("LDAPS://cn=a,dc=b:S@h", "LDAPS://***@h"),
        ("abfs://data@account.dfs/x", "abfs://data@account.dfs/x"),
        ("abfs://data:S@account.dfs/x", "abfs://***@account.dfs/x"),
        ("http://rm:8088/a@b", "http://rm:8088/a@b"),
        ("(http://rm:8088): ask ana@example", "(http://rm:8088): ask ana@example"),
        ("http://[::1]:8088: refused, ask ana@example", "http://[::1]:8088: refused, ask ana@example"),
        ("http://rm:8088: refused, ask ana@example", "http://rm:8088: refused, ask ana@example"),
        ("hdfs://ns1/x is not there", "hdfs://ns1/x is not there"),
    ],
)
def test_users_and_passwords_of_urls_are_hidden(said: str, shown: str) -> None:
    assert without_userinfo(said) == shown
    assert in_words(OSError(said)) == shown
    assert without_userinfo(shown) == shown


def test_hiding_takes_time_linear_in_the_length_of_a_message() -> None:
    long = "http://a:" * 50_000 + "@"

    assert without_userinfo(long).endswith("@")
