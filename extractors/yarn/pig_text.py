"""Remove secrets from the text of a Pig script, in the forms that only Pig has.

The text is also redacted as all texts are (`navlin.model.redaction`), which finds secrets by the names next to them. In
Pig, however, functions take arguments such as a database's password by position, and a property is set without a sign
between its name and its value.
"""

from __future__ import annotations

import re
from typing import Final

from navlin.model.redaction import CUT, MASK, bounded, is_secret, redact

MAX_SCRIPT_BYTES: Final = 64 << 10
"""Maximum size of a stored script. A longer one is cut."""
MAX_READ_CHARS: Final = 1 << 20
"""Maximum number of characters that are searched for secrets. A longer script is cut after the last statement that ends
within this limit."""

_HARMLESS: Final = frozenset(
    "pigstorage textloader jsonloader jsonstorage binstorage hbasestorage hcatloader hcatstorer avrostorage orcstorage"
    " parquetloader parquetstorer csvloader csvexcelstorage multistorage regexloader myregexloader combinedlogloader"
    " commonlogloader xmlloader sequencefileloader fixedwidthloader fixedwidthstorer indexedstorage"
    " hiverccolumnarloader allloader hiveudf hiveudaf hiveudtf bloom buildbloom replace concat tokenize todate tostring"
    " regex_extract regex_extract_all streamingudf invokeforstring invokeforint invokeforlong invokefordouble".split()
)
"""Functions whose arguments are not secret."""
_TEXT: Final = r"'(?:[^'\\]|\\.)*'"
_CALL: Final = re.compile(
    rf"(?<![\w.$])(?P<function>[\w.$]++)\s*+\((?P<arguments>\s*+{_TEXT}\s*+(?:,\s*+{_TEXT}\s*+)*+)\)",
    re.DOTALL,
)
"""A function with only string literals as arguments: a constructor, after USING or in DEFINE, or a call."""
_SETTING: Final = re.compile(
    r"(?P<before>(?:^|[;\n])[ \t]*+(?:set|%declare|%default)\s++(?P<name>[\w.$-]++)\s++)"
    r"(?P<value>(?:[^;\n'\"`]|'(?:[^'\\]|\\.)*'|\"[^\"\n]*\"|`[^`\n]*`)++)",
    re.IGNORECASE | re.DOTALL,
)


def without_secrets(script: str) -> str:
    """Return the text of a script with its secrets masked, cut to `MAX_SCRIPT_BYTES`."""
    if len(script) > MAX_READ_CHARS:
        # A secret that was cut in two may not be recognised.
        script = script[: script.rfind(";", 0, MAX_READ_CHARS) + 1] + CUT
    script = _SETTING.sub(_setting, _CALL.sub(_call, script))
    return bounded(redact(script), MAX_SCRIPT_BYTES)


def _call(found: re.Match[str]) -> str:
    if re.split(r"[.$]", found["function"])[-1].lower() in _HARMLESS:
        return found[0]
    masked = re.sub(_TEXT, f"'{MASK}'", found["arguments"], flags=re.DOTALL)
    return f"{found['function']}({masked})"


def _setting(found: re.Match[str]) -> str:
    return f"{found['before']}'{MASK}'" if is_secret(found["name"]) else found[0]
