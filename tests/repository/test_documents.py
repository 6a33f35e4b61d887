"""README, ``--help``, the example configuration and the code agree with one another."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from navlin.cli import COMMANDS, EPILOG, main
from navlin.cli.invocation import Exit
from navlin.service import DEFAULT_FILE, FILE_VARIABLE
from navlin.service.loader import load_extractors
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

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLE = CONF / "navlin.toml"
# Exclude extractors that other tests of the session register.
EXTRACTORS = {
    name: each for name, each in load_extractors().items() if each.make.__module__.startswith("extractors.")
}


def shown() -> dict[str, Any]:
    """The example configuration with every commented-out ``#key = value`` enabled."""
    lines = [re.sub(r'^#(?=["\w.]+ = )', "", line) for line in EXAMPLE.read_text().splitlines()]
    return tomllib.loads("\n".join(lines))


SHOWN = shown()
SHOWN_SOURCES = {source["extractor"]: source for source in SHOWN["source"]}


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
    configuration = read_configuration(EXAMPLE, EXTRACTORS, {})

    assert {source.registration.name for source in configuration.sources} == set(EXTRACTORS)


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
def test_the_readme_has_a_line_for_every_command(command: str) -> None:
    assert re.search(rf"^\| `navlin {command}\b", README, re.MULTILINE)


def test_the_readme_names_only_existing_commands_and_options() -> None:
    named = re.findall(r"`(?:make|navlin) [^`]*`|(?<=/bin/)navlin [^\n#]*", README)
    assert len(named) > 10
    for mention in named:
        program, *words = mention.strip("`").split()
        if program == "make":
            assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), mention
            continue
        assert words[0] in COMMANDS, mention
        command = words[:2] if words[0] in ("index", "annotations", "user", "token", "saved") else words[:1]
        help_text = CliRunner().invoke(main, [*command, "--help"]).output
        for option in (word for word in words if word.startswith("--")):
            assert option in help_text, mention


def test_the_readme_shows_every_section() -> None:
    for section in (*SECTIONS, "[source]"):
        assert f"| `[{section}]` |" in README


def test_the_readmes_configurations_are_valid(tmp_path: Path) -> None:
    ldap, shortest, kerberos, on_yarn = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)

    for example in (shortest, f'[navlin]\ncluster = "c"\n{kerberos}'):
        (tmp_path / "navlin.toml").write_text(example)
        assert read_configuration(tmp_path / "navlin.toml", EXTRACTORS, {}).sources
    (tmp_path / "navlin.toml").write_text(f'[navlin]\ncluster = "c"\n{ldap}')
    assert read_configuration(tmp_path / "navlin.toml", EXTRACTORS, {}).ldap.directory
    (tmp_path / "navlin.toml").write_text(
        f'[navlin]\ncluster = "c"\n[solr]\nurl = "http://solr/solr"\n{on_yarn}'
    )
    assert read_configuration(tmp_path / "navlin.toml", EXTRACTORS, {}).spark.on_yarn


def test_readme_help_and_code_agree_on_the_exit_codes() -> None:
    reported = {int(code): words for code, words in re.findall(r"^  (\d)  (.*)$", EPILOG, re.MULTILINE)}
    in_readme = re.search(r"^Exit codes: (.*?)\.\n\n", README, re.MULTILINE | re.DOTALL)
    assert in_readme is not None

    assert set(reported) == set(Exit)
    listed = [part.strip() for part in " ".join(in_readme[1].split()).split("·")]
    assert [int(part.split()[0]) for part in listed] == sorted(reported)
    for part in listed:
        code, words = part.split(maxsplit=1)
        assert words.partition(",")[0] in reported[int(code)]


def test_the_help_names_the_default_configuration_and_its_variable() -> None:
    help_text = " ".join(CliRunner().invoke(main, ["--help"]).output.split())

    for text in (str(DEFAULT_FILE), FILE_VARIABLE):
        assert text in help_text
        assert text in README
    for command in COMMANDS:
        assert f" {command} " in help_text
    assert "..." not in help_text.partition("Commands:")[2]


def test_the_readmes_links_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_unit_and_the_readme_name_the_same_paths() -> None:
    unit = (SYSTEMD / "navlin.service").read_text()

    for place in ("/opt/navlin", "/etc/navlin/navlin.toml", "/var/lib/navlin"):
        assert place in unit
        assert place in README
