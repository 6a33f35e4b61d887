"""All output of navlin goes through one module, which lets no terminal control sequence pass."""

from __future__ import annotations

import ast
import io
import json
import logging
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.panel import Panel
from rich.table import Table

from navlin.cli import main
from navlin.cli.terminal import console, print_json
from navlin.index.solr.solr import Solr
from navlin.model.printable import printable, printable_json
from navlin.render.console import CleanConsole
from navlin.service.library_logs import warnings_on_stderr
from navlin.service.logs import configure_logs
from navlin.service.settings.configuration import LogSettings
from tests.cli.test_cli import configuration, run

ROOT = Path(__file__).parents[2]

OBEYED = {
    "a title": "\x1b]0;owned\x07",
    "a colour": "\x1b[31m",
    "clearing": "\x1b[2J",
    "one byte": "\x9b31m",
    "a bell": "\a",
    "back": "\b\b",
    "return": "\r",
    "delete": "\x7f",
    "right to left": "\u202e",
    "no width": "\u200b",
    "half a pair": "\udcff",
}


def obeys(text: str) -> set[str]:
    return {each for each in text if not each.isprintable() and each != "\n"}


@pytest.mark.parametrize("name", OBEYED)
def test_terminal_control_sequences_are_replaced_and_other_text_is_kept(name: str) -> None:
    assert not obeys(printable(f"a{OBEYED[name]}b\nc"))
    assert printable("Größe, 表, 🙂, [red]\n") == "Größe, 表, 🙂, [red]\n"


