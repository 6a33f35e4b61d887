"""Commands, their options, and exit codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import Final

import click

from docs.from_code.markdown import code, prose, table
from navlin.cli import COMMANDS, EPILOG, main
from navlin.questions import all_questions

_CODE: Final = re.compile(r"^  (\d)  (.*)$", re.MULTILINE)


def all_commands() -> str:
    """Return a section for each command, with its help and its options."""
    context = click.Context(main, info_name="navlin")
    groups = ["### navlin\n", _options(main, context)]
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        groups += _command(command, context, name, "###")
    return "\n".join(groups)


def exit_codes() -> str:
    """Return the table of exit codes."""
    return table(("code", "meaning"), ((found[1], prose(found[2])) for found in _CODE.finditer(EPILOG)))


def questions() -> str:
    """Return the table of questions: the command, the endpoint and the page of each."""
    rows = []
    for each in all_questions():
        page = each.page if isinstance(each.page, str) else (each.page and (each.page.path or each.path))
        web = "" if "http" in each.without else f"{each.method} {each.path}"
        rows.append((code(f"navlin {each.name}"), prose(each.summary), code(web), code(page or "")))
    return table(("command", "answer", "endpoint below `/api/navlin/v1`", "page"), rows)


def _command(command: click.Command, above: click.Context, name: str, mark: str) -> Iterator[str]:
    context = click.Context(command, parent=above, info_name=name)
    yield f"{mark} {context.command_path}\n"
    yield f"```text\n{command.get_usage(context)}\n```\n"
    yield _help(command) + "\n"
    yield _options(command, context)
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            one = command.get_command(context, word)
            assert one is not None
            yield from _command(one, context, word, mark + "#")


def _help(command: click.Command) -> str:
    """Return the help text. A paragraph that click must not wrap becomes a block of code."""
    paragraphs = []
    for each in re.split(r"\n\s*\n", cleandoc(command.help or "") + "\n\n" + (command.epilog or "")):
        if "\b" in each:
            paragraphs.append("```text\n" + each.replace("\b\n", "").replace("\b", "").strip("\n") + "\n```")
        elif each.strip():
            paragraphs.append(prose(each))
    return "\n\n".join(paragraphs)


def _options(command: click.Command, context: click.Context) -> str:
    rows = []
    for each in command.get_params(context):
        record = each.get_help_record(context)
        if record is not None:
            rows.append((code(record[0]), prose(record[1])))
    return table(("option", "meaning"), rows) if rows else ""
