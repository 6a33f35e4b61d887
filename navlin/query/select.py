"""Responses in the form of Solr's own ``select``, to parameters as Navigator's tools send them.

Only listed parameters are accepted. Any other parameter is refused by name, so nobody needs to know how Solr treats it.
Queries are parsed as everywhere else (`navlin.query.syntax`), names must be fields, numbers must be numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

from navlin.index.schema.fields import ELEMENTS, MANAGED_PREFIXES, RELATIONS
from navlin.index.search.searching import MOST_S, beginning
from navlin.index.search.selecting import LabelledCount, Ranges, Select, ShownField, is_shown, select
from navlin.index.solr.solr import Solr
from navlin.query.date_math import gap_ms, moment_ms
from navlin.query.scanner import QueryError
from navlin.query.search import countable, explained, orders
from navlin.query.syntax import parse, parse_beside, parse_facet, plain_field

CORES: Final = {"nav_elements": ELEMENTS, "nav_relation": RELATIONS, "nav_relations": RELATIONS}
"""Navigator's name of a core, in both spellings → the index's name."""
MOST_ROWS: Final = 100_000
"""Maximum number of rows; Cloudera's tools request this many at once."""
MOST_START: Final = 1_000_000
MOST_COUNTS: Final = 100
MOST_VALUES: Final = 10_000
MOST_LEVELS: Final = 3
MOST_PIVOTED: Final = 1_000_000
MOST_RANGES: Final = 10_000
DEFAULT_VALUES: Final = 100

ONCE: Final = frozenset(
    "q start rows wt indent cursorMark facet stats facet.limit facet.mincount facet.sort facet.missing facet.prefix"
    " facet.offset facet.pivot.mincount facet.range.start facet.range.end facet.range.gap sort".split()
)
SEVERAL: Final = frozenset("fq fl facet.field facet.query facet.pivot facet.range stats.field".split())
_OF_FIELD: Final = re.compile(r"f\.(?P<field>[\w.]+?)\.(?P<name>facet\.[a-z.]+)", re.ASCII)
_OF_ONE_FIELD: Final = frozenset(
    "facet.limit facet.mincount facet.sort facet.missing facet.prefix facet.offset facet.range.start facet.range.end"
    " facet.range.gap".split()
)
_TRUTH: Final = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_NUMBER: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_START: Final = re.compile(r"[A-Za-z]\w{0,100}\*", re.ASCII)
_MARK: Final = re.compile(r"\*|[A-Za-z0-9+/=]{1,4000}")

Given = Mapping[str, Sequence[str]]


def select_pieces(
    solr: Solr, core: str, pairs: Sequence[tuple[str, str]], now_ms: int, most_s: float = MOST_S
) -> Iterator[bytes]:
    """Yield the response to these parameters of ``select``, as pieces of Solr's JSON. Raises `QueryError`, at the first
    piece at the latest."""
    question = read_select(pairs, now_ms)
    typed = next((value for name, value in pairs if name == "q" and value.strip()), "*:*")
    with explained(parse(typed), most_s):
        yield from select(solr, CORES[core], question, most_s)


def read_select(pairs: Sequence[tuple[str, str]], now_ms: int) -> Select:
    """Parse these parameters into a `Select`; an empty parameter counts as absent. Raises `QueryError`."""
    given: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in pairs:
        if value.strip():
            given[_known(name)].append(value)
    for name, values in given.items():
        if name not in SEVERAL and len(values) > 1:
            raise QueryError(f"{name} is given {len(values)} times")
        if name in SEVERAL and len(values) > MOST_COUNTS:
            raise QueryError(f"{name} is given more than {MOST_COUNTS} times")
    if _one(given, "wt", "json") != "json":
        raise QueryError("wt must be json")
    _truth(given, "indent")
    start, mark = _number(given, "start", 0, MOST_START), _one(given, "cursorMark")
    if mark and start:
        raise QueryError("cursorMark cannot be combined with start")
    if mark and not _MARK.fullmatch(mark):
        raise QueryError("this cursorMark did not come from an earlier answer")
    counts = _truth(given, "facet")
    query, filters = parse(_one(given, "q", "*:*")), given.get("fq", ())
    beside = parse_beside(query, [*filters, *(given.get("facet.query", ()) if counts else ())])
    return Select(
        query.query,
        [each.query for each in beside[: len(filters)]],
        [(_visible(name), direction) for name, direction in orders(_one(given, "sort"))],
        start,
        _number(given, "rows", 10, MOST_ROWS),
        mark,
        _shown(given.get("fl", ())),
        counts=counts,
        **(_facets(given, now_ms) if counts else {}),
        stats=_stats(given) if _truth(given, "stats") else (),
    )


def _known(name: str) -> str:
    of_field = _OF_FIELD.fullmatch(name)
    if of_field is not None and of_field["name"] in _OF_ONE_FIELD:
        return f"f.{_field(of_field['field'])}.{of_field['name']}"
    if name not in ONCE | SEVERAL:
        raise QueryError(
            f"the parameter {name[:60]!r} is not available here; {', '.join(sorted(ONCE | SEVERAL))} are"
        )
    return name


# -- Values ----------------------------------------------------------------------------------------------------------------


def _one(given: Given, name: str, default: str = "") -> str:
    values = given.get(name)
    return values[0].strip() if values else default


def _number(given: Given, name: str, default: int, most: int) -> int:
    text = _one(given, name, str(default))
    if not re.fullmatch(r"\d{1,10}", text) or int(text) > most:
        raise QueryError(f"{name} must be a number from 0 to {most:,}")
    return int(text)


