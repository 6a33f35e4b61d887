"""Each service that navlin calls is replaced by a hostile one. The response has a time limit, a size limit and a
checked form, and comes from the right service."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self
from unittest.mock import patch

import pytest

from extractors.hdfs.client import HdfsAddress, HdfsClient, HdfsError
from extractors.hms import client as hms
from extractors.oozie import Oozie
from extractors.rest import RestError, RestUnavailable
from extractors.s3 import credentials
from extractors.s3 import service as s3
from extractors.s3.errors import S3Error
from extractors.yarn.splits import SeenSplit
from navlin.access.ldap import LdapEndpoint, LdapError, conversation
from navlin.cli import server as another_navlin
from navlin.cli.invocation import Failure
from navlin.export import connection as exports
from navlin.index.solr.connection import SolrAddress, SolrError
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType
from navlin.model.plan import Positions
from navlin.model.records import Entity, Reject
from tests.services import hostile
from tests.services.certificates import Certificate, certificate
from tests.services.hostile import HEAD, HostilePeer
from tests.services.rest import JobHistory, ResourceManager
from tests.support import oozie_rounds
from tests.support.yarn_rounds import Following, app, job

MIB: Final = 1 << 20
BUFFERED_MIB: Final = 48
"""What the buffers of both ends of a connection may hold in addition: Linux lets that of the reader grow to 32 MiB."""
Made = Callable[[], AbstractContextManager[HostilePeer]]


@dataclass(frozen=True)
class Peer:
    """A service that navlin calls. ``ask`` sends a request to ``host:port`` with a timeout of ``silence_s``;
    ``by_tls`` does so over TLS."""

    ask: Callable[[str], Any]
    error: type[Exception]
    whole_s: float
    """Time limit for a complete response."""
    most_mib: int
    """Maximum number of MiB read of a response."""
    attacks: dict[str, tuple[Made, str]] = field(default_factory=dict)
    """attack → (the hostile service, a regular expression for the error)"""
    by_tls: Callable[[str], Any] | None = None
    names_it: bool = True
    """Whether the error contains host and port."""


SILENCE_S: Final = 0.5
BUSY_S: Final = 60.0
"""Time to read and unpack a response of the maximum size, by the clock of `Ticking`."""

HTTP_SILENT: Final[dict[str, tuple[Made, str]]] = {
    "silence": (hostile.silence, r"no answer within 0.5 s|timed out"),
    "drip": (hostile.http_drip, "its answer is still incomplete after 2 s"),
    "drip of a head": (hostile.http_head_drip, "its answer is still incomplete after 2 s"),
    "endless size of a chunk": (hostile.http_endless_chunk_size, "chunk"),
    "close in the middle": (hostile.http_cut, "IncompleteRead|8 bytes read"),
    "a negative length": (partial(hostile.http_of_length, b"-1"), "which is not a length"),
    "two lengths": (partial(hostile.http_of_length, b"2, 20"), "unmatching values|not a length"),
}


def yarn_listing(where: str, scheme: str = "http") -> Any:
    following = Following(ResourceManager(), read_timeout_s=SILENCE_S, connect_timeout_s=SILENCE_S)
    return _yarn(following, urls=(f"{scheme}://{where}",)).plan()


def yarn_history(where: str, scheme: str = "http") -> Any:
    with ResourceManager(app(1, type="MAPREDUCE")) as service, JobHistory() as history:
        history.add(job(1))
        settings = {"read_timeout_s": SILENCE_S, "connect_timeout_s": SILENCE_S}
        following = Following(service, history=history, **settings)
        [split] = following.plan().splits
        assert isinstance(split, SeenSplit)
        assert split.configured
        return list(_yarn(following, history_urls=(f"{scheme}://{where}",)).extractor.read(split))


def oozie_listing(where: str, scheme: str = "http") -> Any:
    urls = (f"{scheme}://{where}/oozie",)
    source, estate = oozie_rounds.SOURCE, oozie_rounds.ESTATE
    extractor = Oozie(source, estate, urls, read_timeout_s=SILENCE_S, connect_timeout_s=SILENCE_S)
    return extractor.plan(Positions())


def _yarn(following: Following, **settings: Any) -> Following:
    following.extractor = replace(following.extractor, **settings)
    return following


def shapes(*bodies: bytes) -> dict[str, tuple[Made, str]]:
    words = "unexpected form|not JSON|no property"
    return {f"shape {body[:40]!r}": (partial(hostile.http_answer, body), words) for body in bodies}


_S3_OWN: Final = {
    "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip


def s3_listing(where: str, scheme: str = "http") -> Any:
    address = s3.BucketAddress(
        "lake", f"{scheme}://{where}", "us-east-1", timeout_s=SILENCE_S, wait=lambda seconds: None
    )
    with patch.dict(os.environ, _S3_OWN), closing(s3.Bucket(address)) as bucket:
        return sum(len(page.objects) for page in bucket.pages("", ""))


def s3_credentials(where: str, _: str = "") -> Any:
    by_container = {**_S3_OWN, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://{where}/role"}
    del by_container["AWS_ACCESS_KEY_ID"], by_container["AWS_SECRET_ACCESS_KEY"]
    with patch.dict(os.environ, by_container), patch.object(credentials, "DEADLINE_S", 4):
        os.environ.pop("AWS_ACCESS_KEY_ID", None)
        return credentials.S3Signer(credentials.BY_DEFAULT).signed(
            "GET", "http://127.0.0.1:1/lake", "us-east-1"
        )


def metastore(where: str, **settings: Any) -> Any:
    limits = {"connect_timeout_s": SILENCE_S, "call_timeout_s": SILENCE_S}
    address = hms.MetastoreAddress((f"thrift://{where}",), **{**limits, **settings})
    with hms.connected(address) as connection:
        return connection.databases()


_NAMES: Final = b"\x80\x01\x00\x02\x00\x00\x00\x11get_all_databases\x00\x00\x00\x00\x0f\x00\x00\x0b"
"""Beginning of a metastore's response, a list of strings. The length of the list follows."""
THRIFT_SILENT: Final[dict[str, tuple[Made, str]]] = {
    "silence": (hostile.silence, "no answer within 0.5 s"),
    "drip": (
        partial(hostile.drip, _NAMES + b"\x00\x01\x00\x00" + b"\x00\x00\x00\x01a"),
        "no whole one within 4 times",
    ),
    "drip of a text": (
        partial(hostile.drip, _NAMES + b"\x00\x00\x00\x01\x00\x10\x00\x00a"),
        "no whole one within 4 times",
    ),
    "close in the middle": (partial(hostile.cut, _NAMES + b"\x00\x00"), "the connection broke"),
}


