"""Users and tokens: authentication, the file that stores them, and throttling of password guesses."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from navlin.access.attempts import FREE, FREE_OF_ADDRESS, FREE_OF_NAME, MOST_WAIT_S, REMEMBERED, Attempts
from navlin.access.authentication import (
    LOOKS_AT_ONCE,
    Authentication,
    AuthenticationFailed,
    Caller,
    DeferredCheck,
)
from navlin.access.known_addresses import KnownAddresses
from navlin.access.proxy import Proxy
from navlin.access.roles import Role
from navlin.access.sessions import Sessions
from navlin.access.store import FILE, AccessError, AccessFile, User
from navlin.cli import main

NOW_MS = 1_800_000_000_000
PASSWORD = "correct horse battery"


class Clock:
    """Monotonic clock in seconds, advanced by the test."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def user_of(authentication: Authentication, *shown: Any) -> User | AuthenticationFailed:
    found = authentication.caller(*shown)
    settled = found.ask() if isinstance(found, DeferredCheck) else found
    return settled.user if isinstance(settled, Caller) else settled


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.fixture
def file(tmp_path: Path) -> AccessFile:
    file = AccessFile(tmp_path)
    file.add_user("ann", Role.ADMINISTRATOR, PASSWORD)
    return file


@pytest.fixture
def clock() -> Clock:
    return Clock()


def authentication_of(
    file: AccessFile, clock: Clock, state: Path, proxy: Proxy | None = None
) -> Authentication:
    sessions = Sessions(Path("nowhere"), 1, 1, lambda: NOW_MS)
    return Authentication(file, Attempts(clock), lambda: NOW_MS, sessions, KnownAddresses(state), proxy)


@pytest.fixture
def authentication(file: AccessFile, clock: Clock, tmp_path: Path) -> Authentication:
    return authentication_of(file, clock, tmp_path)


def test_a_user_is_authenticated_by_name_and_password(authentication: Authentication) -> None:
    for _ in range(2):
        user = user_of(authentication, basic("ann", PASSWORD), "127.0.0.1")
        assert isinstance(user, User)
        assert (user.name, user.role) == ("ann", Role.ADMINISTRATOR)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic %%%",
        "Basic " + base64.b64encode(b"\xff\xfe").decode(),
        "Basic " + base64.b64encode(b"ann").decode(),
        basic("ann", ""),
        basic("ann", PASSWORD + " "),
        basic("Ann", PASSWORD),
        basic("nobody", PASSWORD),
        basic("", ""),
        basic("ann", "x" * 100_000),
        "Bearer ",
        "Bearer navlin_",
        "Bearer " + PASSWORD,
        "Negotiate YII",
        PASSWORD,
    ],
)
def test_invalid_credentials_are_refused(authentication: Authentication, header: str) -> None:
    assert isinstance(user_of(authentication, header, "127.0.0.1"), AuthenticationFailed)


def test_the_access_file_has_no_plain_secrets_and_is_private(file: AccessFile, tmp_path: Path) -> None:
    secret = file.add_token("ann", "backup", None, NOW_MS)
    content = (tmp_path / FILE).read_text()
    assert PASSWORD not in content
    assert secret not in content
    assert all(each.stat().st_mode & 0o077 == 0 for each in tmp_path.glob("access.json"))
    assert PASSWORD not in repr(file.read())


def test_a_change_takes_effect_at_the_next_request(authentication: Authentication, file: AccessFile) -> None:
    file.add_user("bob", Role.LINEAGE_VIEWER, PASSWORD)
    bob = user_of(authentication, basic("bob", PASSWORD), "")
    assert isinstance(bob, User)
    file.set_role("bob", Role.METADATA_ADMINISTRATOR)
    risen = user_of(authentication, basic("bob", PASSWORD), "")
    assert isinstance(risen, User)
    assert risen.role is Role.METADATA_ADMINISTRATOR
    file.set_password("bob", PASSWORD + "2")
    assert isinstance(user_of(authentication, basic("bob", PASSWORD), ""), AuthenticationFailed)
    assert isinstance(user_of(authentication, basic("bob", PASSWORD + "2"), ""), User)
    file.remove_user("bob")
    assert isinstance(user_of(authentication, basic("bob", PASSWORD + "2"), ""), AuthenticationFailed)


