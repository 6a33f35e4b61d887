"""Errors of S3. Each message names the bucket's address, S3's own code and message, and what to do."""

from __future__ import annotations


class S3Error(OSError):
    """S3 did not answer properly."""


class S3Unavailable(S3Error):
    """S3 cannot be reached, is throttling, or failed. A later attempt may succeed."""


class S3Refused(S3Error):
    """The credentials are valid, but do not permit the request (AccessDenied)."""


class S3Credentials(S3Error):
    """There are no credentials, or S3 does not accept them."""


class S3Misshapen(S3Error):
    """The answer is not the one that was asked for: it is cut, damaged, out of order, or about something else."""


class S3Elsewhere(S3Error):
    """The bucket is in another region. ``region`` is its name, or "" if the answer does not tell it."""

    def __init__(self, message: str, region: str) -> None:
        super().__init__(message)
        self.region = region