def framed(answer: bytes) -> bytes:
    return len(answer).to_bytes(4) + answer


def directory(where: str, scheme: str = "ldap") -> Any:
    with conversation(LdapEndpoint(f"{scheme}://{where}", in_clear=True), 4 * SILENCE_S) as speaking:
        return speaking.bind("cn=somebody", "password")


def _result(kind: int, code: int) -> bytes:
    """An LDAP response to the first message."""
    return bytes((0x30, 12, 2, 1, 1, kind, 7, 10, 1, code, 4, 0, 4, 0))


def _solr(where: str, scheme: str = "http") -> Solr:
    return Solr(SolrAddress(f"{scheme}://{where}/solr", timeout_s=SILENCE_S, connect_timeout_s=SILENCE_S))


def solr(where: str, scheme: str = "http") -> Any:
    with _solr(where, scheme) as asked:
        return asked.ping("elements")


def solr_export(where: str, scheme: str = "http") -> Any:
    with _solr(where, scheme) as asked:
        return sum(
            1
            for _ in asked.export("elements", "*:*", "identity", shards=[f"{scheme}://{where}/solr/elements"])
        )


def target(where: str, scheme: str = "http") -> Any:
    connection = exports.ServerConnection(
        exports.ServerAddress(f"{scheme}://{where}", timeout_s=SILENCE_S), again_after_s=()
    )
    try:
        return connection.send("POST", "/api", b"{}")
    finally:
        connection.close()


def other_navlin(where: str, scheme: str = "http") -> Any:
    with TemporaryDirectory() as folder, patch.object(another_navlin, "TIMEOUT_S", SILENCE_S):
        token = Path(folder) / "token"
        token.write_text("token")
        return another_navlin.RunningServer(f"{scheme}://{where}", token).send("GET", "/search")


def other_navlin_download(where: str, scheme: str = "http") -> Any:
    with TemporaryDirectory() as folder, patch.object(another_navlin, "TIMEOUT_S", SILENCE_S):
        token = Path(folder) / "token"
        token.write_text("token")
        pieces, _ = another_navlin.RunningServer(f"{scheme}://{where}", token).records("/search", [])
        return sum(map(len, pieces))


