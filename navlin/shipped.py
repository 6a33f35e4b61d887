"""Directories of the files that ship with the code: inside the package if installed, next to the package in a
checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_INSTALLED = (_PACKAGE / "_conf").is_dir()

#: Example configuration, the cores' schema, log settings, the sets of jars.
CONF = _PACKAGE / "_conf" if _INSTALLED else _PACKAGE.parent / "conf"
#: The systemd units.
SYSTEMD = _PACKAGE / "_systemd" if _INSTALLED else _PACKAGE.parent / "systemd"
#: The manual's pages. In a checkout, `make docs` builds them.
MANUAL = _PACKAGE / "_manual" if _INSTALLED else _PACKAGE.parent / "build" / "manual" / "html"
