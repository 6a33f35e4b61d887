"""What every rule is given, and how rules that run over everything part it into ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple, TypeVar

from navlin.index.solr import Solr, SolrAddress


class IdRange(NamedTuple):
    """The identities ``first <= identity < before``; identities are hex, so 16 or 256 ranges part them evenly."""

    first: str
    before: str

    @property
    def filter(self) -> str:
        """The range as a filter query."""
        return f"{{!cache=false}}identity:[{self.first} TO {self.before}}}"


RangeTask = Callable[[IdRange], int]
"""Does a rule's work on one range and returns how many documents it changed. Picklable; runs here or in a Spark task."""
EachRange = Callable[[RangeTask, Sequence[IdRange]], Iterable[int]]


def here(task: RangeTask, ranges: Sequence[IdRange]) -> Iterator[int]:
    """An `EachRange`: one range after the other, in this process."""
    return map(task, ranges)


def id_ranges(digits: int = 1) -> tuple[IdRange, ...]:
    """All identities in 16 ** ``digits`` ranges. The first and the last are open: an identity need not be a hash."""
    starts = [f"{number:0{digits}x}" for number in range(16**digits)]
    bounds = ["*", *starts[1:], "*"]
    return tuple(IdRange(first, before) for first, before in pairwise(bounds))


@dataclass(frozen=True, slots=True)
class Linking:
    """One pass of the linker.

    ``run_id`` is this run's and stamps what it changes, so that a later rule sees what an earlier one did. ``run_ids`` are
    all runs of the source since its last finished one: what they and this one stamped is what is to be linked, and it must
    have been committed. With ``everything`` the rules look at the whole index instead, by ``ranges``, each handed to
    ``each_range``.
    """

    solr: Solr
    now_ms: int
    run_id: str
    run_ids: tuple[str, ...] = ()
    everything: bool = False
    each_range: EachRange = here
    ranges: tuple[IdRange, ...] = id_ranges()

    @property
    def stamped(self) -> str:
        """The filter query for what the runs wrote."""
        return among("extractorRunId", {self.run_id: None, **dict.fromkeys(self.run_ids)})

    @property
    def elsewhere(self) -> Elsewhere:
        """The pass as a Spark task gets it."""
        return Elsewhere(self.solr.address, self.now_ms, self.run_id)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a range task needs to make its own `Linking` wherever it runs: small and picklable."""

    address: SolrAddress
    now_ms: int
    run_id: str

    def linking(self, solr: Solr) -> Linking:
        """The pass, over a connection of the task's own."""
        return Linking(solr, self.now_ms, self.run_id, everything=True)


def among(field: str, values: Iterable[str]) -> str:
    """A query for documents whose field has one of these values (identities and run ids: nothing with a comma)."""
    return f"{{!terms f={field}}}" + ",".join(values)


_T = TypeVar("_T")


def batched(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Lists of at most ``size`` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