def name_node(where: str, _: str = "") -> Any:
    client = HdfsClient(HdfsAddress(f"hdfs://{where}", timeout_s=4))
    try:
        return client.transaction()
    finally:
        client.stop()


def name_node_image(where: str, _: str = "") -> Any:
    client = HdfsClient(HdfsAddress("hdfs://127.0.0.1:1", http=(f"http://{where}",), timeout_s=30))
    try:
        with TemporaryDirectory() as folder:
            return client.fetch_image(Path(folder))
    finally:
        client.stop()


def by_tls(ask: Callable[[str, str], Any]) -> Callable[[str], Any]:
    return lambda where: ask(where, "https")


_EXPORTED: Final = b'{"responseHeader":{"status":0},"response":{"numFound":9,"docs":['
_IMAGE: Final = b"HTTP/1.1 200 OK\r\nX-Image-Edits-Name: fsimage_0000000000000000007\r\n"

PEERS: Final[dict[str, Peer]] = {
    "the ResourceManager": Peer(
        yarn_listing,
        RestError,
        whole_s=2,
        most_mib=128,
        attacks={
            **HTTP_SILENT,
            "endless": (hostile.http_endless, "more than 128 MiB"),
            "bomb": (hostile.http_bomb, "more than 128 MiB"),
            "many values": (lambda: hostile.http_answer(b"[" + b"[]," * 5_000_000 + b"1]"), "5,000,000 values"),
            **shapes(
                b"[]", b"5", b'"x"', b'{"error":1}', b'{"apps":[]}', b'{"apps":5}', b'{"apps":{"app":5}}',
                b'{"apps":{"app":"x"}}', b"<html></html>", b"",
            ),
        },
        by_tls=by_tls(yarn_listing),
    ),
    "the JobHistoryServer": Peer(
        yarn_history,
        RestError,
        whole_s=2,
        most_mib=128,
        attacks=HTTP_SILENT,
        by_tls=by_tls(yarn_history),
    ),
    "Oozie": Peer(
        oozie_listing,
        RestError,
        whole_s=2,
        most_mib=128,
        attacks={
            "silence": HTTP_SILENT["silence"],
            "drip": HTTP_SILENT["drip"],
            "redirect": (partial(hostile.http_redirect, "http://127.0.0.2:1/oozie"), "redirects to http://127.0.0.2:1"),
            **shapes(b"[]", b"5", b'{"apps":1}', b'{"workflows":5}', b'{"workflows":"x"}', b"<html></html>", b""),
        },
        by_tls=by_tls(oozie_listing),
    ),
    "S3": Peer(
        s3_listing,
        S3Error,
        whole_s=6,
        most_mib=64,
        attacks={
            **HTTP_SILENT,
            "endless": (hostile.http_endless, "more than 16 MiB"),
            "bomb": (hostile.http_bomb, "more than 16 MiB"),
            "many elements": (partial(hostile.http_answer, b"<a>" * 1_000_000), "more than 200,000 elements"),
            "redirect": (partial(hostile.http_redirect, "http://127.0.0.2:1/lake"), "leads to another address"),
            "another bucket": (
                partial(hostile.http_answer, b"<ListBucketResult><Name>b</Name></ListBucketResult>"),
                "it is about the bucket 'b'",
            ),
            "a page": (partial(hostile.http_answer, b"<html></html>"), "not a ListBucketResult"),
            "nothing": (partial(hostile.http_answer, b""), "it is cut off, or is not well-formed XML"),
        },
        by_tls=by_tls(s3_listing),
    ),
    "services that give credentials for S3": Peer(
        s3_credentials,
        S3Error,
        whole_s=30,
        most_mib=1_024,
        attacks={
            "silence": (hostile.silence, "credentials"),
            "drip": (hostile.http_drip, "did not answer within 4 s"),
            "a page": (partial(hostile.http_answer, b"<html></html>"), "credentials"),
        },
        names_it=False,
    ),
    "the metastore": Peer(
        metastore,
        hms.MetastoreError,
        whole_s=2,
        most_mib=256,
        attacks={
            **THRIFT_SILENT,
            "endless": (
                partial(hostile.endless, _NAMES + b"\x00\x10\x00\x00", b"\x00\x10\x00\x00" + b"a" * MIB),
                "more than 256 MiB|no whole one within 4 times",
            ),
            "a list of many": (partial(hostile.endless, _NAMES + b"\x01\x00\x00\x00", b"\x00\x00\x00\x00"), "not Thrift"),
            "another call": (
                partial(hostile.cut, _NAMES.replace(b"all", b"any") + bytes(5)), "it answers another call",
            ),
            "HTTP": (partial(hostile.cut, b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 99), "not Thrift|Length exceeded"),
            "zeros": (partial(hostile.cut, bytes(1_000)), "not Thrift"),
        },
    ),
    "the metastore, framed": Peer(
        partial(metastore, framed=True),
        hms.MetastoreError,
        whole_s=2,
        most_mib=256,
        attacks={
            "silence": (hostile.silence, "no answer within 0.5 s"),
            "drip": (partial(hostile.drip, framed(_NAMES + bytes(1 << 16))), "no whole one within 4 times"),
            "endless": (partial(hostile.endless, b"\x7f\xff\xff\xff", b"a" * MIB), "Frame size .* larger"),
            "empty frames": (partial(hostile.endless, bytes(4), bytes(4)), "not Thrift"),
            "a frame of less than nothing": (partial(hostile.cut, b"\xff" * 99), ""),
        },
    ),
    "the directory of users": Peer(
        directory,
        LdapError,
        whole_s=2,
        most_mib=1,
        attacks={
            "silence": (hostile.silence, "does not answer in time"),
            "drip": (partial(hostile.drip, b"\x30\x84\x00\x10\x00\x00\x02"), "does not answer in time"),
            "endless": (partial(hostile.endless, b"\x30\x84\x7f\xff\xff\xff", b"\x02\x01\x01"), "more than 1 MiB"),
            "another answer": (partial(hostile.cut, _result(0x65, 0)), "answered with a SearchResultDone"),
            "a referral": (partial(hostile.cut, _result(0x61, 10)), "referrals are not followed"),
            "HTTP": (partial(hostile.cut, b"HTTP/1.1 400 Bad Request\r\n\r\n"), "not LDAP|closed the connection"),
            "close in the middle": (partial(hostile.cut, _result(0x61, 0)[:5]), "closed the connection"),
            "deep": (partial(hostile.cut, b"\x30\x80" * 50_000), "not LDAP|closed the connection"),
        },
        by_tls=lambda where: directory(where, "ldaps"),
    ),
    "Solr": Peer(
        solr,
        SolrError,
        whole_s=2,
        most_mib=256,
        attacks={
            **HTTP_SILENT,
            "endless": (hostile.http_endless, "more than 256 MiB"),
            "bomb": (hostile.http_bomb, "more than 256 MiB"),
            "redirect": (partial(hostile.http_redirect, "http://127.0.0.2:1/solr"), "HTTP 307"),
            "a list": (partial(hostile.http_answer, b"[]"), "is not a Solr"),
            "a page": (partial(hostile.http_answer, b"<html></html>"), "is not a Solr"),
        },
        by_tls=by_tls(solr),
    ),
    "Solr's exports": Peer(
        solr_export,
        SolrError,
        whole_s=4,
        most_mib=65,
        attacks={
            "silence": (hostile.silence, "timed out"),
            "drip": (hostile.http_drip, "less than 16 KiB a second"),
            "endless": (partial(hostile.endless, HEAD + b"\r\n" + _EXPORTED, b"x"), "more than 64 MiB"),
            "endless beginning": (hostile.http_endless, "more than 64 MiB"),
            "bomb": (hostile.http_bomb, "more than 64 MiB"),
            "something else": (partial(hostile.http_answer, _EXPORTED + b"1]}}"), "something that is not a document"),
            "no documents": (partial(hostile.http_answer, b"[]"), "cut short"),
            "close in the middle": (hostile.http_cut, "cut short"),
        },
        by_tls=by_tls(solr_export),
    ),
    "targets of exports": Peer(
        target,
        Exception,
        whole_s=2,
        most_mib=16,
        attacks={
            **HTTP_SILENT,
            "endless": (hostile.http_endless, "more than 16 MiB"),
            "bomb": (hostile.http_bomb, "more than 16 MiB"),
            "redirect": (partial(hostile.http_redirect, "http://127.0.0.2:1/"), "redirects to another address"),
        },
        by_tls=by_tls(target),
    ),
    "another navlin": Peer(
        other_navlin,
        Failure,
        whole_s=2,
        most_mib=256,
        attacks={
            **HTTP_SILENT,
            "endless": (hostile.http_endless, "more than 256 MiB"),
            "bomb": (hostile.http_bomb, "more than 256 MiB"),
            "redirect": (partial(hostile.http_redirect, "http://127.0.0.2:1/"), "status 307"),
        },
        by_tls=by_tls(other_navlin),
    ),
    "downloads of another navlin": Peer(
        other_navlin_download,
        Failure,
        whole_s=2,
        most_mib=1,
        attacks={"silence": (hostile.silence, "timed out"), "drip": (hostile.http_drip, "less than 16 KiB a second")},
    ),
    "the NameNode": Peer(
        name_node,
        HdfsError,
        whole_s=60,
        most_mib=256,
        attacks={"silence": (hostile.silence, "no answer within 4 s")},
    ),
    "the NameNode's image": Peer(
        name_node_image,
        HdfsError,
        whole_s=90,
        most_mib=1,
        attacks={
            "redirect": (partial(hostile.http_redirect, "http://127.0.0.2:1/"), "HTTP 307"),
            "close in the middle": (
                partial(hostile.cut, _IMAGE + b"Content-Length: 1000\r\n\r\na"), "remature EOF|broke off",
            ),
        },
        names_it=False,
    ),
}  # fmt: skip


