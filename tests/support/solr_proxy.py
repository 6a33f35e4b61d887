"""A proxy between navlin and Solr. It calls the test before it forwards a request and after Solr has responded. The
test may close the connection at either point, which for the index has the same effect as the death of the client
process.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from navlin.index.solr.solr import SolrAddress


@dataclass(frozen=True, slots=True)
class Call:
    """A request to Solr: before it is forwarded or, if ``answered``, after Solr has responded."""

    core: str
    handler: str
    params: dict[str, list[str]]
    body: bytes
    answered: bool

    @property
    def documents(self) -> list[dict[str, Any]]:
        """Documents that the request writes; [] if it writes none."""
        if self.handler != "update" or not self.body.startswith(b"["):
            return []
        documents: list[dict[str, Any]] = json.loads(self.body)
        return documents

    @property
    def commits(self) -> str:
        """``soft`` or ``hard`` if the request commits, otherwise ""."""
        if "softCommit" in self.params:
            return "soft"
        return "hard" if "commit" in self.params else ""

    def __str__(self) -> str:
        side = "after" if self.answered else "before"
        return f"{side} {self.core}/{self.handler} {self.commits or len(self.documents) or ''}".rstrip()


Passes = Callable[[Call], bool]
"""Function that decides whether a request is forwarded to Solr or, if ``answered``, whether the response is returned.
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing, because killed processes close their connections."""


class SolrProxy:
    """A proxy on a separate port that runs until it is closed. ``address`` is the proxy's address, for use in place of
    Solr's.
    """

    def __init__(
        self,
        address: SolrAddress,
        passes: Passes = lambda call: True,
        *,
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        """Start the proxy. With a ``certificate`` and its ``key``, it uses TLS towards its clients."""
        self.passes = passes
        target = urlsplit(address.url)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                self.solr = HTTPConnection(target.hostname or "", target.port, timeout=300)

            def finish(self) -> None:
                self.solr.close()
                super().finish()

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                url = urlsplit(self.path)
                _, _, core, handler, *_ = (*url.path.split("/"), "", "", "")
                call = Call(core, handler, parse_qs(url.query), body, answered=False)
                if not outer.passes(call):
                    self.close_connection = True
                    return
                headers = {name: value for name, value in self.headers.items() if name not in _OF_ONE_HOP}
                self.solr.request(self.command, self.path, body, headers)
                answer = self.solr.getresponse()
                content = answer.read()
                if not outer.passes(replace(call, answered=True)):
                    self.close_connection = True
                    return
                self.send_response_only(answer.status, answer.reason)
                for name, value in answer.getheaders():
                    if name not in _OF_ONE_HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _pass

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            # Each connection's thread makes the TLS handshake, so that the accepting thread is not blocked.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        scheme = "https" if certificate is not None else "http"
        self.address = replace(address, url=f"{scheme}://127.0.0.1:{self._server.server_port}{target.path}")
        self._serving = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._serving.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._serving.join()


_OF_ONE_HOP = frozenset({"Connection", "Content-Length", "Transfer-Encoding", "Keep-Alive", "Host"})
