"""Secrets do not leak, and other text is unchanged. The tables of cases were written before the code was read."""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from navlin.model import redaction
from navlin.model.redaction import redact, shows
from tests.secret_texts import LEAKS, STAYS, marked, texts


def cases(table: dict[str, str]) -> list[Any]:
    return [
        pytest.param(text, id=f"{kind}: {text}") for kind, block in table.items() for text in texts(block)
    ]


@pytest.mark.parametrize("text", cases(LEAKS))
def test_every_secret_is_masked_and_redaction_is_idempotent(text: str) -> None:
    plain, secrets = marked(text)
    redacted = redact(plain)
    assert secrets
    assert not [secret for secret in secrets if secret in redacted]
    assert redact(redacted) == redacted


@pytest.mark.parametrize("text", cases(STAYS))
def test_a_text_without_a_secret_is_unchanged(text: str) -> None:
    assert redact(text) == text


def test_the_bulk_check_misses_no_text_with_a_secret() -> None:
    texts_with = [marked(text)[0] for block in LEAKS.values() for text in texts(block)]
    assert [text for text in texts_with if not shows(text.encode())] == []
    assert [text for text in texts_with if not shows(f"a\n{text}\nb".encode())] == []


def test_the_first_check_hides_no_class_of_secrets() -> None:
    """Texts spliced at random from the tables are masked in the same way with and without the first check."""
    tables = [*LEAKS.values(), *STAYS.values()]
    plain = [marked(text)[0] for block in tables for text in texts(block)]
    pieces = [*plain, *OPENINGS, *BETWEEN]
    at_random = random.Random(1)
    for _ in range(1_000):
        text = at_random.choice(plain)
        for _ in range(at_random.randrange(4)):
            at, length = at_random.randrange(len(text) + 1), at_random.choice((0, 0, 1, 3))
            text = text[:at] + at_random.choice(pieces) + text[at + length :]
        assert redact(text) == redaction.redact_by(text, redaction.CLASSES)


@pytest.mark.services
def test_a_secret_after_a_megabyte_of_text_is_found() -> None:
    """RE2 finds nothing if its automaton does not fit into memory, which would be a leak."""
    pieces = [*OPENINGS, "\ufffd", "é", "日本", "\ud800", "\0", *"aA0_-./ \n='\"<(|$@:"]
    at_random = random.Random(1)
    text = "".join(at_random.choices(pieces, k=200_000))
    assert "hunter2Zx" not in redact(f"{text}\nALTER USER u IDENTIFIED BY 'hunter2Zx'")


BETWEEN = (
    *" \t\n\v\xa0\u2003\x1c'\"\\:=(),-<`$@.éß日k",
    "=>",
    "->",
    "/* c */",
    "-- x\n",
    "N'",
    "md5(",
    "is ",
    " to '",
    "\ud800",
    "_key",
)
OPENINGS = (
    "password = '",
    "password: |\n ",
    "--password ",
    "identified by ",
    "password $a$",
    "aes_encrypt(",
    "mysql -p",
    "curl -u a:b ",
    "echo a | ",
    "<name>password",
    '"value": "',
    "cookie: a=",
    "Authorization: ",
    "/* ",
    "-- ",
    "://a:",
    "s3://a:",
    "a.b.password ",
    "password = x\n",
    "and a.password=b ",
    "jdbc:oracle:thin:a/",
    "getConnection(a,",
    "eyJaaaaaaaaa.",
    "-----BEGIN PRIVATE KEY-----",
    "Private-Lines: 2\n",
    "a:1:b:c:",
    "${",
    "'password=' || '",
    "password = 'a' || ",
    "password = 'a' if ",
    "password = x() or 'a",
    '"&password=" + ',
    "password=concat('a', ",
    "password=$(echo ",
    "passwords: [a, ",
    "passwords:\n - a\n",
    "passphrase: a b ",
    "kind: Secret\ndata:\n a: b\n",
    "&lt;password a",
    "&lt;name&gt;password&lt;/name&gt;",
    'variable "password" { default ',
    "insert (password) values ('a'",
    "insert into ",
    "password%3D%22",
    "https://a1b2c3d4e5f6",
    "!connect a b ",
    "kubectl create ",
    "jwt.encode({",
    "password in ('a', ",
    "'a' = lower(a.",
    "case password when 'a' then ",
    "case a.a",
    "coalesce(a.password, ",
    "lower(password)) ",
    "password in (",
    "/*'a'/*",
    "case token when ",
    "\"password in ('",
    "token.",
    "token::",
    "lower(token)",
)


