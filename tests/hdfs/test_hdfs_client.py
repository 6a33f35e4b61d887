"""HDFS through Hadoop's own client: the Java child accesses a real NameNode and DataNode."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from extractors.hdfs.client import (
    FileStatus,
    HdfsAddress,
    HdfsClient,
    HdfsError,
    HdfsEvent,
    HdfsNotFound,
    HdfsRefused,
    HdfsUnavailable,
    MissingEvents,
    hdfs,
)
from extractors.hdfs.status import to_listing
from navlin.model.source import HDFS, Source
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer


@pytest.fixture(scope="session")
def cache(hadoop_jars: Path) -> Path:
    """Directory where compiled programs are kept for later sessions."""
    return hadoop_jars.parent / "hadoop-launcher"


@pytest.fixture(scope="session")
def address(hdfs: Hadoop, cache: Path) -> HdfsAddress:
    """The session's HDFS, accessed as the superuser."""
    return HdfsAddress(hdfs.url, configuration_directory=str(hdfs.configuration_directory), cache=str(cache))


@pytest.fixture(scope="session")
def client(address: HdfsAddress) -> HdfsClient:
    return hdfs(address)


@pytest.fixture
def directory(hdfs_writer: Writer, request: pytest.FixtureRequest) -> str:
    path = f"/client/{request.node.name[:60]}"
    hdfs_writer.mkdirs(path)
    return path


def as_user(address: HdfsAddress, user: str) -> HdfsClient:
    return hdfs(replace(address, user=user))


def kinds(client: HdfsClient, after: int, below: str) -> list[tuple[str, str, str]]:
    """(kind, path, target) of all events below a directory; paths and targets are relative to the directory."""
    return [
        (event.kind, event.path.removeprefix(below + "/"), event.to.removeprefix(below + "/"))
        for event in client.events(after)
        if event.path.startswith(below)
    ]


def one(client: HdfsClient, path: str) -> FileStatus:
    (status,) = client.describe([path])
    assert status is not None
    return status


# -- Events -----------------------------------------------------------------------------------------------------------


