"""Credentials and signatures, as botocore finds and makes them.

botocore looks in the environment, in profiles of ``~/.aws`` (or ``credentials_file``), and at roles: of a profile, of a web
identity, of a container, of an instance. Credentials stay in memory: they are never stored, logged or pickled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final

from extractors.s3.errors import S3Credentials

TIMEOUT_S: Final = 10
"""Timeout of a request for the credentials of a role, in seconds; botocore repeats such a request once."""
DEADLINE_S: Final = 60
"""Maximum time to find credentials, whatever the services that botocore asks do."""
AWS_REGION: Final = "us-east-1"
"""The region that S3 itself takes for requests about a bucket whose region is unknown."""


@dataclass(frozen=True, slots=True)
class CredentialChoice:
    """The settings that decide which credentials are used. An empty setting leaves the choice to botocore."""

    profile: str = ""
    credentials_file: str = ""


BY_DEFAULT: Final = CredentialChoice()


class S3Signer:
    """Signs requests with the credentials of an identity. Temporary credentials are renewed before they expire. Not
    thread-safe.
    """

    def __init__(self, identity: CredentialChoice) -> None:
        self._identity = identity
        self._session: Any = None
        self._credentials: Any = None

    def forget(self) -> None:
        """Forget the credentials, so that the next signature uses newly found ones."""
        self._session = self._credentials = None

    @property
    def region(self) -> str:
        """The region of the profile or the environment; "" if there is none. Raises `S3Credentials`."""
        return str(self._of_botocore().get_config_variable("region") or "")

    def signed(self, method: str, url: str, region: str) -> Mapping[str, str]:
        """Return the headers that sign a request without a body. Raises `S3Credentials`."""
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest(method=method, url=url)
        S3SigV4Auth(self._frozen(), "s3", region).add_auth(request)
        return dict(request.headers.items())

    def _frozen(self) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            frozen = _in_time(self._found)
        except (BotoCoreError, ClientError) as error:
            raise S3Credentials(f"credentials could not be obtained: {error}") from error
        if not frozen or not frozen.access_key:
            raise S3Credentials(
                "there are no credentials: set `profile` or `credentials_file`, or give navlin's user a role, or the"
                " variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        return frozen

    def _found(self) -> Any:
        if self._credentials is None:
            self._credentials = self._of_botocore().get_credentials()
        return self._credentials and self._credentials.get_frozen_credentials()

    def _of_botocore(self) -> Any:
        # botocore takes a fifth of a second to import, so it is imported only if a bucket is read.
        import botocore.session
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        if self._session is None:
            try:
                session = botocore.session.Session(profile=self._identity.profile or None)
                if self._identity.credentials_file:
                    session.set_config_variable("credentials_file", self._identity.credentials_file)
                limits = Config(
                    connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S, retries={"max_attempts": 1}
                )
                session.set_default_client_config(limits)
                session.get_scoped_config()
            except BotoCoreError as error:
                raise S3Credentials(f"credentials could not be obtained: {error}") from error
            self._session = session
        return self._session


def _in_time(find: Callable[[], Any]) -> Any:
    """Call a function in a thread, and return its result. Raises `S3Credentials` after `DEADLINE_S`."""
    results: SimpleQueue[tuple[Any, Exception | None]] = SimpleQueue()

    def call() -> None:
        try:
            results.put((find(), None))
        except Exception as error:
            results.put((None, error))

    threading.Thread(target=call, name="s3-credentials", daemon=True).start()
    try:
        result, error = results.get(timeout=DEADLINE_S)
    except Empty:
        raise S3Credentials(
            f"the service that gives credentials did not answer within {DEADLINE_S} s"
        ) from None
    if error is not None:
        raise error
    return result
