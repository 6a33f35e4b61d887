"""Secrets after command-line flags that mean a password to one program and a port to the next."""

from __future__ import annotations

import re

from navlin.model.redaction.names import NAME_AGAIN
from navlin.model.redaction.signs import SPACE, loosened
from navlin.model.redaction.values import MASK, is_reference

_ATTACHED = r"[\s'\"]-p"
_SEPARATE = r"[\s'\"]-p(?:['\"]\s*+,)?\s*+"
_LOGIN = r"\s-p\s++"
_USER = r"[\s'\"](?:-\w{0,6}u(?:['\"]\s*+,)?\s*+|-U\s*+|--(?:proxy-)?user[ =]|--proxy[ =])(?=['\"]?[^\s:'\"/]{1,100}:)"
_FLAGS = {
    r"mysql\w*|mariadb[\w-]*|7z[ar]?": _ATTACHED,
    r"beeline|sshpass|mongo\w*|clickhouse-client|arangosh": _SEPARATE,
    r"(?:docker|podman|nerdctl|buildah|skopeo|helm\s+registry|az|oc|argocd|cf|skopeo|cloudctl)\s+login": _LOGIN,
    r"sqlcmd|bcp|isql|osql|tsql|zip|unzip|zipcloak": r"\s-P\s*+",
    r"ldap\w{3,}": r"\s-w\s*+",
    r"redis-cli": r"\s-a\s*+",
    r"curl|http|https|wget|ab|httpie": _USER,
    r"curl\b|http\b": r"\s(?:-b\s*+|--cookie[ =])(?=['\"]?[\w.-]{1,60}=)",
    r"openssl": r"\s-(?:pass|passin|passout|k|K|password)\s++(?:pass:)?(?!(?:env|file|fd|stdin):|stdin)",
    r"smbclient|rpcclient|mount\.cifs": r"\s-U\s*+(?=['\"]?[^\s%'\"]{1,60}%)",
    r"hadoop\s+credential": r"\s-value\s++",
    r"(?:vault|bw)\s+login|bw\s+unlock": r"(?:login|unlock)\s++(?!-)",
    r"lftp|ncftp\w*": r"\s-u\s*+[^\s,'\"]{1,100},",
    r"ssh-keygen": r"\s-[NP]\s++",
    r"htpasswd": r"\s-\w*b\w*\s++(?:-\S{1,20}\s++){0,4}+\S{1,200}\s++\S{1,200}\s++",
    r"net\s+use": r"\s/user:\S{1,100}\s++",
    r"(?:kubectl|oc)\s[^\n|;]{0,60}?create\s+secret": r"\s--from-literal[=\s]['\"]?[\w.-]{1,100}=",
    r"aws\s+configure\s+set": r"_(?:secret_access_key|session_token)\s++",
    r"keytool|jarsigner": r"\s-(?:src|dest|new)?(?:store|key)(?:pass)?(?<=pass)\s++|\s-new\s++",
    r"ktutil|kadmin\w*|rabbitmqctl\s+add_user": r"\s-(?:pw|w)\s++|add_user\s++\S{1,100}\s++",
    r"expect|send": r"\bsend\s++(?=['\"])",
    r"ENV|setenv|setx|ARG": (
        r"(?:ENV|setenv|setx|ARG)\s++\w{0,60}(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|API_?KEY|ACCESS_KEY)\s++"
    ),
}
_VALUE = r"""('[^'\n]{1,300}'|"(?:[^"\\\n]|\\.){1,300}"|[^\s'"|;<>-][^\s'"|<>]{0,300})"""
_BY_PROGRAM = tuple(
    (re.compile(rf"(?<![\w.-])(?:{programs})(?=\s|['\"]\s*,)"), re.compile(rf"({flags}){_VALUE}"))
    for programs, flags in _FLAGS.items()
)
SIGNS = (
    rf"(?:^|[^\w.-])(?:{'|'.join(map(loosened, _FLAGS))})(?:{SPACE}|['\"]{SPACE}*,)",
    rf"(?:echo|printf){SPACE}",
    r"(?:kinit|passwd|su|sudo -S)[^\n<]*(?:<<<|<\s*<\(echo)",
)
_ANY = re.compile(rf"(?<![\w.-])(?:{'|'.join(_FLAGS)})(?=\s|['\"]\s*,)")
_WINDOW = 1000
"""Maximum number of characters after a program's name that are taken for its arguments, which also end with the
line."""

_PIPED = re.compile(
    r"(\b(?:echo|printf)\s++(?:-\w{1,3}\s++|'%s(?:\\n)?'\s++|\"%s(?:\\n)?\"\s++)*+)('[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|[^\s|'\"]{1,200})"
    r"(?=\s*+\|\s*+(?:sudo\s+-S|(?:\S{1,100}/)?(?:kinit|passwd|chpasswd|cryptsetup|su)\b"
    r"|\S[^|\n]{0,200}pass\w{0,20}[ =:-]stdin))"
)
_SUBSTITUTED = re.compile(
    rf"({NAME_AGAIN}\s?=\s?[\"']?(?:\$\(|`)\s*+(?:echo|printf)\s++(?:-\w{{1,3}}\s++|'%s'\s++)*+)"
    r"('[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|[^\s|'\"`()$-][^\s|'\"`()]{0,200})",
    re.IGNORECASE | re.VERBOSE,
)
"""A password that a shell computes from a word: ``PASSWORD=$(echo S | base64 -d)``."""
_HERE = re.compile(
    r"(\b(?:kinit|passwd|su|sudo -S)\b[^\n<]{0,200}(?:<<<|<\s*<\(echo)\s*+)"
    r"('[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|[^\s'\")]{1,200})"
)


def without_arguments(text: str) -> str:
    """Return the text with the password arguments of its command lines masked."""
    for program, flag in _BY_PROGRAM if _ANY.search(text) else ():
        pieces: list[str] = []
        copied = 0
        for named in program.finditer(text):
            start = named.start()
            if start < copied:
                continue
            end = _end_of_line(text, start, start + _WINDOW)
            arguments = text[start:end]
            masked = flag.sub(_masked, arguments)
            if masked != arguments:
                pieces += (text[copied:start], masked)
                copied = end
        if pieces:
            text = "".join((*pieces, text[copied:]))
    if "|" in text:
        text = _PIPED.sub(_masked, text)
    if "$(" in text or "`" in text:
        text = _SUBSTITUTED.sub(_masked, text)
    return _HERE.sub(_masked, text) if "<<<" in text or "<(" in text else text


def _end_of_line(text: str, start: int, most: int) -> int:
    """Return the end of a command line; a backslash before the end of a line continues it."""
    at = start
    while (end := text.find("\n", at, most)) >= 0:
        if text[end - 1] != "\\":
            return end
        at = end + 1
    return min(len(text), most)


def _masked(argument: re.Match[str]) -> str:
    value = argument[2]
    if is_reference(value):
        return argument[0]
    quote = value[0] if value[0] in "'\"" else ""
    inner = value[1:-1] if quote else value
    user = re.match(r"[^:%\s]{1,100}[:%=]", inner) if _has_user(argument[1]) else None
    return f"{argument[1]}{quote}{user[0] if user else ''}{MASK}{quote}"


def _has_user(flag: str) -> bool:
    return re.search(r"-(?:u|U|b|-user|-proxy-user|-proxy|-cookie)[\s=]*\Z", flag) is not None
