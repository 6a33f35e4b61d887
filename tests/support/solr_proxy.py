"""A proxy between navlin and Solr. It calls the test before it passes a request on and after Solr answered; the test may
cut the connection at either point. To the index, a process whose requests no longer arrive is dead.
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

from navlin.index.solr import SolrAddress


@dataclass(frozen=True, slots=True)
class Call:
    """One request to Solr, before it is passed on or after it was ``answered``."""

    core: str
    handler: str
    params: dict[str, list[str]]
    body: bytes
    answered: bool

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The documents that it writes, if it writes any."""
        if self.handler != "update" or not self.body.startswith(b"["):
            return []
        documents: list[dict[str, Any]] = json.loads(self.body)
        return documents

    @property
    def commits(self) -> str:
        """``soft`` or ``hard`` if it commits, else ""."""
        if "softCommit" in self.params:
            return "soft"
        return "hard" if "commit" in self.params else ""

    def __str__(self) -> str:
        side = "after" if self.answered else "before"
        return f"{side} {self.core}/{self.handler} {self.commits or len(self.documents) or ''}".rstrip()


Passes = Callable[[Call], bool]
"""Returns whether a request is passed on to Solr, or its answer back."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints nothing: a killed process hangs up."""


class SolrProxy:
    """Serves on its own port until closed; ``address`` is Solr's address for navlin."""

    def __init__(
        self,
        address: SolrAddress,
        passes: Passes = lambda call: True,
        *,
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        """Speaks TLS to its clients if given a ``certificate`` and its ``key``."""
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
                """Says nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            # The connection's thread does the handshake, not the one that accepts.
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