class Ticking:
    """A clock that is as slow as the machine is busy: a thread that counts its own short sleeps."""

    EVERY_S: Final = 0.05

    def __enter__(self) -> Self:
        self.seconds = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()
        return self

    def _tick(self) -> None:
        while not self._ended.wait(self.EVERY_S):
            self.seconds += self.EVERY_S

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


@contextmanager
def refused(peer: Peer, words: str, where: str) -> Iterator[None]:
    with Ticking() as clock, pytest.raises(peer.error, match=words or None) as error:
        yield
    assert clock.seconds < peer.whole_s + BUSY_S
    assert where in str(error.value) or not peer.names_it


@pytest.mark.parametrize(
    ("name", "attack"), [(name, attack) for name, peer in PEERS.items() for attack in peer.attacks]
)
def test_a_hostile_answer_is_bounded_and_refused(name: str, attack: str) -> None:
    peer = PEERS[name]
    made, words = peer.attacks[attack]
    with made() as other:
        with refused(peer, words, other.where):
            peer.ask(other.where)
        assert other.sent < (peer.most_mib + BUFFERED_MIB) * MIB


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.by_tls])
@pytest.mark.parametrize("stall", [hostile.silence, hostile.tls_drip])
def test_a_peer_that_stalls_tls_times_out(name: str, stall: Made) -> None:
    peer = PEERS[name]
    assert peer.by_tls is not None
    with stall() as other, refused(peer, "timed out|in time|no answer within 0.5 s", other.where):
        peer.by_tls(other.where)


