"""Any input is either refused with an error message, or printed as an equivalent query in navlin's own form that
Solr accepts."""

from __future__ import annotations

import re
import time

import hypothesis
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from navlin.index.search.print_query import printed, to_solr
from navlin.index.solr.solr import Solr
from navlin.query import syntax
from navlin.query.scanner import QueryError
from navlin.query.search import search
from navlin.query.syntax import parse

PIECES = (
    (
        "name owner type sourceType size deleted created deleteTime identity tags queryText anyText writer internalType"
        " packageName metaClassName id ep1Ids gov.rows gov.x up_team tp_x _query_ _val_ a b TABLE hv_view 10 2 0.5 true NOW"
        " 2015-01-01 2026-01-01T00:00:00Z * ? *:* : :: ( ) ( ) [ ] { } {! } TO to AND OR NOT and or && || + - ! ~ ^ ~1 ^2"
        ' ^=3 / \\ \\" \\u0041 \\u " \' , . = $ # % & | @ ; < > é 日 \u3000 \t \n {!terms\u0020f=id} {!terms\u0020f=type}'
        " {!frange\u0020l=0} {!tag=x} {!ex=x} {!join} {!join\u0020from=id\u0020to=id} {!func} v='x' v=$q query( sum( filter("
        ' _query_:"{!join}" [1\u0020TO\u00202] {*\u0020TO\u0020b] "{!xmlparser}" /[a-z]/ -( \x00 \x7f 😀'
    )
    .replace(" ", "\n")
    .split("\n")
)
"""Fragments of queries."""


def pieces() -> st.SearchStrategy[str]:
    words = st.sampled_from([each for each in PIECES if each])
    spaced = st.tuples(words, st.sampled_from(["", " "])).map("".join)
    return st.lists(spaced, max_size=14).map("".join)


TEXTS = st.one_of(
    pieces(), st.text(max_size=40), st.builds("name:{}".format, st.text(min_size=1, max_size=12))
)

