"""Bounds on what one request may cost, each at its limit and just beyond it, without a server."""

from __future__ import annotations

import gzip
import threading
from functools import partial
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.types import Message

from navlin.access.authentication import AuthenticationFailed, Caller, DeferredCheck
from navlin.access.roles import Role
from navlin.access.store import User
from navlin.api.answers import HttpError
from navlin.api.application import answered
from navlin.api.bodies import Bodies, json_of
from navlin.api.callers import CheckQueues
from navlin.api.endpoint import Endpoint
from navlin.api.limits import Questions
from navlin.api.packed_bodies import plain_body
from navlin.questions.declare.shared import Nothing

ANN = User("ann", Role.LINEAGE_VIEWER, "")


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    "body",
    [
        nested(100),
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b'["' + b"[" * 1_000 + b'"]',
        # The text goes on in the next piece of the scan, and a quote is escaped at its end.
        b'["' + b"[" * 65_533 + b'\\"' + b"[" * 1_000 + b'"]',
        b"[" + b"1," * 99_997 + b"1]",
    ],
    ids=["lists", "objects", "brackets in a text", "a text in two pieces", "many values"],
)
def test_json_within_its_bounds_is_parsed(body: bytes) -> None:
    assert json_of(body)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (nested(101), 400, "nested more than 100 deep"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, 400, "nested more than 100 deep"),
        (b'[""' + b"," * 70_000 + nested(100) + b"]", 400, "nested more than 100 deep"),
        (b"[" + b"1," * 100_000 + b"1]", 413, "more than 100,000 values"),
        (b"[" + b"{}," * 100_000 + b"{}]", 413, "more than 100,000 values"),
        (b'""' * 100_001, 413, "more than 100,000 values"),
    ],
    ids=["lists", "objects", "beyond the first piece", "numbers", "objects side by side", "texts"],
)
def test_json_beyond_its_bounds_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch, body: bytes, status: int, words: str
) -> None:
    monkeypatch.setattr("navlin.api.bodies.orjson.loads", lambda _body: pytest.fail("it was parsed"))
    with pytest.raises(HttpError, match=words) as refused:
        json_of(body)
    assert refused.value.status == status


def test_a_packed_body_is_unpacked_only_up_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navlin.api.packed_bodies.MOST_BYTES", 1 << 20)
    assert len(plain_body(gzip.compress(b" " * (1 << 20)), "gzip")) == 1 << 20
    # The end of the second one is missing, which would be noticed only after everything was unpacked.
    for body in (gzip.compress(b" " * ((1 << 20) + 1)), gzip.compress(b" " * (8 << 20))[:-9]):
        with pytest.raises(HttpError, match="too large") as refused:
            plain_body(body, "gzip")
        assert refused.value.status == 413


def test_a_body_may_have_ten_thousand_members_of_gzip() -> None:
    member = gzip.compress(b"")
    assert plain_body(member * 10_000, "gzip") == b""
    with pytest.raises(HttpError, match="at most 10,000 members") as refused:
        plain_body(member * 10_001, "gzip")
    assert refused.value.status == 413


def test_the_body_of_a_caller_without_the_role_is_not_read() -> None:
    endpoint = Endpoint(
        "POST", "/purge", Role.ADMINISTRATOR, "", Nothing, lambda _asked: pytest.fail("it was answered")
    )

    async def receive() -> Message:
        pytest.fail("the body was read")

    scope = {
        "type": "http", "method": "POST", "path": "/purge", "query_string": b"", "path_params": {},
        "headers": [(b"content-length", b"9")], "state": {"user": ANN, "caller": Caller(ANN, "password")},
    }  # fmt: skip
    service: Any = SimpleNamespace()

    async def ask() -> None:
        with pytest.raises(HttpError, match="administrator role") as refused:
            await answered(service, Questions(), Bodies(), "/purge", endpoint, Request(scope, receive))
        assert refused.value.status == 403

    anyio.run(ask)


def test_passwords_beyond_the_queue_are_refused_and_other_callers_are_not() -> None:
    """One is being checked and twenty wait; those of known users and of a directory have queues of their own."""
    over = threading.Event()
    checked: list[str] = []

    def check(name: str, kind: Any) -> DeferredCheck:
        def ask() -> Caller:
            if kind == "stranger":
                assert over.wait(60)
            checked.append(name)
            return Caller(User(name, Role.LINEAGE_VIEWER, ""), "password")

        return DeferredCheck(ask, kind, name)

    async def all_ask() -> None:
        queues = CheckQueues()

        async def stranger(name: str) -> None:
            assert isinstance(await queues.caller(partial(check, name, "stranger")), Caller)

        async with anyio.create_task_group() as tasks:
            for number in range(21):
                tasks.start_soon(stranger, f"stranger-{number}")
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(30):
                refused = await queues.caller(partial(check, "one more", "stranger"))
                assert refused == AuthenticationFailed(
                    "too many login attempts; try again", "one more", wait_s=1.0
                )
                for kind in ("known", "directory"):
                    assert isinstance(await queues.caller(partial(check, kind, kind)), Caller)
            assert checked == ["known", "directory"]
            over.set()

    anyio.run(all_ask)
    assert len(checked) == 23