def yarn_trusting(where: str, ca_file: str) -> Any:
    following = Following(ResourceManager(), read_timeout_s=SILENCE_S, connect_timeout_s=SILENCE_S)
    return _yarn(following, urls=(f"https://{where}",), ca_file=ca_file).plan()


def _solr_trusting(where: str, ca_file: str) -> Solr:
    address = SolrAddress(f"https://{where}/solr", ca_file=ca_file)
    return Solr(replace(address, timeout_s=SILENCE_S, connect_timeout_s=SILENCE_S))


def solr_trusting(where: str, ca_file: str) -> Any:
    with _solr_trusting(where, ca_file) as asked:
        return asked.ping("elements")


def solr_export_trusting(where: str, ca_file: str) -> Any:
    shards = [f"https://{where}/solr/elements"]
    with _solr_trusting(where, ca_file) as asked:
        return list(asked.export("elements", "*:*", "identity", shards=shards))


def directory_trusting(where: str, ca_file: str) -> Any:
    with conversation(LdapEndpoint(f"ldaps://{where}", Path(ca_file)), 4 * SILENCE_S) as speaking:
        return speaking.bind("cn=somebody", "password")


TRUSTED: Final[dict[str, tuple[Callable[[str, str], Any], bytes, str]]] = {
    "the ResourceManager": (yarn_trusting, HEAD + b"\r\n ", "its answer is still incomplete after 2 s"),
    "Solr": (solr_trusting, HEAD + b"\r\n ", "its answer is still incomplete after 2 s"),
    "Solr's exports": (solr_export_trusting, HEAD + b"\r\n ", "less than 16 KiB a second"),
    "the metastore": (
        lambda where, ca_file: metastore(where, tls=True, ca_file=ca_file),
        _NAMES + b"\x00\x00\x00\x01\x00\x10\x00\x00a",
        "no whole one within 4 times",
    ),
    "the directory of users": (
        directory_trusting, b"\x30\x84\x00\x10\x00\x00\x02", "does not answer in time",
    ),
}  # fmt: skip
"""peer → (a request over TLS, with the file of a trusted CA; an answer that is dripped; the error)"""


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("trusted"))


