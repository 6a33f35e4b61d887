"""Send requests to the REST services of Hadoop and Oozie. Requests go to the instance that responds, and errors say
what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import orjson
import requests

from navlin.bounded_http import bound
from navlin.causes import innermost
from navlin.kerberos.client import TICKET_CACHE, Login
from navlin.kerberos.messages import KerberosFailed
from navlin.kerberos.spnego import Spnego
from navlin.model.raw_names import shown, texts_by
from navlin.model.redaction.literals import words_of_peer
from navlin.urls import server_url

Parameters = Mapping[str, str | int]

REDIRECTS: Final = 4
"""Maximum number of requests for one response, including the first."""
MOST_BYTES: Final = 128 << 20
"""Maximum size of a response. A larger one raises `RestUnavailable`, like a response that does not arrive."""
MOST_VALUES: Final = 5_000_000
"""Maximum number of values in a response, because even a short JSON value takes some 70 bytes of memory."""
_REFRESH: Final = re.compile(r"\s*\d+\s*;\s*url=(.+)", re.IGNORECASE | re.DOTALL)
_NO_ACTIVE: Final = re.compile(r"no active RM|find any active RM|standby RM", re.IGNORECASE)
_TEMPORARY: Final = frozenset({429, 502, 503, 504})


class RestError(OSError):
    """A service did not respond properly. The message names the URL, the response, and what to do."""


class RestUnavailable(RestError):
    """No instance of a service can be reached, or none is ready to respond. A later attempt may succeed."""


class Failed(RestError):
    """The service failed on the request (HTTP 500). Another instance may succeed."""


class NotThere(RestError):
    """The service does not have the requested object (HTTP 404)."""


class CallerRefused(RestError):
    """The service refuses the caller, with or without credentials (HTTP 401, 403)."""


class BadRequest(RestError):
    """The service does not accept the request (HTTP 400). ``words`` is the service's own message."""

    def __init__(self, url: str, words: str) -> None:
        super().__init__(f"{url}: HTTP 400: {words}")
        self.words = words


@dataclass(frozen=True, slots=True)
class RestAddress:
    """Address of a service and settings for requests to it. ``urls`` are its instances. The next instance is tried only
    if one raises `RestUnavailable` or `Failed`; any other error ends the request. ``setting`` is the name of the
    setting that contains them. ``user`` is for services with simple authentication that require a user name. ``shows``
    names the objects that the user must be allowed to see; it is part of the error if the service refuses the user.
    """

    name: str
    setting: str
    urls: tuple[str, ...]
    auth: str = "none"
    user: str = ""
    ca_file: str = ""
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 120.0
    login: Login = TICKET_CACHE
    shows: str = "everything"


