"""Secrets in document formats: XML, name-value pairs, YAML blocks, headers, password files."""

from __future__ import annotations

import re

from navlin.model.redaction.names import NAME, NAME_AGAIN, SIGN
from navlin.model.redaction.signs import BEYOND_ASCII, SPACE, loosened
from navlin.model.redaction.values import MASK, is_no_value, is_opaque, is_reference

_ELEMENT = re.compile(
    rf"""(
        (?: <(?:name|key)> [^<\s]{{0,200}}? {NAME} \s*+ </(?:name|key)>
            (?: \s | <(?:final|description|source)>[^<]{{0,300}}</\w{{1,20}}> | <!--[^>]{{0,300}}> ){{0,50}}+
            <(?:value|string)>
          | <(?P<argument>arg\w{{0,20}})> \s*+ --?[\w.-]{{0,60}}? {NAME} \s*+ </(?P=argument)> \s*+ <(?P=argument)>
          | <(?:[\w.-]{{1,60}}:)? [\w.-]{{0,60}}? {NAME} (?:\s[^<>]{{0,200}})? >
          | <\w{{1,60}}\s [^<>]{{0,200}}? = \s?["'] [\w.-]{{0,100}}? {NAME} ["']
            (?:\s[^<>/]{{0,200}})? > (?:\s{{0,50}}+<\w{{1,20}}>)?
        ) (?: \s | <!\[CDATA\[ ){{0,50}}+
    )
    (?P<value> [^<\s] (?: [^<\]]{{0,2000}}+ ) )""".replace("(?P<weak>", "(?:"),
    re.IGNORECASE | re.VERBOSE,
)
_ESCAPED_ELEMENT = re.compile(
    rf"""(
        (?: &lt;(?:name|key)&gt; [^&<\s]{{0,200}}? {NAME} \s*+ &lt;/(?:name|key)&gt; \s*+ &lt;(?:value|string)&gt;
          | &lt;(?:[\w.-]{{1,60}}:)? [\w.-]{{0,60}}? {NAME} (?: \s (?: [^<>&] | &(?:quot|apos|\#\d\d); ){{0,200}} )? &gt;
        ) \s{{0,50}}+
    ) (?! &lt; ) [^<\s] (?: [^<&] | &(?!lt;) ){{0,2000}}+""".replace("(?P<weak>", "(?:"),
    re.IGNORECASE | re.VERBOSE,
)
"""An escaped element within the text of another."""
_MEMBER = r"\\*[\"']\w{1,40}\\*[\"']\s*+:\s*+(?:\\*[\"'][^\"'\\\n]{0,200}\\*[\"']|[\w.]{1,40})\s*+,\s*+"
_VALUE = re.compile(
    rf"(?P<before>\\*[\"']\s?(?:,|:\s?\{{)?+\s*+(?:{_MEMBER}){{0,4}}(?:\\*[\"'])?value(?:\\*[\"'])?\s?[:=]\s*+\\*[\"'])(?:[^\"'\\\n]|\\.){{1,2000}}+",
    re.IGNORECASE,
)
_BEFORE_NAME = re.compile(
    rf"""
      (?P<open> <value> ) (?P<value> [^<]{{1,2000}}+ )
      (?P<rest> </value> \s*+ <name> [^<\s]{{0,200}}? {NAME_AGAIN} \s*+ </name> )
    | (?P<open2> \bvalue \s?=\s? (?P<quote> ["'] ) ) (?P<value2> (?: (?! (?P=quote) ) [^<>\n] ){{1,2000}}+ )
      (?P<rest2> (?P=quote) \s++ name \s?=\s? ["'] [\w.-]{{0,100}}? {NAME_AGAIN} ["'] )
    | (?P<open3> \\*["']value\\*["'] \s*+ : \s*+ \\*["'] ) (?P<value3> (?: [^"'\\\n] | \\[^"'] ){{1,2000}}+ )
      (?P<rest3> \\*["'] \s*+ , \s*+ (?: {_MEMBER} ){{0,4}}
        \\*["'](?:name|key)\\*["'] \s*+ : \s*+ \\*["'] [\w.-]{{0,100}}? {NAME_AGAIN} \\*["'] )
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A name-value pair in which the value precedes the name."""
_NAME_BEFORE = re.compile(rf"{NAME}\Z", re.IGNORECASE | re.VERBOSE)
_ENTRY = re.compile(
    rf"( name: \s*+ [\"']? [\w.-]{{0,60}}? {NAME} [\"']? \s*+ ,?+ \s*+ value: \s*+ [\"']? )[^\s\"',}}]++".replace(
        "(?P<weak>", "(?:"
    ),
    re.IGNORECASE | re.VERBOSE,
)
_BLOCK = re.compile(
    rf"( {NAME} [\"']? :\s [|>][+-]? \n )( (?P<indent>[ \t]++) [^\n]*+ (?: \n (?P=indent) [^\n]*+ )*+ )".replace(
        "(?P<weak>", "(?:"
    ),
    re.IGNORECASE | re.VERBOSE,
)
_COOKIES = re.compile(
    r"((?P<quote>\\*['\"])?\b(?:set-)?cookie\\*['\"]?\s*+:\s*+\\*['\"]?)(?=[\w.-]{1,100}=)(?(quote)[^\n'\"]|[^\n]){1,4000}+",
    re.IGNORECASE,
)
_AUTHORIZATION = re.compile(
    r"((?<![\w.])(?:proxy-)?authorization\\*['\"]?\]?\s*+(?::|=>|=(?=\s*+[bfru]{0,2}\\*['\"]|\s*+(?:basic|bearer)\b)|,(?=\s*+\\*['\"]))"
    r"\s*+(?:\[\s*+)?(?:[bfru]{1,2}(?=['\"]))?+\\*['\"]?"
    r"(?:(?:basic|bearer|digest|negotiate|token|ntlm|apikey|api-key|key|oauth|sharedkey\w{0,4}|[\w-]{1,30})[ \t]++)?)"
    r"(?P<value>(?!true|false|(?:\w{1,30}[ \t]++)?\{)[^\s'\"\\,;]++)",
    re.IGNORECASE,
)
_DIGEST = re.compile(r"(\bresponse=\\*\")[0-9a-f]{32,128}", re.IGNORECASE)
_BEARER = re.compile(r"(\bbearer\s++)[\w.~+/=-]{16,}+", re.IGNORECASE)
_BASIC = re.compile(
    r"(\bbasic\s++)(?=[A-Za-z+/]{0,300}[0-9=])(?=[^A-Z\s]{0,300}[A-Z])[A-Za-z0-9+/]{12,}+={0,2}",
    re.IGNORECASE,
)
_CALL = re.compile(
    r"((?:\b\w{0,40}(?:BasicAuth\w{0,20}|DigestAuth|Credentials?|PasswordAuthentication)|\bauth\s?=|\b(?:cx_Oracle|oracledb|vertica_python)\.connect|jaydebeapi\.connect\([^\[\]\n]{1,400},\s?\[|getConnection\((?:\"[^\"\n]{1,300}\"|[^,()\n]{1,300}),)\s?\(?\s?"
    r"[A-Za-z]?['\"][^'\"\n]{0,200}['\"]\s?,\s?[A-Za-z]?['\"])[^'\"\n]{1,300}"
)
_KEY_OF_CALL = re.compile(
    r"((?:\b(?:SecretKeySpec|Fernet|hmac\.new)\s?\(|\bjwt\.(?:en|de)code\s?\((?:[^'\"(){},\n]{1,60}|\{[^{}\n]{0,300}\}),)\s?[A-Za-z]{0,2}['\"])[^'\"\n]{1,300}"
)
_PLURAL = (
    r"(?:pass(?:word|phrase|wd|code)|(?<![a-z])pwd|(?:access|auth|api|bearer|refresh)[._-]?token"
    r"|(?:api|secret|access|private|encryption)[._-]?key|client[._-]?secret)s"
)
_LIST = re.compile(
    rf"""(?P<head> {_PLURAL} (?P<closed> \\*["'])? [ \t]*+ [:=] )
    (?P<items> \s{{0,20}}+ (?: \[ | (?:Seq|(?:Arrays\.as)?List(?:\.of)?|Array|Set|listOf|arrayOf)\( )
        [^\[\](){{}}]{{1,4000}}+ | (?: \s{{0,3}}\n [ \t]*+ - [ ][^\n]{{1,500}}+ ){{1,200}}+ )""",
    re.IGNORECASE | re.VERBOSE,
)
_ITEM = re.compile(r"(?P<before>\\*[\"'])(?P<value>[^\"'\\\n]{1,500}+)(?P<after>\\*[\"'])")
_ITEM_OF_YAML = re.compile(
    r"(?P<before>(?:[\[,]|\n[ \t]*+-)[ \t]*+[\"']?)(?P<value>[^\s\"'\[\],{}&*!-][^\"'\[\],{}\n]{0,500}+)(?P<after>)"
)
_NAME_OF_COLUMN = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+|.*(?:://|: ).*|.*:")
_VARIABLE = re.compile(
    rf"""( \bvariable \s++ "[\w-]{{0,60}}? {NAME} " \s*+ \{{ [^{{}}]{{0,400}}? \bdefault \s*+ = \s*+ " )
    (?!") [^"\n]{{1,500}}+""".replace("(?P<weak>", "(?:"),
    re.IGNORECASE | re.VERBOSE,
)
_MANIFEST = re.compile(r"^[ \t]*+kind:[ \t]*+[\"']?Secret[\"']?[ \t\r]*+$", re.MULTILINE)
_DATA = re.compile(
    r"^(?P<indent>[ \t]*+)(?:stringData|data):[ \t\r]*+\n(?:(?P=indent)[ \t]++[^\n]*+(?:\n|\Z))++",
    re.MULTILINE,
)
_DATUM = re.compile(
    r"^(?P<before>[ \t]++(?:[\w.-]{1,250}+:(?:[ \t]++|$))?+[\"']?)(?P<value>(?![|>][+-]?[ \t]*+$)[^\s\"'][^\"'\n]*+)",
    re.MULTILINE,
)
_NETRC = re.compile(r"(\b(?:machine\s++\S{1,200}|default)\s++login\s++\S{1,200}\s++password\s++)\S{1,200}")
_PGPASS = re.compile(
    r"(^[\w.*-]{1,200}:(?:\d{2,5}|\*):[\w.*-]{1,100}:[\w.*-]{1,100}:)(?!\d{1,5}\b)[^\s:]{1,200}$",
    re.MULTILINE,
)


SIGNS = (
    rf"(?i:{SIGN}[\"']?(?:{SPACE}[^<>]*)?>)",
    rf"(?i:{SIGN}{SPACE}*</(?:name|key|arg))",
    rf"(?i:{SIGN}(?:{SPACE}[^<>]*)?&(?:gt|lt);)",
    rf"(?i:{loosened(_PLURAL)}\\*[\"']?[ \t]*[:=]{SPACE}*(?:\[|-{SPACE}|[a-z.]+\())",
    rf"(?i:variable{SPACE}+\"[\w{BEYOND_ASCII}-]*{SIGN}\")",
    r"kind:[ \t]*[\"']?Secret",
    loosened(_KEY_OF_CALL.pattern),
    rf"(?i:{SIGN}\\*[\"']?{SPACE}*(?:,|:{SPACE}*\{{)?{SPACE}*(?:{loosened(_MEMBER)})*(?:\\*[\"'])?value)",
    rf"(?i:(?:name|key)\\*[\"']?{SPACE}*[:=]{SPACE}*\\*[\"'][\w.{BEYOND_ASCII}-]*{SIGN}\\*[\"'])",
    rf"(?i:{SIGN}[\"']?:{SPACE}[|>][+-]?\n)",
    rf"(?i:cookie\\*['\"]?{SPACE}*:{SPACE}*\\*['\"]?[\w.{BEYOND_ASCII}-]+=)",
    rf"(?i:authorization\\*['\"]?\]?{SPACE}*(?::|=>|={SPACE}*(?:[bfru]*\\*['\"]|basic|bearer)|,{SPACE}*\\*['\"]))",
    r"(?i:response=\\*\"[0-9a-f]{16})",
    rf"(?i:bearer{SPACE}+[\w.~+/={BEYOND_ASCII}-]{{16}})",
    rf"(?i:basic{SPACE}+[A-Za-z0-9+/]{{12}})",
    loosened(_CALL.pattern.replace(r"\b\w{0,40}", "")),
    loosened(_NETRC.pattern),
    rf"(?m:^)[\w.*{BEYOND_ASCII}-]+:(?:\d\d|\*)\d*:[\w.*{BEYOND_ASCII}-]+:[\w.*{BEYOND_ASCII}-]+:[^\s:]",
)


def without_values(text: str) -> str:
    folded = text.lower()
    if "</" in text or ("<" in text and "/>" in text):
        text = _ELEMENT.sub(rf"\g<1>{MASK}", text)
    if "&lt;/" in text:
        text = _ESCAPED_ELEMENT.sub(rf"\g<1>{MASK}", text)
    if "value" in folded:
        text = _VALUE.sub(_pair, text)
        text = _BEFORE_NAME.sub(_value_first, text)
    if "value:" in folded:
        text = _ENTRY.sub(rf"\g<1>{MASK}", text)
    if "|\n" in text or ">\n" in text or "-\n" in text or "+\n" in text:
        text = _BLOCK.sub(rf"\g<1>\g<indent>{MASK}", text)
    if "cookie" in folded:
        text = _COOKIES.sub(rf"\g<1>{MASK}", text)
    if "authorization" in folded:
        text = _AUTHORIZATION.sub(rf"\g<1>{MASK}", text)
        text = _DIGEST.sub(rf"\g<1>{MASK}", text)
    if "bearer" in folded:
        text = _BEARER.sub(rf"\g<1>{MASK}", text)
    if "basic" in folded:
        text = _BASIC.sub(rf"\g<1>{MASK}", text)
    if "auth" in folded or "credential" in folded or "connect" in folded:
        text = _CALL.sub(rf"\g<1>{MASK}", text)
    if "variable" in folded:
        text = _VARIABLE.sub(rf"\g<1>{MASK}", text)
    if "kind:" in text and "data:" in folded:
        text = "\n---".join(map(_without_data, text.split("\n---")))
    if "[" in text or "- " in text or "(" in text:
        text = _LIST.sub(_without_items, text)
    if "SecretKeySpec" in text or "Fernet" in text or "hmac" in folded or "jwt" in folded:
        text = _KEY_OF_CALL.sub(rf"\g<1>{MASK}", text)
    if "login" in folded:
        text = _NETRC.sub(rf"\g<1>{MASK}", text)
    return _PGPASS.sub(rf"\g<1>{MASK}", text) if text.count(":") >= 4 else text


def _without_data(document: str) -> str:
    """Mask the data of a manifest if it is a Kubernetes Secret. References stay."""
    if _MANIFEST.search(document) is None:
        return document
    return _DATA.sub(lambda data: _DATUM.sub(_datum, data[0]), document)


def _datum(line: re.Match[str]) -> str:
    return line[0] if is_reference(line["value"]) else f"{line['before']}{MASK}"


def _without_items(found: re.Match[str]) -> str:
    """Mask the secrets among a list's literals. In a list of passwords, mask every literal that may be one."""
    name = found["head"].lower()
    is_of_yaml = ":" in name and found["closed"] is None
    are_passwords = name.startswith("p")

    def masked(item: re.Match[str]) -> str:
        value = item["value"]
        if is_no_value(value) or _NAME_OF_COLUMN.fullmatch(value) or not (are_passwords or is_opaque(value)):
            return item[0]
        return f"{item['before']}{MASK}{item['after']}"

    return found["head"] + (_ITEM_OF_YAML if is_of_yaml else _ITEM).sub(masked, found["items"])


def _value_first(pair: re.Match[str]) -> str:
    number = next(each for each in ("", "2", "3") if pair[f"value{each}"] is not None)
    return f"{pair[f'open{number}']}{MASK}{pair[f'rest{number}']}"


def _pair(value: re.Match[str]) -> str:
    """Mask the value of a name-value pair if the pair's name is that of a secret."""
    name = value.string[max(0, value.start() - 60) : value.start()]
    return f"{value['before']}{MASK}" if _NAME_BEFORE.search(name) else value[0]
