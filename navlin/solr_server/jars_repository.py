"""The repository that jars are fetched from: Ivy's own default, or a mirror with the layout of Maven's, with a log-in if
it wants one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from navlin.java import compile_program

USER_VARIABLE: Final = "NAVLIN_JARS_USER"
PASSWORD_VARIABLE: Final = "NAVLIN_JARS_PASSWORD"
_IVY_WITH_LOGIN: Final = Path(__file__).with_name("IvyWithLogin.java")


@dataclass(frozen=True, slots=True)
class JarsRepository:
    """A repository. An empty ``url`` means Ivy's default; an empty ``user`` means that nobody logs in."""

    url: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    def ivy(self, jar: Path, java: str, cache: Path) -> list[str]:
        """Return the options and the main class that make ``java`` run Ivy on this repository. Raises `NoJava`.

        The program that logs in is in an installation's package; a checkout compiles it into ``cache``.
        """
        if not self.url:
            return ["-Dnavlin.resolver=public", "-jar", str(jar)]
        options = ["-Dnavlin.resolver=mirror", f"-Dnavlin.repository={self.url.rstrip('/')}/"]
        if not self.user:
            return [*options, "-jar", str(jar)]
        program = _IVY_WITH_LOGIN.with_suffix(".jar")
        if not program.exists():
            program = cache / program.name
            compile_program(_IVY_WITH_LOGIN, [jar], program, java)
        return [*options, "-cp", f"{program}:{jar}", _IVY_WITH_LOGIN.stem]

    def environment(self) -> dict[str, str]:
        """Return the variables that Ivy's process needs to log in."""
        return {USER_VARIABLE: self.user, PASSWORD_VARIABLE: self.password} if self.user else {}


DEFAULT_REPOSITORY: Final = JarsRepository()
