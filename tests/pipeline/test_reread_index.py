"""An index filled by an older reader, after a newer one has read the same records again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.write.graph_changes import GraphChanges
from navlin.model.gaps import READ_BY_OLDER
from navlin.query.incomplete import IncompleteOperation, incomplete
from tests.support.pipeline_estate import FIRST_MS, SmallEstate

IN, OUT, INVENTED = "hdfs://ns1/in", "hdfs://ns1/out", "hdfs://people p JOIN dept d/x"


def happen(estate: SmallEstate, run: str, reads: list[str], writes: list[str], **more: Any) -> None:
    estate.happen(f"statement {run}", reads, writes, at_ms=FIRST_MS - 1_000, id=run, **more)


def history(estate: SmallEstate) -> None:
    """Write records that the first reader partly misreads. ``mended`` holds the correct values."""
    # The first reader reads an invented source, overlooks another, and misreads the user.
    mended: dict[str, Any] = {"reads": [IN], "parts": [[f"{IN}.a", f"{OUT}.a"]], "principal": "bob"}
    happen(estate, "one", [INVENTED], [OUT], parts=[[f"{INVENTED}.a", f"{OUT}.a"]], mended=mended)
    # The first reader reads the same tables and an extra edge.
    parts = [[f"{IN}.a", f"{OUT}.a"], [f"{IN}.wrong", f"{OUT}.b"]]
    happen(estate, "two", [IN], [OUT], parts=parts, mended={"parts": parts[:1]})
    # Two runs that the first reader takes for one statement belong to two operations.
    for run in ("three", "four"):
        estate.happen(
            "twice", [IN], [f"{OUT}2"], at_ms=FIRST_MS - 900, id=run, mended={"reads": [f"{IN}-{run}"]}
        )
    happen(estate, "five", [IN], [f"{OUT}5"])
    # The first reader reads an invented write.
    happen(estate, "six", [IN], [f"{INVENTED}6"], mended={"writes": []})


def read(estate: SmallEstate) -> None:
    run = estate.follow()
    assert not run.error, run


def contents(estate: SmallEstate) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the index, without the times and numbers of the runs that read each source."""
    return {
        key: {
            name: value
            for name, value in document.items()
            if name != "sourceExtractIteration" and (name, document["type"]) != ("asOf", "SOURCE")
        }
        for key, document in estate.index().items()
    }


def test_rereading_with_a_newer_reader_equals_a_fresh_index(
    estate: SmallEstate,
) -> None:
    history(estate)
    read(estate)
    assert any("people" in str(each) for each in contents(estate).values())
    estate.mend()
    read(estate)
    mended = contents(estate)

    estate.empty()
    assert contents(estate) == {}
    read(estate)
    assert mended == contents(estate)
    assert not [each for each in mended.values() if "people" in str(each)]
    assert not [each for each in mended.values() if each.get("incompleteReasons")]


@pytest.mark.services
def test_rereading_again_changes_nothing(estate: SmallEstate) -> None:
    history(estate)
    estate.mend()
    read(estate)
    before = contents(estate)
    estate.follower_version = 3
    read(estate)
    assert contents(estate) == before


@pytest.mark.services
@pytest.mark.parametrize("at", range(4))
def test_an_interrupted_pass_is_completed_by_the_next(
    estate: SmallEstate, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    history(estate)
    read(estate)
    estate.mend()
    removals = 0
    with monkeypatch.context() as cut:
        for step in ("remove_entities", "remove_relations"):
            real = getattr(GraphChanges, step)

            def counted(changes: GraphChanges, *given: Any, real: Any = real) -> Any:
                nonlocal removals
                done = real(changes, *given)
                removals += 1
                if removals > at:
                    raise ConnectionError("cut off")
                return done

            cut.setattr(GraphChanges, step, counted)
        assert "cut off" in estate.follow().error
    read(estate)
    mended = contents(estate)
    estate.empty()
    read(estate)
    assert mended == contents(estate)


@pytest.mark.services
def test_user_metadata_moves_to_the_replacing_operation(estate: SmallEstate) -> None:
    history(estate)
    read(estate)
    [old] = operations(estate, "statement one")
    estate.solr.add(ELEMENTS, [{"identity": old["identity"], "tags": {"set": ["nightly"]}}])
    [placeholder] = [each for each in estate.documents(ELEMENTS) if each.get("fileSystemPath") == "/x6"]
    estate.solr.add(ELEMENTS, [{"identity": placeholder["identity"], "description": {"set": "kept"}}])
    estate.solr.commit(ELEMENTS, soft=True)
    estate.mend()
    read(estate)
    [new] = operations(estate, "statement one")
    assert new["identity"] != old["identity"]
    assert new["tags"] == ["nightly"]
    assert estate.of_id(placeholder["identity"])["description"] == "kept"


@pytest.mark.services
def test_operations_of_an_older_reader_without_records_are_listed(estate: SmallEstate) -> None:
    history(estate)
    read(estate)
    lines = Path(estate.lines_file).read_text().splitlines()
    Path(estate.lines_file).write_text(lines[4] + "\n")  # only the record of the fifth statement
    estate.mend()
    read(estate)
    found = doubted(estate)
    assert sorted(each.operation.name for each in found) == [
        "statement one",
        "statement six",
        "statement two",
        "twice",
    ]
    assert {each.reasons for each in found} == {(READ_BY_OLDER,)}
    assert json.loads(json.dumps(found[0].to_json()))["reasons"] == [READ_BY_OLDER]
    # The missing records are there again.
    estate.follower_version = 3
    Path(estate.lines_file).write_text("\n".join(lines) + "\n")
    read(estate)
    mended = contents(estate)
    assert len(doubted(estate)) == 0
    estate.empty()
    read(estate)
    assert mended == contents(estate)


@pytest.mark.services
def test_operations_of_an_older_reader_are_listed_if_no_record_is_left(estate: SmallEstate) -> None:
    history(estate)
    read(estate)
    Path(estate.lines_file).write_text("")
    estate.mend()
    read(estate)
    assert len(doubted(estate)) == 5
    assert estate.follow().status is Status.IDLE


@pytest.mark.services
def test_changed_settings_are_not_an_older_reader(estate: SmallEstate) -> None:
    history(estate)
    read(estate)
    estate.follower = {"mended": True}
    Path(estate.lines_file).write_text("")
    happen(estate, "seven", [IN], [OUT])
    read(estate)
    assert len(doubted(estate)) == 0


@pytest.mark.services
def test_an_operation_with_purged_executions_is_kept(estate: SmallEstate) -> None:
    history(estate)
    read(estate)
    [old] = operations(estate, "statement one")
    estate.solr.add(ELEMENTS, [{"identity": old["identity"], "purgedExecutions": {"set": 3}}])
    estate.solr.commit(ELEMENTS, soft=True)
    estate.mend()
    read(estate)
    assert {each["identity"] for each in operations(estate, "statement one")} > {old["identity"]}
    assert len(doubted(estate)) == 1


def doubted(estate: SmallEstate) -> list[IncompleteOperation]:
    """Return the operations made by an older reader. Other estates of the session have sources of the same name."""
    found = incomplete(estate.solr, source=estate.impala.name, reason=READ_BY_OLDER, limit=1_000).results
    return [each for each in found if each.operation.source_id == estate.impala.id]


def operations(estate: SmallEstate, text: str) -> list[dict[str, Any]]:
    return [
        each
        for each in estate.documents(ELEMENTS)
        if each["type"] == "OPERATION" and each.get("queryText") == text
    ]