def test_a_token_is_valid_for_its_user_until_it_expires(
    file: AccessFile, authentication: Authentication
) -> None:
    file.add_user("bob", Role.METADATA_ADMINISTRATOR, PASSWORD)
    lasting = file.add_token("bob", "", None, NOW_MS)
    lesser = file.add_token("bob", "", Role.LINEAGE_VIEWER, NOW_MS)
    greater = file.add_token("bob", "", Role.ADMINISTRATOR, NOW_MS)
    old = file.add_token("bob", "", None, NOW_MS - 86_400_000, days=1)
    roles = []
    for secret in (lasting, lesser, greater):
        user = user_of(authentication, "Bearer " + secret, "")
        assert isinstance(user, User)
        roles.append(user.role)
    assert roles == [Role.METADATA_ADMINISTRATOR, Role.LINEAGE_VIEWER, Role.METADATA_ADMINISTRATOR]
    assert isinstance(user_of(authentication, "Bearer " + old, ""), AuthenticationFailed)

    file.set_role("bob", Role.LINEAGE_VIEWER)
    user = user_of(authentication, "Bearer " + lasting, "")
    assert isinstance(user, User)
    assert user.role is Role.LINEAGE_VIEWER, "a token never may more than its user"

    (first, *_) = file.read().tokens
    file.revoke_token(first)
    assert isinstance(user_of(authentication, "Bearer " + lasting, ""), AuthenticationFailed)
    file.remove_user("bob")
    assert isinstance(user_of(authentication, "Bearer " + lesser, ""), AuthenticationFailed)
    assert file.read().tokens == {}


def test_guessing_is_throttled_and_passwords_are_not_checked_meanwhile(
    authentication: Authentication, clock: Clock
) -> None:
    for _ in range(FREE + 1):
        assert isinstance(user_of(authentication, basic("ann", "wrong"), "10.0.0.1"), AuthenticationFailed)
    found = user_of(authentication, basic("ann", PASSWORD), "10.0.0.1")
    assert isinstance(found, AuthenticationFailed)
    assert found.wait_s > 0
    assert isinstance(user_of(authentication, basic("ann", PASSWORD), "10.0.0.2"), User), (
        "from elsewhere ann is not locked out"
    )
    clock.now_s += found.wait_s
    assert isinstance(user_of(authentication, basic("ann", PASSWORD), "10.0.0.1"), User)


def test_concurrent_guesses_do_not_bypass_the_throttle(authentication: Authentication) -> None:
    with ThreadPoolExecutor(40) as strangers:
        found = list(
            strangers.map(
                lambda each: user_of(authentication, basic("ann", f"guess {each}"), "10.0.0.1"), range(40)
            )
        )
    looked_at = [each for each in found if isinstance(each, AuthenticationFailed) and not each.wait_s]
    assert len(looked_at) <= FREE + 1 + LOOKS_AT_ONCE


def test_guesses_for_one_name_are_throttled_across_addresses(
    authentication: Authentication, clock: Clock, tmp_path: Path
) -> None:
    assert isinstance(user_of(authentication, basic("ann", PASSWORD), "10.0.0.1"), User)
    found = [user_of(authentication, basic("ann", f"guess {each}"), f"10.0.1.{each}") for each in range(60)]
    assert (
        sum(isinstance(each, AuthenticationFailed) and not each.wait_s for each in found) == FREE_OF_NAME + 1
    )

    restarted = authentication_of(AccessFile(tmp_path), clock, tmp_path)
    for each in range(60):
        user_of(restarted, basic("ann", f"guess {each}"), f"10.0.1.{each}")
    elsewhere = user_of(restarted, basic("ann", PASSWORD), "10.0.0.2")
    assert isinstance(elsewhere, AuthenticationFailed)
    assert elsewhere.wait_s > 0
    assert isinstance(user_of(restarted, basic("ann", PASSWORD), "10.0.0.1"), User), "ann is known there"
    clock.now_s += elsewhere.wait_s
    assert isinstance(user_of(restarted, basic("ann", PASSWORD), "10.0.0.2"), User)


