"""Secrets recognisable by their form: tokens of services, password hashes, armoured keys.

Prefixes and lengths are as the services document them.
"""

from __future__ import annotations

import re

from navlin.model.redaction.signs import loosened
from navlin.model.redaction.values import MASK

_B64 = "[A-Za-z0-9+/]"
_HEX = "[0-9a-f]"
_TOKENS = {
    "AKIA": "AKIA[0-9A-Z]{16}",
    "ASIA": "ASIA[0-9A-Z]{16}",
    "eyJ": r"eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)*+",
    "ghp_": r"ghp_[A-Za-z0-9]{20,}+",
    "gho_": r"gho_[A-Za-z0-9]{20,}+",
    "ghu_": r"ghu_[A-Za-z0-9]{20,}+",
    "ghs_": r"ghs_[A-Za-z0-9]{20,}+",
    "ghr_": r"ghr_[A-Za-z0-9]{20,}+",
    "github_pat_": r"github_pat_\w{20,}+",
    "gl": r"gl(?:(?:pat|dt|rt|ptt|ft|soat|cbt|imt|agent|oas|ffct)-[\w.-]{16,}+|(?:sa|c)_[\w=+/]{30,}+)",
    "xox": r"xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}+",
    "xapp-": r"xapp-\d-[\w-]{10,}+",
    "AIza": r"AIza[\w-]{30,}+",
    "ya29.": r"ya29\.[\w-]{20,}+",
    "GOCSPX-": r"GOCSPX-[\w-]{20,}+",
    "1//0": r"1//0[\w-]{30,}+",
    "dapi": rf"dapi{_HEX}{{32}}(?:-\d)?",
    "dkea": rf"dkea{_HEX}{{32}}(?:-\d)?",
    "dose": rf"dose{_HEX}{{32}}(?:-\d)?",
    "hv": r"hv[sbr]\.[\w-]{20,}+",
    "k_": r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}+",
    "navlin_": r"navlin_[\w-]{43}",
    "whsec_": r"whsec_[\w+/=]{20,}+",
    "sk-": r"sk-(?:(?:proj|svcacct|admin|ant|or|lf)-[\w-]{20,}+|[A-Za-z0-9]{20,}+)",
    "npm_": r"npm_[A-Za-z0-9]{30,}+",
    "pypi-": r"pypi-[\w-]{50,}+",
    "SG.": r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    "SK": rf"SK{_HEX}{{32}}",
    "AC": rf"AC{_HEX}{{32}}:{_HEX}{{32}}",
    "_v1_": rf"do[opr]_v1_{_HEX}{{40,}}+",
    "hf_": r"hf_[A-Za-z0-9]{30,}+",
    "shp": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "sq0": r"sq0(?:csp|atp|idp)-[\w-]{20,}+",
    "EAA": r"EAA[A-Z][A-Za-z0-9]{30,}+",
    "key-": rf"key-{_HEX}{{32}}",
    "AT": r"AT(?:ATT3|CTT3|BB|SST)[\w-]{20,}+(?:=\w*+)?",
    "lin_": r"lin_(?:api|oauth)_\w{30,}+",
    "dp.": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}+",
    "AGE-": r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+",
    "pul-": rf"pul-{_HEX}{{40}}",
    "tfp_": r"tfp_[A-Za-z0-9]{30,}+",
    ".atlasv1.": r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+",
    "NR": r"NR(?:AK|JS|II|RA)-[\w-]{20,}+",
    "xkeysib-": rf"xkeysib-{_HEX}{{40,}}+(?:-\w{{1,30}}+)?",
    "rubygems_": rf"rubygems_{_HEX}{{40,}}+",
    "dckr_": r"dckr_[po]at_[\w-]{20,}+",
    "PMAK-": r"PMAK-[0-9A-Za-z-]{40,}+",
    "Q~": r"[\w~.-]{3}\dQ~[\w~.-]{31,40}",
    "oy2": r"oy2[a-z0-9A-Z]{40,}+",
    "ntn_": r"ntn_[A-Za-z0-9]{40,}+",
    "figd_": r"figd_[\w-]{30,}+",
    "pscale_": r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}+",
    "gsk_": r"gsk_[A-Za-z0-9]{40,}+",
    "xai-": r"xai-\w{40,}+",
    "pplx-": r"pplx-\w{40,}+",
    "r8_": r"r8_[A-Za-z0-9]{30,}+",
    "sbp_": r"sbp_[A-Za-z0-9]{30,}+",
    "sntrys_": r"sntrys_[\w=+/]{30,}+",
    ":AA": r"\d{8,10}:AA[\w-]{32,}+",
}


