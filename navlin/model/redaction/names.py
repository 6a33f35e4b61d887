"""Patterns for the names of secrets."""

from __future__ import annotations

import re

from navlin.model.redaction.signs import loosened

_STRONG = r"""
    pass(?:word|wd|phrase|code|wort|key) | kennwort | mot[_\x20]?de[_\x20]?passe
  | (?<![a-z]) pwd | (?-i: (?<=[a-z]) P(?:wd|ass|w|in) ) | (?<![a-z]) (?:psk|pw|passw)
  | (?<![a-z]) (?: db|user|my|admin|root|smtp|login|store|keystore|truststore|key|bind|ldap|proxy
      |srcstore|deststore|srckey|destkey|ssh|http|ftp )?
    _? (?:pass|pwd) | (?:bind|root|db|user|ldap|my) pw | (?:mysql|snowsql)_pwd | pin[._-]?code
  | oauth2?[._-]bearer | secret | token | (?<!renewal\.) credentials? | (?<!token\.) signature
  | (?<![a-z]) (?:sig|sas|delegation|passwd)
  | (?: access|private|api|secret|encryption|decryption|signing|master|symmetric|crypto|cipher|shared|functions?|subscription
      | keystore|storage|storage[._-]?account|trust|hmac|aes|auth|webhook|host
      |integration|ingestion|deploy|bot|service[._-]?role|fernet )
    [._-]? key (?: [._-]? (?:id|base) )?
  | (?<![a-z]) accountkey | account\.key (?: \.[\w.-]{1,200}+ )? | hadoop\.tokens | (?:zk|zookeeper|redis)\.auth
  | basic\.auth\.user\.info | fs\.azure\.sas\. (?: fixed\.token (?: \.[\w.-]{1,200}+ )?
    | [\w-]{1,100}+ \. [\w-]{1,100}+ \.(?:blob|dfs)\. [\w.-]{1,100}+ )
  | secret \. [\w-]{1,100}+ \. [\w-]{1,100}+ \. [\w.-]{1,200}+
"""
_WEAK = r"(?<![a-z]) _? auth | (?<![a-z]) (?: account[._-]key|jsessionid )"

NAME = rf"""(?:
    (?: (?P<weak> {_WEAK} ) | (?: {_STRONG} ) )
    (?: [._-]? (?: value|string|text|plain|raw|b64|base64|cmd|[0-9]{{1,2}} ) )?+
)(?![\w$]) """
"""Pattern for the name of a secret; it must match up to the end of the name. If the group ``weak`` matches, only a long
value is a secret."""

NAME_AGAIN = NAME.replace("(?P<weak>", "(?:")
"""`NAME` for a pattern that has the group ``weak`` already, or does not distinguish weak names."""

SIGN = re.sub(r"\s", "", loosened(NAME.replace("(?![\\w$])", "")))
"""`NAME` for RE2, without the look-arounds before and after the name."""

_SECRET_KEY = re.compile(
    r"passw|passphrase|(?<![a-z])(?:pwd|pass|pw)(?![a-z])|secret|token|credential|signature"
    r"|(?:access|private|api|account|encryption|signing|fernet)[._-]?key|(?<![a-z])sas(?![a-z])|(?<![a-z])sig(?![a-z])"
    r"|(?:master|symmetric|keystore|subscription)[._-]?key|(?:bind|key|store)pw|(?:store|key)pass|passcode"
    r"|(?:zk|zookeeper|redis)\.auth\Z|auth\.user\.info\Z|kennwort|mot_?de_?passe",
    re.IGNORECASE,
)
_ABOUT_SECRETS = re.compile(
    r"[._-](?:enabled?|requires\.signing|always-(?:use|cancel)|use_ip|clear-text-fallback|mode|type|class|provider(?:\.uri)?"
    r"|binding|algorithm|alias|files?|path|acl|znode|connectstring|lifetime|interval(?:[.-](?:secs?|ms))?|period|validity|timeout"
    r"|attempts|count|length|size(?:-bytes)?|bits|split-index|tracking[._]ids?)\Z"
    r"|(?-i:[a-z](?:Length|Bits|Ratio|Wait|Regex)\Z)"
    r"|\Afs\.azure\.sas\.token\.(?:provider\.type|renew\.period)\.|\A(?:hive\.metastore\.token\.signature"
    r"|spark\.kerberos\.renewal\.credentials|spark\.kubernetes\.kerberos\.tokensecret\.(?:itemkey|name)"
    r"|spark\.kubernetes\.container\.image\.pullsecrets|mapreduce\.job\.complete\.cancel\.delegation\.tokens"
    r"|mapreduce\.job\.send-token-conf)\Z"
    r"|\Aspark\.kubernetes\.(?:driver|executor)\.secret(?:s|keyref)\.",
    re.IGNORECASE,
)
"""Matches settings about secrets, such as their storage, lifetime or algorithm, by suffix, prefix or full name."""


def is_about_secrets(key: str) -> bool:
    """Whether a configuration key is a setting about secrets, instead of a secret."""
    return "." in key and _ABOUT_SECRETS.search(key) is not None


def is_secret(key: str) -> bool:
    """Whether the value of a configuration key is a secret. A match anywhere in the key counts, as in Spark's own
    redaction, unless the key matches `_ABOUT_SECRETS`."""
    return _SECRET_KEY.search(key) is not None and _ABOUT_SECRETS.search(key) is None
