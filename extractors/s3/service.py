"""Send requests to one bucket. Each request has a deadline and a bound; throttled and failed ones are repeated.

A listing continues after the last key (StartAfter), not by S3's token, so that it can go on anywhere. The keys of a page
must be in order, and behind those of the page before: so neither a repeated page nor a proxy's cached one is believed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import quote, urlsplit

import requests

from extractors.s3.credentials import AWS_REGION, BY_DEFAULT, CredentialChoice, S3Signer
from extractors.s3.errors import (
    S3Credentials,
    S3Elsewhere,
    S3Error,
    S3Misshapen,
    S3Refused,
    S3Unavailable,
)
from extractors.s3.pages import BadPage, S3Object, S3Page, to_error, to_page, to_tags
from extractors.s3.splits import order
from navlin.bounded_http import bound
from navlin.causes import innermost
from navlin.model.redaction.literals import words_of_peer

MOST_BYTES: Final = 16 << 20
"""Maximum size of an answer. A page of 1,000 objects with the longest keys has some 4 MB."""
PAGE: Final = 1_000
"""Number of objects in a page, the most that S3 sends."""
EMPTY_PAGES: Final = 1_000
"""Maximum number of consecutive pages without an object, as after very many deleted ones."""
THROTTLED: Final = 8
"""Number of attempts of a throttled request: the waits double from half a second, and add up to a minute."""
FAILED: Final = 3
"""Number of attempts of a request that got no answer, or a failure of the server."""
FIRST_WAIT_S: Final = 0.5

_EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
_WRONG_CREDENTIALS: Final = frozenset(
    {
        "InvalidAccessKeyId",
        "XAdminUserNotFound",  # versitygw's code for an unknown access key
        "SignatureDoesNotMatch",
        "InvalidToken",
        "AuthorizationHeaderMalformed",
        *_EXPIRED,
    }
)
_THROTTLING: Final = frozenset(
    {"SlowDown", "ServiceUnavailable", "RequestLimitExceeded", "Throttling", "ThrottlingException"}
)
_PASSING: Final = frozenset({"InternalError", "RequestTimeout", "OperationAborted"})
_REGION: Final = re.compile(r"[a-z]{2}[a-z0-9-]{1,40}")
_DNS_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
"""A bucket's name that may be part of a host name under S3's certificate. A name with dots may not."""
_USER_METADATA: Final = "x-amz-meta-"
_UNRESERVED: Final = "-_.~"

Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """A bucket, and the settings for requests to it. Without ``endpoint``, the bucket is in AWS, in ``region`` ("": not
    known yet). ``wait`` takes seconds.
    """

    bucket: str
    endpoint: str = ""
    region: str = ""
    identity: CredentialChoice = BY_DEFAULT
    ca_file: str = ""
    timeout_s: float = 30.0
    wait: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class ObjectDetails:
    """The answer about a single object. ``metadata`` has the names as users gave them, in lower case."""

    encryption: str
    version: str
    metadata: Mapping[str, str]


class Bucket:
    """A bucket at an address. Not thread-safe."""

    def __init__(self, address: BucketAddress) -> None:
        self._address = address
        self._signer = S3Signer(address.identity)
        self._session = bound(requests.Session(), MOST_BYTES)
        # Ignore the environment, because its proxy and the password in .netrc are not meant for this service.
        self._session.trust_env = False
        self._session.verify = address.ca_file or True
        self.now_ms = 0
        """S3's own time in its last answer (epoch ms, to the second); 0 if the answer had no time."""
        self.region = address.region
        """The bucket's region, as set or as S3 told it; "" if it is unknown."""

    def close(self) -> None:
        self._session.close()

    @property
    def place(self) -> str:
        """The bucket as messages name it."""
        at = f" at {self._address.endpoint}" if self._address.endpoint else ""
        return f"s3://{self._address.bucket}{at}"

    def locate(self, prefix: str) -> bool:
        """Find out the bucket's region, by asking for a page. Return whether ``prefix`` has more objects than a page.
        Raises an `S3Error`, such as `S3Refused`.
        """
        try:
            return self._page({"prefix": prefix}, prefix, "").truncated
        except S3Elsewhere as elsewhere:
            if not elsewhere.region or self._address.endpoint or elsewhere.region == self._address.region:
                raise
            self._address = replace(self._address, region=elsewhere.region)
            self.region = elsewhere.region
            return self._page({"prefix": prefix}, prefix, "").truncated

    def first(self, prefix: str) -> S3Object | None:
        """Return the first object whose key begins with ``prefix``; None if there is none. Raises an `S3Error`."""
        page = self._page({"prefix": prefix, "max-keys": "1", "fetch-owner": "true"}, prefix, "")
        return page.objects[0] if page.objects else None

    def directories(self, prefix: str, after: str) -> tuple[str, ...]:
        """Return the first directories directly below ``prefix``, a page at most, that end after the key ``after``. Each
        ends with a slash. Raises an `S3Error`.
        """
        return self._page({"prefix": prefix, "delimiter": "/", **_after(after)}, prefix, "").prefixes

    def pages(self, prefix: str, after: str) -> Iterator[S3Page]:
        """Yield the objects whose keys begin with ``prefix`` and come after ``after``, in order. Raises an `S3Error`."""
        token, empty = "", 0
        while True:
            asked = {"prefix": prefix, "fetch-owner": "true", **_after(after)}
            if token:
                asked["continuation-token"] = token
            page = self._page(asked, prefix, after)
            if page.objects:
                yield page
                after, token, empty = page.objects[-1].key, "", 0
            elif page.truncated:
                empty += 1
                if not page.token or page.token == token or empty > EMPTY_PAGES:
                    raise S3Misshapen(
                        f"{self.place}: a page without objects says that more follow, but has no usable token"
                    )
                token = page.token
            if not page.truncated:
                return

    def described(self, key: str) -> ObjectDetails | None:
        """Return what S3 tells about an object (HeadObject); None if it is gone. Raises an `S3Error`."""
        response = self._answer("HEAD", {}, key)
        if response is None:
            return None
        headers = {name.lower(): value for name, value in response.headers.items()}
        return ObjectDetails(
            headers.get("x-amz-server-side-encryption", ""),
            headers.get("x-amz-version-id", ""),
            {
                name.removeprefix(_USER_METADATA): value
                for name, value in headers.items()
                if name.startswith(_USER_METADATA)
            },
        )

    def tags(self, key: str) -> Mapping[str, str]:
        """Return the tags of an object; none if it is gone. Raises an `S3Error`."""
        response = self._answer("GET", {"tagging": ""}, key)
        if response is None:
            return {}
        try:
            return dict(to_tags(response.content))
        except BadPage as error:
            raise S3Misshapen(f"{self.place}: the tags of an object are not readable: {error}") from None

    # -- One page ------------------------------------------------------------------------------------------------------

    def _page(self, asked: Query, prefix: str, after: str) -> S3Page:
        query = {"list-type": "2", "max-keys": str(PAGE), "encoding-type": "url", **asked}
        response = self._answer("GET", query, "")
        if response is None:
            raise S3Error(
                f"{self.place}: there is no such bucket (NoSuchBucket): was it deleted, or is `bucket` or `endpoint`"
                " wrong? Nothing of it counts as deleted"
            )
        try:
            page = to_page(response.content, self._address.bucket)
            self._require_order(page, prefix, after)
        except BadPage as error:
            raise S3Misshapen(f"{self.place}: a page of the listing cannot be believed: {error}") from None
        return page

    def _require_order(self, page: S3Page, prefix: str, after: str) -> None:
        last = order(after)
        for each in page.objects:
            now = order(each.key)
            if now <= last:
                raise BadPage(f"its keys are not in order, or were sent already: {each.key[:100]!r}")
            if not each.key.startswith(prefix):
                raise BadPage(f"it has a key that was not asked for: {each.key[:100]!r}")
            last = now
        for directory in page.prefixes:
            if not directory.startswith(prefix) or not directory.endswith("/"):
                raise BadPage(f"it has a prefix that was not asked for: {directory[:100]!r}")

    # -- One request ---------------------------------------------------------------------------------------------------

    def _answer(self, method: str, query: Query, key: str) -> requests.Response | None:
        """Return the answer to a request; None if the bucket, or the object, does not exist. Raises an `S3Error`."""
        throttled = failed = 0
        renewed = False
        while True:
            try:
                response = self._send(method, query, key)
                code = self._require_success(response)
            except S3Unavailable as error:
                slow = isinstance(error, _Throttled)
                throttled, failed = throttled + slow, failed + (not slow)
                if throttled >= THROTTLED or failed >= FAILED:
                    raise
                self._address.wait(FIRST_WAIT_S * 2 ** (throttled + failed - 1))
            except _Expired:
                if renewed:
                    raise
                # Temporary credentials that others renew, as in a file, may have been renewed meanwhile.
                self._signer.forget()
                renewed = True
            else:
                return response if code == 200 else None

    def _send(self, method: str, query: Query, key: str) -> requests.Response:
        url = self._url(query, key)
        region = self._address.region or self._signing_region
        try:
            headers = self._signer.signed(method, url, region)
        except S3Credentials as error:
            raise S3Credentials(f"{self.place}: {error}") from error
        try:
            response = self._session.request(
                method, url, headers=dict(headers), timeout=self._address.timeout_s, allow_redirects=False
            )
        except requests.exceptions.SSLError as error:
            raise S3Error(
                f"{self._host}: TLS failed: {innermost(error)} (`ca_file` names the authorities to trust, as PEM)"
            ) from error
        except requests.exceptions.ReadTimeout as error:
            raise S3Unavailable(
                f"{self._host}: no answer within {self._address.timeout_s:g} s (`timeout_s`)"
            ) from error
        except (requests.exceptions.RequestException, OSError, ValueError) as error:
            raise S3Unavailable(f"{self._host}: {innermost(error)}") from error
        self.now_ms = _date_ms(response)
        if (region := response.headers.get("x-amz-bucket-region", "")) and _REGION.fullmatch(region):
            self.region = region
        return response

    @property
    def _signing_region(self) -> str:
        return self._signer.region or AWS_REGION

    @property
    def _host(self) -> str:
        return urlsplit(self._url({}, ""))._replace(query="").geturl()

    def _url(self, query: Query, key: str) -> str:
        bucket, endpoint = self._address.bucket, self._address.endpoint.rstrip("/")
        path = "/" + quote(key, safe=f"/{_UNRESERVED}", errors="surrogateescape")
        if not endpoint:
            host = host_of(self._address.region or self._signing_region)
            in_host = _DNS_NAME.fullmatch(bucket) is not None
            endpoint = (
                f"https://{bucket}.{host}" if in_host else f"https://{host}/{quote(bucket, safe=_UNRESERVED)}"
            )
        else:
            endpoint = f"{endpoint}/{quote(bucket, safe=_UNRESERVED)}"
        pairs = [
            f"{name}={quote(value, safe=_UNRESERVED, errors='surrogateescape')}"
            for name, value in sorted(query.items())
        ]
        return f"{endpoint}{path}{'?' + '&'.join(pairs) if pairs else ''}"

    def _require_success(self, response: requests.Response) -> int:
        """Return 200 or 404. Raises the `S3Error` that belongs to another status, and to S3's code in the answer."""
        status = response.status_code
        if status == 200:
            return status
        error = to_error(response.content)
        code, said = error.code, f"HTTP {status}" + (f" {error.code}" if error.code else "")
        if error.message:
            said += f": {words_of_peer(error.message)}"
        where = self.place
        if status == 404 and code in ("", "NoSuchBucket", "NoSuchKey"):
            return status
        if status in (301, 302, 307, 308) or (
            status == 400 and code == "AuthorizationHeaderMalformed" and error.region
        ):
            told = response.headers.get("x-amz-bucket-region", "") or error.region
            region = told if _REGION.fullmatch(told) else ""
            hint = (
                f"the bucket is in the region {region}" if region else "the answer leads to another address"
            )
            raise S3Elsewhere(f"{where}: {said}: {hint}: correct `region` or `endpoint`", region)
        if code in _EXPIRED:
            raise _Expired(f"{where}: {said}: the credentials have expired, and newer ones were not found")
        if code == "RequestTimeTooSkewed":
            raise S3Error(
                f"{where}: {said}: the clocks of this machine and of S3 differ: set both by a time service"
            )
        if code in _WRONG_CREDENTIALS:
            raise S3Credentials(
                f"{where}: {said}: correct `profile`, `credentials_file`, or the role of navlin's user"
            )
        if code in _THROTTLING or status in (429, 503):
            raise _Throttled(f"{where}: {said} ({self._host})")
        if code in _PASSING or status >= 500:
            raise S3Unavailable(f"{where}: {said} ({self._host})")
        if status in (401, 403):
            raise S3Refused(
                f"{where}: {said}: navlin's user needs s3:ListBucket on the bucket (see the manual's policy)"
            )
        raise S3Error(f"{where}: {said}: is this the address of an S3 ({self._host})?")


class _Throttled(S3Unavailable):
    """S3 asks for fewer requests."""


class _Expired(S3Credentials):
    """The temporary credentials have expired."""


def host_of(region: str) -> str:
    """Return the host of S3 in a region of AWS. Regions of governments' own networks need an ``endpoint``."""
    return f"s3.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"


def _after(key: str) -> Query:
    return {"start-after": key} if key else {}


def _date_ms(response: requests.Response) -> int:
    try:
        return int(parsedate_to_datetime(response.headers.get("Date", "")).timestamp() * 1000)
    except (ValueError, TypeError):
        return 0
