"""Send files that only grow to a navlin, as byte ranges, from the host on which they are written.

This file is the whole agent. It needs Python 3.6 or newer, and keeps no state: navlin tells what it has of this host. A
file is recognized by its inode and by hashes. A range is sent until navlin accepts it, at the end of what it has.
"""

import argparse
import contextlib
import ctypes
import fnmatch
import hashlib
import http.client
import json
import os
import random
import re
import select
import ssl
import stat
import sys
import time
import zlib
from typing import Any
from urllib.parse import quote, urlsplit

PREFIX, LOCAL = "/api/forward/v1", [("http", each) for each in ("127.0.0.1", "::1", "localhost")]
MARK_BYTES, RANGE_BYTES, TRIAL_BYTES, ANSWER_BYTES = 4 << 10, 1 << 20, 32 << 10, 16 << 20
HELD, NO_NAME = 64, "\0"
HELD_S, HEARTBEAT_S, LONGEST_WAIT_S, WATCHED_S = 60.0, 300.0, 60.0, 60.0
SKIPPED, FOLDERS = re.compile(r"[._]|.*\.(gz|bz2|xz)$"), "eventlog_v2_*"
LAST = re.compile(r"/appstatus_.*(?<!\.inprogress)$")
CHANGES = 0x002 | 0x040 | 0x080 | 0x100 | 0x200  # written, moved from, moved to, created, deleted
OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def say(text: str) -> None:
    sys.stderr.write("".join(each if each.isprintable() else "?" for each in text) + "\n")


class Refused(Exception):
    """The server refused a request. ``body`` is the JSON of the response, ``wait_s`` the wait that it asks for."""

    def __init__(self, status: int, body: "dict[str, Any]", wait_s: float) -> None:
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status, self.body, self.wait_s = status, body, wait_s


class Server:
    """The navlin at a URL. The connection is opened when it is needed; `close` ends it."""

    def __init__(self, url: str, token_file: str, ca_file: "str | None") -> None:
        parts = urlsplit(url)
        self._host, self._port, self._path = parts.hostname or "", parts.port, parts.path.rstrip("/") + PREFIX
        self._token_file = token_file
        self._connection: http.client.HTTPConnection | None = None
        if parts.scheme != "https" and (parts.scheme, self._host) not in LOCAL:
            raise SystemExit(f"{url}: the address must begin with https://, or name this machine")
        self._context = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> "dict[str, Any]":
        """Return the JSON of the response. Raises `Refused`, OSError and HTTPException."""
        with open(self._token_file) as file:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            given["Authorization"] = "Bearer " + file.read().strip()
        while True:
            old, self._connection = self._connection, self._connection or self._connect()
            try:
                self._connection.request(method, self._path + path, body, given)
                response = self._connection.getresponse()
                data = response.read(ANSWER_BYTES)
            except (OSError, http.client.HTTPException):
                self.close()
                if old is None:
                    raise
                continue
            try:
                value = dict(json.loads(data.decode()))
            except ValueError:
                value = {"message": data[:200]}
            if response.status >= 300:
                again = response.getheader("Retry-After") or ""
                raise Refused(response.status, value, float(again) if again.isdigit() else 0.0)
            return value

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=60, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=60)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class File:
    """A file on this host. ``sent`` bytes of it are at the server, as the file ``id``, under the name ``told``."""

    def __init__(self, source: str, found: os.stat_result) -> None:
        self.source, self.device, self.inode = source, found.st_dev, found.st_ino
        self.path, self.name, self.size, self.changed_ns = "", "", 0, 0
        self.id, self.told, self.sent, self.there = "", NO_NAME, 0, False
        self.descriptor, self.missed_s, self.readable = -1, 0.0, True

    def open(self) -> int:
        """Return a descriptor of the file. Raises OSError, also if another file has its name now."""
        if self.descriptor < 0:
            folder, name = os.path.split(self.path)
            inside = os.open(folder, os.O_DIRECTORY | (os.O_NOFOLLOW if "/" in self.name else 0))
            try:
                descriptor = os.open(name, OPEN, dir_fd=inside)
            finally:
                os.close(inside)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or (found.st_dev, found.st_ino) != (self.device, self.inode):
                os.close(descriptor)
                raise FileNotFoundError(self.path)
            self.descriptor = descriptor
        return self.descriptor

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def mark_at(self, offset: int) -> str:
        """Return the hash of the bytes before an offset, which are read from the file each time."""
        begin = max(0, offset - MARK_BYTES)
        return digest(os.pread(self.open(), offset - begin, begin))

    def is_at(self, there: "dict[str, Any]") -> bool:
        """Whether what the server has is the beginning of this file."""
        size, head_bytes = int(there["size"]), int(there.get("head_bytes", 0))
        if not 0 <= size <= os.fstat(self.open()).st_size or self.mark_at(size) != there["mark"]:
            return False
        return not head_bytes or digest(os.pread(self.open(), head_bytes, 0)) == there["head"]

    def address(self, rest: str = "") -> str:
        return f"/files/{self.id}{rest}?source={quote(self.source, safe='')}"


