"""Damaged objects and pages in a listing of S3."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

from extractors.s3 import S3
from navlin.model.plan import Positions
from navlin.model.source import S3 as S3_TYPE
from tests.services.rest import Answer, Query
from tests.services.s3 import CHANGED, NOW_MS, StubS3
from tests.support import damage
from tests.support.damaged.tallies import Damaged, Outcome, Tally, damaged_source, in_a_task, in_time
from tests.support.s3_rounds import BUCKET, settings_of_credentials

PREFIX: Final = "damaged"
"""Prefix of keys for which pages are damaged. The sound object is below another prefix."""
SOUND: Final = "sound/x"
RECORD: Final[Mapping[str, Any]] = {
    "Key": f"{PREFIX}/ds=1/part-0",
    "LastModified": CHANGED,
    "ETag": '"d41d8cd98f00b204e9800998ecf8427e"',
    "Size": 3,
    "Owner": {"ID": "owner-1", "DisplayName": "x"},
    "StorageClass": "STANDARD",
}


def s3(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    tally = Tally()
    credentials = settings_of_credentials(folder)
    with StubS3(BUCKET, SOUND) as server:
        source, estate = damaged_source("s3", S3_TYPE)
        extractor = S3(
            source,
            estate,
            BUCKET,
            server.url,
            include=(f"/{PREFIX}", "/sound"),
            exclude=(),
            entries="all",
            **credentials,
        )
        while tally.total < count:
            way, body = _damaged_page(chance)
            in_the_plan = chance.random() < 0.1
            server.instead = _Answers(body, in_the_plan=in_the_plan)
            tally.add(way, _outcome(extractor, server.url, way, in_the_plan=in_the_plan))
    return tally


class _Answers:
    """Answers requests for the keys that begin with `PREFIX` by a damaged page: those of a read, or, if ``in_the_plan``,
    all.
    """

    def __init__(self, body: bytes, *, in_the_plan: bool) -> None:
        self._body, self._in_the_plan = body, in_the_plan

    def __call__(self, query: Query) -> Answer | None:
        if query.get("prefix") != PREFIX:
            return None
        damaged = self._in_the_plan or "fetch-owner" in query
        return 200, {}, self._body if damaged else _page(RECORD).encode()


def _damaged_page(chance: random.Random) -> tuple[str, bytes]:
    """Damage a key, another value of an object, or the bytes of a page. Return the name of the damage and the page."""
    kind = chance.random()
    if kind < 0.2:
        odd = chance.choice(damage.ODD_TEXTS)
        return "an odd key", _page({**RECORD, "Key": f"{PREFIX}/ds=1/{odd}"}).encode()
    if kind < 0.6:
        of_value = chance.choice(damage.OF_VALUES)
        return f"an object {of_value.__name__}", _page(of_value(RECORD, chance)).encode(
            "utf-8", "surrogatepass"
        )
    of_bytes = chance.choice(damage.OF_BYTES)
    return f"a page {of_bytes.__name__}", of_bytes(_page(RECORD).encode(), chance)


def _page(record: Any) -> str:
    """Return a page with one object, as S3 writes it."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{BUCKET}</Name><Prefix>{PREFIX}</Prefix><EncodingType>url</EncodingType>"
        f"<IsTruncated>false</IsTruncated>{_element('Contents', record)}</ListBucketResult>"
    )


def _element(name: str, value: Any) -> str:
    """Return an element. A list is one element for each of its values, as in XML."""
    match value:
        case damage.Twice(inner=inner, name=twice, other=other):
            return f"<{name}>{_element(twice, other)}{_children(inner)}</{name}>"
        case damage.Nested(inner=inner, depth=depth):
            return f"<{name}>{'<a>' * depth}{_element('a', inner)}{'</a>' * depth}</{name}>"
        case dict():
            return f"<{name}>{_children(value)}</{name}>"
        case list():
            return "".join(_element(name, each) for each in value)
        case str() if name == "Key":
            return f"<{name}>{quote_plus(value, safe='/=', errors='surrogatepass')}</{name}>"
        case int() if abs(value) > 1 << 80:
            return f"<{name}>{damage.to_json(value)}</{name}>"
    return f"<{name}>{escape(str(value))}</{name}>"


def _children(record: Mapping[str, Any]) -> str:
    return "".join(_element(name, each) for name, each in record.items())


def _outcome(extractor: S3, url: str, way: str, *, in_the_plan: bool) -> Outcome:
    """List the bucket. A refused page is an error that names the service, and the sound object is read nevertheless."""
    try:
        with in_time("a listing of S3"):
            plan = extractor.plan(Positions(now_ms=NOW_MS))
    except Exception as error:
        if url not in str(error) or not in_the_plan:
            raise Damaged(f"{way}: {type(error).__name__} does not name the service: {error}") from error
        return Outcome.WHOLE
    with in_time("a listing of S3"):
        task = in_a_task(extractor, *plan.splits)
    paths = {each["fileSystemPath"] for each in task.documents if not each.get("implicit")}
    if f"/{SOUND}" not in paths:
        raise Damaged(f"{way}: the sound object is lost")
    if failures := task.summary.failures:
        if any(url not in each for each in failures.values()):
            raise Damaged(f"{way}: a failure does not name the service: {failures}")
        return Outcome.WHOLE
    if rejects := task.summary.rejects:
        if any(f"s3://{BUCKET}" not in each.place for each in rejects):
            raise Damaged(f"{way}: a reject does not name the bucket: {rejects}")
        return Outcome.REJECTED
    return Outcome.VALID if paths - {"/", f"/{SOUND}"} else Outcome.PASSED_OVER