_QUOTED_OR_ESCAPED = re.compile(r"\\.|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)
_OUR_OWN = re.compile(r"\{!(?:(?:terms|term|prefix|frange)(?: [a-z]+=)+|(?:tag|ex|key)=(?: (?:ex|key)=)*)\}")
"""A parser clause in navlin's own form, without the quoted values of its parameters."""
_PLAIN = re.compile(r"[\w .:*?~^=+\-()\[\]{}]*", re.ASCII)


def _letter_or_nothing(found: re.Match[str]) -> str:
    return "x" if found.group().startswith("\\") else ""


def understood(text: str) -> syntax.Parsed | None:
    """Parse a text. Return None if it is refused, after checking the error message and its position."""
    try:
        return parse(text)
    except QueryError as error:
        assert error.message
        assert -1 <= error.position <= len(text)
        return None


def is_read_back(text: str) -> None:
    if parsed := understood(text):
        again = parse(printed(parsed.query))
        assert again.query == parsed.query
        assert set(again.fields) == set(parsed.fields)
        assert again.types == parsed.types


def holds_no_syntax_of_the_text(text: str) -> None:
    if parsed := understood(text):
        for query in (to_solr(parsed.query), printed(parsed.query)):
            bare = _OUR_OWN.sub("", _QUOTED_OR_ESCAPED.sub(_letter_or_nothing, query))
            assert _PLAIN.fullmatch(bare), bare
            assert "{!" not in bare
            assert not re.search(r"(?<!\w)(_query_|_val_):", bare)


@settings(max_examples=500)
@given(TEXTS)
def test_a_printed_query_parses_back_to_the_same(text: str) -> None:
    is_read_back(text)


@settings(max_examples=500)
@given(TEXTS)
@example("{!frange}name")
@example("type:\u1f80")  # One letter that becomes two letters in upper case.
def test_no_text_becomes_solr_syntax(text: str) -> None:
    holds_no_syntax_of_the_text(text)


@pytest.mark.soak
def test_a_hundred_thousand_more_texts_hold(seed: str) -> None:
    @hypothesis.seed(seed)
    @settings(max_examples=100_000, derandomize=False, database=None)
    @given(TEXTS)
    def check(text: str) -> None:
        is_read_back(text)
        holds_no_syntax_of_the_text(text)

    check()


@pytest.fixture(scope="module")
def solr(solr_server: object) -> Solr:
    from navlin.solr_server.embedded import EmbeddedSolr

    assert isinstance(solr_server, EmbeddedSolr)
    return Solr(solr_server.start())


_OF_A_FIELD = re.compile(
    r"there is no field|is not a number, date or truth value|too many words|not single valued|multi.?valued|indexed=false"
    r"|[Cc]an(?:'t|not) (?:run|use|search|query|perform)|not supported|[Uu]nsupported|Missing|not indexed",
)
"""Errors about fields and their types that Solr may still report for a query that it can parse."""


def test_solr_accepts_every_printed_query(solr: Solr) -> None:
    taken = refused = 0
    others: list[str] = []

    @settings(max_examples=600, suppress_health_check=list(HealthCheck))
    @given(TEXTS)
    def ask(text: str) -> None:
        nonlocal taken, refused
        if understood(text) is None:
            return
        try:
            search(solr, text, limit=1)
            taken += 1
        except QueryError as error:
            refused += 1
            if not _OF_A_FIELD.search(str(error)):
                others.append(f"{text!r}: {error}")

    ask()
    assert others == []
    assert taken > 50


# -- Attacks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "type:{!join from=sourceId to=sourceId fromIndex=nav_runs v='status:failed'}",
        "type:({!join from=sourceId to=sourceId fromIndex=nav_runs v='status:failed'})",
        "{!frange l=0}query({!join from=sourceId to=sourceId fromIndex=nav_runs v='status:failed'})",
        "{!frange l=0}query({!join\u3000from=a\u3000to=b\u3000v='x'})",
        "{!frange l=0 v='query({!join from=a to=b v=x})'}",
        "{!frange l=0 v=$q}",
        "{!frange l=0}ord(name)",
        "{!frange l=0}_val_",
        "{!graph from=endpoint1Ids to=endpoint2Ids}identity:x",
        "{!xmlparser}<BooleanQuery/>",
        "{!func}sum(size,1)",
        "size:[{!func}sum(size,1) TO 5]",
        "{!terms f='id}{!join'}x",
        "{!terms f=\"id v='{!join}'\"}x",
        "{!tag=t}{!join from=a to=b}x",
        "{!tag=t}{!tag=u}x",
        "{!tag='a}{!join from=a to=b}'}x",
        'x OR _query_:"{!join from=a to=b}x"',
        'x OR \\_query\\_:"{!join from=a to=b}x"',
        '_val_:"sum(size,1)"',
        "{!edismax qf=name}x",
        '{!complexphrase}name:"a* b*"',
        "{!parent which=x}y",
        "{!rerank reRankQuery=$x}y",
        "{!collapse field=type}",
        "{!switch default=x}y",
    ],
)
def test_an_attack_is_refused_as_a_query_and_as_a_filter(solr: Solr, query: str) -> None:
    with pytest.raises(QueryError):
        search(solr, query)
    with pytest.raises(QueryError):
        search(solr, "*", filters=[query])


@pytest.mark.parametrize(
    "text",
    [
        'name:"{!join from=a to=b}x"',
        "name:\\{\\!join\\ from=a\\}",
        "{!terms f=name}{!join",
        "{!terms f=name v='x\\'}{!join from=a to=b}y'}",
        "{!prefix f=name}\\'}{!join",
        "{!key='{!join}' tag=t}qzxv",
        "name:x/*comment",
        "name:filter(qzxv) AND name:qzxv",
    ],
)
def test_syntax_in_a_value_is_literal(solr: Solr, text: str) -> None:
    assert search(solr, text, limit=1).total == 0


