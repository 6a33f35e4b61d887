"""Each peer that navlin asks, with one that means harm in its place: the answer ends in time, is bounded, has its shape, and
comes from whom it was asked of."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from extractors.yarn.plan import SeenSplit
from extractors.yarn.rest import RestError, RestUnavailable
from navlin.model.keys import EntityType
from navlin.model.records import Entity, Reject
from tests.services import hostile
from tests.services.certificates import certificate
from tests.services.hostile import HostilePeer
from tests.services.rest import JobHistory, ResourceManager
from tests.support.yarn_rounds import Following, app, job

MIB: Final = 1 << 20
Made = Callable[[], AbstractContextManager[HostilePeer]]


@dataclass(frozen=True)
class Peer:
    """One that is asked. ``ask`` asks it at ``host:port``, with a timeout of ``silence_s``; ``by_tls`` does so by TLS."""

    ask: Callable[[str], Any]
    error: type[Exception]
    whole_s: float
    """how long an answer may take in all"""
    most_mib: int
    """how much of an answer is read"""
    attacks: dict[str, tuple[Made, str]] = field(default_factory=dict)
    """by name: who answers, and what is said then"""
    by_tls: Callable[[str], Any] | None = None
    names_it: bool = True
    """The error names host and port."""


SILENCE_S: Final = 0.5

HTTP_SILENT: Final[dict[str, tuple[Made, str]]] = {
    "silence": (hostile.silence, r"no answer within 0.5 s|timed out"),
    "drip": (hostile.http_drip, "its answer is not whole after 2 s"),
    "drip of a head": (hostile.http_head_drip, "its answer is not whole after 2 s"),
    "endless size of a chunk": (hostile.http_endless_chunk_size, "chunk"),
    "close in the middle": (hostile.http_cut, "IncompleteRead|8 bytes read"),
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


def _yarn(following: Following, **settings: Any) -> Following:
    following.extractor = replace(following.extractor, **settings)
    return following


def shapes(*bodies: bytes) -> dict[str, tuple[Made, str]]:
    words = "shape|not JSON|no property"
    return {f"shape {body[:40]!r}": (partial(hostile.http_answer, body), words) for body in bodies}


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
        by_tls=lambda where: yarn_listing(where, "https"),
    ),
    "the JobHistoryServer": Peer(
        yarn_history,
        RestError,
        whole_s=2,
        most_mib=128,
        attacks=HTTP_SILENT,
        by_tls=lambda where: yarn_history(where, "https"),
    ),
}  # fmt: skip


@contextmanager
def refused(peer: Peer, words: str, where: str) -> Iterator[None]:
    begun_s = time.monotonic()
    with pytest.raises(peer.error, match=words) as error:
        yield
    assert time.monotonic() - begun_s < peer.whole_s + 3
    assert where in str(error.value) or not peer.names_it


@pytest.mark.parametrize(
    ("name", "attack"), [(name, attack) for name, peer in PEERS.items() for attack in peer.attacks]
)
def test_what_a_hostile_peer_answers_ends_and_is_refused(name: str, attack: str) -> None:
    peer = PEERS[name]
    made, words = peer.attacks[attack]
    with made() as other:
        with refused(peer, words, other.where):
            peer.ask(other.where)
        assert other.sent < (peer.most_mib + 16) * MIB


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.by_tls])
@pytest.mark.parametrize("stall", [hostile.silence, hostile.tls_drip])
def test_a_peer_that_stalls_tls_is_given_up(name: str, stall: Made) -> None:
    peer = PEERS[name]
    assert peer.by_tls is not None
    with stall() as other, refused(peer, "timed out|in time|no answer within 0.5 s", other.where):
        peer.by_tls(other.where)


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b"null", b'{"conf":{}}', b'{"conf":{"property":[]}}', b'{"conf":[]}', b'{"apps":{}}'],
)
def test_a_configuration_of_another_shape_is_rejected_and_its_job_incomplete(body: bytes) -> None:
    with hostile.http_answer(body) as other:
        records = yarn_history(other.where)
    [reject] = [each for each in records if isinstance(each, Reject)]
    assert other.where in reject.reason
    [operation] = [
        each for each in records if isinstance(each, Entity) and each.key.type is EntityType.OPERATION
    ]
    assert operation.attributes["incompleteReasons"] == [
        "its job's configuration did not read, or never came"
    ]


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{}/ws/v1/cluster/apps", "https://127.0.0.2:{}/", "http://[::1", "/x"]
)
def test_a_redirect_to_a_host_that_nobody_configured_is_not_followed(target: str) -> None:
    believed = b'{"apps":{"app":[{"id":"application_1_0001"}]}}'
    other = HostilePeer(lambda: iter((b"HTTP/1.1 200 OK\r\n\r\n" + believed,)), address="127.0.0.2")
    with other, hostile.http_redirect(target.format(other.port)) as first:
        with pytest.raises(
            RestUnavailable, match=r"whose host `urls` does not name|redirected more than|Invalid IPv6"
        ):
            yarn_listing(first.where)
        assert other.asked == []


def test_a_redirect_to_a_host_that_is_configured_is_followed() -> None:
    with ResourceManager(app(1)) as active, HostilePeer(lambda: iter(()), address="127.0.0.2") as standby:
        standby._pieces = hostile.http_redirect(f"{active.url}/ws/v1/cluster/apps")._pieces
        following = _yarn(Following(active), urls=(f"http://{standby.where}", active.url))
        assert len(following.plan().splits) == 1
        assert len(standby.asked) == 1


def test_a_redirect_that_leaves_tls_is_not_followed(tmp_path: Path) -> None:
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
