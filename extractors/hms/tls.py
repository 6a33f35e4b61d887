"""Thrift over TLS, as a metastore speaks it if hive.metastore.use.SSL is true."""

from __future__ import annotations

import logging
import ssl
from typing import Final

from extractors.hms.bounded_socket import TlsSocket

# Thrift also logs the errors that it raises. Plain sockets have the same handler.
logging.getLogger("thrift.transport.TSSLSocket").addHandler(logging.NullHandler())

_OTHER_NAMES: Final = (62, 64)
"""OpenSSL's error codes for a certificate that lacks the expected host name or address."""


class NoAuthorities(OSError):
    """The file of CA certificates cannot be used."""


def tls_socket(host: str, port: int, ca_file: str) -> TlsSocket:
    """Return a socket that trusts the CA certificates in a PEM file, or the system's if ``ca_file`` is empty. It
    rejects certificates for other host names.

    Raises `NoAuthorities`.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except ssl.SSLError as error:
        raise NoAuthorities(f"ca_file {ca_file} holds no certificate, as PEM") from error
    except OSError as error:
        raise NoAuthorities(f"ca_file {ca_file} cannot be read: {error.strerror}") from error
    return TlsSocket(host, port, ssl_context=context)


def tls_in_words(error: BaseException | None, host: str) -> str:
    """Return an explanation of a failed handshake, with a remedy; "" if TLS was not the reason."""
    match error:
        case ssl.SSLCertVerificationError() if error.verify_code in _OTHER_NAMES:
            return (
                f"TLS: its certificate is not for {host} ({error.verify_message}): name it in"
                " `uris` as its certificate does"
            )
        case ssl.SSLCertVerificationError():
            return (
                f"TLS: its certificate is not trusted ({error.verify_message}): `ca_file` names the"
                " authorities to trust, as PEM"
            )
        case ssl.SSLError(
            reason="WRONG_VERSION_NUMBER" | "RECORD_LAYER_FAILURE" | "UNEXPECTED_EOF_WHILE_READING"
        ):
            return (
                f"TLS: the server does not speak it ({error}): is hive.metastore.use.SSL true there? If"
                " not, leave out `tls`"
            )
        case ssl.SSLError():
            return f"TLS failed: {error}"
    return ""