@pytest.mark.parametrize("network", ["10.0.0.1", "2001:db8:0:1::{:x}"])
def test_guesses_of_invented_names_are_throttled_per_address(
    authentication: Authentication, file: AccessFile, network: str
) -> None:
    file.add_user("bob", Role.LINEAGE_VIEWER, PASSWORD)
    assert isinstance(user_of(authentication, basic("bob", PASSWORD), network.format(0)), User)
    found = [user_of(authentication, basic(f"n{each}", "guess"), network.format(each)) for each in range(60)]
    assert (
        sum(isinstance(each, AuthenticationFailed) and not each.wait_s for each in found)
        == FREE_OF_ADDRESS + 1
    )
    file.set_role("bob", Role.METADATA_ADMINISTRATOR)  # Discards the remembered passwords
    assert isinstance(user_of(authentication, basic("bob", PASSWORD), network.format(0)), User)
    newcomer = user_of(authentication, basic("ann", PASSWORD), network.format(0))
    assert isinstance(newcomer, AuthenticationFailed)
    assert newcomer.wait_s > 0


def test_addresses_not_used_for_long_are_forgotten(tmp_path: Path) -> None:
    places = KnownAddresses(tmp_path)
    places.note("ann", "10.0.0.1")
    places.note("ann", "10.0.0.2")
    assert places.known("ANN", "10.0.0.1")
    assert not places.known("ann", "10.0.0.3")
    for file in (tmp_path / "known-places").iterdir():
        assert (file.stat().st_mode & 0o777, file.read_bytes()) == (0o600, b"")
        os.utime(file, (0, 0))
    assert not places.known("ann", "10.0.0.1")
    places.note("ann", "10.0.0.3")
    assert len([*(tmp_path / "known-places").iterdir()]) == 1


def test_the_wait_doubles_up_to_a_quarter_of_an_hour(clock: Clock) -> None:
    attempts = Attempts(clock)
    waits = []
    for _ in range(FREE + 14):
        attempts.wrong("a", "n")
        waits.append(attempts.wait_s("a", "n"))
    assert waits[:FREE] == [0.0] * FREE
    assert waits[FREE : FREE + 4] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == MOST_WAIT_S


def test_guesses_of_other_names_do_not_clear_a_names_wait(clock: Clock) -> None:
    attempts = Attempts(clock)
    for _ in range(FREE + 1):
        attempts.wrong("a", "ann")
    for number in range(REMEMBERED + 10):
        attempts.wrong("a", str(number))
    assert attempts.wait_s("a", "ann", known=True) == 1.0


@pytest.mark.parametrize(
    ("name", "password"), [("ann", "x" * 1_025), ("ann", ""), ("a" * 200, "guess"), ("no name", "guess")]
)
def test_an_impossible_name_or_password_is_not_a_guess(
    authentication: Authentication, name: str, password: str
) -> None:
    for _ in range(FREE + 3):
        refused = user_of(authentication, basic(name, password), "10.0.0.1")
        assert isinstance(refused, AuthenticationFailed)
        assert refused.wait_s == 0
    assert isinstance(user_of(authentication, basic("ann", PASSWORD), "10.0.0.1"), User)


def test_attempts_take_bounded_memory(clock: Clock) -> None:
    attempts = Attempts(clock)
    for number in range(REMEMBERED + 10):
        attempts.wrong(f"a{number}", str(number))
    assert {len(each) for each in (attempts._of_both, attempts._of_name, attempts._of_address)} == {
        REMEMBERED
    }


