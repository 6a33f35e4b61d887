"""``navlin demo``: a small but real estate, a real ``navlin serve`` that extracts and links it, and sample queries.

Everything is in a temporary directory, on loopback. All work is done in child processes, which this process starts,
waits for, queries and ends.
"""

from __future__ import annotations

import re
import shlex
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from navlin.cli.terminal import say
from navlin.demo import DemoFailed
from navlin.demo.children import Interrupted, adopt_orphans, interruptible, kill_all
from navlin.demo.estate import DemoEstate
from navlin.demo.serving import Navlin
from navlin.shipped import CONF
from navlin.solr_server.jars import fetch

Say = Callable[[str], None]

QUESTIONS = (
    ("lineage", "shop.board_report"),
    ("lineage", "shop.board_report.revenue", "--columns"),
    ("lineage", "/exports/revenue", "--operations"),
    ("search", "type:TABLE AND parentPath:\\/shop"),
    ("status",),
)


def demo(*, once: bool) -> None:
    """Run the demo. Without ``once``, navlin continues to serve until Ctrl-C. Nothing remains, however the demo ends.

    Raises `DemoFailed`, also if a signal ends it before everything was shown, and `NoJava`.
    """
    started_s = time.monotonic()

    def show_line(line: str) -> None:
        say(f"[{time.monotonic() - started_s:5.1f} s] {line}", bold=True)

    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="navlin-demo-", dir=_plain(tempfile.gettempdir())) as home:
        try:
            navlin = _until_interrupted(Path(home), show_line, once=once)
            # ``navlin serve`` is killed if the user does not wait for a clean shutdown.
            if (code := navlin.stop()) not in (0, -signal.SIGKILL):
                raise DemoFailed(f"navlin serve ended with exit code {code}")
        finally:
            kill_all()


def _plain(directory: str) -> str:
    """Return the directory, or ``/tmp`` if Hadoop's services would misread a character in the path as part of a URI."""
    return directory if re.fullmatch(r"[A-Za-z0-9_./-]+", directory) else "/tmp"


def _until_interrupted(home: Path, show_line: Say, *, once: bool) -> Navlin:
    """Show everything; without ``once``, also serve until a signal arrives. Return the navlin that is still running."""
    shown: Navlin | None = None
    try:
        with interruptible():
            jars = _jars(show_line)
            navlin = Navlin(home, jars)
            further = _show(DemoEstate(home, jars), navlin, show_line)
            shown = navlin
            if not once:
                _invite(navlin, further, show_line)
                navlin.log_ordinary_work()
                raise DemoFailed(f"navlin serve ended by itself, with exit code {navlin.wait()}")
    except Interrupted:
        if shown is None:
            raise DemoFailed("interrupted before all was shown") from None
    return shown


def _show(estate: DemoEstate, navlin: Navlin, show_line: Say) -> str:
    """Show everything. Return the shell command that adds one more record to the estate."""
    show_line("starting HDFS and YARN")
    estate.launch_hadoop()
    show_line("starting a Hive metastore")
    estate.launch_metastore()
    estate.await_ready()
    show_line("starting navlin, with a Solr and a Spark of its own")
    navlin.launch()
    show_line(
        "running a Spark job on YARN with its event log on: a join, a CTAS, an aggregate, a view, a path write"
    )
    estate.run_job()
    records, one_more = estate.write_records()
    show_line("wrote three Impala lineage records")
    for name in navlin.extract(estate.sources()):
        show_line(f"extracted and linked {name}")
    for question in QUESTIONS:
        show_line(shlex.join(("navlin", *question)))
        navlin.ask(question)
    return f"cat {shlex.quote(str(one_more))} >> {shlex.quote(str(records))}"


def _invite(navlin: Navlin, further: str, show_line: Say) -> None:
    show_line("navlin serves this estate until Ctrl-C; query it from another terminal:")
    say(f"  {navlin.shown('lineage', 'shop.board_report', '--operations')}")
    say(f"  {navlin.shown('status')}")
    url, user, password = navlin.over_http()
    show_line("log in to the console as administrator:")
    say(f"console: {url}  user: {user}  password: {password}")
    show_line("append one more Impala record, and find it within seconds:")
    say(f"  {further}")
    say(f"  {navlin.shown('search', 'type:OPERATION AND queryText:forecast')}")


def _jars(show_line: Say) -> Path:
    in_checkout = CONF.parent / ".jars"
    jars = in_checkout if in_checkout.is_dir() else Path.home() / ".cache" / "navlin" / "jars"
    for jar_set in ("solr", "hive-metastore", "hadoop"):
        fetch(jar_set, jars / jar_set, report=show_line)
    return jars
