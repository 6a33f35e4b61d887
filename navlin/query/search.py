"""Search for entities and relations in Navigator's query language."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.relation import StoredRelation
from navlin.index.people.managed_properties import managed_field
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.search.print_query import printed
from navlin.index.search.query_fields import REWRITTEN, WORDS_ALONE, core_asked, field_names
from navlin.index.search.query_tree import (
    Boost,
    Clause,
    ExactTerms,
    Facet,
    FieldValue,
    FunctionRange,
    Node,
    Query,
    SearchTerm,
)
from navlin.index.search.searching import MOST_S, SolrQuery, TookTooLong, find, pages
from navlin.index.solr.solr import Solr, SolrError, SolrUnavailable
from navlin.query.bounds import MAX_LIMIT, MAX_OFFSET
from navlin.query.scanner import QueryError
from navlin.query.syntax import Parsed, parse, parse_beside, parse_facet, plain_field

FEW_WORDS: Final = 10
"""Maximum number of words that are tried as a name. Names do not have more words, and each word costs clauses."""
PREFERRED_TYPES: Final = ("DATABASE", "TABLE", "VIEW", "DATASET")
"""Types that a person most often means by a name."""

_NUMBER_ERROR = re.compile(
    r"Invalid (?:Number|Date String|boolean)[^:]*:\s*'?(?P<value>[^'\"]+?)'?(?: for field \S+)?\s*$", re.I
)
_TOO_MANY = re.compile("too many.*clauses", re.IGNORECASE | re.DOTALL)
_TOO_LARGE = re.compile(f"Determinizing automaton|{_TOO_MANY.pattern}", re.IGNORECASE | re.DOTALL)
_UNDEFINED = re.compile(r"undefined field:?\s*\"?(?P<name>[^\"\s]+)\"?", re.I)
_CLASS_NAME = re.compile(r"\b(?:[a-z]\w*\.){2,}(?P<name>[A-Z]\w*)(?::\s*)?")


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Result of a search: documents as indexed, under the index's field names."""

    core: str
    query: str
    """The parsed query, printed as text."""
    total: int
    offset: int
    limit: int
    documents: tuple[Mapping[str, Any], ...]
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Field → value → number of matches."""
    highlights: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Id of an entity → field → pieces of the field's text, with ``<em>`` around each match."""
    folded: Mapping[str, int] | None = field(default_factory=dict)
    """Type → number of matches that are not among the results: sub-operations, executions, partitions. None if these
    are not counted because there are too many other matches."""
    statements: Mapping[str, str] = field(default_factory=dict)
    """Id of a statement, sub-operation or execution among the results → the display name of its statement, such as
    ``nightly revenue → shop.revenue``."""

    @property
    def entities(self) -> tuple[StoredEntity, ...]:
        """The results of a search in ``nav_elements``."""
        return tuple(map(StoredEntity.of, self.documents))

    @property
    def relations(self) -> tuple[StoredRelation, ...]:
        """The results of a search in ``nav_relation``."""
        return tuple(map(StoredRelation.of, self.documents))

    @property
    def truncated(self) -> bool:
        """Whether there are more results than shown."""
        return self.offset + len(self.documents) < self.total

    def to_json(self) -> dict[str, Any]:
        """core, query, total, offset, limit, truncated, results (a list of documents), facets, folded (by type, the
        number of matching parts of statements, executions and partitions that are not among the results: a filter such as
        type:PARTITION has them; null if there are more than 10,000 results, because they are not counted then), statements
        (by the id of an operation, sub-operation or execution among the results, the name of its operation with the
        outputs)."""
        return {
            "core": self.core,
            "query": self.query,
            "total": self.total,
            "offset": self.offset,
            "limit": self.limit,
            "truncated": self.truncated,
            "results": [dict(document) for document in self.documents],
            "facets": {name: dict(counts) for name, counts in self.facets.items()},
            "folded": None if self.folded is None else dict(self.folded),
            "statements": dict(self.statements),
        }


