"""Texts that are masked, texts that are left alone, and a linear time limit for both."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.openlineage.events import to_event
from extractors.openlineage.runs import JobRun, run_of
from extractors.spark.application import SparkApplication
from extractors.spark.lineage import operation_name
from navlin.index.schema.fields import INDEXED_TEXT_CHARS
from navlin.model.keys import (
    EntityType,
    RelationType,
    execution_key,
    operation_key,
    path_key,
    sub_operation_key,
    table_key,
)
from navlin.model.records import Entity, Listing, Record, Reject, Relation
from navlin.model.redaction import (
    CUT,
    MASK,
    bounded,
    is_secret,
    redact,
    redact_options,
    sample,
    without_credentials,
)
from navlin.model.source import Estate, Source, source_id
from tests.support.openlineage import FIRST_MS, event, table
from tests.support.stored import stored

SECRET = "hunter2Zx"

MUST_CHANGE = [
    # SQL
    "ALTER USER u IDENTIFIED BY 'hunter2Zx'",
    'create user u identified by "hunter2Zx" account unlock',
    "CREATE USER u IDENTIFIED BY hunter2Zx",
    "CREATE USER u IDENTIFIED WITH sha256_password BY 'hunter2Zx'",
    "CREATE USER 'u' PASSWORD 'hunter2Zx'",
    "SET PASSWORD FOR u = PASSWORD('hunter2Zx')",
    "SELECT * FROM users WHERE password = 'hunter2Zx'",
    "SELECT * FROM users WHERE password='hunter2Zx' AND id = 1",
    "SELECT * FROM users WHERE `password` = 'hunter2Zx'",
    "SELECT * FROM users WHERE u.password <> 'hunter2Zx'",
    "SELECT * FROM users WHERE password = md5('hunter2Zx')",
    "UPDATE users SET user_password = 'it''s hunter2Zx' WHERE id = 7",
    r"UPDATE users SET user_password = 'it\'s hunter2Zx' WHERE id = 7",
    "CREATE TABLE t (a int) TBLPROPERTIES ('fs.s3a.secret.key'='hunter2Zx', 'x'='y')",
    "CREATE TABLE t (a int) TBLPROPERTIES ('hive.sql.dbcp.password' = 'hunter2Zx')",
    "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:x', user 'u', password 'hunter2Zx', dbtable 't')",
    'CREATE TABLE t USING jdbc OPTIONS ("password" "hunter2Zx")',
    "SET fs.s3a.access.key=hunter2Zx;",
    "SET spark.hadoop.javax.jdo.option.ConnectionPassword=hunter2Zx",
    "set fs.azure.account.key.acct.dfs.core.windows.net=hunter2Zx==",
    "set fs.azure.sas.container.acct.blob.core.windows.net=hunter2Zx",
    "SELECT concat('password=hunter2Zx', x) FROM t",
    "SELECT 'x' -- don't tell: password='hunter2Zx'",
    "LOAD DATA INPATH 's3a://AK:hunter2Zx@bucket/x' INTO TABLE t",
    "a token => 'hunter2Zx'",
    "password = 'hunter2Zx",
    "password = 'a\nb hunter2Zx' rest",
    "ALTER USER u IDENTIFIED BY ',hunter2Zx'",
    "SET x.password=hunter2Zx.password1",
    "SET x.password=hunter2Zxpassword",
    # URLs
    "https://user:hunter2Zx@host/x",
    "https://user:p@ss:hunter2Zx@host:8080/x?y=z",
    "https://:hunter2Zx@host/",
    "s3a://AKID:abc/hunter2Zx/def@bucket/path",
    "https://h/x?a=b&token=hunter2Zx&c=d",
    "https://h/x?access_token=hunter2Zx",
    "https://acct.blob.core.windows.net/c/f?sv=2020&sig=hunter2Zx%3D&se=1",
    "https://b.s3.amazonaws.com/k?X-Amz-Credential=hunter2Zx%2Fus&X-Amz-Signature=hunter2Zx",
    "https://b.s3.amazonaws.com/k?X-Amz-Security-Token=hunter2Zx",
    "https://b.s3.amazonaws.com/k?AWSAccessKeyId=hunter2Zx&Signature=hunter2Zx",
    "https://h/x?api_key=hunter2Zx",
    # JDBC
    "jdbc:mysql://h:3306/db?user=u&password=hunter2Zx&useSSL=true",
    "jdbc:sqlserver://h:1433;databaseName=d;user=u;password=hunter2Zx;encrypt=true",
    "jdbc:hive2://h:10000/d;user=u;password=hunter2Zx",
    "jdbc:oracle:thin:scott/hunter2Zx@//h:1521/x",
    "jdbc:postgresql://u:hunter2Zx@h/d",
    "Server=h;Uid=u;Pwd=hunter2Zx;",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=hunter2Zx==;EndpointSuffix=x",
    # JSON, YAML-like, printed maps, command lines, headers
    '{"user": "u", "password": "hunter2Zx"}',
    '{"a": "{\\"password\\":\\"hunter2Zx\\"}"}',
    "{'clientSecret': 'hunter2Zx'}",
    "[user=u, password=hunter2Zx, dbtable=T]",
    "[Map(user -> u, password -> hunter2Zx)]",
    "Map(password -> x, fs.s3a.secret.key=hunter2Zx)",
    "beeline -u jdbc:hive2://h -n u --password hunter2Zx -e 'x'",
    "sqoop --password=hunter2Zx",
    "Authorization: Bearer hunter2Zx",
    "Authorization: Basic hunter2Zx==",
    '{"Authorization": "Bearer hunter2Zx"}',
    "curl -H 'bearer hunter2Zxhunter2Zx'",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter2Zx+/-x\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nhunter2Zx",
]

BY_FORM = [
    "SELECT 'AKIAIOSFODNN7EXAMPLE'",
    "aws s3 ASIAIOSFODNN7EXAMPLE x",
    "x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc_DEF-123 y",
]

MUST_NOT_CHANGE = [
    "SELECT token_count, max_tokens, password_changed_at, secret_santa FROM t WHERE token_count = 5",
    "SELECT token_count FROM t WHERE token_type = 'access' AND tokens = 'x' AND passwords = 'y'",
    "SELECT a.token, b.password FROM a JOIN b ON a.token = b.token AND a.password=b.password",
    "SELECT a.x FROM a JOIN b ON (a.access_token=b.access_token)",
    "SELECT x AS token, y AS secret FROM t ORDER BY token",
    "SELECT token FROM t WHERE token IS NOT NULL AND token=null",
    "SELECT count(token) FROM t GROUP BY token HAVING count(token) > 1",
    "SELECT token::string FROM t",
    "INSERT INTO t (password, token) SELECT p, q FROM s",
    "CREATE TABLE t (password STRING COMMENT 'hashed', token STRING)",
    "SELECT concat('token: ', x, ' and ', y) FROM t",
    "SELECT concat('password=', x) AS p, 'b' FROM t",
    "SELECT concat('token: ', x), concat('token: ', y, 'b') FROM t",
    "https://h:8080?mail=a@b",
    "SELECT 'forgot password' AS reason, 'b' FROM t",
    "SELECT key, value FROM kv WHERE key = 'abc' AND account_key = 7",
    "SELECT primary_key, partition_key FROM t WHERE sort_key = 'x'",
    "SELECT * FROM texas WHERE kansas='x' AND design='y' AND orig='z'",
    "SELECT sig FROM t",
    "SELECT transform(xs, token -> upper(token)) FROM t",
    "password = ''",
    "hdfs://nn:8020/user/me@example/x",
    "hdfs://nn:8020/x, user@host",
    "abfss://container@account.dfs.core.windows.net/path",
    "thrift://hms:9083",
    "https://h/x?a=b&tokens=3#top",
    "jdbc:oracle:thin:@//h:1521/x",
    "SELECT 'eyJust a word.' , 'AKIA'",
    "s3a://bucket/path/key=1/token_count=5",
]


@pytest.mark.parametrize("text", MUST_CHANGE)
def test_a_secret_is_masked(text: str) -> None:
    redacted = redact(text)
    assert SECRET not in redacted
    assert MASK in redacted


@pytest.mark.parametrize("text", BY_FORM)
def test_a_text_shaped_like_a_secret_is_masked(text: str) -> None:
    assert MASK in redact(text)
    assert not any(part in redact(text) for part in ("7EXAMPLE", "eyJzdWIi"))


@pytest.mark.parametrize("text", MUST_NOT_CHANGE)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("text", MUST_CHANGE + BY_FORM)
def test_redaction_is_idempotent(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("password = 'hunter2Zx' and x = 'y'", f"password = '{MASK}' and x = 'y'"),
        ("SET a.password=hunter2Zx; SELECT 1", f"SET a.password={MASK}; SELECT 1"),
        ("https://u:hunter2Zx@h/x", f"https://u:{MASK}@h/x"),
        ("https://h/x?token=hunter2Zx&c=d", f"https://h/x?token={MASK}&c=d"),
        ("IDENTIFIED BY 'hunter2Zx' REQUIRE SSL", f"IDENTIFIED BY '{MASK}' REQUIRE SSL"),
        ("jdbc:oracle:thin:scott/hunter2Zx@h:1", f"jdbc:oracle:thin:scott/{MASK}@h:1"),
        ('{"password":"hunter2Zx","a":1}', f'{{"password":"{MASK}","a":1}}'),
        ("OPTIONS (password 'hunter2Zx', user 'u')", f"OPTIONS (password '{MASK}', user 'u')"),
        ("--password hunter2Zx -e", f"--password {MASK} -e"),
    ],
)
def test_only_the_secret_is_masked(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "javax.jdo.option.ConnectionPassword",
        "fs.s3a.access.key",
        "fs.s3a.secret.key",
        "accessKey",
        "spark.ssl.keyPassword",
        "private_key",
        "fs.azure.account.key.a.dfs.core.windows.net",
        "fs.azure.sas.c.a",
        "oauth2.token",
    ],
)
def test_the_value_of_a_secret_key_is_always_masked(key: str) -> None:
    assert redact_options({key: "x"}) == {key: MASK}


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("s3a://AK:sec/ret@bucket/x", "s3a://bucket/x"),
        ("hdfs://u:p@nn:8020/x", "hdfs://nn:8020/x"),
        ("hdfs://nn:8020/x@y", "hdfs://nn:8020/x@y"),
        (
            "abfss://container@account.dfs.core.windows.net/x",
            "abfss://container@account.dfs.core.windows.net/x",
        ),
        ("/x/y", "/x/y"),
    ],
)
def test_a_location_loses_its_credentials_and_keeps_its_path(uri: str, place: str) -> None:
    assert without_credentials(uri) == place


def test_values_of_other_options_are_redacted_as_text() -> None:
    options = {"url": "jdbc:mysql://h/d?password=hunter2Zx", "dbtable": "orders", "partitionColumn": "key"}
    assert redact_options(options) == options | {"url": f"jdbc:mysql://h/d?password={MASK}"}
    assert not is_secret("partitionColumn")


PIECES = [
    "password",
    "password=",
    "password='",
    "token ",
    "=',",
    "'",
    '"',
    "\\",
    "\\'",
    "''",
    " ",
    "a",
    "a.",
    "-",
    "--password ",
    "://",
    "://a:",
    "s3://a:",
    "@",
    "eyJ",
    "eyJaaaaaaaaa.",
    "-----BEGIN PRIVATE KEY-----",
    "-----END",
    "authorization:",
    "bearer ",
    "identified ",
    "identified with a ",
    "jdbc:oracle:thin:a/",
    "account.key.a",
    "fs.azure.sas.a",
    "secret_",
    "md5(",
    "\n",
    "(",
    "sig",
    "AKIA",
]


@pytest.mark.parametrize(
    "first",
    [
        each if not at % 4 else pytest.param(each, marks=pytest.mark.services)
        for at, each in enumerate(PIECES)
    ],
)
def test_redaction_time_is_linear_in_length(first: str) -> None:
    """A text of four times the length takes four times as long. A pattern rescanned from each position would take
    sixteen times as long."""
    for second in ["", *PIECES]:
        text = "@" + (first + second) * 20_000
        # A garbage collection may fall into one of the measurements.
        assert any(_cpu_s(text[:20_000]) < 8 * _cpu_s(text[:5_000]) + 0.1 for _ in range(3)), second


def _cpu_s(text: str) -> float:
    begun_s = time.process_time()
    redact(text)
    return time.process_time() - begun_s


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join))
def test_redacting_any_text_returns_a_text(text: str) -> None:
    assert isinstance(redact(text), str)


def test_a_long_text_is_truncated_with_a_marker() -> None:
    text = bounded("é" * 100, 51)
    assert text.endswith(CUT)
    assert text.startswith("é")
    assert len(text.encode()) <= 51


def test_a_text_within_the_limit_is_unchanged() -> None:
    assert bounded("é" * 10, 20) == "é" * 10


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert bounded("a\ud800b😀") == "a\ufffdb😀"


def test_a_sample_is_short_and_redacted() -> None:
    text = sample(b"password='hunter2Zx' \xff\0" + b"x" * 10_000)
    assert "hunter2Zx" not in text
    assert len(text) == 200


# -- The one place that no extractor can bypass ------------------------------------------------------------------------

SOURCE = Source(source_id("c", "NEW-1"), "NEW", "NEW-1", "c")
ESTATE = Estate("c", (SOURCE,))
TEXT = f"ALTER USER u IDENTIFIED BY '{SECRET}'"
URL = f"https://u:{SECRET}@h/x"
STATEMENT = operation_key(SOURCE, TEXT, ())
ELSEWHERE = table_key(ESTATE.serving("JDBC", f"jdbc:x://u:{SECRET}@h"), "db", "t")
FILE = path_key(SOURCE, "/a", EntityType.FILE)

UNREDACTED: dict[str, Record] = {
    "a statement": Entity(STATEMENT, 1, {"queryText": TEXT}),
    "a part of it": Entity(sub_operation_key(STATEMENT, TEXT), 1, {"expression": TEXT}),
    "a run of it": Entity(execution_key(STATEMENT, URL), 1, {"errorMessage": URL}),
    "a text of the model": Entity(FILE, 1, {"originalDescription": TEXT}),
    "a text of the extractor's own": Entity(FILE, 1, {"paper": TEXT}),
    "a text whose secret would be cut in two": Entity(
        FILE, 1, {"paper": "x" * (INDEXED_TEXT_CHARS - 28) + " " + URL + "/" * 99}
    ),
    "a long statement": Entity(STATEMENT, 1, {"queryText": "x" * INDEXED_TEXT_CHARS + TEXT}),
    "a list of texts": Entity(FILE, 1, {"inputs": [URL], "papers": (TEXT, URL)}),
    "a mapping": Entity(FILE, 1, {"params": {"my.secret.thing": SECRET, "url": URL}}),
    "a name that says so": Entity(FILE, 1, {"api_token": SECRET}),
    "something volatile": Entity(FILE, 1, volatile={"paper": TEXT}),
    "a relation": Relation(RelationType.DATA_FLOW, FILE, STATEMENT, "/x", 1, {"hint": TEXT}),
    "a claim on an address": Relation(RelationType.DATA_FLOW, FILE, ELSEWHERE, "/x", 1),
    "columns": Listing(
        SOURCE,
        1,
        ["/a", "/b"],
        [False, False],
        {
            "owner": pa.array([TEXT, None]),
            "group": pa.array([URL, "etl"]).dictionary_encode(),
            "acl": pa.array([[TEXT], None]),
            "api_token": pa.array([SECRET, None]),
        },
        {"paper": pa.array([None, URL])},
    ),
    "a line that does not read": Reject(URL, f"{TEXT} is no record", sample=TEXT),
}


@pytest.mark.parametrize("record", UNREDACTED.values(), ids=UNREDACTED)
def test_texts_of_an_extractor_that_does_not_redact_are_redacted_on_storing(record: Record) -> None:
    kept = stored([record])

    assert SECRET not in kept
    assert MASK in kept


def test_entity_names_are_not_redacted() -> None:
    path = path_key(SOURCE, "/sales/token=17", EntityType.DIRECTORY)
    table = table_key(SOURCE, "db", "pwd='x'")
    relation = Relation(RelationType.LOGICAL_PHYSICAL, table, path, "/x", 1)

    assert MASK not in stored([Entity(path, 1), Entity(table, 1), relation])


def test_a_text_is_redacted_before_it_is_truncated() -> None:
    assert (
        bounded("x" * 30 + " " + URL, 50)
        == "x" * 30 + f" https://u:{MASK}"[: 50 - len(CUT.encode()) - 30] + CUT
    )


def test_the_saved_state_of_a_run_of_openlineage_has_no_secret() -> None:
    secret = f"ALTER USER u IDENTIFIED BY '{SECRET}'"
    told = event(
        "START",
        job=secret,
        job_facets={"documentation": {"description": secret}, "sql": {"query": secret}},
        run_facets={
            "parent": {"run": {"runId": "p"}, "job": {"namespace": "n", "name": secret}},
            "tags": {"tags": [{"key": "password", "value": SECRET}]},
        },
        outputs=[table("a.b", documentation={"description": secret})],
    )
    run = JobRun("r", "n", "")

    run.learn(to_event(told, latest_ms=FIRST_MS), FIRST_MS)

    restored = run_of(run.saved())
    assert SECRET not in repr(restored)
    assert restored.name == "ALTER USER u IDENTIFIED BY '********'"


def test_a_comment_in_a_job_description_hides_no_secret() -> None:
    description = f"SELECT 1 FROM u WHERE password = -- not this\n '{SECRET}'"  # noqa: S608 (a text of a log)

    name = operation_name(SparkApplication(name="a"), description)

    assert name == "a: SELECT 1 FROM u WHERE password = -- not this '********'"