class RestService:
    """A service at an address. The next request goes first to the instance that responded last. Not thread-safe."""

    def __init__(self, address: RestAddress) -> None:
        self._address = address
        self._session = bound(requests.Session(), MOST_BYTES)
        # Ignore the environment, because its proxy and the password in .netrc are not meant for this service.
        self._session.trust_env = False
        self._session.verify = address.ca_file or True
        self._session.headers["Accept"] = "application/json"
        if address.auth == "kerberos":
            self._session.auth = Spnego(address.login)
        self._answering = ""
        self.now_ms = 0
        """The service's own time in its last response (epoch ms, to the second); 0 if the response had no time."""

    def close(self) -> None:
        self._session.close()

    @property
    def url(self) -> str:
        """URL of the instance that responded last, or of the first instance if none has."""
        return self._answering or self._address.urls[0]

    def entries(
        self, path: str, way: Sequence[str], parameters: Parameters | None = None
    ) -> list[Mapping[str, Any]]:
        """Return the list in the response to ``path``. ``way`` holds the keys that lead to the list: for ``{"apps":
        {"app": […]}}``, it is ("apps", "app"). Raises a `RestError`, also if the response has another structure.
        """
        return self.entries_of(self.get(path, way[0], parameters), path, way)

    def entries_of(self, answer: Any, path: str, way: Sequence[str]) -> list[Mapping[str, Any]]:
        """Return the list in a parsed response to ``path``, as `entries` does."""
        try:
            return _entries(answer, way)
        except TypeError:
            raise self._misshapen(path, way) from None

    def get(self, path: str, key: str, parameters: Parameters | None = None) -> dict[str, Any]:
        """Return the parsed response to ``path``: an object that has ``key``, or an empty one. Raises a `RestError`."""
        answer = self._answer(path, parameters, self._parsed)
        answer = {} if answer is None else answer
        if not isinstance(answer, dict) or (answer and key not in answer):
            raise self._misshapen(path, (key,))
        return answer

    def text(self, path: str, parameters: Parameters | None = None) -> str:
        """Return the response to ``path`` as text, such as XML. Raises a `RestError`."""
        answer: str = self._answer(path, parameters, self._decoded)
        return answer

    def _misshapen(self, path: str, way: Sequence[str]) -> RestError:
        return RestError(
            f"{self.url}{path}: the answer has an unexpected form (`{'.'.join(way)}` is missing or"
            f" of another type): is this the address of a {self._address.name}?"
        )

    def _answer(
        self, path: str, parameters: Parameters | None, parse: Callable[[requests.Response], Any]
    ) -> Any:
        failures: list[str] = []
        failed: list[Failed] = []
        for url in dict.fromkeys(each.rstrip("/") for each in (self.url, *self._address.urls)):
            try:
                return self._get(url, path, dict(parameters or {}), parse)
            except RestUnavailable as error:
                failures.append(str(error))
            except Failed as error:
                failures.append(str(error))
                failed.append(error)
        if len(failed) == len(failures):
            raise failed[0]
        self._answering = ""
        raise RestUnavailable(
            f"no {self._address.name} answers ({'; '.join(failures)}): is it running, and is"
            f" `{self._address.setting}` right?"
        )

    def _get(
        self,
        base: str,
        path: str,
        parameters: dict[str, str | int],
        parse: Callable[[requests.Response], Any],
    ) -> Any:
        if self._address.user and self._address.auth == "none":
            parameters["user.name"] = self._address.user
        target, sent = f"{base.rstrip('/')}{path}", parameters
        for _ in range(REDIRECTS):
            response = self._ask(target, sent)
            further = _further(response)
            if further is None:
                answer = parse(response)
                self._answering = _instance(target, path) or base
                self.now_ms = _date_ms(response)
                return answer
            self._require_ours(target, further)
            if urlsplit(further)[:2] == urlsplit(target)[:2] and "next.refresh.interval" in further.lower():
                raise RestUnavailable(f"{target}: it is a standby, and knows of no active one")
            # The standby's redirect contains path and parameters; its older form contains neither.
            sent = {} if urlsplit(further).query else parameters
            target = further
        raise RestUnavailable(f"{target}: redirected more than {REDIRECTS} times")

    def _require_ours(self, url: str, further: str) -> None:
        """Raise `RestUnavailable` unless ``further``, the target of a redirect, is on a host and port that the setting
        names, and uses TLS if ``url`` does.
        """
        instances = {_host_and_port(each) for each in self._address.urls}
        try:
            # urllib3 ends the host at a backslash, and urlsplit does not.
            instance = None if "\\" in further or "@" in urlsplit(further).netloc else _host_and_port(further)
        except ValueError:
            instance = None
        if instance is not None and urlsplit(url).scheme == "https" != urlsplit(further).scheme:
            raise RestUnavailable(f"{url}: it redirects to {further[:200]}, which is without TLS")
        if instance not in instances:
            raise RestUnavailable(
                f"{url}: it redirects to {further[:200]}, whose host and port `{self._address.setting}` does"
                " not name: add it there if"
                f" it is another {self._address.name}"
            )

    def _ask(self, url: str, parameters: Parameters) -> requests.Response:
        limits = (self._address.connect_timeout_s, self._address.read_timeout_s)
        try:
            return self._session.get(url, params=dict(parameters), timeout=limits, allow_redirects=False)
        except requests.exceptions.SSLError as error:
            raise RestError(
                f"{url}: TLS failed: {innermost(error)} (`ca_file` names the authorities to trust, as PEM)"
            ) from error
        except KerberosFailed as error:
            raise RestError(f"{url}: {error}") from error
        except requests.exceptions.ReadTimeout as error:
            raise RestUnavailable(
                f"{url}: no answer within {self._address.read_timeout_s:g} s (`read_timeout_s`)"
            ) from error
        except (requests.exceptions.RequestException, ValueError) as error:
            # requests raises ValueError if the target of a redirect is not a URL.
            raise RestUnavailable(f"{url}: {innermost(error)}") from error

    def _require_success(self, response: requests.Response) -> None:
        """Raise the error that belongs to the status of a response, unless it is 200."""
        url, status = response.url, response.status_code
        if status in (401, 403):
            raise CallerRefused(f"{url}: HTTP {status}: {_message(response)}: {self._hint(status)}")
        if status == 404:
            raise NotThere(f"{url}: HTTP 404: {_message(response)}")
        if status == 400:
            raise BadRequest(url, _message(response))
        if status in _TEMPORARY:
            raise RestUnavailable(f"{url}: HTTP {status}: {_message(response)}")
        if status != 200:
            error = Failed if status == 500 else RestError
            raise error(f"{url}: HTTP {status}: {_message(response)} (its own log says more)")

    def _decoded(self, response: requests.Response) -> str:
        self._require_success(response)
        return response.content.decode("utf-8", "replace")

    def _parsed(self, response: requests.Response) -> Any:
        self._require_success(response)
        url = response.url
        if sum(map(response.content.count, (b",", b"[", b"{"))) > MOST_VALUES:
            raise RestError(f"{url}: the answer has more than {MOST_VALUES:,} values, and is not read")
        try:
            return orjson.loads(response.content)
        except ValueError as error:
            if "depth limit" in str(error):
                # Python's own parser would recurse as deep as the stack.
                raise RestError(f"{url}: the answer is nested too deeply, and is not read") from None
        try:
            # Some releases do not escape control characters in diagnostics. Names may contain invalid UTF-8 or lone
            # surrogates.
            text = response.content.decode("utf-8", "surrogateescape")
            return texts_by(shown, json.loads(text, strict=False, parse_int=_whole))
        except (ValueError, RecursionError):
            if _NO_ACTIVE.search(response.text[:2000]):
                raise RestUnavailable(f"{url}: {_message(response)}") from None
            raise RestError(
                f"{url}: the answer is not JSON ({_message(response)}): is this the address of a {self._address.name}?"
            ) from None

    def _hint(self, status: int) -> str:
        if self._address.auth == "kerberos":
            return f"may its principal look at {self._address.shows}? Its own log says why it refused"
        if status == 401:
            return 'set auth = "kerberos" where the cluster has Kerberos, else `user`'
        return f"the user must be allowed to look at {self._address.shows}"