@pytest.mark.parametrize(
    ("address", "named", "role", "who"),
    [
        ("10.0.0.5", ["ann"], None, "ann"),
        ("::ffff:10.0.0.5", ["ann"], None, "ann"),
        ("10.0.0.6", ["ann"], None, ""),
        ("", ["ann"], None, ""),
        ("10.0.0.5", ["stranger"], None, ""),
        ("10.0.0.5", ["stranger"], Role.LINEAGE_VIEWER, "stranger"),
        ("10.0.0.6", ["stranger"], Role.LINEAGE_VIEWER, ""),
        ("10.0.0.5", ["ann", "stranger"], Role.LINEAGE_VIEWER, ""),
        ("10.0.0.5", [""], Role.LINEAGE_VIEWER, ""),
        ("10.0.0.5", ["a b"], Role.LINEAGE_VIEWER, ""),
        ("10.0.0.5", [], Role.LINEAGE_VIEWER, ""),
    ],
)
def test_only_a_trusted_proxy_may_name_the_user(
    file: AccessFile,
    clock: Clock,
    tmp_path: Path,
    address: str,
    named: list[str],
    role: Role | None,
    who: str,
) -> None:
    proxy = Proxy(frozenset({"10.0.0.5"}), "X-Forwarded-User", role)
    found = user_of(authentication_of(file, clock, tmp_path, proxy), "", address, named)

    assert (found.name if isinstance(found, User) else "") == who
    if isinstance(found, User):
        assert found.role is (Role.ADMINISTRATOR if who == "ann" else role)


