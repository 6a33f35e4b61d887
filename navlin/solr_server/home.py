"""The home of the embedded Solr: its files, its password, and the note by which another navlin finds the running server."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from navlin.files import replace_content
from navlin.index.connection import SolrAddress

USER: Final = "navlin"
PASSWORD_FILE: Final = "password"
SERVER_FILE: Final = "server.json"
CONFIGSET_FILE: Final = "configset"
"""Names the configset that the home's cores use."""
FIRST_CONFIGSET: Final = "navlin"
"""The configset of homes without that file."""
LOCK_FILE: Final = "navlin.lock"
"""The file that a running server holds locked."""
_REPLACED: Final = "solr.replaced"
LOG_PROPERTY: Final = "solr.log.dir"
"""Java property that names the home's directory of logs; a running server discloses it to clients with the password."""


def make(home: Path, conf: Path, *, cores: Sequence[str]) -> None:
    """Creates the home, or updates it to ``conf``; an existing index is kept.

    ``conf`` holds ``solr.xml``, ``log4j2.xml`` and the folder of one configset. Existing ``cores`` keep the configset
    that they were made with, until `use` names another; then the cores made for that take their names, and the old ones
    are removed.
    """
    (shipped,) = (path for path in conf.iterdir() if path.is_dir())
    undo_replacement(home)
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    logs(home).mkdir(exist_ok=True)
    _refresh(conf / "solr.xml", home / "solr.xml")
    _refresh(conf / "log4j2.xml", home / "log4j2.xml")
    configset = home / "configsets" / shipped.name / "conf"
    configset.mkdir(parents=True, exist_ok=True)
    files = {path.name for path in shipped.iterdir()}
    for name in files:
        _refresh(shipped / name, configset / name)
    for path in configset.iterdir():
        if path.name not in files:
            path.unlink()
    used = _used(home, shipped.name, cores)
    for core in cores:
        _place(home / _directory(core, used), core, used)
        beside = home / _directory(core, shipped.name)
        if beside.is_dir() and used != shipped.name:
            _place(beside, beside.name, shipped.name)
    if cores and used == shipped.name:
        use(home, used)
        _remove_unused(home, used, cores)
    word = password(home)
    security = home / "security.json"
    if not security.exists():
        replace_content(security, f"{json.dumps(_security(word), indent=2)}\n".encode())


def use(home: Path, configset: str) -> None:
    """Selects the configset of the cores, from the next `make` on."""
    replace_content(home / CONFIGSET_FILE, f"{configset}\n".encode())


def used(home: Path) -> str:
    """The configset of the cores of an existing home."""
    return _used(home, FIRST_CONFIGSET, ())


def lay_out(home: Path, configset: str, cores: Sequence[str]) -> dict[str, Path]:
    """Lays out an empty home with these cores; returns the directory for the files of each core's index."""
    (home / "configsets" / configset / "conf").mkdir(parents=True)
    use(home, configset)
    indexes = {}
    for core in cores:
        _place(home / _directory(core, configset), core, configset)
        indexes[core] = home / _directory(core, configset) / "data" / "index"
        indexes[core].mkdir(parents=True)
    return indexes


def replace(home: Path, by: Path) -> None:
    """Replaces this home, which may be missing, by another one, and removes this one. Neither may be in use."""
    replaced = home.with_name(_REPLACED)
    shutil.rmtree(replaced, ignore_errors=True)
    if home.exists():
        home.rename(replaced)
    by.rename(home)
    shutil.rmtree(replaced, ignore_errors=True)


def undo_replacement(home: Path) -> None:
    """Puts back the home that an interrupted `replace` had moved away, or removes it if the new one is in place."""
    replaced = home.with_name(_REPLACED)
    if not replaced.is_dir():
        return
    if home.exists():
        shutil.rmtree(replaced)
    else:
        replaced.rename(home)


def _used(home: Path, shipped: str, cores: Sequence[str]) -> str:
    """The configset of the home's cores; a new home has the shipped one."""
    with suppress(FileNotFoundError):
        return (home / CONFIGSET_FILE).read_text().strip()
    return FIRST_CONFIGSET if any((home / core).is_dir() for core in cores) else shipped


def _directory(core: str, configset: str) -> str:
    """The directory of a core: its name, and the suffix that distinguishes its configset from the first one."""
    _, dash, version = configset.partition("-")
    return core + dash + version