def search(
    solr: Solr,
    query: str | Parsed,
    *,
    limit: int = 25,
    offset: int = 0,
    core: str = "",
    filters: Sequence[str] = (),
    sort: str = "",
    facets: Sequence[str] = (),
    fields: str = "*",
    facet_prefix: str = "",
    highlighted: Sequence[str] = (),
    most_s: float = MOST_S,
) -> SearchAnswer:
    """Return documents that match ``query`` and every filter, best match first unless ``sort`` ("created desc") says
    otherwise.

    ``core`` is nav_elements unless the query is about relations. ``filters`` may have tags (``{!tag=type}
    type:TABLE``). ``facets`` are fields whose values are counted over all matches; ``{!ex=type}type`` ignores the
    filters with that tag. ``facet_prefix`` limits the counts to values that begin with it. ``fields`` are the fields of
    the documents, separated by commas; ``highlighted`` are the fields in which matches are marked. Raises `QueryError`
    for an invalid query, or for a query that takes Solr longer than ``most_s`` seconds.
    """
    check_page(limit, offset)
    parsed = parsed_query(query)
    question = SolrQuery(
        parsed.query,
        [each.query for each in parse_beside(parsed, filters)],
        orders(sort, partial(counted_field, solr)),
        [facet_of(solr, text) for text in facets],
        _shown_fields(fields),
        facet_prefix,
        [plain_field(name) for name in highlighted],
    )
    chosen = core or core_for(parsed)
    if not sort and chosen != RELATIONS:
        question = replace(question, preferred=_preferred(parsed.query))
    return answer_of(solr, parsed, chosen, question, limit, offset, most_s)


def check_page(limit: int, offset: int) -> None:
    """Raise `QueryError` for a page outside the limits."""
    if not 0 <= limit <= MAX_LIMIT or not 0 <= offset <= MAX_OFFSET:
        raise QueryError(f"limit must be from 0 to {MAX_LIMIT:,}, and offset from 0 to {MAX_OFFSET:,}")


def answer_of(
    solr: Solr,
    parsed: Parsed,
    core: str,
    question: SolrQuery,
    limit: int,
    offset: int,
    most_s: float = MOST_S,
) -> SearchAnswer:
    """Run ``question``, which was made from the query ``parsed``, and return a page of the results. Raises
    `QueryError`."""
    if core not in (ELEMENTS, RELATIONS):
        raise QueryError(f"there is no core {core!r}; {ELEMENTS} and {RELATIONS} are searched")
    with explained(parsed, most_s):
        found = find(solr, core, question, limit, offset, most_s)
    return SearchAnswer(
        core,
        printed(parsed.query),
        found.total,
        offset,
        limit,
        found.documents,
        found.facets,
        found.highlights,
        found.beside,
    )


def search_pages(
    solr: Solr,
    query: str | Parsed,
    *,
    limit: int,
    mark: str = "*",
    core: str = "",
    filters: Sequence[str] = (),
) -> Iterator[tuple[list[Mapping[str, Any]], str]]:
    """Yield (documents, cursor mark after these documents) page by page, in the order of the ids. The pages begin after
    ``mark``, and have at most ``limit`` documents together. There is at least one page. Raises the same errors as
    `search`, at the first page."""
    if not 1 <= limit <= MAX_LIMIT:
        raise QueryError(f"limit must be from 1 to {MAX_LIMIT}")
    parsed = parsed_query(query)
    chosen = core or core_for(parsed)
    question = SolrQuery(parsed.query, [each.query for each in parse_beside(parsed, filters)])
    with explained(parsed, MOST_S):
        yield from pages(solr, chosen, question, limit, mark)


def every_entity(solr: Solr, parsed: Parsed, filters: Sequence[str]) -> Iterator[StoredEntity]:
    """Yield all entities that match, in the order of the ids. Raises the same errors as `search`."""
    question = SolrQuery(parsed.query, [each.query for each in parse_beside(parsed, filters)])
    for page in each_page(solr, parsed, ELEMENTS, question):
        yield from map(StoredEntity.of, page)


def each_page(
    solr: Solr, parsed: Parsed, core: str, question: SolrQuery
) -> Iterator[list[Mapping[str, Any]]]:
    """Yield all results of ``question``, which was made from the query ``parsed``, page by page, in the order of the
    ids. Raises the same errors as `search`."""
    with explained(parsed, MOST_S):
        for page, _ in pages(solr, core, question, MAX_OFFSET, "*"):
            yield page


def parsed_query(query: str | Parsed) -> Parsed:
    """Parse a query, unless it is parsed already. Raises `QueryError`."""
    return query if isinstance(query, Parsed) else parse(query)


