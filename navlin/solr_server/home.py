"""The home of the embedded Solr: its files, its password, and the note by which another navlin finds the running server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from navlin.index.connection import SolrAddress

USER: Final = "navlin"
PASSWORD_FILE: Final = "password"
SERVER_FILE: Final = "server.json"
LOG_PROPERTY: Final = "solr.log.dir"
"""Java property that names the home's directory of logs; a running server tells it to those who know the password."""


def make(home: Path, conf: Path, *, cores: Sequence[str]) -> None:
    """Lays out the home, or brings it up to what ``conf`` says now; an index stays.

    ``conf`` holds ``solr.xml``, ``log4j2.xml`` and the folder of the one configset that all ``cores`` use.
    """
    (shipped,) = (path for path in conf.iterdir() if path.is_dir())
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
    for core in cores:
        (home / core).mkdir(exist_ok=True)
        _write_if_other(home / core / "core.properties", f"name={core}\nconfigSet={shipped.name}\n".encode())
    word = password(home)
    security = home / "security.json"
    if not security.exists():
        write_private(security, json.dumps(_security(word), indent=2) + "\n")


def password(home: Path) -> str:
    """The server's password, made at random the first time; in a file that only its owner reads."""
    file = home / PASSWORD_FILE
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        word = secrets.token_urlsafe(24)
        write_private(file, word + "\n")
        (home / "security.json").unlink(missing_ok=True)  # it was for another password
        return word


def logs(home: Path) -> Path:
    """The directory of Solr's logs."""
    return home / "logs"


def java_options(home: Path) -> list[str]:
    """The options of Java for this home."""
    return [
        f"-D{LOG_PROPERTY}={logs(home)}",
        f"-Dlog4j2.configurationFile={(home / 'log4j2.xml').as_uri()}",
        "-Ddisable.configEdit=true",  # else /config writes into the configset that the three cores share
        "-Djava.awt.headless=true",
        "-XX:+ExitOnOutOfMemoryError",  # a Solr without memory is worse than one that is started again
    ]


def note(home: Path) -> SolrAddress | None:
    """The server that was last started on this home, if it was not stopped since; it may have died."""
    try:
        server = json.loads((home / SERVER_FILE).read_text())
        word = (home / PASSWORD_FILE).read_text().strip()
        return SolrAddress(server["url"], server["user"], word)
    except (FileNotFoundError, ValueError, KeyError):
        return None


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner reads, whole or not at all."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


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