def _place(directory: Path, name: str, configset: str) -> None:
    directory.mkdir(exist_ok=True)
    _write_if_other(directory / "core.properties", f"name={name}\nconfigSet={configset}\n".encode())


def _remove_unused(home: Path, used: str, cores: Sequence[str]) -> None:
    for configset in [path for path in (home / "configsets").iterdir() if path.name != used]:
        for core in cores:
            directory = home / _directory(core, configset.name)
            # First the file that makes it a core: a partial core would not open.
            (directory / "core.properties").unlink(missing_ok=True)
            shutil.rmtree(directory, ignore_errors=True)
        shutil.rmtree(configset)


def password(home: Path) -> str:
    """The server's password, generated on first use; in a file that only its owner can read."""
    file = home / PASSWORD_FILE
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        word = secrets.token_urlsafe(24)
        replace_content(file, f"{word}\n".encode())
        (home / "security.json").unlink(missing_ok=True)  # it was for another password
        return word


LATE_COMPILER: Final = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times Java's own thresholds for its optimizing compiler, which otherwise takes as much of two cores as the first
50,000 documents do. Three loads of 56,000 documents one after the other took 41, 24 and 16 processor seconds with Java's
defaults, and 28, 15 and 11 with these and the serial collector."""
CONSOLE_LOG_BYTES: Final = 4 << 20
SMALL_HEAP_MB: Final = 2_048
"""Up to this size the collector that needs no threads of its own is the cheapest, and its pauses are short."""


def logs(home: Path) -> Path:
    return home / "logs"


def java_options(home: Path, memory: str) -> list[str]:
    """The Java options for this home and a heap of ``memory``, such as ``1g``."""
    return [
        f"-D{LOG_PROPERTY}={logs(home)}",
        f"-Dlog4j2.configurationFile={(home / 'log4j2.xml').as_uri()}",
        "-Ddisable.configEdit=true",  # else /config writes into the configset that the four cores share
        "-Djava.awt.headless=true",
        "-Dsolr.useExitableDirectoryReader=true",  # else `timeAllowed` cannot end the expansion of a wildcard (SOLR-16693)
        *LATE_COMPILER,
        *(["-XX:+UseSerialGC"] if _megabytes(memory) <= SMALL_HEAP_MB else []),
        "-XX:+ExitOnOutOfMemoryError",  # a Solr without memory is worse than a restarted one
    ]


def _megabytes(memory: str) -> float:
    return int(memory[:-1]) * {"k": 1 / 1024, "m": 1, "g": 1024}[memory[-1].lower()]


def console_log(home: Path) -> Path:
    """The file for Java's output, which is little. A large one is moved aside at a start; one older is kept."""
    file = logs(home) / "console.log"
    with suppress(FileNotFoundError):
        if file.stat().st_size > CONSOLE_LOG_BYTES:
            file.replace(file.with_name("console.log.1"))
    return file


def note(home: Path) -> SolrAddress | None:
    """The server that was last started on this home and not stopped since; it may have died."""
    try:
        server = json.loads((home / SERVER_FILE).read_text())
        word = (home / PASSWORD_FILE).read_text().strip()
        return SolrAddress(server["url"], server["user"], word)
    except (FileNotFoundError, ValueError, KeyError):
        return None


def last_lines(path: Path, limit_chars: int = 1_000) -> str:
    """The end of a text file on one line, for a message."""
    try:
        return " ".join(path.read_text(errors="replace")[-limit_chars:].split())
    except FileNotFoundError:
        return ""


def _security(word: str) -> dict[str, object]:
    return {
        "authentication": {
            "class": "solr.BasicAuthPlugin",
            "blockUnknown": True,
            "credentials": {USER: _hashed(word)},
        }
    }


def _hashed(word: str) -> str:
    """Solr's form of a stored password: base64(sha256(sha256(salt + password))), a space, base64(salt)."""
    salt = secrets.token_bytes(32)
    digest = hashlib.sha256(hashlib.sha256(salt + word.encode()).digest()).digest()
    return f"{base64.b64encode(digest).decode()} {base64.b64encode(salt).decode()}"


def _refresh(shipped: Path, copy: Path) -> None:
    _write_if_other(copy, shipped.read_bytes())


def _write_if_other(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.write_bytes(content)