@contextmanager
def explained(parsed: Parsed, most_s: float) -> Iterator[None]:
    """Raise `QueryError` with an explanation if Solr refuses a query or does not finish it in time."""
    try:
        yield
    except SolrUnavailable:
        raise
    except TookTooLong:
        raise QueryError(
            f"Solr takes longer than {most_s:g} s for this query: use fewer wildcards, above all at the beginning of words,"
            " or add another field or filter"
        ) from None
    except SolrError as error:
        # Solr returns status 500 for both of these errors.
        if error.status != 400 and not _TOO_LARGE.search(error.message):
            raise
        raise explain(error.message, parsed) from error


def core_for(parsed: Parsed) -> str:
    """Return the core that a query is about: relations if the query names fields of relations, or requests only types
    of relations."""
    return core_asked(parsed.fields, parsed.types)


def explain(message: str, parsed: Parsed) -> QueryError:
    """Explain Solr's refusal of a query in one sentence, with the position in the text as typed if it can be found."""
    query = parsed.text
    if "cursorMark" in message:
        return QueryError("this cursorMark did not come from an earlier answer")
    if undefined := _UNDEFINED.search(message):
        name = undefined["name"]
        return no_field(name, parsed.fields.get(name, query.find(name)))
    if wrong := _NUMBER_ERROR.search(message):
        value = wrong["value"]
        return QueryError(
            f"{value!r} is not a number, date or truth value, as the field requires", query.find(value)
        )
    if _TOO_MANY.search(message):
        return QueryError("the query has too many words; {!terms f=FIELD}a,b,c takes any number of values")
    if "Determinizing automaton" in message:
        return QueryError("a word with wildcards is too long")
    plain = _CLASS_NAME.sub("", message).strip()
    return QueryError(f"Solr refused the query: {plain.partition(chr(10))[0][:300]}")


def no_field(name: str, at: int = -1) -> QueryError:
    """Return the error for an unknown field, with the nearest field name."""
    near = difflib.get_close_matches(name, field_names(), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return QueryError(f"there is no field {name}{hint}", at)


def countable(name: str) -> str:
    """Return the field's name if the field can be counted or sorted by. Raises `QueryError`."""
    if name in REWRITTEN:
        raise QueryError(f"{name} is derived from type and sourceType: count or sort by these")
    if name in WORDS_ALONE:
        raise QueryError(f"{name} is indexed only as single words: it cannot be counted or sorted by")
    return name


def _preferred(query: Query) -> tuple[Clause, ...]:
    """Return clauses that rank entities named like one of the words first, then tables, and only then by how well words
    match. Return none if the query has no words, or more than `FEW_WORDS`."""
    words = [word for clause in query.clauses if clause.sign != "-" and (word := _free_word(clause.node))]
    if not 0 < len(words) <= FEW_WORDS:
        return ()
    logical = Clause(ExactTerms("terms", "type", PREFERRED_TYPES), boost=Boost("20", constant=True))
    spellings = dict.fromkeys(spelling for word in words for spelling in (word, word.lower()))
    names = (FunctionRange("originalName", each, each) for each in spellings)
    return (logical, *(Clause(each, boost=Boost("40", constant=True)) for each in names))


def _free_word(node: Node) -> str | None:
    match node:
        case FieldValue("", SearchTerm() as word):
            return word.text
    return None


def _shown_fields(fields: str) -> str:
    names = fields.split(",")
    return ",".join("*" if name.strip() == "*" else plain_field(name) for name in names)


def facet_of(solr: Solr, text: str) -> Facet:
    """Parse a field whose values are to be counted. Raises `QueryError`."""
    facet = parse_facet(text, partial(counted_field, solr))
    countable(facet.field)
    return facet


def counted_field(solr: Solr, text: str, at: int = -1) -> str:
    """Return the index's name of a field to count or sort by; for a managed property, the field of its type. Raises
    `QueryError`."""
    field, name = plain_field(text, at), text.strip()
    return managed_field(solr, name) if field == f"cp_{name}" else field


def orders(sort: str, field_of: Callable[[str], str] = plain_field) -> list[tuple[str, str]]:
    """Return (field, asc or desc) for each order in a text. Raises `QueryError`."""
    found = []
    for order in filter(None, (part.strip() for part in sort.split(","))):
        name, _, direction = order.partition(" ")
        direction = direction.strip().lower() or "asc"
        if direction not in ("asc", "desc"):
            raise QueryError(f"sort must be like 'lastModified desc', not {order!r}")
        found.append((countable(field_of(name)), direction))
    return found