def wrong_url(url: str, example: str) -> str:
    """Return the reason why a setting is not the URL of a service; "" if it is one."""
    parts = server_url(url)
    if parts is None or parts.scheme not in ("http", "https") or parts.query or "@" in parts.netloc:
        return f"{url!r} is not an address: write {example}"
    return ""


def _entries(answer: Any, way: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the list in a response. An empty list may arrive as null, {}, "", or be missing; a single entry may
    arrive without a list around it. Raises TypeError for anything else.
    """
    for name in way:
        if answer in (None, "", {}):
            return []
        if not isinstance(answer, Mapping):
            raise TypeError
        answer = answer.get(name)
    match answer:
        case list():
            # Elements that are not objects are counted together with those that have no id.
            return [each if isinstance(each, Mapping) else {} for each in answer]
        case Mapping():
            return [answer] if answer else []
        case None | "":
            return []
    raise TypeError


def _whole(digits: str) -> int | float:
    """Parse a whole number. A number with more digits than Python accepts becomes a float."""
    return int(digits) if len(digits) < 100 else float(digits)


def _further(response: requests.Response) -> str | None:
    """Return the target of a standby's redirect to the active instance (HTTP 307 or, in older releases, a Refresh
    header). Return None if the response is not a redirect.
    """
    if response.is_redirect:
        return _joined(response.url, response.headers["Location"])
    if found := _REFRESH.match(response.headers.get("Refresh", "")):
        return _joined(response.url, found[1].strip().strip("'\""))
    return None


def _host_and_port(url: str) -> tuple[str | None, int]:
    parts = urlsplit(url)
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _joined(url: str, further: str) -> str:
    try:
        return urljoin(url, further)
    except ValueError:  # not a URL
        return further


def _instance(target: str, path: str) -> str:
    base, found, _ = target.partition(path)
    return base if found else ""


def _date_ms(response: requests.Response) -> int:
    # Hadoop sends the header twice. It arrives as one value with a comma.
    date = response.headers.get("Date", "").partition("GMT")[0] + "GMT"
    try:
        return int(parsedate_to_datetime(date).timestamp() * 1000)
    except (ValueError, TypeError):
        return 0


def _message(response: requests.Response) -> str:
    """Return the message of an error page: the message of Hadoop's RemoteException, Oozie's error message, or the
    beginning of the page's text without markup.
    """
    try:
        match orjson.loads(response.content):
            case {"RemoteException": {"message": str(message)}} | {"errorMessage": str(message)}:
                return words_of_peer(message[:300])
    except ValueError:
        pass
    words = re.sub(r"<(style|script)\b.*?</\1>|<[^>]{0,500}>", " ", response.text[:4000], flags=re.DOTALL)
    return words_of_peer(" ".join(words.split())[:200]) or str(response.reason)