@pytest.mark.parametrize(
    "name",
    ["sum(size,1)", "{!join}type", "query({!join})", "type,size", "_docid_", "field(type)", "$x", "", "a b"],
)
def test_only_fields_are_facets_or_sort_keys(solr: Solr, name: str) -> None:
    with pytest.raises(QueryError):
        search(solr, "*", facets=[name])
    if name and "," not in name:
        with pytest.raises(QueryError):
            search(solr, "*", sort=f"{name} desc")


@pytest.mark.parametrize(
    "fields", ["*,[subquery]", "x:query({!join})", "sum(size,1)", "[explain]", "a b", ""]
)
def test_only_fields_are_returned(solr: Solr, fields: str) -> None:
    with pytest.raises(QueryError, match="is not the name of a field"):
        search(solr, "*", fields=fields)


@pytest.mark.parametrize("core", ["nav_runs", "../admin/cores", "nav_elements/select?", "x"])
def test_only_entities_and_relations_are_searched(solr: Solr, core: str) -> None:
    with pytest.raises(QueryError, match="there is no core"):
        search(solr, "*", core=core)


# -- Bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("(" * 10_000 + "a" + ")" * 10_000, "parentheses are nested more than 100 deep"),
        ("name:(" * 10_000, "parentheses are nested more than 100 deep"),
        ("-(" * 101 + "a" + ")" * 101, "parentheses are nested more than 100 deep"),
        ("a " * 100_000, "the query has more than 10000 words"),
        ("x:[1 TO 2] " * 100_000, "the query has more than 10000 words"),
        ("name:*a " * 201, "more than 200 words have wildcards or a distance"),
        ("name:a~ " * 201, "more than 200 words have wildcards or a distance"),
        ("{!prefix f=name}a " * 201, "more than 200 words have wildcards or a distance"),
        ("name:" + "*a" * 21, "a word has more than 20 wildcards"),
        ("name:" + "a" * 1_001 + "*", "a word with wildcards or a distance is too long"),
        ("x" * 2_000_001, "a query may have at most 2000000 characters"),
        ("x" * 501 + ":a", "the name of a field may have at most 500 characters"),
        ("{!" + " " * 1_000_000, "{! is not closed by }"),
        ("{!" + "a " * 500_000, "the local parameter type is given twice"),
        ('"' + "\\" * 1_000_001, "a quotation mark is not closed"),
        ("[" * 1_000_000, "a range is not closed"),
        ("a" + " and" * 300_000, "the query has more than 10000 words"),
        ("{!terms f=id}" + "(" * 1_000_000 + " {!", None),
        ("{!terms f=id}" + "a, " * 600_000, None),
        ("id:" + "a" * 1_900_000, None),
    ],
    ids=lambda each: ascii(each)[:30],
)
def test_parsing_is_bounded(query: str, sentence: str | None) -> None:
    began = time.process_time()
    if sentence is None:
        printed(parse(query).query)
    else:
        with pytest.raises(QueryError) as error:
            parse(query)
        assert str(error.value).startswith(sentence)
    # A parser with unbounded lookahead or backtracking at each character would take hours.
    assert time.process_time() - began < 30


@pytest.mark.parametrize(
    "query",
    [
        "(" * 100 + "a" + ")" * 100,
        " ".join(f"sourceId:{number}" for number in range(9_999)),
        " ".join(f"name:*{number}*" for number in range(100)),
        "name:" + "*a" * 20,
        "name:" + "?" * 20,
        "name:" + "a" * 900 + "~2",
        "{!terms f=id}" + ",".join(map(str, range(50_000))),
    ],
    ids=lambda each: each[:20],
)
def test_a_query_within_the_bounds_is_answered(solr: Solr, query: str) -> None:
    answer = search(solr, query, limit=1)
    assert len(answer.documents) == min(answer.total, 1)