class Agent:
    """Sends the files of some directories. ``sources`` lists (source, directory, pattern of names)."""

    def __init__(self, server: Server, sources: "list[tuple[str, str, str]]") -> None:
        self.server, self.sources, self.watch = server, sources, Watch()
        self.files: dict[tuple[str, int, int], File] = {}
        self.known: dict[tuple[str, int], list[dict[str, Any]]] | None = None
        self.problems: dict[str, str] = {}
        self.names, self.report_s, self.boot = {source for source, _, _ in sources}, 0.0, ""

    def poll(self) -> int:
        """Send what is new. Return the number of bytes. Raises `Refused`, OSError and HTTPException."""
        groups, failed = [], set()
        for source, directory, pattern in self.sources:
            listed = self._groups(source, directory, pattern)
            failed |= {source} if listed is None else set()
            groups += listed or []
        seen = {id(file) for group in groups for file in group}
        # Files that may be renamed or removed soon are opened even if the server does not answer now.
        newest = sorted(self.files.values(), key=lambda each: (each.missed_s > 0, each.changed_ns))
        for file in newest[-HELD:]:
            with contextlib.suppress(OSError):
                file.open()
        if self.known is None:
            self._learn()
        total = sum(self._send_group(group) for group in groups) + self._follow_missed(seen, failed)
        for file in newest[:-HELD]:
            file.close()
        return total

    def _send_group(self, files: "list[File]") -> int:
        if not files or self.problems.get(files[0].source, "").startswith("403"):
            return 0
        try:
            total = sum(self._send(file) for file in files)
            # A log is over if the name of its status says so, so that name is told last.
            for file in sorted(files, key=lambda each: (bool(LAST.search(each.name)), each.name)):
                if file.there and file.told != file.name and file.sent >= file.size:
                    name = quote(os.fsencode(file.name), safe="")
                    self.server.ask("PUT", f"{file.address('/name')}&name={name}")
                    file.told = file.name
            return total
        except Refused as refused:
            if refused.status != 403:
                raise
            self._complain(files[0].source, str(refused))
            return 0

    def report(self) -> int:
        """Tell the server that this agent runs, and how far it is behind, if it is time. Return 0."""
        if time.monotonic() < self.report_s:
            return 0
        behind = [file.size - file.sent for file in self.files.values() if file.size > file.sent]
        value: dict[str, Any] = {"behind_bytes": sum(behind), "behind_files": len(behind)}
        value["unreadable"] = sum(not file.readable for file in self.files.values())
        value["problem"] = "; ".join(sorted(self.problems.values()))[:500]
        boot = str(self.server.ask("POST", "/alive", json.dumps(value).encode()).get("boot"))
        self.known, self.boot = (self.known if self.boot in ("", boot) else None), boot  # it rebooted
        self.problems.clear()  # those that last are reported again
        self.report_s = time.monotonic() + HEARTBEAT_S * random.uniform(0.9, 1.1)
        return 0

    def _learn(self) -> None:
        self.known = {}
        for each in self.server.ask("GET", "/files")["files"]:
            self.known.setdefault((each["source"], int(each["inode"])), []).append(each)
        for file in self.files.values():
            file.id, file.there = "", False

    def _groups(self, source: str, folder: str, pattern: str, below: str = "") -> "list[list[File]] | None":
        """List the files of a directory in groups, one for each rolling log; None if it cannot be listed."""
        try:
            self.watch.add(folder)
            with os.scandir(folder) as entries:
                listed = sorted((each.name, each) for each in entries if not SKIPPED.match(each.name))
        except OSError as error:
            self.watch.whole = False
            self._complain(folder, str(error))
            return None
        found: list[list[File]] = []
        for _, entry in listed:
            with contextlib.suppress(OSError):  # it may be gone
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode) and not below and fnmatch.fnmatchcase(entry.name, FOLDERS):
                    inside = self._groups(source, entry.path, "*", entry.name + "/") or []
                    found.append([each for group in inside for each in group])
                elif stat.S_ISREG(status.st_mode) and fnmatch.fnmatchcase(entry.name, pattern):
                    key = (source, status.st_dev, status.st_ino)
                    file = self.files[key] = self.files.get(key) or File(source, status)
                    file.path, file.name, file.missed_s = entry.path, below + entry.name, 0.0
                    file.size, file.changed_ns = status.st_size, status.st_mtime_ns
                    found.append([file])
        return found

    def _send(self, file: File) -> int:
        try:
            if not file.id or file.size < file.sent:
                self._recognize(file)
            file.readable = True
            return self._ranges(file)
        except (FileNotFoundError, PermissionError) as error:
            file.readable = isinstance(error, FileNotFoundError)
            if not file.readable:
                self._complain(file.path, str(error))
            return 0

    def _recognize(self, file: File) -> None:
        """Go on in what the server has of this file, or begin a new one there."""
        if file.there:
            self.server.ask("PUT", file.address("/gone"))  # that content
        candidates = (self.known or {}).get((file.source, file.inode), [])
        for each in sorted(candidates, key=lambda each: -int(each["size"])):
            if file.is_at(each):
                candidates.remove(each)
                file.id, file.sent, file.told = each["id"], int(each["size"]), each["name"]
                file.there = not each["gone"]
                return
        file.id = f"{file.inode:x}-{random.SystemRandom().getrandbits(32):08x}"
        file.sent, file.told, file.there = 0, NO_NAME, False

    def _ranges(self, file: File) -> int:
        total, conflicts, end = 0, 0, file.size
        while file.sent < end or not file.there:
            data = os.pread(file.open(), min(RANGE_BYTES, end - file.sent), file.sent)
            if not data and file.sent < end:
                break  # the file was truncated just now
            body = packed(data)
            headers = {} if body is data else {"Content_Encoding": "gzip"}
            headers.update(X_Navlin_Mark=file.mark_at(file.sent), X_Navlin_Sum=digest(body))
            try:
                there = self.server.ask("PUT", f"{file.address()}&offset={file.sent}", body, **headers)
                if there["size"] != file.sent + len(data):
                    raise ValueError(f"the server has {there['size']} bytes of {file.path}")
                file.there, conflicts, total = True, 0, total + len(data)
            except Refused as refused:
                conflicts += 1
                if refused.status != 409 or conflicts > 3:
                    raise
                there = refused.body
                if not file.is_at(there):  # the server knows other content of this inode
                    self._recognize(file)
                    continue
                file.there = file.there or int(there["size"]) > 0
            file.sent = int(there["size"])
        return total

    def _follow_missed(self, seen: "set[int]", failed: "set[str]") -> int:
        """Read files that left their directory to the end, and tell the server that they are gone."""
        total, now_s = 0, time.monotonic()
        for key, file in list(self.files.items()):
            if id(file) in seen or file.source in failed:
                continue
            if file.descriptor >= 0:
                file.size = os.fstat(file.descriptor).st_size
                total += self._send_group([file])
            file.missed_s = file.missed_s or now_s
            if file.descriptor < 0 or now_s - file.missed_s >= HELD_S:
                if file.there:
                    self.server.ask("PUT", file.address("/gone"))
                file.close()
                del self.files[key]
        unread = {(file.source, file.inode) for file in self.files.values() if not file.there}
        for (source, inode), entries in (self.known or {}).items():
            known = source in self.names and source not in failed and (source, inode) not in unread
            while entries and known:
                each = entries.pop()
                if not each["gone"]:
                    self.server.ask("PUT", f"/files/{each['id']}/gone?source={quote(source, safe='')}")
        return total

    def _complain(self, about: str, problem: str) -> None:
        if self.problems.get(about) != problem:
            self.problems[about] = problem
            say(f"{about}: {problem}")