def test_every_operation_is_reported_in_order(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    before = client.transaction()
    at = directory
    hdfs_writer.mkdirs(f"{at}/d")
    hdfs_writer.create(f"{at}/d/f", b"x" * 2000, block_bytes=1024)
    hdfs_writer.append(f"{at}/d/f", b"y")
    hdfs_writer.truncate(f"{at}/d/f", 1024)
    hdfs_writer.chmod(f"{at}/d/f", "600")
    hdfs_writer.chown(f"{at}/d/f", "alice", "analysts")
    hdfs_writer.replicate(f"{at}/d/f", 2)
    hdfs_writer.touch(f"{at}/d/f", 1_600_000_000_000)
    hdfs_writer.acl(f"{at}/d/f", "user:bob:r--")
    hdfs_writer.rename(f"{at}/d", f"{at}/e")
    hdfs_writer.delete(f"{at}/e")

    assert kinds(client, before, at) == [
        ("CREATE", "d", ""),
        ("CREATE", "d/f", ""),
        ("CLOSE", "d/f", ""),
        ("APPEND", "d/f", ""),
        ("CLOSE", "d/f", ""),
        ("TRUNCATE", "d/f", ""),
        *[("METADATA", "d/f", "")] * 5,
        ("RENAME", "d", "e"),
        ("UNLINK", "e", ""),
    ]


def test_a_create_event_tells_files_from_directories(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    before = client.transaction()
    hdfs_writer.mkdirs(f"{directory}/d")
    hdfs_writer.create(f"{directory}/f")
    made = {event.path: event.directory for event in client.events(before) if event.kind == "CREATE"}
    assert made == {f"{directory}/d": True, f"{directory}/f": False}


def test_reading_events_resumes_without_duplicates(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    before = client.transaction()
    for n in range(250):  # more than the NameNode returns at once
        hdfs_writer.mkdirs(f"{directory}/d{n}")
    at_once = [event for event in client.events(before) if event.path.startswith(directory)]
    in_steps: list[HdfsEvent] = []
    position = before
    for _ in range(10):
        events = client.events(position, limit=90)
        in_steps += [event for event in events if event.path.startswith(directory)]
        position = events.through

    assert [event.path for event in at_once] == [f"{directory}/d{n}" for n in range(250)]
    assert in_steps == at_once
    assert position == client.transaction()


def test_transactions_without_events_advance_the_position(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    before = client.transaction()
    hdfs_writer.quota(directory, 1000)
    events = client.events(before)
    assert list(events) == []
    assert events.through == client.transaction() > before


def test_an_abandoned_iterator_leaves_the_client_usable(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    hdfs_writer.create(f"{directory}/f", b"12345")
    next(client.events(0))
    next(client.list("/client"))
    next(client.read(f"{directory}/f"))
    assert b"".join(client.read(f"{directory}/f", 1, 3)) == b"234"


def test_a_quiet_round_is_empty_and_keeps_the_position(client: HdfsClient) -> None:
    position = client.transaction()
    events = client.events(position)
    assert list(events) == []
    assert events.through == position


# -- Files ------------------------------------------------------------------------------------------------------------


def test_a_file_is_described_with_all_attributes(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    path = f"{directory}/f"
    hdfs_writer.create(path, b"x" * 3000, block_bytes=1024)
    hdfs_writer.chown(path, "alice", "analysts")
    hdfs_writer.chmod(path, "640")
    hdfs_writer.touch(path, 1_600_000_000_123, 1_600_000_000_456)
    found = one(client, path)
    assert found == FileStatus(
        path=path,
        directory=False,
        size=3000,
        block_size=1024,
        replication=1,
        owner="alice",
        group="analysts",
        permissions="rw-r-----",
        modified_ms=1_600_000_000_123,
        accessed_ms=1_600_000_000_456,
        inode_id=found.inode_id,
        symlink=None,
        under_construction=False,
        ez_key=None,
        ec_policy=None,
        acl=(),
    )
    assert found.inode_id > 16385


def test_sticky_bit_acl_and_erasure_coding_are_described(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    hdfs_writer.mkdirs(f"{directory}/coded/below")
    hdfs_writer.erasure_code(f"{directory}/coded", "RS-6-3-1024k")
    hdfs_writer.mkdirs(f"{directory}/open")
    hdfs_writer.chmod(f"{directory}/open", "1777")
    hdfs_writer.acl(f"{directory}/open", "user:bob:r-x,default:group:staff:r--")
    coded, below, open_ = (one(client, f"{directory}/{name}") for name in ("coded", "coded/below", "open"))
    assert coded.ec_policy == below.ec_policy == "RS-6-3-1024k"
    assert open_.permissions == "rwxrwxrwt"
    assert set(open_.acl) == {
        "user:bob:r-x",
        "group::rwx",
        "default:user::rwx",
        "default:group::rwx",
        "default:group:staff:r--",
        "default:mask::rwx",
        "default:other::rwx",
    }


def test_a_listing_equals_describing_each_path(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    for n in range(210):  # more than one page
        hdfs_writer.create(f"{directory}/file {n:03} é€😀")
    hdfs_writer.mkdirs(f"{directory}/sub")
    hdfs_writer.acl(f"{directory}/sub", "user:bob:r-x")
    hdfs_writer.create(f"{directory}/open", b"12", close=False)
    listed = list(client.list(directory))
    described = list(client.describe([status.path for status in listed]))
    hdfs_writer.close(f"{directory}/open")

    assert listed == described
    assert len(listed) == 212
    assert [row.path for row in listed if row.under_construction] == [f"{directory}/open"]


def test_a_missing_path_is_described_as_none_and_listing_it_is_an_error(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    hdfs_writer.create(f"{directory}/f")
    assert list(client.describe([f"{directory}/no", f"{directory}/f/no", "/"]))[:2] == [None, None]
    for path in (f"{directory}/no", f"{directory}/f"):
        with pytest.raises(HdfsNotFound, match=path):
            list(client.list(path))
        assert issubclass(HdfsNotFound, OSError)
    with pytest.raises(HdfsNotFound, match="/no: File does not exist"):
        list(client.read(f"{directory}/no"))


def test_statuses_become_columns_with_none_for_missing_values(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    hdfs_writer.create(f"{directory}/done", b"abc")
    hdfs_writer.create(f"{directory}/open", b"12", close=False)
    hdfs_writer.mkdirs(f"{directory}/sub")
    listing = to_listing(Source("hdfs-1", HDFS, "HDFS-1", "c"), 7, client.list(directory))
    hdfs_writer.close(f"{directory}/open")

    assert listing.paths == [f"{directory}/{name}" for name in ("done", "open", "sub")]
    assert listing.directories == [False, False, True]
    assert listing.attributes["size"] == [3, None, None]
    assert listing.volatile["size"][0] is None
    assert listing.volatile["size"][1] is not None
    assert listing.attributes["underConstruction"] == [None, True, None]
    assert listing.attributes["replication"] == [1, 1, None]
    assert listing.attributes["acl"] == [None, None, None]
    assert listing.volatile["lastAccessed"][2] is None


# -- Bytes ------------------------------------------------------------------------------------------------------------


def test_a_file_of_many_blocks_is_read_from_any_offset(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    data = bytes(n * 7 % 251 for n in range(9_000_000))
    hdfs_writer.create(f"{directory}/big", data, block_bytes=1 << 20)
    read = list(client.read(f"{directory}/big"))
    assert b"".join(read) == data
    assert len(read) > 1, "it is not held whole"
    assert b"".join(client.read(f"{directory}/big", 5_000_000, 10)) == data[5_000_000:5_000_010]
    assert b"".join(client.read(f"{directory}/big", 8_999_990)) == data[-10:]
    assert list(client.read(f"{directory}/big", 9_000_000)) == []
    assert list(client.read(f"{directory}/big", 9_000_001)) == []


def test_an_open_file_is_read_up_to_the_flushed_length(
    client: HdfsClient, hdfs_writer: Writer, directory: str
) -> None:
    path = f"{directory}/growing"
    hdfs_writer.create(path, b"first\n", close=False)
    heard_of = one(client, path)
    assert b"".join(client.read(path)) == b"first\n"
    hdfs_writer.write(path, b"second\n")
    assert b"".join(client.read(path, 6)) == b"second\n"
    hdfs_writer.close(path)
    closed = one(client, path)

    assert (heard_of.under_construction, closed.under_construction) == (True, False)
    assert closed.size == 13


# -- Permissions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (
            "750",
            r"bob may not list .*owner alice, group analysts, drwxr-x---\): add bob to the group analysts",
        ),
        ("700", "not even the group analysts may: add an entry for bob to its access control list"),
    ],
)
def test_a_refusal_names_the_permitted_user_and_group(
    address: HdfsAddress, hdfs_writer: Writer, directory: str, mode: str, says: str
) -> None:
    hdfs_writer.chown(directory, "alice", "analysts")
    hdfs_writer.chmod(directory, mode)
    with pytest.raises(HdfsRefused, match=says) as refused:
        list(as_user(address, "bob").list(directory))
    assert refused.value.path == directory
    assert refused.value.user == "bob"
    assert list(as_user(address, "alice").list(directory)) == []


def test_a_member_of_the_group_may_read(address: HdfsAddress, hdfs_writer: Writer, directory: str) -> None:
    path = f"{directory}/f"
    hdfs_writer.create(path, b"text")
    hdfs_writer.chown(path, "alice", "analysts")
    hdfs_writer.chmod(path, "640")
    assert list(as_user(address, "carol").read(path)) == [b"text"]
    with pytest.raises(HdfsRefused, match=r"bob may not read .*: add bob to the group analysts"):
        list(as_user(address, "bob").read(path))


def test_events_require_a_superuser(address: HdfsAddress) -> None:
    bob = as_user(address, "bob")
    for asking in (bob.transaction, lambda: list(bob.events(0))):
        with pytest.raises(
            HdfsRefused, match=r"bob is not a superuser of HDFS.*dfs.permissions.superusergroup"
        ):
            asking()


def test_errors_can_be_pickled() -> None:
    for error in (HdfsRefused("no", "/p", "bob", "java.X"), MissingEvents(1, 9)):
        travelled = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
        assert type(travelled) is type(error)
        assert vars(travelled) == vars(error)
        assert str(travelled) == str(error)


# -- The child --------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_killed_child_is_replaced_transparently(
    address: HdfsAddress, hdfs_writer: Writer, directory: str
) -> None:
    own = HdfsClient(address)
    data = bytes(10_000_000)
    hdfs_writer.create(f"{directory}/big", data)
    read = own.read(f"{directory}/big")
    got = len(next(read))
    killed = kill(own)
    got += sum(map(len, read))
    assert got == len(data)
    assert own.pid not in (None, killed)
    kill(own)
    assert own.transaction() > 0
    own.stop()
    assert own.pid is None


def kill(client: HdfsClient) -> int:
    pid = client.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def test_two_threads_share_a_child(client: HdfsClient, hdfs_writer: Writer, directory: str) -> None:
    contents = {f"{directory}/f{n}": bytes([n]) * 3_000_000 for n in range(4)}
    for path, data in contents.items():
        hdfs_writer.create(path, data)
    wrong: list[str] = []

    def read(path: str) -> None:
        for _ in range(3):
            if b"".join(client.read(path)) != contents[path] or one(client, path).size != 3_000_000:
                wrong.append(path)

    threads = [threading.Thread(target=read, args=(path,)) for path in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_client_is_shared_per_address(address: HdfsAddress) -> None:
    assert hdfs(address) is hdfs(replace(address))
    assert hdfs(address) is not hdfs(replace(address, user="bob"))


def test_an_unreachable_namenode_is_reported_quickly(address: HdfsAddress) -> None:
    nobody = HdfsClient(replace(address, url="hdfs://127.0.0.1:1", configuration_directory=""))
    with pytest.raises(HdfsUnavailable, match=r"hdfs://127.0.0.1:1.*[Rr]efused"):
        nobody.transaction()
    nobody.stop()


def test_a_missing_answer_ends_the_child(address: HdfsAddress) -> None:
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"hdfs://127.0.0.1:{silent.getsockname()[1]}"
        hanging = HdfsClient(replace(address, url=url, configuration_directory="", timeout_s=3))
        with pytest.raises(HdfsUnavailable, match="no answer within 3 s"):
            hanging.transaction()
        assert hanging.pid is None


def test_a_missing_java_is_reported(address: HdfsAddress, tmp_path: Path) -> None:
    lost = HdfsClient(replace(address, java_home=str(tmp_path), cache=str(tmp_path)))
    with pytest.raises(HdfsError, match=r"there is no .*java: install Java 17"):
        lost.transaction()


def test_a_missing_configuration_is_reported(address: HdfsAddress, tmp_path: Path) -> None:
    lost = HdfsClient(replace(address, configuration_directory=str(tmp_path)))
    with pytest.raises(HdfsError, match=r"core-site\.xml") as raised:
        lost.transaction()
    assert not isinstance(raised.value, HdfsNotFound), "no path is taken for gone"
    lost.stop()


@pytest.mark.parametrize("url", ["http://host", "hdfs://", "host:8020"])
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not the URL of an HDFS"):
        HdfsAddress(url)


# -- The image --------------------------------------------------------------------------------------------------------


def test_an_image_is_fetched_with_its_checksum_and_progress(
    client: HdfsClient, hdfs: Hadoop, tmp_path: Path
) -> None:
    hdfs.save_namespace()
    reported: list[tuple[int, int]] = []
    image = client.fetch_image(tmp_path, lambda done, total: reported.append((done, total)))
    own = hdfs.name_directory() / image.name
    assert image.read_bytes() == own.read_bytes()
    sum_, name = (tmp_path / f"{image.name}.md5").read_text().split()
    assert (sum_, name) == (hashlib.md5(image.read_bytes()).hexdigest(), f"*{image.name}")
    assert reported[-1] == (image.stat().st_size, image.stat().st_size)
    assert {path.name for path in tmp_path.iterdir()} == {image.name, f"{image.name}.md5"}


Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture
def web(address: HdfsAddress) -> Iterator[Callable[[Answer], HdfsClient]]:
    """Function that returns a client of fake NameNode web servers. Each server responds to image requests with one of
    the given answers.
    """
    servers: list[ThreadingHTTPServer] = []

    def serve(*answers: Answer) -> HdfsClient:
        urls = []
        for status, headers, body in answers:

            class Web(BaseHTTPRequestHandler):
                answer = (status, headers, body)

                def do_GET(self) -> None:
                    status, headers, body = self.answer
                    if self.path.startswith("/jmx"):
                        state = headers.get("State", "active")
                        status, headers, body = 200, {}, f'{{"State" : "{state}"}}'.encode()
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_: object) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers.append(server)
            urls.append(f"http://127.0.0.1:{server.server_port}")
        return HdfsClient(replace(address, http=tuple(urls)))

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def image_of(txid: int, body: bytes, **headers: str) -> Answer:
    named = {"X-Image-Edits-Name": f"fsimage_{txid:019}", "Content-Length": str(len(body))}
    return 200, {**named, "X-MD5-Digest": hashlib.md5(body).hexdigest(), **headers}, body


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (image_of(5, b"bytes", **{"X-MD5-Digest": "0" * 32}), "fsimage_0+5 came damaged: its MD5 is"),
        (image_of(5, b"bytes", **{"Content-Length": "9"}), r"broke off|[Pp]remature"),
        ((403, {}, b""), "no NameNode gives its image: .*HTTP 403"),
        (image_of(5, b"bytes", **{"X-Image-Edits-Name": "../../fsimage_5"}), "does not say which image"),
    ],
    ids=["damaged", "broken off", "refused", "misnamed"],
)
def test_an_incomplete_image_is_discarded(
    web: Callable[..., HdfsClient], tmp_path: Path, answer: Answer, says: str
) -> None:
    client = web(answer)
    with pytest.raises(HdfsError, match=says):
        client.fetch_image(tmp_path)
    assert list(tmp_path.iterdir()) == []
    client.stop()


@pytest.mark.services
def test_the_newest_image_is_fetched_preferring_a_standbys(
    web: Callable[..., HdfsClient], tmp_path: Path
) -> None:
    active, standby = image_of(7, b"active"), image_of(7, b"standby", State="standby")
    for answers, expected in (
        ((active, standby), b"standby"),
        ((standby, active), b"standby"),
        ((image_of(8, b"newer"), standby), b"newer"),
        (((503, {}, b""), active), b"active"),
    ):
        client = web(*answers)
        assert client.fetch_image(tmp_path).read_bytes() == expected
        client.stop()