# Every fourth case is a smoke test, because each kind of slow text has its own pattern.
@pytest.mark.parametrize(
    "opening",
    [
        each if not at % 4 else pytest.param(each, marks=pytest.mark.services)
        for at, each in enumerate(OPENINGS)
    ],
)
def test_a_hostile_text_takes_bounded_time(opening: str) -> None:
    """A limit, not a measurement: a pattern rescanned from each position takes minutes for a megabyte, and a
    sixteenth of that for a quarter of a megabyte."""
    begun = time.process_time()
    # Some secret classes only check texts that contain a quote.
    redact("''" + (opening * (1 << 18))[: 1 << 18])
    assert time.process_time() - begun < 7


COMMENTS = [
    f"{comment} ({number})"
    for number in range(1_000)
    for comment in (
        "the customer's name",
        "Number of items in the order, as delivered",
        "date of birth",
        "FK to dim_customer",
        "etl_user",
        "gross amount in EUR, after discount and before tax",
    )
]
PATHS = [
    f"/user/hive/warehouse/sales.db/orders/ds=2020-01-{day:02d}/part-{part:05d}-{part:032x}-c000.snappy.parquet"
    for day in range(1, 29)
    for part in range(200)
]
STATEMENT = """
INSERT OVERWRITE TABLE sales.sums PARTITION (ds = '2020-01-01')
SELECT o.id, o.token_count, c.name AS customer, sum(o.amount * (1 - o.discount)) AS net, count(DISTINCT s.session_id) AS n
FROM sales.orders o JOIN crm.customers c ON o.customer_key = c.customer_key LEFT JOIN web.sessions s ON s.order_id = o.id
WHERE o.ds = '2020-01-01' AND c.country IN ('DE', 'FR') AND o.status <> 'cancelled'
GROUP BY o.id, o.token_count, c.name HAVING net > 100
"""
STATEMENTS = [f"{STATEMENT} -- run {number}" for number in range(2_000)]


@pytest.mark.parametrize(
    ("plain", "most"),
    [(COMMENTS, 5), (PATHS, 6), (STATEMENTS, 7)],
    ids=["comments", "paths", "statements"],
)
def test_redacting_ordinary_text_is_cheap(plain: list[str], most: float) -> None:
    """The cost is measured in units of work done for each indexed text anyway: serializing it to JSON and hashing
    that."""
    redaction = min(_cpu_s(redact, plain) for _ in range(5))
    anyway = min(_cpu_s(lambda text: blake2b(orjson.dumps(text)).digest(), plain) for _ in range(5))
    sys.stdout.write(f"{redaction / anyway:.2f}\n")
    assert redaction < most * anyway


def _cpu_s(work: Callable[[str], object], plain: list[str]) -> float:
    begun = time.process_time()
    for text in plain:
        work(text)
    return time.process_time() - begun


BLANKED = {
    "fs.s3a.access.key": (1, "the id of a key"),
    "value": (4, "a password of a database, planted in configurations of workflows"),
}
"""Word before a masked text in the corpora → (number of masked texts, reason)."""
PROGRAMS = {".py", ".sh", ".java"}
"""Programs stored next to the texts are not part of an estate."""
BEFORE_MASK = re.compile(r"([\w.-]*)\W{0,20}?(?<!\*)\*{8}(?!\*)")


def test_only_texts_with_secrets_change_in_the_corpora(corpora: Path) -> None:
    plain = set(_texts_in(corpora))
    changed = {text: redacted for text in plain if (redacted := redact(text)) != text}
    blanked = Counter(
        word
        for text, redacted in changed.items()
        for word in (Counter(BEFORE_MASK.findall(redacted)) - Counter(BEFORE_MASK.findall(text))).elements()
    )
    sys.stdout.write(f"{len(changed)} of {len(plain)} texts change: {dict(blanked)}\n")

    assert len(plain) > 35_000
    assert blanked == {word: count for word, (count, _) in BLANKED.items()}
    assert len(changed) == 5


def _texts_in(corpora: Path) -> Iterator[str]:
    """Yield every text: each string of a JSON file or of a line with JSON, and each line that is not JSON."""
    for file in sorted(corpora.rglob("*")):
        if file.is_file() and file.suffix not in {".img", *PROGRAMS}:
            data = file.read_bytes()
            if file.suffix == ".zstd":
                with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as frames:
                    data = frames.read()
            content = data.decode(errors="replace")
            for line in [content] if file.suffix == ".json" else content.splitlines():
                try:
                    yield from _strings(json.loads(line))
                except ValueError:
                    yield line


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for item in value.values():
                yield from _strings(item)