class Watch:
    """Wakes the agent when something changes in a directory (inotify). ``whole`` tells whether it sees them all."""

    def __init__(self) -> None:
        self.whole, self._descriptor = False, -1
        with contextlib.suppress(OSError, AttributeError):
            self._c = ctypes.CDLL(None)
            self._descriptor = int(self._c.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, directory: str) -> None:
        name = os.fsencode(directory)
        if self._descriptor < 0 or self._c.inotify_add_watch(self._descriptor, name, CHANGES) < 0:
            self.whole = False

    def wait(self, seconds: float) -> None:
        if self._descriptor < 0:
            time.sleep(seconds)
        elif select.select([self._descriptor], [], [], seconds)[0]:
            os.read(self._descriptor, 1 << 20)


def packed(data: bytes) -> bytes:
    """Return the data as gzip, or the same object if that is not a tenth smaller."""
    if len(data) < 512 or len(zlib.compress(data[:TRIAL_BYTES], 1)) > len(data[:TRIAL_BYTES]) * 0.9:
        return data
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    body = packer.compress(data) + packer.flush()
    return body if len(body) < len(data) * 0.9 else data


def run(agent: Agent, poll_s: float, once: bool) -> None:
    wait_s = poll_s
    while True:
        agent.watch.whole, sent, failures = True, 0, []
        for step in (agent.poll, agent.report):
            try:
                sent += step()
            except (Refused, OSError, http.client.HTTPException, *ODD) as error:
                failures.append(error)
        agent.server.close()
        if failures:
            # The server is asked again for what it has, because the answer may have been lost.
            agent.known = None
            asked_s = min(getattr(failures[0], "wait_s", 0.0), 3600.0)
            wait_s = max(asked_s, min(LONGEST_WAIT_S, max(poll_s, wait_s * 2))) * random.uniform(0.8, 1.3)
            say(f"not sent, again in {wait_s:.0f} s: {failures[0]}")
            time.sleep(wait_s)
            continue
        if once and not sent:
            return
        wait_s = 0.0 if once else poll_s
        time.sleep(min(wait_s, 1.0))  # changes that follow each other closely are sent together
        longest_s = min(WATCHED_S if agent.watch.whole else wait_s, agent.report_s - time.monotonic())
        agent.watch.wait(0.0 if sent else max(0.0, longest_s))


