"""The names that a secret stands beside."""

from __future__ import annotations

import re

from navlin.model.redaction.signs import loosened

_STRONG = r"""
    pass(?:word|wd|phrase|code|wort|key) | (?<![a-z]) pwd | (?-i: (?<=[a-z]) P(?:wd|ass|w|in) ) | (?<![a-z]) (?:psk|pw|passw)
  | (?<![a-z]) (?: db|user|my|admin|root|smtp|login|store|keystore|truststore|key|bind|ldap|proxy
      |srcstore|deststore|srckey|destkey|ssh|http|ftp )?
    _? (?:pass|pwd) | (?:bind|root|db|user|ldap|my) pw | (?:mysql|snowsql)_pwd | pin[._-]?code
  | oauth2?[._-]bearer | secret | token | credentials? | signature | (?<![a-z]) (?:sig|sas|delegation|passwd)
  | (?: access|private|api|secret|encryption|decryption|signing|master|symmetric|crypto|cipher|shared|functions?|subscription
      | keystore|storage|storage[._-]?account|trust|hmac|aes|auth|webhook|host
      |integration|ingestion|deploy|bot|service[._-]?role )
    [._-]? key (?: [._-]?id )?
  | (?<![a-z]) accountkey | account\.key (?: \.[\w.-]{1,200}+ )? | fs\.azure\.sas\.[\w.-]{1,200}+
  | secret \. [\w-]{1,100}+ \. [\w.-]{1,200}+
"""
_WEAK = r"(?<![a-z]) _? auth | (?<![a-z]) (?: account[._-]key|jsessionid )"

NAME = rf"""(?:
    (?: (?P<weak> {_WEAK} ) | (?: {_STRONG} ) )
    (?: [._-]? (?: value|string|text|plain|raw|b64|base64|cmd|[0-9]{{1,2}} ) )?+
)(?![\w$]) """
"""A name whose value is a secret, as its end shows; of a weak one, only if the value is long."""

SIGN = re.sub(r"\s", "", loosened(NAME.replace("(?![\\w$])", "")))
"""A name for RE2, without what must not stand before or behind it."""

_SECRET_KEY = re.compile(
    r"passw|passphrase|(?<![a-z])(?:pwd|pass|pw)(?![a-z])|secret|token|credential|signature"
    r"|(?:access|private|api|account|encryption|signing)[._-]?key|(?<![a-z])sas(?![a-z])|(?<![a-z])sig(?![a-z])"
    r"|(?:master|symmetric|keystore|subscription)[._-]?key|(?:bind|key|store)pw|(?:store|key)pass|passcode",
    re.IGNORECASE,
)


def is_secret(key: str) -> bool:
    """Whether the value of a configuration key is a secret. Any part of the key may show it, as in Spark's own redaction."""
    return _SECRET_KEY.search(key) is not None
