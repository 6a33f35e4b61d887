"""README, manual, ``--help``, the example configuration and the code agree with one another."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from navlin.cli import COMMANDS, EPILOG, main
from navlin.cli.forward import command as forward
from navlin.cli.invocation import Exit
from navlin.service import DEFAULT_FILE, FILE_VARIABLE
from navlin.service.settings.configuration import (
    PASSWORD_VARIABLE,
    PULL_INTERVAL_S,
    PUSH_INTERVAL_S,
    SECTIONS,
    SourceKeys,
    read_configuration,
)
from navlin.service.settings.typed import settings_of
from navlin.shipped import CONF, SYSTEMD
from tests.support.manual import DOCS, blocks, documents, links, page
from tests.support.shipped_extractors import SHIPPED, SHOWN

ROOT = Path(__file__).parents[2]
EXAMPLE = CONF / "navlin.toml"


def as_toml(item: Field[Any]) -> Any:
    """A field's default as TOML represents it; MISSING if the field has none, or only None or a factory."""
    default = item.default if item.default is not MISSING else MISSING
    if default is None or (default is MISSING and item.default_factory is not MISSING):
        return MISSING
    return (
        list(default)
        if isinstance(default, tuple)
        else str(default)
        if isinstance(default, Path)
        else default
    )


def test_the_example_is_a_valid_configuration() -> None:
    configuration = read_configuration(EXAMPLE, SHIPPED, {})

    assert {source.registration.name for source in configuration.sources} == set(SHIPPED)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_example_shows_every_key_of_a_section_with_its_default(section: str) -> None:
    known = settings_of(SECTIONS[section])

    assert set(SHOWN[section]) == set(known)
    for key, item in known.items():
        if (default := as_toml(item)) is not MISSING:
            assert SHOWN[section][key] == default, key


def test_the_example_shows_the_keys_common_to_every_source() -> None:
    text = EXAMPLE.read_text()

    for item in fields(SourceKeys):
        assert re.search(rf"^#   {item.name}\b", text, re.MULTILINE), item.name
    assert f"Default: {PULL_INTERVAL_S:.0f} for a pull" in text
    assert f"{PUSH_INTERVAL_S:.0f} for a push" in text
    assert PASSWORD_VARIABLE in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_manual_has_a_line_for_every_command(command: str) -> None:
    assert re.search(rf"^\| `navlin {command}\b", page("reference/commands"), re.MULTILINE)


@pytest.mark.parametrize("name", documents())
def test_a_document_names_only_existing_commands_and_options(name: str) -> None:
    text = documents()[name]
    named = re.findall(r"`(?:make|navlin) [^`]*`", text)
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        named += re.findall(r"(?:^|(?<=/bin/)|(?<=navlin ))navlin (?!navlin)[^\n#>]*", block, re.MULTILINE)
    for mention in named:
        program, *words = mention.strip("`").replace(" TARGET", " atlas").split()
        if program == "make":
            assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), mention
            continue
        if "=" in words[0] or words[0].startswith("-") or words[0].endswith(":"):
            continue
        assert words[0] in COMMANDS, mention
        groups = ("index", "annotations", "user", "token", "host-token", "saved", "export")
        command = words[:2] if words[0] in groups and words[1:2] and words[1].islower() else words[:1]
        help_text = CliRunner().invoke(main, [*command, "--help"]).output
        if words[0] == "forward":  # its --help is the agent's, which does not list the command's own options
            help_text += forward.get_help(click.Context(forward))
        for option in (word for word in words if word.startswith("--")):
            assert option in help_text, mention


def test_the_manual_shows_every_section() -> None:
    for section in (*SECTIONS, "[source]", "[export]"):
        assert f"| `[{section}]` |" in page("reference/configuration")


def test_every_configuration_in_the_documents_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "navlin.toml"
    for name, example in blocks("toml"):
        text = example if "[navlin]" in example else f'[navlin]\ncluster = "c"\n{example}'
        if 'master = "yarn"' in text:
            text += '\n[solr]\nurl = "http://solr/solr"\n'
        file.write_text(text)
        assert read_configuration(file, SHIPPED, {}).file == file, name
    assert len([*blocks("toml")]) > 8


def test_manual_help_and_code_agree_on_the_exit_codes() -> None:
    reported = {int(code): words for code, words in re.findall(r"^  (\d)  (.*)$", EPILOG, re.MULTILINE)}
    in_manual = re.search(r"^Exit codes: (.*?)\.\n\n", page("reference/commands"), re.MULTILINE | re.DOTALL)
    assert in_manual is not None

    assert set(reported) == set(Exit)
    listed = [part.strip() for part in " ".join(in_manual[1].split()).split("·")]
    assert [int(part.split()[0]) for part in listed] == sorted(reported)
    for part in listed:
        code, words = part.split(maxsplit=1)
        assert words.partition(",")[0] in reported[int(code)]


def test_the_help_names_the_default_configuration_and_its_variable() -> None:
    help_text = " ".join(CliRunner().invoke(main, ["--help"]).output.split())

    for text in (str(DEFAULT_FILE), FILE_VARIABLE):
        assert text in help_text
        assert text in page("reference/configuration")
    for command in COMMANDS:
        assert f" {command} " in help_text
    assert "..." not in help_text.partition("Commands:")[2]


@pytest.mark.parametrize("name", documents())
def test_the_links_of_a_document_exist(name: str) -> None:
    for target in links(documents()[name]):
        assert ((ROOT / name).parent / target).exists(), target


def test_the_readme_has_one_page_and_the_changelog_short_lines() -> None:
    assert len(documents()["README.md"].splitlines()) <= 150
    assert [line for line in documents()["CHANGELOG.md"].splitlines() if len(line) > 100] == []


def test_every_page_is_in_the_contents() -> None:
    contents = {
        line
        for part in re.findall(r"```{toctree}\n(.*?)```", page("index"), re.DOTALL)
        for line in part.split()
    }
    written = {file.relative_to(DOCS).with_suffix("").as_posix() for file in DOCS.rglob("*.md")} - {"index"}

    assert written - contents == set()


def test_the_unit_and_the_manual_name_the_same_paths() -> None:
    unit = (SYSTEMD / "navlin.service").read_text()

    for place in ("/opt/navlin", "/etc/navlin/navlin.toml", "/var/lib/navlin"):
        assert place in unit
        assert place in page("how-to/install")
