"""Packs the environment of executors into one archive: navlin, the packages it requires, and Python itself.

Existing packers do not suffice. venv-pack was last released in August 2018, cannot pack editable installations, and
packs only a virtual environment's link to Python. conda-pack works only for conda environments.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import sys
import sysconfig
import tarfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

PACKAGES: Final = "packages"
"""Folder of the packages in the archive."""
PYTHON: Final = "python/bin/python3"
LIBRARIES: Final = "python/lib"
"""Folder in the archive with Python's shared library, for LD_LIBRARY_PATH."""
OWN: Final = ("navlin", "extractors", "linker")
OF_SPARK: Final = ("pyspark", "py4j")
"""Packages that Spark itself ships to executors, in the driver's version."""
NOT_PACKED: Final = frozenset({"__pycache__", "tests"})
NOT_PACKED_OF_PYTHON: Final = frozenset(
    {
        "__pycache__",
        "dist-packages",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "site-packages",
        "test",
        "tests",
        "tkinter",
    }
)
COMPRESSION: Final = 1
"""gzip level (1 to 9). The archive is written once, and unpacked on every node."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class NotPacked(Exception):
    """A package or module that executors need is missing on this machine; the message names it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """One file to pack: the local path, and the name in the archive."""

    file: Path
    name: str


def pack(directory: Path, *, python: bool, modules: Collection[str] = ()) -> Path:
    """Create the archive in ``directory``, and remove archives with other content; do neither if the archive exists.
    Return the path of the archive.

    The archive contains navlin, ``modules`` (of third-party packages with extractors), and all packages that these
    require; with ``python`` also the running Python. Its name contains a hash of the names, sizes and times of the
    files, so a changed file gives a new archive. Raises `NotPacked`.
    """
    files = sorted([*package_files(modules), *(python_files() if python else ())], key=lambda each: each.name)
    known = hashlib.sha256(sys.version.encode())
    for each in files:
        status = each.file.stat()
        known.update(f"{each.name}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    archive = directory / f"environment-{known.hexdigest()[:16]}.tar.gz"
    if archive.exists():
        return archive
    directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=directory, prefix=".packing-") as folder:
        unfinished = Path(folder) / archive.name
        with tarfile.open(unfinished, "w:gz", compresslevel=COMPRESSION, dereference=True) as tar:
            for each in files:
                tar.add(each.file, each.name, filter=_of_nobody)
        unfinished.replace(archive)
    for other in directory.glob("environment-*.tar.gz"):
        if other != archive:
            other.unlink(missing_ok=True)
    return archive


def package_files(modules: Collection[str] = ()) -> Iterator[Packed]:
    """Yield the files of navlin, of ``modules``, and of all distributions that these require."""
    of_modules = importlib.metadata.packages_distributions() if modules else {}
    named = {name for module in modules for name in of_modules.get(module, ())}
    # In an editable installation, the distribution contains only the path of the code, so the code is found by module.
    by_module = {*OWN, *modules}
    for module in sorted(by_module):
        for file, name in _module_files(module):
            yield Packed(file, f"{PACKAGES}/{name}")
    for distribution in required(["navlin", *sorted(named)]):
        for path in distribution.files or ():
            if (
                path.parts[0] in (*by_module, "..")
                or path.suffix == ".pth"
                or not NOT_PACKED.isdisjoint(path.parts)
            ):
                continue
            file = Path(str(path.locate()))
            if file.is_file():
                yield Packed(file, f"{PACKAGES}/{path.as_posix()}")


def required(names: Iterable[str]) -> list[Distribution]:
    """Return the distributions with these names and all that they require, transitively, except for `OF_SPARK`.

    Requirements of extras are left out. Raises `NotPacked` if a distribution that is required without a condition is
    not installed.
    """
    found: dict[str, Distribution] = {}
    waiting = [(name, True) for name in names]
    while waiting:
        name, needed = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found or key in OF_SPARK:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except PackageNotFoundError:
            if needed:
                raise NotPacked(f"the package {name} is not installed, and executors need it") from None
            continue
        found[key] = distribution
        for requirement in distribution.requires or ():
            text, _, marker = requirement.partition(";")
            match = _NAME.match(text)
            # A requirement with a marker may not apply here, so it need not be installed. No extras are requested.
            if match and "extra" not in marker:
                waiting.append((match[0], not marker))
    return [found[key] for key in sorted(found)]


def python_files() -> Iterator[Packed]:
    """Yield the files of the running Python: the program, the standard library, and the shared library to which the
    program is linked.

    Python finds its standard library relative to the program, so the files can be unpacked anywhere.
    """
    base = os.path.realpath(sys.base_prefix)
    yield Packed(Path(sys.executable).resolve(), PYTHON)
    standard = Path(sysconfig.get_path("stdlib")).resolve()
    for file in _files_below(standard, NOT_PACKED_OF_PYTHON):
        if not file.relative_to(standard).parts[0].startswith("config-"):
            yield Packed(file, f"python/{os.path.relpath(file, base)}")
    if (library := _python_library()) is not None:
        yield Packed(library, f"{LIBRARIES}/{library.name}")


def _python_library() -> Path | None:
    directory, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    if not directory or not name or not str(name).startswith("libpython") or str(name).endswith(".a"):
        return None
    places = (Path(directory), Path(directory) / str(sysconfig.get_config_var("MULTIARCH")))
    return next((place / name for place in places if (place / name).is_file()), None)


def _module_files(module: str) -> Iterator[tuple[Path, str]]:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise NotPacked(f"the module {module} cannot be found, and executors need it")
    origin = Path(spec.origin)
    if spec.submodule_search_locations is None:
        yield origin, origin.name
        return
    for file in _files_below(origin.parent, NOT_PACKED):
        yield file, f"{module}/{file.relative_to(origin.parent).as_posix()}"


def _files_below(folder: Path, without: Collection[str]) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in without)
        yield from (Path(path) / name for name in files)


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