@pytest.mark.parametrize("name", sorted(set(OBEYED) - {"half a pair"}))
def test_printed_json_is_equivalent_and_free_of_control_sequences(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_json({"name": OBEYED[name]})
    out = capsys.readouterr().out
    assert json.loads(out) == {"name": OBEYED[name]}
    assert not obeys(out)
    assert json.loads(printable_json('"\U000e0001"')) == "\U000e0001"


@pytest.mark.parametrize("name", OBEYED)
def test_rich_output_has_no_control_sequences(name: str) -> None:
    text = OBEYED[name]
    out = io.StringIO()
    to = CleanConsole(file=out, width=80)
    table = Table(f"head{text}", title=f"title{text}", caption=text)
    table.add_row(f"cell{text}")
    to.print(f"text{text}", markup=False)
    to.print(f"text{text}", soft_wrap=True)
    to.print(table, Panel(text, title=text))
    to.rule(f"rule{text}")
    to.log(text)
    assert not obeys(out.getvalue())


def test_navlins_own_colours_are_kept_on_a_terminal() -> None:
    out = io.StringIO()
    CleanConsole(file=out, force_terminal=True, color_system="standard").print("[red]failed[/] \x1b[2J")
    assert "\x1b[31m" in out.getvalue()
    assert "\x1b[2J" not in out.getvalue()


# -- no other output ----------------------------------------------------------------------------------------------------

DOORS = {
    ("navlin/cli/terminal.py", "click.echo"),
    ("navlin/cli/terminal.py", "click.confirm"),
    ("navlin/cli/terminal.py", "click.prompt"),
    ("navlin/cli/terminal.py", "sys.stdout"),
    ("navlin/cli/terminal.py", "sys.stderr"),
    # The console that the printing module uses.
    ("navlin/render/console.py", "class of Console"),
    # Progress: a line of numbers and fixed words that is overwritten repeatedly.
    ("navlin/cli/jobs.py", "sys.stderr"),
    ("navlin/cli/index.py", "sys.stderr"),
    # Only flushed, before the process ends or before a child process prints.
    ("navlin/cli/serve.py", "sys.stdout"),
    ("navlin/cli/serve.py", "sys.stderr"),
    ("navlin/demo/serving.py", "sys.stdout"),
    # The pipe to the parent process.
    ("navlin/pipeline/reading_here.py", "sys.stdout"),
    ("navlin/pipeline/reading_here.py", "sys.stderr"),
    ("navlin/sql/child.py", "sys.stdout"),
    # Errors of PySpark's workers; Spark's process copies them into its own log.
    ("navlin/pipeline/worker_daemon.py", "traceback.print_exc"),
    # Logs, which are sanitized separately: see below.
    ("navlin/service/logs.py", "sys.stderr"),
    ("navlin/service/logs.py", "StreamHandler"),
    ("navlin/service/library_logs.py", "sys.stderr"),
    ("navlin/service/library_logs.py", "StreamHandler"),
}
"""(module, means of printing) for every use; the comments give the reason."""

PRINTING_MODULES = {
    "click": {"echo", "secho", "echo_via_pager", "confirm", "prompt", "progressbar", "get_text_stream"},
    "sys": {"stdout", "stderr", "__stdout__", "__stderr__", "displayhook"},
    "traceback": {"print_exc", "print_exception", "print_last", "print_stack", "print_tb"},
    "rich": {"print", "print_json", "get_console", "inspect"},
    "logging": {"basicConfig", "StreamHandler", "lastResort"},
    "warnings": {"showwarning"},
}


def doors(source: str) -> Iterator[str]:
    """Yield the names of a module's means of printing."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="print" | "input" as name)):
                yield name
            case ast.Call(func=ast.Name(id="Console") | ast.Attribute(attr="Console")):
                yield "Console"
            case ast.ClassDef(bases=bases) if any(
                isinstance(each, ast.Name) and each.id == "Console" for each in bases
            ):
                yield "class of Console"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in PRINTING_MODULES.get(
                module, ()
            ):
                yield "StreamHandler" if name == "StreamHandler" else f"{module}.{name}"
            case ast.ImportFrom(module=str(module), names=names):
                yield from (
                    f"{module}.{each.name}" for each in names if each.name in PRINTING_MODULES.get(module, ())
                )


def test_only_the_printing_module_prints() -> None:
    found = {
        (str(file.relative_to(ROOT)), door)
        for package in ("navlin", "linker", "extractors")
        for file in (ROOT / package).rglob("*.py")
        for door in doors(file.read_text())
    }
    assert found == DOORS


@pytest.mark.parametrize(
    "source",
    [
        "print(name)",
        "import click\nclick.echo(name)",
        "import click\nclick.secho(name)",
        "from click import echo\necho(name)",
        "from rich.console import Console\nConsole().print(name)",
        "import rich.console\nrich.console.Console().print(name)",
        "from rich import print as show\nshow(name)",
        "import sys\nsys.stderr.write(name)",
        "from sys import stdout\nstdout.write(name)",
        "import traceback\ntraceback.print_exc()",
        "import logging\nlogging.basicConfig()",
    ],
)
def test_every_way_of_printing_is_detected(source: str) -> None:
    assert list(doors(source))


# -- through the command line -------------------------------------------------------------------------------------------


@pytest.mark.services
@pytest.mark.usefixtures("spark_of_commands")
def test_file_names_cannot_control_the_terminal(solr: Solr, tmp_path: Path) -> None:
    logs = tmp_path / "lineage"
    logs.mkdir()
    evil = "".join(text for name, text in OBEYED.items() if name != "half a pair") + "\n"
    record = {"queryText": f"INSERT INTO s.u -- {evil}", "timestamp": 1_700_000_000, "user": evil}
    (logs / f"impala_lineage_log_1.0-{evil}").write_text(json.dumps(record) + "\nno record\n")
    (logs / "impala_lineage_log_1.0-").write_bytes(b"")
    sources = f'[[source]]\nname = "IMPALA-1"\nextractor = "impala_events"\ndirectory = "{logs}"\n'
    file = configuration(solr, tmp_path, sources, cluster=f"cluster-{uuid.uuid4().hex[:8]}")
    answers = [
        run(file, "extract", "IMPALA-1"),
        run(file, "status"),
        run(file, "status", "--json"),
        run(file, "check"),
        run(file, "search", "sourceType:IMPALA"),
        run(file, "search", "sourceType:IMPALA", "--json"),
        run(file, "purge", "--before", "2020-01-01", "--dry-run"),
        run(file, "show", f"nothing{evil}"),
        run(file, "lineage", f"nothing{evil}"),
        run(file, "extract", f"nothing{evil}"),
        run(file, f"nothing{evil}"),
        run(file, "status", f"nothing{evil}"),
        run(file, "purge", "--before", f"soon{evil}"),
        run(tmp_path / f"nothing{evil}", "status"),
    ]
    assert "impala_lineage_log_1.0-" in answers[1].output
    for answer in answers:
        assert answer.output
        assert not obeys(answer.output), answer.output


def test_an_unexpected_error_cannot_control_the_terminal() -> None:
    script = "import navlin.cli as c; c.Commands.invoke = lambda *_: 1 / 0 if 0 else int('\\x1b[2J'); c.main(['x'])"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr
    assert not obeys(ended.stderr)


def test_logs_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        warnings_on_stderr()
        logging.getLogger("library").warning("\x1b[2J%s", "\x9b")
        first = capsys.readouterr().err
        out = io.StringIO()
        configure_logs(LogSettings(format="console"), out)
        logging.getLogger("library").warning("\x1b[2J%s", "\x9b")
    finally:
        root.handlers[:], root.level = handlers, level
    assert "library" in first
    assert "library" in out.getvalue()
    assert not obeys(first + out.getvalue())


def test_commands_print_through_the_clean_console() -> None:
    assert isinstance(console(), CleanConsole)
    assert isinstance(console(on_stderr=True), CleanConsole)
    assert isinstance(main, click.Group)
    assert CliRunner().invoke(main, ["--help"]).exit_code == 0
