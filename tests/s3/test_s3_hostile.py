"""Hostile and broken answers of an S3: each ends the listing with an error that says why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from extractors.s3 import service
from navlin.model.plan import Positions
from tests.services.s3 import StubS3
from tests.support.s3_hostile import HOSTILE, Hostile, reads_objects
from tests.support.s3_rounds import AT_MS, BUCKET, credentials, extractor  # noqa: F401  # for all tests


@pytest.fixture
def s3() -> Iterator[StubS3]:
    with StubS3(BUCKET, *(f"wh/{number:02}" for number in range(25)), page=10) as served:
        yield served


@pytest.mark.services
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_ends_the_listing_with_an_error(
    s3: StubS3, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "FIRST_WAIT_S", 0.0)
    source = extractor(s3.url, include=("/wh",))
    plan = source.plan(Positions({}, AT_MS))
    s3.asked.clear()
    s3.instead = lambda query: hostile.answer(s3, query) if reads_objects(query) else None

    with pytest.raises(hostile.error, match=hostile.words) as error:
        for split in plan.splits:
            list(source.read(split))

    assert s3.url in str(error.value)
    assert sum(map(reads_objects, s3.listed)) <= hostile.requests