@pytest.mark.parametrize("name", TRUSTED)
def test_an_answer_that_drips_inside_of_tls_is_bounded(name: str, trusted: Certificate) -> None:
    ask, answer, words = TRUSTED[name]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(trusted.certificate, trusted.key)
    with hostile.drip(answer, tls=context) as other, refused(PEERS[name], words, other.where):
        ask(other.where, str(trusted.certificate))


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b"null", b'{"conf":{}}', b'{"conf":{"property":[]}}', b'{"conf":[]}', b'{"apps":{}}'],
)
def test_a_malformed_configuration_is_rejected_and_its_job_is_incomplete(body: bytes) -> None:
    with hostile.http_answer(body) as other:
        records = yarn_history(other.where)
    [reject] = [each for each in records if isinstance(each, Reject)]
    assert other.where in reject.reason
    [operation] = [
        each for each in records if isinstance(each, Entity) and each.key.type is EntityType.OPERATION
    ]
    assert operation.attributes["incompleteReasons"] == [
        "its job's configuration could not be read, or never arrived"
    ]


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{}/ws/v1/cluster/apps", "https://127.0.0.2:{}/", "http://[::1", "/x"]
)
def test_a_redirect_to_an_unconfigured_host_is_not_followed(target: str) -> None:
    believed = b'{"apps":{"app":[{"id":"application_1_0001"}]}}'
    other = HostilePeer(lambda: iter((b"HTTP/1.1 200 OK\r\n\r\n" + believed,)), address="127.0.0.2")
    with other, hostile.http_redirect(target.format(other.port)) as first:
        with pytest.raises(
            RestUnavailable,
            match=r"whose host and port `urls` does not name|redirected more than|Invalid IPv6",
        ):
            yarn_listing(first.where)
        assert other.asked == []


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:{}/",
        "//127.0.0.1:{}/",
        "http://u:p@127.0.0.1:{}/",
        "http://127.0.0.1:{}\\@127.0.0.1:{}/",
    ],
)
def test_a_redirect_to_another_port_of_a_configured_host_is_not_followed(target: str) -> None:
    with hostile.http_answer(b"{}") as other, HostilePeer(lambda: iter(())) as first:
        first._pieces = hostile.http_redirect(target.format(other.port, first.port))._pieces
        with pytest.raises(RestUnavailable, match=r"whose host and port `urls` does not name|Port could not"):
            yarn_listing(first.where)
        assert other.asked == []


def test_a_redirect_to_a_configured_host_is_followed() -> None:
    with ResourceManager(app(1)) as active, HostilePeer(lambda: iter(()), address="127.0.0.2") as standby:
        standby._pieces = hostile.http_redirect(f"{active.url}/ws/v1/cluster/apps")._pieces
        following = _yarn(Following(active), urls=(f"http://{standby.where}", active.url))
        assert len(following.plan().splits) == 1
        assert len(standby.asked) == 1


def test_a_redirect_from_tls_to_plain_http_is_not_followed(tmp_path: Path) -> None:
    tls = certificate(tmp_path)
    with ResourceManager(app(1)) as plain, ResourceManager() as service:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tls.certificate, tls.key)
        service._server.socket = context.wrap_socket(service._server.socket, server_side=True)
        service.routes["/"] = lambda path, _: (307, {"Location": plain.url + path}, b"")
        service.routes.pop("/ws/v1/cluster/apps")
        url = service.url.replace("http:", "https:")
        with pytest.raises(RestUnavailable, match="which is without TLS"):
            _yarn(Following(plain), urls=(url,), ca_file=str(tls.certificate)).plan()
        assert plain.asked == []
