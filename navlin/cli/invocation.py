"""Code that the commands share: the configuration, access to the index, exit codes, and options."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from navlin.cli.terminal import say
from navlin.urls import without_userinfo

if TYPE_CHECKING:
    from navlin.index.people.editing import Author
    from navlin.index.solr.solr import Solr
    from navlin.service.loader import ConfiguredSources, Loaded
    from navlin.service.settings.configuration import Configuration


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NOTHING = 3
    HELD = 4
    BUSY = 5


EXITS: Final[Mapping[int, Exit]] = {400: Exit.USAGE, 404: Exit.NOTHING, 409: Exit.USAGE}
"""HTTP status of a refusal → exit code; `Exit.FAILED` for any other status."""


class Failure(click.ClickException):
    """Ends a command with a sentence on standard error and an exit code."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code

    @property
    def exit_code(self) -> int:  # type: ignore[override]  # click has it as a class's constant
        return self.code

    def show(self, file: Any = None) -> None:
        say(f"navlin: {without_userinfo(self.message)}", file=file, on_stderr=file is None)


@dataclass(frozen=True, slots=True)
class Invocation:
    file: Path
    environment: Mapping[str, str]
    left_out: tuple[str, ...] = ()
    """Names of the environment variables that were removed or changed at the start, because they would affect navlin's
    Spark and JVMs."""

    def configuration(self) -> Configuration:
        """Read the configuration; raises `BadConfiguration`."""
        from navlin.service.loader import load_extractors
        from navlin.service.settings.configuration import read_configuration

        return _for_its_owner(read_configuration(self.file, load_extractors(), self.environment))

    def configuration_without_sources(self) -> Configuration:
        """Read the configuration without the sources. This is enough to query the index, and loads no extractor. Raises
        `BadConfiguration`."""
        from navlin.service.settings.configuration import read_configuration

        return _for_its_owner(read_configuration(self.file, None, self.environment))

    @contextmanager
    def solr(
        self, configuration: Configuration | None = None, *, starting: Callable[[], object] = lambda: None
    ) -> Iterator[Solr]:
        """Connect to the index until the context ends. If the embedded Solr does not run, it is started, and stopped at
        the end.

        ``starting`` is called before Solr is started.
        """
        from navlin.index.solr.solr import Solr
        from navlin.service.library_logs import warnings_on_stderr
        from navlin.service.maintenance.opening import open_index
        from navlin.service.solr import reachable_solr

        warnings_on_stderr()
        configuration = configuration or self.configuration_without_sources()
        with (
            reachable_solr(configuration, self.environment, starting) as reached,
            Solr(reached.address) as solr,
        ):
            open_index(solr, reached.server)
            yield solr

    def configured_sources(self, configuration: Configuration, solr: Solr) -> ConfiguredSources:
        """Return the configured sources, ready to run."""
        from navlin.index.graph.sources import known_sources
        from navlin.service.loader import load

        return load(configuration, known_sources(solr))

    def author(self) -> Author:
        """Return the author of edits by this call: the user of the operating system."""
        from navlin.index.people.editing import Author

        return Author(user_name(os.getuid()), self.now_ms())

    def now_ms(self) -> int:
        """Return the time, in epoch milliseconds."""
        return time.time_ns() // 1_000_000


def _for_its_owner(configuration: Configuration) -> Configuration:
    """Return the configuration. Raises `Failure` if root runs the command and another user owns the state directory,
    because the service could not read files that root creates."""
    state = configuration.navlin.state_directory
    if os.geteuid() == 0 and state.is_dir() and (owner := state.stat().st_uid) != 0:
        name = user_name(owner)
        raise Failure(
            f"{state} belongs to {name}, who could not read what root writes there: "
            f"run this as that user (sudo -u {name} navlin ...), or give the directory to root",
            Exit.USAGE,
        )
    return configuration


def user_name(uid: int) -> str:
    """Return the name of an operating system user; the uid as text if the user has no name."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def source_named(sources: ConfiguredSources, name: str) -> Loaded:
    """Return the configured source with this name. If there is none, fail with a message that lists the known names."""
    loaded = sources.named(name)
    if loaded is None:
        raise unknown("source", name, [other.name for other in sources.sources])
    return loaded


def unknown(kind: str, name: str, known: list[str]) -> Failure:
    """Return the failure for an unknown name. The message lists similar names and the known ones."""
    from navlin.service.settings.typed import suggest

    there = f" (there are: {', '.join(known)})" if known else " (there are none)"
    return Failure(f'there is no {kind} "{name}"{suggest(name, known)}{there}', Exit.NOTHING)


_C = TypeVar("_C", bound=Callable[..., Any])


def json_option(command: _C) -> _C:
    return click.option("--json", "as_json", is_flag=True, help="The answer as JSON, for programs.")(command)