def _pattern(sign: str, form: str) -> re.Pattern[str]:
    """Compile a form that must not begin within a word. The pattern starts with letters if possible, because these are
    found fastest."""
    for first in (sign, re.escape(sign)):
        if form.startswith(first):
            return re.compile(rf"{first}(?<![\w-]{first}){form[len(first) :]}")
    return re.compile(rf"(?<![\w-])(?:{form})")


_PATTERNS = {sign: _pattern(sign, form) for sign, form in _TOKENS.items()}
"""Substring of a token (case-sensitive) → pattern. A text is searched only for the patterns whose substring it
contains."""

_AZURE_KEY = re.compile(rf"(?<![\w+/]){_B64}{{86}}==")
_BESIDE_AN_ID = re.compile(
    rf"((?:AKIA|ASIA)[0-9A-Z]{{16}}\\*['\"]?[\s:,;=|/'\"\\]{{1,6}}(?:[\w.]{{1,40}}[\s:,;=|'\"\\]{{1,5}}){{0,3}})"
    rf"(?<!{_B64}){_B64}{{40}}(?!{_B64})"
)
_CRYPTED = re.compile(
    r"(?<![\w$])\$(?:1|5|6|7|2[abxy]|y|gy|apr1|argon2\w{1,2}|scrypt|pbkdf2[\w-]{0,10}|A\$\d{3})\$[^\s:'\",;]{16,}+"
)
_WEB_HOOK = re.compile(
    r"(hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/\d{1,25}/"
    r"|webhook\.office\.com/webhookb2/|api\.telegram\.org/bot)[^\s'\"]{8,}+"
)
_ARMOUR = re.compile(
    r"(-----BEGIN (?:[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?|PGP MESSAGE)-----)[^-]*+(?:-(?!----END)[^-]*+)*+"
)
_PUTTY = re.compile(r"(Private-Lines: \d{1,4}\s)(?:[A-Za-z0-9+/=]{1,64}(?:\s|\Z)){1,100}+")

_WITHOUT_RUN_BEFORE = re.compile(r"\A\[[^]]+\]\{\d+\}|\A\\d\{8,10\}")
SIGNS = (
    *(loosened(_WITHOUT_RUN_BEFORE.sub("", form)) for form in _TOKENS.values()),
    rf"{_B64}{{4}}==",
    r"\$(?:1|5|6|7|2[abxy]|y|gy|apr1|argon2|scrypt|pbkdf2|A\$)[^\s:'\",;]{16}",
    r"hooks\.slack\.com/|api/webhooks/|webhook\.office\.com/|api\.telegram\.org/",
    r"-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY|PGP MESSAGE)",
    r"Private-Lines: \d",
)


def without_tokens(text: str) -> str:
    """Return the text without tokens, armoured keys and password hashes."""
    if "-----BEGIN " in text:
        text = _ARMOUR.sub(rf"\g<1>{MASK}", text)
    if "Private-Lines" in text:
        text = _PUTTY.sub(rf"\g<1>{MASK}", text)
    if "KIA" in text or "SIA" in text:
        text = _BESIDE_AN_ID.sub(rf"\g<1>{MASK}", text)
    if "==" in text:
        text = _AZURE_KEY.sub(MASK, text)
    if "$" in text:
        text = _CRYPTED.sub(MASK, text)
    if "hook" in text or "telegram" in text:
        text = _WEB_HOOK.sub(rf"\g<1>{MASK}", text)
    for sign, pattern in _PATTERNS.items():
        if sign in text:
            text = pattern.sub(MASK, text)
    return text