def test_few_passwords_are_checked_at_once(
    authentication: Authentication, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed, begun, most = hashlib.scrypt, [0], [0]
    lock = threading.Lock()

    def counted(*args: Any, **how: Any) -> bytes:
        with lock:
            begun[0] += 1
            most[0] = max(most[0], begun[0])
        try:
            return hashed(*args, **how)
        finally:
            with lock:
                begun[0] -= 1

    monkeypatch.setattr(hashlib, "scrypt", counted)
    strangers = [
        threading.Thread(target=user_of, args=(authentication, basic(f"stranger-{each}", "x"), "10.0.0.1"))
        for each in range(8)
    ]
    for each in strangers:
        each.start()
    for each in strangers:
        each.join()

    assert 1 <= most[0] <= LOOKS_AT_ONCE


def test_the_last_administrator_cannot_be_removed(file: AccessFile) -> None:
    with pytest.raises(AccessError, match="last administrator"):
        file.remove_user("ann")
    with pytest.raises(AccessError, match="last administrator"):
        file.set_role("ann", Role.LINEAGE_VIEWER)
    file.add_user("bob", Role.ADMINISTRATOR, PASSWORD)
    file.remove_user("ann")


def test_the_first_start_creates_an_administrator_with_a_password_file(tmp_path: Path) -> None:
    made = AccessFile(tmp_path).make_first_user()
    assert made is not None
    assert made.stat().st_mode & 0o777 == 0o600
    authentication = authentication_of(AccessFile(tmp_path), Clock(), tmp_path)
    user = user_of(authentication, basic("admin", made.read_text().strip()), "")
    assert isinstance(user, User)
    assert user.role is Role.ADMINISTRATOR
    assert AccessFile(tmp_path).make_first_user() is None


def test_concurrent_changes_by_several_processes_are_all_kept(file: AccessFile, tmp_path: Path) -> None:
    def add(first: int) -> None:
        for number in range(first, first + 3):
            AccessFile(tmp_path).add_user(f"user{number}", Role.LINEAGE_VIEWER, PASSWORD)

    threads = [threading.Thread(target=add, args=(first,)) for first in (0, 10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(file.read().users) == 10


@pytest.mark.parametrize("content", ["", "{", "[]", '{"users": [{}], "tokens": []}', '{"users": []}'])
def test_an_unreadable_access_file_lets_nobody_in(file: AccessFile, tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(AccessError, match=FILE):
        file.read()
    with pytest.raises(AccessError, match=FILE):
        file.make_first_user()
    assert (tmp_path / FILE).read_text() == content


# -- Commands ----------------------------------------------------------------------------------------------------------


def run(home: Path, *arguments: str, typed: str = "") -> Result:
    (home / "navlin.toml").write_text('[navlin]\ncluster = "c"\nstate_directory = "state"\n')
    return CliRunner().invoke(main, ["--config", str(home / "navlin.toml"), *arguments], input=typed)


def test_the_command_creates_lists_changes_and_removes_users(tmp_path: Path) -> None:
    added = run(tmp_path, "user", "add", "ann", "--role", "administrator", typed=f"{PASSWORD}\n{PASSWORD}\n")
    assert added.exit_code == 0, added.output
    assert PASSWORD not in added.output
    assert run(tmp_path, "user", "add", "bob", "--password-file", "-", typed=PASSWORD + "\n").exit_code == 0
    (tmp_path / "secret").write_text(PASSWORD + "3\n")
    assert (
        run(tmp_path, "user", "password", "bob", "--password-file", str(tmp_path / "secret")).exit_code == 0
    )
    listed = run(tmp_path, "user", "list", "--json")
    assert json.loads(listed.stdout) == [
        {"name": "ann", "role": "administrator"},
        {"name": "bob", "role": "lineage-viewer"},
    ]
    assert run(tmp_path, "user", "role", "bob", "metadata-administrator").exit_code == 0
    assert "bob                      metadata-administrator" in run(tmp_path, "user", "list").stdout
    assert AccessFile(tmp_path / "state").read().by_password("bob", PASSWORD + "3")
    assert run(tmp_path, "user", "remove", "bob").exit_code == 0
    assert "bob" not in run(tmp_path, "user", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "typed", "words"),
    [
        (("user", "add", "a:b"), PASSWORD, "is not a valid user name"),
        (("user", "add", "bob"), "short", "from 8 to"),
        (("user", "add", "bob"), "with\x1bescape", "printable"),
        (("user", "add", "ann"), PASSWORD, "already"),
        (("user", "password", "nobody"), PASSWORD, "no user nobody"),
    ],
)
def test_an_impossible_change_is_refused_with_a_message(
    tmp_path: Path, arguments: tuple[str, ...], typed: str, words: str
) -> None:
    AccessFile(tmp_path / "state").add_user("ann", Role.ADMINISTRATOR, PASSWORD)
    result = run(tmp_path, *arguments, "--password-file", "-", typed=typed)
    assert result.exit_code == 1
    assert words in result.stderr


def test_a_password_is_never_a_command_line_argument() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "navlin", "user", "add", "--help"], capture_output=True, text=True, check=True
    )
    assert "--password-file" in shown.stdout
    assert "--password " not in shown.stdout


def test_the_command_creates_lists_and_revokes_tokens(tmp_path: Path) -> None:
    AccessFile(tmp_path / "state").add_user("ann", Role.ADMINISTRATOR, PASSWORD)
    made = run(tmp_path, "token", "add", "ann", "--for", "grafana", "--role", "lineage-viewer", "--days", "7")
    secret = made.stdout.strip()
    (listed,) = json.loads(run(tmp_path, "token", "list", "--json").stdout)
    assert (listed["user"], listed["role"], listed["for"]) == ("ann", "lineage-viewer", "grafana")
    assert listed["expires_ms"] - listed["created_ms"] == 7 * 86_400_000
    assert "grafana" in run(tmp_path, "token", "list").stdout
    user = AccessFile(tmp_path / "state").read().by_token(secret, listed["created_ms"])
    assert user is not None
    assert user.role is Role.LINEAGE_VIEWER
    assert run(tmp_path, "token", "revoke", listed["id"]).exit_code == 0
    assert run(tmp_path, "token", "list").exit_code == 3
    assert "there is no token" in run(tmp_path, "token", "revoke", listed["id"]).stderr
