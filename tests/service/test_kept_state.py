"""Everything that navlin keeps from one read of a source to the next has a row here. A row states the bound, its scope,
the treatment of anything beyond the bound, and where the state is visible.

The syntax trees of the modules show which classes are stored in positions.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from extractors.hdfs.continuity import TRANSACTIONS_KEPT
from extractors.hdfs.plan import ROUNDS_KEPT
from extractors.lineage import followed_files, kept_open_files
from extractors.oozie import plan as oozie
from extractors.oozie import reading
from extractors.openlineage import kept_runs
from extractors.spark import application, spark_events, stream_columns, stream_state, streams
from extractors.yarn import engine_runs, jobs
from extractors.yarn import plan as yarn
from navlin.api import event_spool
from navlin.index.write.renames import MOST_DOCUMENTS
from navlin.pipeline import missing, planning
from tests.repository.test_layers import modules, tree_of
from tests.support.kept_classes import classes_restored, positions_made


@dataclass(frozen=True)
class Row:
    """One kind of state. ``made`` lists the (module, key) pairs that create its positions; ``classes`` are the classes
    restored from it; ``proved`` are the tests that exceed the bound.
    """

    bound: str
    share: str
    beyond: str
    seen: str
    made: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()


def mib(size_bytes: int) -> str:
    return f"{size_bytes >> 20} MiB"


NUMBER: Final = "a number, a word or a digest"
NOTHING: Final = "nothing can exceed it"
LINEAGE, SPARK, YARN = "extractors.lineage", "extractors.spark", "extractors.yarn"
OOZIE: Final = "extractors.oozie"

KEPT: Final[dict[str, Row]] = {
    "how far a file was read": Row(
        "one for each file, of less than 1 kB and its path; a week after the file, or its directory, has gone, none",
        "a file's",
        "it goes with its file",
        "`navlin status`: the number of positions, and the first of them",
        (
            (f"{LINEAGE}.followed_files", "split.key"),
            (f"{LINEAGE}.planned_files", "each.key"),
            (f"{LINEAGE}.planned_files", "key"),
        ),
        (f"{LINEAGE}.file_split.FileSplit",),
        ("test_positions_are_forgotten_a_week_after_their_directory",),
    ),
    "open records": Row(
        f"nothing but where they begin; while one is read, {mib(followed_files.MAX_LINE_BYTES)} (`max_line_bytes`)",
        "a file's",
        "a reject at its place",
        "`navlin rejects`",
        proved=(
            "test_a_record_over_the_limit_is_rejected",
        ),
    ),
    "moved files": Row(
        f"{kept_open_files.MOST_OF_A_SOURCE} descriptors, {kept_open_files.MOST_IN_ALL} in all; a "
        "day if a file cannot be read",
        "a source's",
        "the oldest that are still in their directory are closed; of what cannot be read any more the bytes are counted",
        "`navlin rejects`",
        proved=(
            "test_descriptors_are_bounded_and_every_source_has_its_share",
            "test_a_failed_and_removed_file_is_reported_lost_and_its_descriptor_released_after_a_day",
        ),
    ),
    "runs of OpenLineage": Row(
        f"{kept_runs.MAX_RUNS_OF_SENDER:,} and {mib(kept_runs.MAX_BYTES_OF_SENDER)} of a sender, {kept_runs.MAX_RUNS:,} and "
        f"{mib(kept_runs.MAX_BYTES)} in all; {kept_runs.MAX_REMEMBERED:,} of a sender are remembered as given up",
        "a sender's",
        "a reject, and the operation is incomplete",
        "`navlin rejects`, `navlin incomplete`",
        (("extractors.openlineage.openlineage_events", "key"),),
        (
            "extractors.openlineage.kept_runs.SavedRun",
            "extractors.openlineage.runs.DatasetState",
            "extractors.openlineage.runs.JobRun",
        ),
        ("test_many_long_start_events_neither_kill_spark_nor_affect_another_sender",),
    ),
    "events of OpenLineage that wait": Row(
        f"{mib(event_spool.SENDER_BYTES)} on disk of a sender, {mib(event_spool.ALL_BYTES)} in all",
        "a sender's",
        "429 before it is accepted",
        "the sender's answer",
        proved=("test_a_sender_over_its_quota_gets_429_and_others_are_accepted",),
    ),
    "executions that are open in a log of Spark": Row(
        f"{application.MAX_OPEN:,}, with statements and catalogues half of {mib(spark_events.MAX_STATE_BYTES)} of a log, of "
        f"{mib(spark_events.ALL_STATE_BYTES)} in all",
        "a log's: one attempt of an application",
        "what has been open longest is a reject, and its operation is incomplete",
        "`navlin rejects`, `navlin incomplete`",
        (
            (f"{SPARK}.spark_events", "split.log"),
            (f"{SPARK}.spark_events", "split.name"),
            (f"{SPARK}.spark_events", "name"),
        ),
        (
            f"{SPARK}.application.SparkApplication",
            f"{SPARK}.application.SqlExecution",
            f"{SPARK}.application.Numbers",
            f"{SPARK}.catalogs.Catalogs",
            f"{SPARK}.jdbc_catalogs.JdbcCatalog",
            f"{SPARK}.lines.Mark",
        ),
        (
            "test_executions_beyond_the_limit_are_rejected_and_their_operations_flagged",
            "test_the_state_of_a_log_is_bounded_in_bytes_and_the_oldest_is_evicted_first",
            "test_all_logs_share_one_bound_equally",
            "test_no_text_of_an_event_is_stored_at_unbounded_length",
        ),
    ),
    "streams": Row(
        f"{streams.MAX_STREAMS} of a log, each with {stream_state.MAX_ENDS} sources or targets and "
        f"{stream_columns.MAX_COLUMNS:,} columns; the other half of its log's bytes",
        "a log's",
        "what has been quiet longest is a reject, and its operation is incomplete; so is one with too many sources",
        "`navlin rejects`, `navlin incomplete`",
        classes=(
            f"{SPARK}.stream_state.Stream",
            f"{SPARK}.stream_columns.BatchExecutions",
            f"{SPARK}.plan.reads.PlanEnd",
        ),
        proved=(
            "test_streams_beyond_the_limit_are_rejected_and_their_operations_flagged",
            "test_the_streams_of_a_log_are_bounded_in_bytes",
            "test_a_stream_with_too_many_sources_is_incomplete",
        ),
    ),
    "YARN's open applications": Row(
        f"{yarn.MAX_OPEN_OF_USER:,} and {mib(yarn.MAX_OPEN_BYTES_OF_USER)} of a user, {yarn.MAX_OPEN:,} and "
        f"{mib(yarn.MAX_OPEN_BYTES)} in all",
        "a user's",
        "a reject; it is read again while it is listed, and without its history if that has not come",
        "`navlin rejects`, `navlin incomplete`",
        ((f"{YARN}.plan", "OPEN"),),
        (f"{YARN}.applications.YarnApplication", f"{YARN}.applications.MapReduceJob", f"{YARN}.plan.SavedYarnState"),
        (
            "test_open_applications_beyond_a_users_share_are_rejected_and_others_kept",
            "test_open_applications_are_bounded_in_bytes",
            "test_jobs_beyond_the_limit_are_read_without_their_history",
        ),
    ),
    "YARN's applications that were read": Row(
        f"{yarn.MAX_ENDED:,}, of some 60 bytes",
        "nobody's: the newest",
        "it is read again as long as it is listed",
        "no loss",
        ((f"{YARN}.plan", "ENDED_BEFORE"),),
        proved=("test_remembered_applications_are_bounded_and_none_is_lost",),
    ),
    "dues: configurations of jobs that are asked for again": Row(
        f"{yarn.MAX_UNREAD_OF_USER:,} of a user, {yarn.MAX_UNREAD:,} in all; {jobs.MAX_TRIES} times, over most of a day",
        "a user's",
        "a reject, and the job's operation is incomplete",
        "`navlin rejects`, `navlin incomplete`",
        ((f"{YARN}.plan", "self.key(self.seen)"), (f"{YARN}.jobs", "UnreadConfiguration.key(seen)")),
        (f"{YARN}.plan.UnreadConfiguration",),
        (
            "test_unread_configurations_are_limited_per_user_and_the_other_jobs_incomplete",
        ),
    ),
    "Oozie's open workflows": Row(
        f"{oozie.MAX_OPEN_OF_USER:,} of a user, {oozie.MAX_OPEN:,} in all, of some 60 bytes",
        "a user's",
        "no loss if the server lists workflows by their last change; else a reject, and an end may stay unknown",
        "`navlin rejects`",
        ((f"{OOZIE}.plan", "OPEN"),),
        (f"{OOZIE}.plan.SavedOozieState",),
        ("test_open_workflows_beyond_a_users_share_are_rejected_where_the_server_cannot_sort",),
    ),
    "Oozie's workflows that were read": Row(
        f"{oozie.MAX_RECENT:,}, of some 60 bytes",
        "nobody's: the newest",
        "it is read again as long as it is listed",
        "no loss",
        ((f"{OOZIE}.plan", "RECENT"),),
        proved=("test_workflows_that_are_not_remembered_are_read_again",),
    ),
    "Oozie's coordinators and bundles that were read": Row(
        f"{oozie.MAX_REMEMBERED:,}, of some 60 bytes",
        "nobody's: the first",
        "it is read again as long as it is listed",
        "no loss",
        ((f"{OOZIE}.wanted", "self.key(identity)"), (f"{OOZIE}.reading", "Remembered.key(wanted.id)")),
        proved=("test_coordinators_that_are_not_remembered_are_read_again",),
    ),
    "dues: jobs of Oozie that are asked for again": Row(
        f"{oozie.MAX_UNREAD:,}; {reading.MAX_TRIES} times, over most of a day",
        "nobody's: the first",
        "a reject",
        "`navlin rejects`",
        ((f"{OOZIE}.wanted", "self.key(self.id)"), (f"{OOZIE}.reading", "UnreadJob.key(wanted.id)")),
        proved=("test_a_job_is_given_up_after_enough_attempts",),
    ),
    "jobs of engines' runs that may get further jobs": Row(
        f"{mib(engine_runs.MAX_KEPT_BYTES_OF_USER)} of a user, {mib(engine_runs.MAX_KEPT_BYTES)} in all; for"
        f" {engine_runs.KEPT_MS // 86_400_000} days after the end of the run",
        "a user's",
        "those of the runs that ended first go; the operation of a job that comes later is incomplete",
        "`navlin incomplete`",
        ((f"{YARN}.engine_runs", "self.key"), (f"{YARN}.plan", "key")),
        (f"{YARN}.engine_runs.KeptJob",),
        ("test_kept_jobs_beyond_a_users_share_are_forgotten_and_the_oldest_first",),
    ),
    "dues: what failed": Row(
        f"one for each split that fails, with {4_000:,} bytes of its error; set aside after {planning.ASIDE_AFTER} times",
        "a split's: a file's",
        "it goes when it is read, or planned no more",
        "`navlin status` names it; a reject when it is set aside",
        (
            ("navlin.pipeline.crashes", "BACKING_OFF + name"),
            ("navlin.pipeline.planning", "BACKING_OFF + name"),
        ),
        proved=(
            "test_a_repeatedly_failing_file_is_set_aside_and_the_others_are_read",
            "test_a_failure_no_longer_planned_is_no_longer_listed",
            "test_a_split_that_kills_spark_twice_is_set_aside_and_the_others_are_read",
        ),
    ),
    "what a listing missed": Row(
        f"{missing.MOST_PLACES:,} places, of {mib(missing.MOST_CHARS)} in all",
        "a source's",
        "what contains them stands for them, nothing is flagged deleted, and a person is asked",
        "the run is held",
        (("navlin.pipeline.run", "MISSING"),),
        ("navlin.pipeline.missing.MissingState", "navlin.pipeline.guard.HighWaterMark"),
        (
            "test_too_many_missing_places_are_grouped_by_parent_and_all_counted",
            "test_missing_paths_are_bounded_in_total_length",
        ),
    ),
    "words that go along with renames": Row(
        f"those of {MOST_DOCUMENTS:,} entities",
        "a run's",
        "user metadata stays with the names",
        "the run's note",
    ),
    "how far HDFS was followed": Row(
        f"{NUMBER} each; {ROUNDS_KEPT} rounds, a digest of {TRANSACTIONS_KEPT} transactions, a number for each week",
        "a source's",
        NOTHING,
        "`navlin status`",
        (
            ("extractors.hdfs.continuity", "key"),
            ("extractors.hdfs.extractor", "ENTRIES"),
            *(("extractors.hdfs.image_reading", each) for each in ("ACCESSES", "NAMESPACE_ID")),
            *(
                ("extractors.hdfs.plan", each)
                for each in ("COMPLETE_MS", "EDITS", "IMAGE", "IMAGE_MD5", "MISSED", "ROUNDS", "TRANSACTION")
            ),
        ),
    ),
    "how far a metastore was followed": Row(
        f"{NUMBER} each",
        "a source's",
        NOTHING,
        "`navlin status`",
        tuple(("extractors.hms.plan", each) for each in ("COMPLETE_MS", "EVENT_DIGEST", "EVENT_ID")),
    ),
    "how far YARN was followed": Row(
        NUMBER,
        "a source's",
        NOTHING,
        "`navlin status`",
        (
            (f"{YARN}.plan", "FINISHED"),
            (f"{YARN}.plan", "JOBS_FINISHED"),
            (f"{OOZIE}.plan", "CHANGED"),
            (f"{OOZIE}.plan", "CREATED"),
        ),
    ),
    "the part of a job's configuration that Sqoop's reader needs": Row(
        "1 MiB a job at most: two texts, three lists of columns and 50 paths, each of bounded length",
        "a user's, with the other jobs of engines",
        "a longer value is left out, and the operation is incomplete",
        "`navlin show` of the operation, with the reason",
        (),
        (
            "extractors.yarn.sqoop_job.SqoopJob",
            "extractors.yarn.sqoop_job.TransferKind",
            "extractors.yarn.configuration.JobPath",
        ),
        ("test_what_is_kept_of_an_odd_value_is_bounded_and_becomes_records",),
    ),
    "how far an export is": Row(
        f"{NUMBER} each",
        "an export's",
        NOTHING,
        "`navlin status`",
        (
            ("navlin.export.following", "name"),
            ("navlin.index.journal.export_positions", "**"),
            ("navlin.index.journal.export_positions", "name"),
        ),
        ("navlin.index.journal.export_positions.ExportPosition",),
    ),
}  # fmt: skip

PASSES: Final = ("navlin.pipeline.reading", "raw(row['identity'])")
"""The (module, key) that passes on the positions read by a task, so that they are saved."""
NOT_KEPT: Final = frozenset(
    {
        "extractors.hdfs.client.HdfsEvent", "extractors.hdfs.errors.MissingEvents", "extractors.hms.idl.FieldSchema",
        "extractors.openlineage.events.EventDataset", "extractors.spark.plan.kinds.PlanNode",
        "extractors.spark.plan.text._Line",
        "extractors.rest.RestAddress",
    }
)  # fmt: skip
"""Classes that the check also finds, although they are not part of saved state. They are made from responses of
navlin's child processes, from navlin's own tables, or from regular expression matches.
"""


def kept_by(trees: dict[str, ast.Module]) -> tuple[set[tuple[str, str]], set[str]]:
    """The (module, key) pairs that create positions, and the classes restored from positions."""
    made = {(name, key) for name, tree in trees.items() for key in positions_made(name, tree)}
    readers = ("extractors.", "navlin.pipeline.", "navlin.index.journal.export_positions")
    return made, set(
        classes_restored({name: tree for name, tree in trees.items() if name.startswith(readers)})
    )


def test_every_position_and_every_class_in_one_has_a_row() -> None:
    made, classes = kept_by({name: tree_of(file) for name, file in modules()})

    assert made == {PASSES, *(each for row in KEPT.values() for each in row.made)}
    assert classes == NOT_KEPT.union(*(row.classes for row in KEPT.values()))


@pytest.mark.parametrize(
    "added",
    [
        "from navlin.model.records import Position\ndef f(n): yield Position(f'more {n}', [])",
        "from navlin.model import records as r\nclass A:\n    def f(self): return r.Position(key='more', value=1)",
        "class Kept: pass\ndef restored(value): return Kept(value['name'])",
        "class Kept: pass\ndef restored(saved): return [Kept(*each) for each in saved]",
        "class Kept:\n    @classmethod\n    def of(cls, value): return cls(**value)",
    ],
)
def test_an_added_position_or_class_is_found(added: str) -> None:
    made, classes = kept_by({"extractors.more": ast.parse(added)})

    assert len(made) + len(classes) == 1


def test_every_row_is_complete_and_names_existing_tests() -> None:
    tests = "\n".join(each.read_text() for each in Path(__file__).parents[1].glob("*/test_*.py"))
    for name, row in KEPT.items():
        assert all((row.bound, row.share, row.beyond, row.seen)), name
        for test in row.proved:
            assert re.search(rf"^def {test}\(", tests, re.MULTILINE), test
