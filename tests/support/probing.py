"""Response times of URLs during other work, compared with those of a bare listener. A separate process requests all of
them in turn, so that load on the machine affects all alike.

``python -m tests.support.probing HEADER URL...`` sends requests until its standard input is closed, then prints the
response times as JSON. HEADER is the Authorization header.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
PAUSE_S = 0.01
PATIENCE_S = 300.0
BARE = "bare"


@contextmanager
def probed(urls: Sequence[str], header: str) -> Iterator[dict[str, list[float]]]:
    """Request each URL repeatedly inside the block. After the block, the yielded mapping contains the response times in
    seconds for each URL and, under `BARE`, for a listener that does no work.
    """
    seconds: dict[str, list[float]] = {}
    command = [sys.executable, "-m", "tests.support.probing", header, *urls]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield seconds
        out, _ = process.communicate("", timeout=PATIENCE_S)
    seconds.update(json.loads(out))


def p99(seconds: Sequence[float]) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * 0.99))]


def _bare() -> str:
    """Start a bare listener in a separate process, and return its URL."""
    program = (
        "import asyncio\n"
        "async def answer(reader, writer):\n"
        "    while await reader.readuntil(b'\\r\\n\\r\\n'):\n"
        "        writer.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n')\n"
        "async def main():\n"
        "    server = await asyncio.start_server(answer, '127.0.0.1', 0)\n"
        "    print(server.sockets[0].getsockname()[1], flush=True)\n"
        "    await asyncio.to_thread(input)\n"
        "    import os; os._exit(0)\n"
        "asyncio.run(main())\n"
    )
    listener = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert listener.stdout is not None
    return f"http://127.0.0.1:{listener.stdout.readline().strip()}/"


def main() -> None:
    header, *urls = sys.argv[1:]
    wanted = {BARE: _bare(), **{url: url for url in urls}}
    seconds: dict[str, list[float]] = {name: [] for name in wanted}
    ended = threading.Event()

    def end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=end, daemon=True).start()
    connections = {name: _connected(url) for name, url in wanted.items()}
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not ended.is_set():
        for name, url in wanted.items():
            begun_s = time.perf_counter()
            try:
                connections[name].request("GET", urlsplit(url).path, headers={"Authorization": header})
                answer = connections[name].getresponse()
                answer.read()
                failed = answer.status != 200
            except (OSError, http.client.HTTPException):
                connections[name] = _connected(url)
                failed = True
            seconds[name].append(PATIENCE_S if failed else time.perf_counter() - begun_s)
            time.sleep(PAUSE_S)
    sys.stdout.write(json.dumps(seconds))


def _connected(url: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


if __name__ == "__main__":
    main()