def _truth(given: Given, name: str) -> bool:
    text = _one(given, name, "false").lower()
    if text not in _TRUTH:
        raise QueryError(f"{name} must be true or false")
    return _TRUTH[text]


def _field(text: str) -> str:
    return _visible(countable(plain_field(text)))


def _visible(name: str) -> str:
    if not is_shown(name):
        raise QueryError(f"there is no field {name[:60]}")
    return name


def _shown(given: Sequence[str]) -> list[ShownField]:
    shown: list[ShownField] = []
    for name in (each for text in given for each in re.split(r"[\s,]+", text) if each):
        if name == "*":
            shown.append(ShownField("", ("",), all_so=True))
        elif _START.fullmatch(name):
            shown.append(ShownField(name, (name[:-1],), all_so=True))
        else:
            field = _visible(plain_field(name))
            # A managed property may be stored as a number, a date or a boolean, which takes precedence over the text as
            # given.
            kinds = tuple(prefix + name for prefix in reversed(MANAGED_PREFIXES))
            shown.append(ShownField(name, kinds if field == f"cp_{name}" else (field,)))
    return shown


# -- Counts ----------------------------------------------------------------------------------------------------------------


def _facets(given: Given, now_ms: int) -> dict[str, Any]:
    options = _options(given)
    fields, queries = [], []
    for text in given.get("facet.field", ()):
        facet = parse_facet(text)
        _field(facet.field)
        fields.append(LabelledCount(facet.key or text.rpartition("}")[2].strip(), facet))
    for text in given.get("facet.query", ()):
        query = parse(text).query
        queries.append(LabelledCount(query.key or text, query))
    limit = options.get("facet.limit", str(DEFAULT_VALUES))
    pivots = []
    for text in given.get("facet.pivot", ()):
        names = text.split(",")
        limits = (int(options.get(f"f.{_field(each)}.facet.limit", limit)) for each in names)
        if len(names) > MOST_LEVELS or prod(limits) > MOST_PIVOTED:
            raise QueryError(
                f"a facet.pivot may have at most {MOST_LEVELS} fields, and {MOST_PIVOTED:,} values in all"
            )
        pivots.append(LabelledCount(text, tuple(_field(each) for each in names)))
    ranges = []
    for text in given.get("facet.range", ()):
        facet = parse_facet(text)
        what = _ranges(given, _field(facet.field), now_ms)
        ranges.append(LabelledCount(facet.key or text.strip(), what))
    return {"options": options, "fields": fields, "queries": queries, "pivots": pivots, "ranges": ranges}


def _options(given: Given) -> dict[str, str]:
    """Return the options for Solr's facets. Numbers and keywords are validated; a prefix is converted to the indexed
    form of each field."""
    options: dict[str, str] = {"facet.mincount": "0"}
    for name, (value, *_) in given.items():
        of_field = _OF_FIELD.fullmatch(name)
        option = of_field["name"] if of_field is not None else name
        if (check := _CHECKS.get(option)) is None:
            continue
        options[name] = check(given, name)
        if option == "facet.prefix":
            # Set one prefix per field, in the form that the field's values have in the index.
            del options[name]
            fields = [parse_facet(text).field for text in given.get("facet.field", ())]
            for each in fields if of_field is None else [of_field["field"]]:
                options |= beginning(each, value)
    return options


def _values(given: Given, name: str) -> str:
    return str(_number(given, name, DEFAULT_VALUES, MOST_VALUES))


def _order(given: Given, name: str) -> str:
    order = {"count": "count", "true": "count", "index": "index", "false": "index", "lex": "index"}
    if (text := _one(given, name)) not in order:
        raise QueryError(f"{name} must be count or index")
    return order[text]


def _boolean(given: Given, name: str) -> str:
    return str(_truth(given, name)).lower()


_CHECKS: Final[Mapping[str, Callable[[Given, str], str]]] = {
    "facet.limit": _values,
    "facet.offset": _values,
    "facet.mincount": lambda given, name: str(_number(given, name, 0, 1_000_000_000)),
    "facet.pivot.mincount": lambda given, name: str(_number(given, name, 1, 1_000_000_000)),
    "facet.sort": _order,
    "facet.missing": _boolean,
    "facet.prefix": lambda given, name: given[name][0],
}


def _ranges(given: Given, field: str, now_ms: int) -> Ranges:
    start, end, gap = (
        _one(given, f"f.{field}.facet.range.{name}") or _one(given, f"facet.range.{name}")
        for name in ("start", "end", "gap")
    )
    if not (start and end and gap):
        raise QueryError(f"facet.range of {field} needs facet.range.start, .end and .gap")
    length: float | None
    if all(_NUMBER.fullmatch(each) for each in (start, end)) and _NUMBER.fullmatch(gap.removeprefix("+")):
        gap = gap.removeprefix("+")
        length, step = float(end) - float(start), float(gap)
    else:
        first, last, length_ms = moment_ms(start, now_ms), moment_ms(end, now_ms), gap_ms(gap)
        if first is None or last is None or length_ms is None:
            raise QueryError(
                "facet.range needs two numbers, or two dates such as NOW/DAY-1YEAR with a gap such as +1MONTH"
            )
        length, step = last - first, length_ms
    if step <= 0 or length < 0 or length / step > MOST_RANGES:
        raise QueryError(f"facet.range of {field} must have from 1 to {MOST_RANGES:,} ranges")
    return Ranges(field, start, end, gap)


def _stats(given: Given) -> list[LabelledCount]:
    return [LabelledCount(text.strip(), _field(text)) for text in given.get("stats.field", ())]