def main(arguments: "list[str] | None" = None) -> None:
    about, end = (__doc__ or "").partition("\n")[0], "@FILE reads arguments from a file, one per line."
    parser = argparse.ArgumentParser("navlin-forward", None, about, end, fromfile_prefix_chars="@")
    parser.add_argument("--url", required=True, help="address of navlin, such as https://navlin.example:7187")
    parser.add_argument("--token-file", required=True, metavar="FILE", help="the token of this host")
    parser.add_argument("--ca-file", metavar="FILE", help="CA bundle (PEM)")
    parser.add_argument("--source", action="append", required=True, metavar="NAME=DIRECTORY[:PATTERN]")
    parser.add_argument(
        "--poll", type=float, default=5.0, metavar="S", help="seconds between checks (default: 5)"
    )
    parser.add_argument("--once", action="store_true", help="exit when everything is sent")
    given = parser.parse_args(arguments)
    sources = []
    for each in given.source:
        name, _, place = each.partition("=")
        directory, _, pattern = place.partition(":")
        if not name or not directory.startswith("/"):
            parser.error(f"--source {each}: it must be like impala=/var/log/impalad/lineage:impala_lineage*")
        sources.append((name, directory, pattern or "*"))
    run(Agent(Server(given.url, given.token_file, given.ca_file), sources), given.poll, given.once)


if __name__ == "__main__":
    main()
