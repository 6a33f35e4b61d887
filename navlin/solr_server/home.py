"""The home of the embedded Solr: files, password, and the note by which another navlin finds the running server."""

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
from navlin.index.solr.connection import SolrAddress

USER: Final = "navlin"
PASSWORD_FILE: Final = "password"
SERVER_FILE: Final = "server.json"
CONFIGSET_FILE: Final = "configset"
"""Name of the file that records the configset of the cores."""
FIRST_CONFIGSET: Final = "navlin"
"""The configset of a home without `CONFIGSET_FILE`."""
LOCK_FILE: Final = "navlin.lock"
"""Name of the file that a running server keeps locked."""
_REPLACED: Final = "solr.replaced"
LOG_PROPERTY: Final = "solr.log.dir"
"""Java property with the path of the log directory in the home. A running server discloses it to clients that have the
password."""


def make(home: Path, conf: Path, *, cores: Sequence[str]) -> None:
    """Create the home, or update it to ``conf``; an existing index is kept.

    ``conf`` contains ``solr.xml``, ``log4j2.xml`` and the folder of one configset. Existing ``cores`` keep the
    configset with which they were created until `use` selects another. Then the cores created for that configset take
    over the names, and the old cores are removed.
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
    """Select the configset of the cores. It takes effect with the next `make`."""
    replace_content(home / CONFIGSET_FILE, f"{configset}\n".encode())


def used(home: Path) -> str:
    """Return the configset of the cores in an existing home."""
    return _used(home, FIRST_CONFIGSET, ())


def lay_out(home: Path, configset: str, cores: Sequence[str]) -> dict[str, Path]:
    """Create the directories of an empty home with these cores. Return core → directory for the files of the index."""
    (home / "configsets" / configset / "conf").mkdir(parents=True)
    use(home, configset)
    indexes = {}
    for core in cores:
        _place(home / _directory(core, configset), core, configset)
        indexes[core] = home / _directory(core, configset) / "data" / "index"
        indexes[core].mkdir(parents=True)
    return indexes


def replace(home: Path, by: Path) -> None:
    """Replace ``home``, which may be missing, by another home, and delete the old one. Neither may be in use."""
    replaced = home.with_name(_REPLACED)
    shutil.rmtree(replaced, ignore_errors=True)
    if home.exists():
        home.rename(replaced)
    by.rename(home)
    shutil.rmtree(replaced, ignore_errors=True)


def undo_replacement(home: Path) -> None:
    """Restore the home that an interrupted `replace` moved away, or delete it if the new home is in place."""
    replaced = home.with_name(_REPLACED)
    if not replaced.is_dir():
        return
    if home.exists():
        shutil.rmtree(replaced)
    else:
        replaced.rename(home)


def _used(home: Path, shipped: str, cores: Sequence[str]) -> str:
    """Return the configset of the cores in a home; the shipped one for a new home."""
    with suppress(FileNotFoundError):
        return (home / CONFIGSET_FILE).read_text().strip()
    return FIRST_CONFIGSET if any((home / core).is_dir() for core in cores) else shipped


def _directory(core: str, configset: str) -> str:
    """Return the name of the directory of a core: the name of the core plus the suffix that distinguishes the configset
    from the first one."""
    _, dash, version = configset.partition("-")
    return core + dash + version


def _place(directory: Path, name: str, configset: str) -> None:
    directory.mkdir(exist_ok=True)
    _write_if_other(directory / "core.properties", f"name={name}\nconfigSet={configset}\n".encode())


def _remove_unused(home: Path, used: str, cores: Sequence[str]) -> None:
    for configset in [path for path in (home / "configsets").iterdir() if path.name != used]:
        for core in cores:
            directory = home / _directory(core, configset.name)
            # Delete ``core.properties`` first, because a directory without it is not a core, while Solr could not open
            # a partial core.
            (directory / "core.properties").unlink(missing_ok=True)
            shutil.rmtree(directory, ignore_errors=True)
        shutil.rmtree(configset)


def password(home: Path) -> str:
    """Return the password of the server. It is generated on first use, in a file that only its owner can read."""
    file = home / PASSWORD_FILE
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        word = secrets.token_urlsafe(24)
        replace_content(file, f"{word}\n".encode())
        (home / "security.json").unlink(missing_ok=True)  # the file was for another password
        return word


LATE_COMPILER: Final = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Thresholds of the optimizing compiler, ten times Java's defaults. With the defaults the compiler takes as much of two
cores as the first 50,000 documents do. Three consecutive loads of 56,000 documents took 41, 24 and 16 processor seconds
with the defaults, and 28, 15 and 11 with these thresholds and the serial collector."""
CONSOLE_LOG_BYTES: Final = 4 << 20
SMALL_HEAP_MB: Final = 2_048
"""Maximum heap size for the serial collector, which up to this size is the cheapest, needs no threads, and pauses only
briefly."""


def logs(home: Path) -> Path:
    return home / "logs"


def java_options(home: Path, memory: str) -> list[str]:
    """Return the Java options for this home and a heap of ``memory``, such as ``1g``."""
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
    """Return the file for Java's output, which is usually small. A large file is renamed first; one old file is
    kept."""
    file = logs(home) / "console.log"
    with suppress(FileNotFoundError):
        if file.stat().st_size > CONSOLE_LOG_BYTES:
            file.replace(file.with_name("console.log.1"))
    return file


def note(home: Path) -> SolrAddress | None:
    """Return the address of the server last started on this home and not stopped since; None if there is none. The
    server may have died."""
    try:
        server = json.loads((home / SERVER_FILE).read_text())
        word, owner = (home / PASSWORD_FILE).read_text().strip(), (home / PASSWORD_FILE).stat().st_uid
        return SolrAddress(server["url"], server["user"], word, listener_uid=owner)
    except (FileNotFoundError, ValueError, KeyError):
        return None


def last_lines(path: Path, limit_chars: int = 1_000) -> str:
    """Return the end of a text file on one line, for a message; "" without the file."""
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
    """Return a password as Solr stores it: base64(sha256(sha256(salt + password))), a space, base64(salt)."""
    salt = secrets.token_bytes(32)
    digest = hashlib.sha256(hashlib.sha256(salt + word.encode()).digest()).digest()
    return f"{base64.b64encode(digest).decode()} {base64.b64encode(salt).decode()}"


def _refresh(shipped: Path, copy: Path) -> None:
    _write_if_other(copy, shipped.read_bytes())


def _write_if_other(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.write_bytes(content)
