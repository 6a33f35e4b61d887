"""The query language: each kind of clause → its printed form, or the error message."""

from __future__ import annotations

import pytest

from navlin.index.search.print_query import printed
from navlin.query.scanner import QueryError
from navlin.query.syntax import parse

ACCEPTED = {
    # -- words --
    "owner:ann": "owner:ann",
    "owner: ann": "owner:ann",
    "orders": "orders",
    "a\\-b": "a\\-b",
    "name:a-b": "name:a\\-b",
    "name:a&&b": "name:a\\&\\&b",
    "name:\\u0041\\user": "name:Auser",
    "fileSystemPath:\\/user\\/x": "fileSystemPath:\\/user\\/x",
    "fileSystemPath:hdfs://nn:8020/a": "fileSystemPath:hdfs\\:\\/\\/nn\\:8020\\/a",
    "hdfs://nn:8020/a": "hdfs\\:\\/\\/nn\\:8020\\/a",
    "name:/ab+/": "name:\\/ab\\+\\/",
    "name:\\AND": "name:\\AND",
    "and": "\\and",
    "TO": "\\TO",
    "filter(a)": "filter (a)",
    "name:日本": "name:\\日\\本",
    # -- wildcards --
    "*": "*:*",
    "**": "*:*",
    "(*)": "(*:*)",
    "*:*": "*:*",
    "tags:*": "tags:*",
    "name:a*b?c": "name:a*b?c",
    "name:a\\*": "name:a\\*",
    "name:**a**": "name:*a*",
    "type:\\{\\}\\(\\)\\[\\]*": "type:\\{\\}\\(\\)\\[\\]*",
    'parentPath:"/db"*': "parentPath:\\/db*",
    # -- phrases --
    'name:"a b"': 'name:"a b"',
    'name:"a \\" \\\\ b"~3': 'name:"a \\" \\\\ b"~3',
    'name:"{!join}"': 'name:"{!join}"',
    'name:""': 'name:""',
    # -- distances and boosts --
    "name:a~": "name:a~",
    "name:a~1": "name:a~1",
    "name:a~0.50": "name:a~0.5",
    "name:a^2": "name:a^2",
    "name:a^=02.50": "name:a^=2.5",
    "name:a~1^.5": "name:a~1^0.5",
    "(a b)^3": "(a b)^3",
    # -- ranges --
    "size:[1 TO 10]": 'size:["1" TO "10"]',
    "size:{1 to *}": 'size:{"1" TO *}',
    "size:[* TO 10}": 'size:[* TO "10"}',
    'name:["a b" TO "]"]': 'name:["a b" TO "]"]',
    "name:[\\* TO *]": 'name:["*" TO *]',
    "started:[NOW/DAY-5DAYS TO NOW]": 'started:["NOW/DAY-5DAYS" TO "NOW"]',
    "[a TO b]": '["a" TO "b"]',
    # -- clauses --
    "a b": "a b",
    "a AND b OR c": "a AND b OR c",
    "a and b or c": "a AND b OR c",
    "a && b || c": "a AND b OR c",
    "+a -b !c NOT d": "+a -b -c -d",
    "a AND -b AND NOT c": "a AND -b AND -c",
    "type:(a OR b)": "(type:a OR type:b)",
    "type:(a name:b)": "(type:a name:b)",
    "+deleted:(-deleted:true)": "+(*:* -deleted:true)",
    "-a": "-a",
    # -- fields --
    "id:x": "identity:x",
    "ep1Ids:x": "endpoint1Ids:x",
    "gov.steward:eve": "gov\\.steward:eve",
    "__gov_1.steward:eve": "__gov_1\\.steward:eve",
    "{!term f=_gov.steward}eve": "{!term f='cp__gov.steward' v='eve'}",
    "gov.my\\ key:eve": "gov\\.my\\ key:eve",
    "up_team:sales": "up_team:sales",
    # -- local parameters --
    "{!terms f=id}a,b": "{!terms f='identity' v='a,b'}",
    "{!terms f=id}a, b c": "{!terms f='identity' v='a,b'} c",
    "{!terms f=id v='a,b'}": "{!terms f='identity' v='a,b'}",
    "{!terms f=name}it's": "{!terms f='name' v='it\\'s'}",
    "{!term f=id}a": "{!term f='identity' v='a'}",
    "{!prefix f=id}a": "{!prefix f='identity' v='a'}",
    "{!terms f=type tag=t}TABLE": "{!tag='t'}{!terms f='type' v='TABLE'}",
    "{!tag=type} a OR b": "{!tag='type'}a OR b",
    "{!tag=a,b ex=c}x": "{!tag='a,b' ex='c'}x",
    "{!lucene}x": "x",
    "{!frange l=0 incl=false}deleteTime": "{!frange l='0' incl='false' v='deleteTime'}",
    "{!frange l=-1.50 u=7 incu=false key='now \\' then'}size": (
        "{!key='now \\' then'}{!frange l='-1.5' u='7' incu='false' v='size'}"
    ),
    "x AND {!frange l=0}size": "x AND {!frange l='0' v='size'}",
}

