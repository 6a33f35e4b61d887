"""Files of other hosts count as read only if the saved positions of every source show that."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from navlin.index.journal.read_files import paths_read_to_end
from navlin.index.journal.runs import save_positions
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.records import Position
from navlin.solr_server.embedded import EmbeddedSolr


def test_lines_and_event_logs_count_as_read_by_their_positions(
    solr_server: EmbeddedSolr, tmp_path: Path
) -> None:
    rolling = tmp_path / "eventlog_v2_app_9"
    rolling.mkdir()
    files = {
        "lines": b"x" * 10, "half": b"x" * 10, "app_1.inprogress": b"x" * 10, "app_2": b"x" * 10, "empty": b"",
        "unknown": b"x", "eventlog_v2_app_9/events_1_app_9": b"x" * 5, "eventlog_v2_app_9/events_2_app_9": b"x" * 5,
        "eventlog_v2_app_9/events_3_app_9": b"x" * 5,
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    os.utime(rolling / "events_1_app_9", (1_000, 1_000))
    sizes = {str(tmp_path / name): len(content) for name, content in files.items()}

    def key(name: str) -> str:
        stat = (tmp_path / name).stat()
        return f"{socket.gethostname()}:{stat.st_dev}:{stat.st_ino}"

    # The first part was compacted away, the third one has arrived since.
    of_rolling = {"size": 5, "mtime_ns": 2_000 * 10**9, "sizes": {"events_2_app_9": 5}}
    positions = [
        Position(key("lines"), {"path": "/p", "offset": 10}),
        Position(key("half"), {"path": "/p", "offset": 9}),
        Position(str(tmp_path / "app_1"), {"size": 10, "mtime_ns": 0}),
        Position(str(tmp_path / "app_2"), {"size": -1, "mtime_ns": 0}),
        Position(str(rolling), of_rolling),
    ]
    with Solr(solr_server.start()) as solr:
        save_positions(solr, f"paths-{tmp_path}", "kind", positions, {})
        solr.commit(RUNS, soft=True)
        read = {str(Path(each).relative_to(tmp_path)) for each in paths_read_to_end(solr, sizes)}
    assert read == {
        "lines", "app_1.inprogress", "empty", "eventlog_v2_app_9/events_1_app_9", "eventlog_v2_app_9/events_2_app_9",
    }  # fmt: skip
