"""Buckets in a configuration: which source a path of a job means, and settings that are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import split_location
from navlin.service.loader import ConfiguredSources, load, load_extractors
from navlin.service.settings.configuration import BadConfiguration, read_configuration
from tests.support.s3_rounds import extractor

BUCKETS = """
[[source]]
name = "S3-LAKE"
extractor = "s3"
bucket = "lake"
aliases = ["lake-access-point-s3alias"]

[[source]]
name = "S3-EXCHANGE"
extractor = "s3"
bucket = "exchange"
"""
ANOTHER_LAKE = """
[[source]]
name = "MINIO-LAKE"
extractor = "s3"
bucket = "lake"
endpoint = "https://minio:9000/"
"""


def configured(folder: Path, text: str) -> ConfiguredSources:
    load_extractors()
    file = folder / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "one"\n{text}')
    return load(read_configuration(file, EXTRACTORS, {}), ())


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("s3://lake/a", "S3-LAKE"),
        ("s3a://lake/a", "S3-LAKE"),
        ("s3n://LAKE/a", "S3-LAKE"),
        ("s3a://lake-access-point-s3alias/a", "S3-LAKE"),
        ("s3a://exchange/a", "S3-EXCHANGE"),
        ("s3a://lake2/a", "s3://lake2"),
    ],
)
def test_a_path_means_the_bucket_that_it_names(tmp_path: Path, path: str, source: str) -> None:
    kind, authority, _ = split_location(path)

    assert configured(tmp_path, BUCKETS).estate.serving(kind, authority).name == source


def test_buckets_of_one_name_at_two_endpoints_are_two_sources(tmp_path: Path) -> None:
    found = configured(tmp_path, BUCKETS + ANOTHER_LAKE + "claimed = false\n")

    assert {each.name: each.source.serves for each in found.sources} == {
        "S3-LAKE": ("s3://lake", "s3://lake-access-point-s3alias"),
        "S3-EXCHANGE": ("s3://exchange",),
        "MINIO-LAKE": ("https://minio:9000/lake",),
    }
    assert len({each.source.id for each in found.sources}) == 3
    assert found.estate.serving("S3", "s3://lake").name == "S3-LAKE"


def test_two_sources_may_not_claim_the_paths_of_one_bucket(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration) as error:
        configured(tmp_path, BUCKETS + ANOTHER_LAKE)

    assert [each.text for each in error.value.problems] == [
        '[[source]] s3://lake is already served by the source "S3-LAKE"'
    ]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("bucket", "s3://lake"),
        ("bucket", "lake/a"),
        ("bucket", ""),
        ("aliases", ("arn:aws:s3:eu-west-1:1:accesspoint/x",)),
        ("endpoint", "minio:9000"),
        ("endpoint", "ftp://minio"),
        ("endpoint", "https://user:secret@minio"),
        ("region", "eu west"),
        ("include", ("/a/**/b",)),
        ("list_every_s", 0),
        ("objects_in_split", 0),
        ("timeout_s", 0.0),
    ],
)
def test_a_wrong_setting_is_refused(setting: str, value: Any) -> None:
    wrong = replace(extractor("https://minio:9000"), **{setting: value})

    assert [name for name, _ in wrong.problems()] == [setting]