PARSERS_OF_SOLR = {
    name: name in ("terms", "term", "prefix", "frange", "lucene")
    for name in (
        "bbox bool boost child collapse complexphrase dismax edismax field filters frange func fuzzy geofilt graph"
        " graphTerms hash hash_range igain join knn lucene maxscore min_hash mlt mlt_content parent payload_check"
        " payload_score prefix query rank raw rerank significantTerms simple surround switch term terms tlogit"
        " vectorSimilarity xmlparser xport"
    ).split()
}
"""Query parser of Solr → whether a query may use it."""

REFUSED = {
    "type:{!join from=sourceId to=sourceId fromIndex=nav_runs v='status:failed TO x'}": (
        "type: must be followed by a value, not by a parser, at character 6"
    ),
    "{!frange l=0}query({!join from=id to=id v='a'})": (
        "{!frange} compares a field, and \"query({!join from=id to=id v='a'})\" is not one, at character 1"
    ),
    "size:[{!func}x TO 9]": "a range must have the form [from TO to], at character 6",
    "name:/[a-z]+/": "a range must have the form [from TO to], at character 7",
    "{!frange l={!func}x}size": "{!frange} compares a field, and 'x}size' is not one, at character 1",
    "{!frange l=$x}size": "references to parameters are not available here, at character 12",
    "{!frange l=sum(1,2)}size": "l of {!frange} must be a number, as in l=0, at character 1",
    "{!frange l=0 incl=maybe}size": "incl of {!frange} must be true or false, at character 1",
    "{!frange l=0}sum(size,1)": "{!frange} compares a field, and 'sum(size,1)' is not one, at character 1",
    "{!frange l=0 cost=200}size": (
        "the local parameter cost is not available for {!frange}; ex, incl, incu, key, l, tag, u, v are, at character 1"
    ),
    "x {!frange l=0 tag=t}size": (
        "the local parameter tag is not available for {!frange}; incl, incu, l, u, v are, at character 3"
    ),
    "{!terms f=id method=termsFilter}a": (
        "the local parameter method is not available for {!terms}; ex, f, key, tag, v are, at character 1"
    ),
    "{!terms type=join f=id}a": "the local parameter type is given twice, at character 14",
    "{!type=join f=id}a": "{!join} is not available here; frange, prefix, term, terms are, at character 1",
    "{!lucene q.op=AND}a": "the local parameter q.op is not available for a query; ex, key, tag are, at character 1",
    "{!cache=false}a": "the local parameter cache is not available for a query; ex, key, tag are, at character 1",
    "{!v='{!join}x'}": "the local parameter v is not available for a query; ex, key, tag are, at character 1",
    "{!tag='a b'}x": "'a b' is not the name of a tag, at character 1",
    "{!terms}a": "{!terms} needs a field: f=…, at character 1",
    "{!terms f=_query_}a": "'_query_' is not the name of a field, at character 1",
    "{!terms f=writer}a": "{!terms} is not available for writer: write writer:(…), at character 1",
    "{!terms f=id": "{! is not closed by }, at character 1",
    "_val_:x": "_val_ is not available here, at character 1",
    "\\_query_:x": "_query_ is not available here, at character 1",
    "\\u005fquery_:x": "_query_ is not available here, at character 1",
    "na*me:x": "the name of a field cannot have wildcards, at character 1",
    "*:x": "*: must be followed by *, as in *:* for everything, at character 1",
    "+-a": "- follows +: a clause may have only one sign, at character 2",
    "name:a*~1": "a word with wildcards cannot have a distance, at character 8",
    "name:a~1.5": "a word's distance must be 0, 1 or 2, as in name~1, at character 7",
    'name:"a b"~': 'a phrase\'s distance must be a whole number, as in "a b"~2, at character 11',
    "(a b)~2": "a distance must follow a word or a phrase, at character 6",
    "a^2^3": "'^' cannot follow a boost, at character 4",
    "name:a]": "']' is not allowed here: a word or a field is expected, at character 7",
    "name:x\\ud800": "half of a surrogate pair is not a character, at character 7",
    "name:\ud800": "half of a surrogate pair is not a character, at character 6",
    "name:x +": "nothing follows + before the query ends, at character 8",
    "(NOT )": "nothing follows NOT before this parenthesis ends, at character 2",
}


@pytest.mark.parametrize(("query", "expected"), ACCEPTED.items(), ids=ascii)
def test_an_accepted_query_is_printed_and_parsed_back(query: str, expected: str) -> None:
    tree = parse(query).query
    assert printed(tree) == expected
    assert parse(expected).query == tree


@pytest.mark.parametrize(("query", "sentence"), REFUSED.items(), ids=ascii)
def test_a_refused_query_is_reported_with_its_position(query: str, sentence: str) -> None:
    with pytest.raises(QueryError) as error:
        parse(query)
    assert str(error.value) == sentence


@pytest.mark.parametrize(("parser", "available"), PARSERS_OF_SOLR.items())
@pytest.mark.parametrize("form", ["{{!{} f=id v=a}}", "x AND {{!{} f=id v=a}}", "{{!type={} f=id v=a}}"])
def test_a_query_may_use_five_of_solrs_parsers(parser: str, available: bool, form: str) -> None:
    query = form.format(parser)
    if available and parser in ("terms", "term", "prefix"):
        assert f"{{!{parser} f='identity' v='a'}}" in printed(parse(query).query)
        return
    with pytest.raises(QueryError) as error:
        parse(query)
    refused = f"{{!{parser}}} is not available here"
    # The other two available parsers do not take a field.
    assert available or str(error.value).startswith(refused)
