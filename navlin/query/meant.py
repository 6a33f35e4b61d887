"""Interpretation of a person's search text: as a name first, then as words in any field.

The query language is still Navigator's: fields, operators and wildcards mean the same. Only words without a field are
searched in more places than in Navigator, in parts of names and in comments; text in quotation marks is exact. Results
whose name is the search text come first, then results with the word in the name, then in the comment, then in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from navlin.index.graph.entity import PATH_TYPES
from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.search import name_pieces
from navlin.index.search.query_fields import ANY_TEXT, WORD_FIELDS
from navlin.index.search.query_tree import (
    Boost,
    CachedFilter,
    Clause,
    ClauseGroup,
    Everything,
    ExactTerms,
    FieldValue,
    FunctionRange,
    Node,
    Phrase,
    Query,
    SearchTerm,
    Wild,
)
from navlin.index.search.searching import SolrQuery, find
from navlin.index.solr.solr import Solr
from navlin.model.keys import split_location
from navlin.query.names import columns_called, ids_of, is_path, parts_of, sources_of
from navlin.query.scanner import QueryError
from navlin.query.search import FEW_WORDS, PREFERRED_TYPES, core_for
from navlin.query.syntax import MAX_PATTERN_CHARS, Parsed, parse

FOLDED: Final[Mapping[str, tuple[str, str]]] = {
    "SUB_OPERATION": ("part of a statement", "parts of statements"),
    "OPERATION_EXECUTION": ("execution", "executions"),
    "PARTITION": ("partition", "partitions"),
}
"""Type → its name for people, singular and plural. Entities of these types belong to a statement or a table, and are
left out of the results unless requested."""
_NAMING_FOLDED: Final = frozenset({"type", "identity", "internalType", "metaClassName"})
"""Fields of a query that say which types or which entities are meant; if a query has one of these, nothing is
folded."""
PREFIX_CHARS: Final = 3
"""Minimum length of a prefix. A shorter prefix would match a word in most paths."""

# Results are ordered by the sum of these scores. Live entities come before deleted ones; then entities with more of the
# words in the name or comment, if there are several words; then entities whose name fits better; then the type decides.
_CALLED: Final = 1_000_000
_AT: Final = 500_000
_LIVE: Final = 50_000
_SAME: Final = 5_000
_SIDE_BY_SIDE: Final = 3_000
_IN_NAME: Final = 1_500
_IN_COMMENT: Final = 1_000
_EXACT: Final = 1_000
_WITHIN: Final = 650
_SEVERAL: Final = 300
_WHOLE: Final = 250
_PART: Final = 200
_COMMENT: Final = 160
_WORD: Final = 150
_BEGINNING: Final = 100
_TYPES: Final = ((tuple(sorted(PATH_TYPES)), 80), (PREFERRED_TYPES, 60), (("FIELD",), 40))
"""(types, score) for each rank of types. A path comes before a column or a table only if these have the word just in a
comment, because the name of a path scores less."""

_SIMPLE: Final = re.compile(r"\w+")
_COMMENTS: Final = ("originalDescription", "description")
_AFTER_ALL: Final = "\uffff"


@dataclass(frozen=True, slots=True)
class Meant:
    """A query ready to be run. ``matching`` finds the matches. ``fitting`` finds the same matches, and scores how well
    each fits; ``ranks`` adds further scores. ``folding`` matches the entities that are left out and counted; it is None
    if all entities are shown. ``error`` says why the text can only be a name; it is None for a valid query."""

    parsed: Parsed
    matching: Query
    fitting: Query
    ranks: tuple[Clause, ...] = ()
    folding: ClauseGroup | None = None
    error: QueryError | None = None

    def asked(self, *, ranked: bool = False, folded: bool = False) -> Query:
        """Return the query for the results, with scores if ``ranked``; or for the entities that are ``folded``."""
        found = self.fitting if ranked else self.matching
        if self.folding is None and not self.ranks:
            return found
        clauses = [Clause(ClauseGroup(found.clauses), sign="+"), *(self.ranks if ranked else ())]
        if self.folding is not None:
            clauses.append(Clause(self.folding, sign="+" if folded else "-"))
        return replace(found, clauses=tuple(clauses))


MOST_DATABASES: Final = 100
"""Maximum number of databases to search whose names end in the text before a dot."""
MOST_WORDS: Final = 100
"""Maximum number of words that are searched in more places than in Navigator, because each word costs ten clauses."""


def meant(solr: Solr, text: str, filters: Sequence[Parsed] = ()) -> Meant:
    """Interpret ``text``, given these filters. Nothing is folded if a type or an id is requested. Raises `QueryError`
    for an invalid query, unless the text may be a name."""
    error = None
    try:
        parsed = parse(text)
    except QueryError as wrong:
        if not text.strip():
            raise
        parsed, error = Parsed(Query(()), {}, frozenset(), text), wrong
    if error is None and core_for(parsed) == RELATIONS:
        return Meant(parsed, parsed.query, parsed.query)
    words = list(_words(parsed.query.clauses))
    tried = error is not None or _may_be_name(parsed, words)
    named, known = _named(solr, text, words) if tried else ([], False)
    folds = all(_NAMING_FOLDED.isdisjoint(each.fields) for each in (parsed, *filters))
    folding = _folding(named) if folds else None
    if not named and not 0 < len(words) <= MOST_WORDS:
        if error:
            raise error
        every = replace(parsed.query, clauses=_with_all_else(parsed.query.clauses))
        return Meant(parsed, every, every, (), folding)
    # If the word is a known dotted name, do not also search for it inside other names.
    across = _across(solr, words[0].text or "") if len(words) == 1 and not known else None
    beside = (*named, *([_score(across, _PART)] if across else ()))

    def wider(*, fits: bool) -> Query:
        clauses = ClauseGroup(tuple(_wider(parsed.query.clauses, len(words) > 1, fits)))
        return replace(parsed.query, clauses=(*([Clause(clauses)] if not error else ()), *beside))

    ranks = tuple(_ranks(words if len(words) <= FEW_WORDS else ()))
    return Meant(parsed, wider(fits=False), wider(fits=True), ranks, folding, error)


# -- Names -----------------------------------------------------------------------------------------------------------------


def _may_be_name(parsed: Parsed, words: Sequence[SearchTerm | Phrase]) -> bool:
    """Whether the whole text may be a name: one word, one text in quotation marks, a path with blanks, or a text with
    dots."""
    if parsed.fields or not words:
        return False
    return len(words) == len(parsed.query.clauses) == 1 or is_path(parsed.text) or "." in parsed.text


def _named(solr: Solr, text: str, words: Sequence[SearchTerm | Phrase]) -> tuple[list[Clause], bool]:
    """Return clauses for the entities with this name, id or path, and whether a name with a dot is known to exist."""
    names = [text, *(each for each in [words[0].text] if each and len(words) == 1)] if words else [text]
    sources, graph = sources_of(solr), Graph(solr)
    ids_by_name = {
        name: ids_of(sources, name) for spelled in names for name in (spelled, spelled.strip()) if name
    }
    dotted = [each for name, ids in ids_by_name.items() if "." in name for each in ids]
    there = graph.entities_of(dotted).keys() if dotted else set[str]()
    known = bool(there)
    clauses: list[Clause] = []
    for name, ids in ids_by_name.items():
        if "." in name and there.isdisjoint(ids):
            columns = [each.id for each in columns_called(graph, name).found]
            known = known or bool(columns)
            ids += columns
        if ids := [each for each in ids if "," not in each and each == each.strip()]:
            clauses.append(_score(ExactTerms("terms", "identity", tuple(ids)), _CALLED))
        if is_path(name):
            clauses.append(_score(FieldValue("fileSystemPath", Phrase(split_location(name)[2])), _AT))
    return clauses, known


# -- Matching --------------------------------------------------------------------------------------------------------------


def _words(clauses: Iterable[Clause]) -> Iterator[SearchTerm | Phrase]:
    """Yield the words and the texts in quotation marks that are searched everywhere. A word with stars around it is
    yielded without the stars."""
    for each in clauses:
        if each.sign == "-":
            continue
        match each.node:
            case ClauseGroup(clauses=inner):
                yield from _words(inner)
            case FieldValue(field="", value=SearchTerm(distance="", parts=parts)):
                texts = [part for part in parts if isinstance(part, str)]
                if len(texts) == 1 and Wild.ONE not in parts:
                    yield SearchTerm((texts[0],))
            case FieldValue(field="", value=Phrase(distance="", text=text) as phrase) if text:
                yield phrase


def _with_all_else(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """Return the clauses. If all of them exclude, put a match-all clause first, because Solr does not add one within a
    group."""
    return clauses if any(each.sign != "-" for each in clauses) else (Clause(Everything()), *clauses)


def _wider(clauses: tuple[Clause, ...], several: bool, fits: bool) -> Iterator[Clause]:
    for each in _with_all_else(clauses):
        node = each.node
        if each.sign != "-":
            match node:
                case ClauseGroup(clauses=inner):
                    node = ClauseGroup(tuple(_wider(inner, several, fits)))
                case FieldValue(field="", value=SearchTerm(distance="") as word) if word.text:
                    node = _anywhere(word, word.text, several, fits)
                case FieldValue(field="", value=Phrase(distance="") as phrase) if phrase.text:
                    node = _exactly(phrase)
        yield replace(each, node=node)


def _anywhere(word: SearchTerm, text: str, several: bool, fits: bool) -> ClauseGroup:
    """Return scored clauses for the fields in which a word may occur. With ``several`` words, the number of words found
    counts most. Without ``fits``, clauses that only score the fit are left out."""
    plain, own = name_pieces.plain(text), FieldValue("originalName", SearchTerm((text,)))
    # A word that users may not type with a star is not searched with one either, because Solr refuses it.
    simple = PREFIX_CHARS <= len(text) <= MAX_PATTERN_CHARS and _SIMPLE.fullmatch(text) is not None
    begins = SearchTerm((text, Wild.MANY))
    # Scripts from this character on have no blanks between words, so comments contain their characters one by one.
    spaced = simple and max(text) < "\u0e00"
    said = [FieldValue(name, begins if spaced else Phrase(text)) for name in _COMMENTS]
    said.append(FieldValue("tags", SearchTerm((text,))))
    found = [
        _score(_any(_elsewhere(word, begins if simple else None)), 1),
        _score(own, _WORD),
        _score(_any(said), _COMMENT + _IN_COMMENT * several),
    ]
    # A word too short to be a part of a name may be a whole word in it: ``revenue by country``.
    if part := name_pieces.part(plain) or (name_pieces.word(plain) if plain and several else None):
        found.append(_score(part, _PART + _IN_NAME * several))
    # The clauses below match parts of names, or names with the word, so they find nothing more.
    fits = fits or part is None
    begun = None if several or not fits else name_pieces.beginning(plain)
    if begun is not None:
        # Scored by the fit, so that the shorter of similar names comes first.
        found.append(Clause(begun))
    if plain and fits and not (several or text.isalnum()):
        found += [_score(name_pieces.word(plain), _WORD), _score(name_pieces.whole(plain), _WHOLE)]
    if within := _within(text):
        found.append(_score(within, _WITHIN))
    own_name = _own_name(text) if not several and (fits or "/" in text) else ()
    return ClauseGroup((*found, *own_name))


def _elsewhere(word: SearchTerm, begins: SearchTerm | None) -> Iterator[Node]:
    """Yield nodes for the fields that do not have a separate clause in `_anywhere`."""
    text = word.text or ""
    # A word with a single part also matches as its own beginning.
    one_part = text.isascii() and text.isalnum() and text in (text.lower(), text.upper())
    if begins is None or not one_part:
        yield FieldValue(ANY_TEXT, Phrase(text))
    if begins is not None:
        yield FieldValue(ANY_TEXT, begins)
    for name in WORD_FIELDS:
        if name not in ("originalName", "tags"):
            yield FieldValue(name, word)
    yield FieldValue("type", word)


def _own_name(text: str) -> Iterator[Clause]:
    """Yield clauses for exactly this name, as spelled or in lower case; for a piece of a path, the path that ends in
    it."""
    above, _, last = text.rstrip("/").rpartition("/")
    if not last:
        return
    own: Node = (
        FieldValue(ANY_TEXT, Phrase(text)) if above else FieldValue("originalName", SearchTerm((last,)))
    )
    spelled = dict.fromkeys((last, last.lower()))
    yield _score(_all(own, _any(FunctionRange("originalName", each, each) for each in spelled)), _WHOLE)


def _exactly(phrase: Phrase) -> ClauseGroup:
    text, plain = phrase.text, name_pieces.plain(phrase.text)
    named = FieldValue("originalName", phrase)
    found = [
        _score(_all(named, FunctionRange("originalName", text, text)), _EXACT - _WHOLE),
        _score(_all(_of_types("OPERATION"), named), 1),
        _score(_any([*_comments(text), FieldValue("tags", phrase)]), _COMMENT),
        _score(_any(FieldValue(name, phrase) for name in ("owner", "principal", "jobId")), 1),
    ]
    if plain:
        # A dataset's own name follows the names of its database and schema.
        last = _all(_of_types("DATASET"), name_pieces.last(plain))
        found += [_score(name_pieces.whole(plain), _EXACT), _score(last, _EXACT)]
    return ClauseGroup(tuple(found))


def _comments(text: str) -> list[Node]:
    return [FieldValue(name, Phrase(text)) for name in _COMMENTS]


def _within(text: str) -> Node | None:
    """Match names that begin with the last part of the text in the database, table or directory before it:
    ``shop.reven``, ``/data/ord``. None if the text does not have this form."""
    if is_path(text):
        above, _, last = split_location(text)[2].rpartition("/")
        if not last:
            return None
        starts = FunctionRange("originalName", last, last + _AFTER_ALL)
        return _all(FieldValue("parentPath", Phrase(above or "/")), starts)
    *parents, last = parts_of(text) or [""]
    start = name_pieces.beginning(name_pieces.plain(last))
    if not parents or start is None:
        return None
    places = dict.fromkeys("/" + "/".join(each) for each in (parents, [part.lower() for part in parents]))
    return _all(_any(FieldValue("parentPath", Phrase(place)) for place in places), start)


def _across(solr: Solr, text: str) -> Node | None:
    """Match tables with this beginning in databases with this ending, for text that is not a whole name: ``op.reven``
    finds ``shop.revenue``. None if there is no such database, or the text does not have this form."""
    parts = parts_of(text)
    if len(parts) != 2 or is_path(text):
        return None
    ending, begins = (name_pieces.plain(part) for part in parts)
    databases = name_pieces.ending(ending)
    if databases is None or len(begins) < name_pieces.PIECE_CHARS - 1:
        return None
    asked = Query((Clause(_of_types("DATABASE"), sign="+"), Clause(databases, sign="+")))
    found = find(solr, ELEMENTS, SolrQuery(asked, fields="originalName"), MOST_DATABASES, 0)
    places = [FieldValue("parentPath", Phrase(f"/{each['originalName']}")) for each in found.documents]
    starts = FieldValue(name_pieces.NAME_PIECES, Phrase(f"/_{begins}"))
    return _all(_any(places), starts) if places else None


def _folding(named: Sequence[Clause]) -> ClauseGroup:
    # An entity requested by its name is shown, whatever its type. Folded types have few entities compared with the
    # files of a large index, and Solr soon caches the list of these entities.
    parts = Clause(CachedFilter(_of_types(*FOLDED).clauses), sign="+")
    return ClauseGroup((parts, *(replace(each, boost=None, sign="-") for each in named)))


# -- Ranking ---------------------------------------------------------------------------------------------------------------


def _ranks(words: Sequence[SearchTerm | Phrase]) -> Iterator[Clause]:
    """Yield clauses that rank the matches, and find nothing by themselves."""
    if not words:
        return
    # One clause for all types of a rank, because each clause is evaluated for every match.
    for kinds, score in _TYPES:
        yield _score(_of_types(*kinds), score)
    yield _score(FieldValue("deleted", SearchTerm(("false",))), _LIVE)
    texts = list(dict.fromkeys(each.text for each in words if each.text))
    for spelled in dict.fromkeys((texts[0], texts[0].lower())) if len(texts) == 1 else ():
        begins = FunctionRange("originalName", spelled, spelled + _AFTER_ALL)
        yield _score(_all(_of_types("DIRECTORY"), begins), _BEGINNING)
    if len(texts) > 1:
        yield from _ranks_of_all(texts)


def _ranks_of_all(texts: Sequence[str]) -> Iterator[Clause]:
    """Yield clauses that score several words next to each other: joined by a blank, an underscore, or nothing."""
    whole = " ".join(texts)
    first = FieldValue("originalName", SearchTerm((texts[0],)))
    yield _score(_all(first, FunctionRange("originalName", whole, whole)), _SAME)
    # Each part of a word has its own position in the index, so the next word may come that many positions later.
    apart = FieldValue("originalName", Phrase(whole, str(len(whole))))
    yield _score(_all(_of_types(*sorted(PATH_TYPES)), apart), _SIDE_BY_SIDE)
    yield _score(_any(_comments(whole)), _IN_COMMENT)
    if plain := "_".join(filter(None, map(name_pieces.plain, texts))):
        close = name_pieces.part(plain.replace("_", ""))
        for node in (name_pieces.part(plain), name_pieces.whole(plain), close):
            if node is not None:
                yield _score(node, _SEVERAL)


# -- Nodes -----------------------------------------------------------------------------------------------------------------


def _score(node: Node, score: int) -> Clause:
    return Clause(node, boost=Boost(str(score), constant=True))


def _of_types(*types: str) -> ClauseGroup:
    # Not {!terms}: it would first collect all documents of these types in the index.
    return _any(FieldValue("type", SearchTerm((each,))) for each in types)


def _any(nodes: Iterable[Node | Clause | None]) -> ClauseGroup:
    return ClauseGroup(
        tuple(each if isinstance(each, Clause) else Clause(each) for each in nodes if each is not None)
    )


def _all(*nodes: Node) -> ClauseGroup:
    sign: Literal["+"] = "+"
    return ClauseGroup(tuple(Clause(each, sign=sign) for each in nodes))
