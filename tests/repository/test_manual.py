"""Everything that a user can set, call, see or be told is documented in the manual."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path

import click
import pytest

from docs.from_code import metrics, reasons, settings, versions
from docs.from_code.pages import DOCS, PARTS, pages, parts_in, text_of
from navlin.api import forwarding, lines, navigator, own
from navlin.cli import COMMANDS, main
from navlin.export.target import targets
from navlin.index.journal.runs import Status
from navlin.model.extractor import GIVEN
from navlin.service.settings.configuration import SECTIONS, SourceKeys
from navlin.service.settings.export_settings import ExportKeys
from navlin.service.settings.typed import settings_of
from navlin.service.status import INTERRUPTED, NEVER
from navlin.shipped import CONF
from tests.support.manual import REPOSITORY, page

SENTENCE_WORDS = 4
"""A constant with at least so many words is taken for a reason that users see, unless `NOT_REASONS` has it."""
NOT_REASONS = {
    "(?:": "a pattern",
    "analyze set unset": "first words of statements",
}


@cache
def built(name: str) -> str:
    """The text of a page with all generated parts."""
    return text_of(DOCS / f"{name}.md")


def test_every_generated_part_is_on_one_page() -> None:
    used = list(chain.from_iterable(map(parts_in, pages())))

    assert sorted(used) == sorted(PARTS)


# -- Settings, commands, endpoints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_of_a_section_is_explained(section: str) -> None:
    cls = SECTIONS[section]
    silent = [key for key in settings_of(cls) if not settings.meaning(cls, section, key)]

    assert silent == []
    assert [key for key in settings_of(cls) if f"| `{key}` |" not in built("reference/configuration")] == []


@pytest.mark.parametrize(("cls", "section"), [(SourceKeys, "source"), (ExportKeys, "export")])
def test_every_setting_of_all_sources_and_exports_is_explained(cls: type, section: str) -> None:
    assert [key for key in settings_of(cls) if not settings.meaning(cls, section, key)] == []


def test_every_option_of_an_exports_target_is_explained() -> None:
    for target in targets().values():
        assert [
            key for key in settings_of(target.options) if not settings.words_of(target.options, key)
        ] == []


@pytest.mark.parametrize("name", settings.built_in())
def test_every_setting_of_an_extractor_is_explained(name: str) -> None:
    make = settings.built_in()[name].make
    silent = [key for key in settings_of(make, GIVEN) if not settings.meaning(make, name, key)]

    assert silent == []
    assert f"### `{name}`" in built("reference/extractors")


def test_every_command_and_option_is_documented() -> None:
    text = built("reference/commands")
    context = click.Context(main, info_name="navlin")

    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        for words, each in _commands(command, (name,)):
            title = " ".join(("navlin", *words))
            section = re.search(rf"^#+ {title}\n(.*?)(?=^#+ navlin|\Z)", text, re.MULTILINE | re.DOTALL)
            assert section is not None, title
            options = [option for item in each.params for option in item.opts if option.startswith("--")]
            hidden = {
                option for item in each.params if getattr(item, "hidden", False) for option in item.opts
            }
            assert [
                option for option in options if option not in section[1] and option not in hidden
            ] == [], title


def _commands(command: click.Command, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], click.Command]]:
    found = [(words, command)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None
            found += _commands(below, (*words, word))
    return found


def test_every_endpoint_is_documented() -> None:
    text = built("reference/http-api")

    assert [each.path for each in own.ENDPOINTS if f"`{each.method} {own.ROOT}{each.path}`" not in text] == []
    theirs = {f"`{each.method} {name}`" for _, name, each in navigator.addresses()}
    assert [each for each in sorted(theirs) if each not in text] == []
    for each in (lines.ADDRESS, *forwarding.ADDRESSES):
        section = text.partition(f"### `{each.method} {each.path}`\n")[2].partition("\n### ")[0]
        assert [name for name, place, _ in each.given if f"| `{name}` | {place} |" not in section] == []
        assert each.given or each.answers
        assert [status for status, _ in each.answers if f"| {status} |" not in section] == []
    for path in ("/healthz", "/readyz", "/metrics", "/login", "/logout", "/session", "/api/v1/lineage"):
        assert f" {path}`" in text


# -- Metrics and alerts ----------------------------------------------------------------------------------------------


def test_every_metric_in_alerts_and_dashboard_is_documented() -> None:
    used = metrics.ALERTS.read_text() + (CONF / "prometheus" / "dashboard.json").read_text()
    named = {re.sub("_(bucket|count|sum)$", "", each) for each in re.findall(r"\bnavlin_[a-z_]+", used)}

    assert len(named) > 10
    assert named - {name for name, _, _ in metrics.metric_rows()} == set()


@pytest.mark.parametrize("alert", [each["alert"] for each in metrics.alert_rules()])
def test_every_alert_has_a_cause_a_check_and_an_action(alert: str) -> None:
    section = page("operations/runbook").partition(f"### {alert}\n")[2].partition("\n### ")[0]

    for word in ("Cause", "Check", "Action"):
        assert f"- **{word}**: " in section


def test_every_state_of_a_source_is_in_the_runbook() -> None:
    for state in (*Status, NEVER, INTERRUPTED):
        assert f"\n| `{state}` | " in page("operations/runbook")


# -- Reasons ---------------------------------------------------------------------------------------------------------


def test_every_enumeration_of_reasons_is_documented() -> None:
    found = set()
    for file in (REPOSITORY / "extractors").rglob("*.py"):
        if "incomplete" in file.read_text() and "StrEnum" in file.read_text():
            module = import_module(".".join(file.relative_to(REPOSITORY).with_suffix("").parts))
            found |= {
                each
                for each in vars(module).values()
                if isinstance(each, type)
                and issubclass(each, StrEnum)
                and "incomplete" in (each.__doc__ or "")
            }

    assert found == set(reasons.ENUMERATIONS)


def test_every_reason_in_a_constant_is_documented() -> None:
    text = " ".join(built("reference/reasons").replace("\\", "").split())
    missing = [
        f"{file.relative_to(REPOSITORY)}: {value}"
        for folder in ("extractors", "linker/views.py", "navlin/model/gaps.py", "navlin/pipeline/crashes.py")
        for file in _modules(REPOSITORY / folder)
        for value in _sentences(file)
        if value not in text and not any(each in value for each in NOT_REASONS)
    ]

    assert missing == []


def _modules(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def _sentences(file: Path) -> list[str]:
    """The plain texts of several words in a module's constants."""
    found = []
    for node in ast.parse(file.read_text()).body:
        match node:
            case ast.AnnAssign(value=ast.Constant(value=str(text))) if (
                len(re.findall(r"[a-z]{2,} ", text)) >= SENTENCE_WORDS and "{" not in text
            ):
                found.append(" ".join(text.split()))
    return found


def test_rejects_have_reasons_of_every_extractor_that_makes_them() -> None:
    named = {name for _, places in reasons.reject_reasons() for name in places.split(", ")}

    assert {"hms", "hdfs", "yarn", "oozie", "openlineage_events", "hive_events", "spark_events"} <= named
    assert len(reasons.reject_reasons()) > 60


# -- Versions ---------------------------------------------------------------------------------------------------------


def test_the_tried_versions_are_those_of_the_pinned_jars() -> None:
    assert versions.revision("sqoop") == "1.4.7"
    assert versions.revision("hive-metastore-3.1") == "3.1.3"
    of_tests = {"ivysettings", "kdc", "ldap", "crossed", "referee"}
    assert {file.stem for file in (CONF / "jars").glob("*.xml")} == versions.PRODUCTS.keys() | of_tests
