"""Users of an LDAP directory, tested on a real LDAP server.

An attacker must not succeed in any of these attempts:

- to log in with an empty name, an empty password, or a password that a C program reads as empty, because servers take
  an empty password for an anonymous bind;
- to break out of a name into a filter or another DN, or to log in as another user by a different spelling of the name;
- to log in as a local user of navlin, such as an administrator, by creating a user with that name in the directory;
- to obtain a user's password or that of the bind account: through a server without TLS, with another certificate, by
  data injected before TLS, by a referral to another server, from the log, or from a response;
- to block all threads of the process with a directory that does not respond, or to lock accounts by one attempt that is
  sent to several servers;
- to stay logged in after leaving a group or the directory, or after the cached answer has expired.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sansldap import ExtendedOperations, LDAPFilter, LDAPResultCode, LDAPServer, SearchScope

from navlin.access.attempts import Attempts
from navlin.access.authentication import Authentication, AuthenticationFailed, Caller, DeferredCheck
from navlin.access.directory import Directory, DirectoryFailed, UnknownUser
from navlin.access.known_addresses import KnownAddresses
from navlin.access.ldap import LdapEndpoint, conversation, escaped
from navlin.access.roles import Role
from navlin.access.sessions import Sessions
from navlin.access.store import AccessFile
from navlin.cli import main
from navlin.index.solr.solr import Solr
from navlin.service.settings.configuration import BadConfiguration, read_configuration
from tests.services.certificates import certificate
from tests.services.ldap import (
    ACCOUNT,
    ACCOUNT_PASSWORD,
    BASE,
    ODD,
    PASSWORD,
    LdapServer,
    dn_of,
    group,
    person,
)
from tests.support.http_browser import Browser
from tests.support.web import PASSWORD as OWN_PASSWORD
from tests.support.web import running_web

NOW_MS = 1_800_000_000_000
GROUPS: dict[str, Any] = {
    "administrators": [group("admins")],
    "metadata_administrators": [group("stewards")],
    "lineage_viewers": [group("viewers")],
    "refused": [group("leavers")],
}


def section(ldap: LdapServer, **settings: Any) -> str:
    """An ``[ldap]`` section whose account searches for users. A setting that is None is left out."""
    account = ldap.directory / "account.password"
    account.write_text(ACCOUNT_PASSWORD + "\n")
    given = {
        "urls": [ldap.tls_url],
        "ca_file": str(ldap.tls.certificate),
        "timeout_s": 10.0,
        "search_base": BASE,
        "bind_dn": ACCOUNT,
        "bind_password_file": str(account),
        **GROUPS,
        **settings,
    }
    lines = (
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in given.items()
        if value is not None
    )
    return "[ldap]\n" + "".join(lines)


PATTERN: dict[str, Any] = {
    "search_base": None,
    "bind_dn": None,
    "bind_password_file": None,
    "user_dn": f"uid={{name}},ou=people,{BASE}",
}
"""Settings for finding users by a DN pattern, without an account."""


@pytest.fixture
def directory(ldap: LdapServer, tmp_path: Path) -> Callable[..., Directory]:
    """Function that makes a Directory with the given settings."""

    def made(**settings: Any) -> Directory:
        file = tmp_path / "navlin.toml"
        file.write_text('[navlin]\ncluster = "c"\n' + section(ldap, **settings))
        directory = read_configuration(file, None, {}).ldap.directory
        assert directory is not None
        ldap.asked()
        return directory

    return made


def role_of(directory: Directory, name: str, password: str = PASSWORD) -> Role | str:
    """The user's role, or the reason why login is refused."""
    try:
        return directory.user(name, password).role
    except UnknownUser as error:
        return str(error)


def test_directory_users_log_in_and_local_users_do_not_need_it(
    ldap: LdapServer, solr: Solr, tmp_path: Path
) -> None:
    with running_web(solr.address, tmp_path, section(ldap, remember_s=1.0)) as web:
        browser = Browser(web)
        assert browser.log_in("ann", "wrong").status_code == 401
        told = browser.log_in("ann", PASSWORD).json()
        assert (told["user"], told["role"]) == ("ann", "administrator")
        ldap.asked()
        for _ in range(3):
            answer = web.send("GET", "/session", None, headers={"Authorization": basic("bob", PASSWORD)})
            assert (answer.status_code, answer.json()["role"]) == (200, "metadata-administrator")
        binds = [each for each in ldap.asked() if each == ("bind", dn_of("bob"))]
        assert len(binds) == 1, "Basic on each request does not ask the directory each time"
        assert (
            Browser(web).log_in("dan", PASSWORD).json()["message"]
            == "dan is not in a group that has a role here"
        )
        stolen = Browser(web).log_in("chief", PASSWORD)
        assert stolen.status_code == 401, "whoever is called chief in the directory is not our chief"
        checked = CliRunner().invoke(main, ["--config", str(web.file), "check", "--json"])
        (found,) = [each for each in json.loads(checked.stdout) if each["subject"] == "ldap"]
        assert found["fine"]
        assert found["text"] == f"{ldap.tls_url} answers, and the bind account {ACCOUNT} works"

        ldap.close()
        try:
            silent = Browser(web).log_in("bob", PASSWORD + " ")
            assert silent.status_code == 503
            assert silent.json()["message"].startswith("the directory of users does not answer")
            assert ldap.tls_url not in silent.text
            assert Browser(web).log_in("chief", OWN_PASSWORD).status_code == 200
            assert web.get("/session", "viewer").status_code == 200
            time.sleep(1.1)
            assert browser.known(), "a session goes on without the directory"
            checked = CliRunner().invoke(main, ["--config", str(web.file), "check", "--json"])
            (found,) = [each for each in json.loads(checked.stdout) if each["subject"] == "ldap"]
            assert (found["fine"], found["needed"]) == (False, False)
            assert found["text"] == f"{ldap.tls_url}: Connection refused"
        finally:
            ldap.open()
        noted = json.dumps(web.log)
        assert f"{ldap.tls_url}: Connection refused" in noted, "the log says which server, and why"
        assert PASSWORD not in noted
        assert ACCOUNT_PASSWORD not in noted


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


# -- Passwords and roles -------------------------------------------------------------------------------------------------

WRONG = "wrong user name or password"
SEVERAL = "the directory has several users of that name"


@pytest.mark.services
@pytest.mark.parametrize(
    ("name", "password", "expected"),
    [
        ("ann", PASSWORD, Role.ADMINISTRATOR),
        ("ANN", PASSWORD, Role.ADMINISTRATOR),
        ("bob", PASSWORD, Role.METADATA_ADMINISTRATOR),
        ("gil", PASSWORD, Role.LINEAGE_VIEWER),
        (ODD, PASSWORD, Role.LINEAGE_VIEWER),
        ("fay", PASSWORD, "fay is in a refused group"),
        ("dan", PASSWORD, "dan is not in a group that has a role here"),
        ("eve", PASSWORD, "eve is not in a group that has a role here"),
        ("twin", PASSWORD, SEVERAL),
        ("locked", PASSWORD, WRONG),
        ("nobody", PASSWORD, WRONG),
        ("ann", PASSWORD.upper(), WRONG),
        ("ann", PASSWORD + " ", WRONG),
        ("ann", "", WRONG),
        ("ann", "\0", WRONG),
        ("ann", "\0" + PASSWORD, WRONG),
        ("ann", "x" * 2_000, WRONG),
        ("", PASSWORD, WRONG),
        ("", "", WRONG),
        ("*", PASSWORD, WRONG),
        ("an*", PASSWORD, WRONG),
        ("ann)(uid=*", PASSWORD, WRONG),
        ("*)(|(uid=ann", PASSWORD, WRONG),
        ("ann,ou=others", PASSWORD, WRONG),
        ("ann\0", PASSWORD, WRONG),
        ("ann ", PASSWORD, WRONG),
        (" ann", PASSWORD, WRONG),
        ("\\61nn", PASSWORD, WRONG),
        ("umläut", PASSWORD, WRONG),
        (dn_of("ann"), PASSWORD, WRONG),
    ],
    ids=repr,
)
@pytest.mark.parametrize("how", [{}, PATTERN], ids=("by search", "by pattern"))
def test_a_user_who_can_bind_gets_the_role_of_their_groups(
    directory: Callable[..., Directory], how: dict[str, Any], name: str, password: str, expected: Role | str
) -> None:
    if name == "twin" and how:
        expected = "twin is not in a group that has a role here"
    assert role_of(directory(**how), name, password) == expected


@pytest.mark.services
def test_a_user_has_the_directorys_spelling_of_the_name(directory: Callable[..., Directory]) -> None:
    for how in ({}, PATTERN):
        made = directory(**how)
        assert {made.user(name, PASSWORD).name for name in ("gil", "GIL", "Gil")} == {"Gil"}


@pytest.mark.services
def test_an_empty_password_never_reaches_the_server(
    directory: Callable[..., Directory], ldap: LdapServer
) -> None:
    with conversation(LdapEndpoint(ldap.tls_url, ldap.tls.certificate), 10) as speaking:
        speaking._messages.bind_simple(dn_of("ann"), "")
        assert next(speaking._answers()).result.result_code == 0, "this server, as others do, says yes to it"  # type: ignore[attr-defined]
        for dn, password in (("", "x"), ("x", ""), ("x", "\0"), ("", "")):
            with pytest.raises(ValueError, match="empty"):
                speaking.bind(dn, password)
    made = directory(**PATTERN)
    for name, password in (("ann", ""), ("ann", "\0x"), ("", PASSWORD), ("ann)(uid=*", PASSWORD)):
        assert role_of(made, name, password) == WRONG
    assert ldap.asked() == []


@pytest.mark.services
@pytest.mark.parametrize(
    "text", ["*", "ann)(uid=*", "an\\6e", "ann,ou=people", "ann+cn=x", 'a"n#n;<>=', "\0", "a.b@c-d_e", "ä"]
)
def test_a_name_is_escaped_in_filters_and_dns(ldap: LdapServer, text: str) -> None:
    ldap.asked()
    with conversation(LdapEndpoint(ldap.tls_url, ldap.tls.certificate), 10) as speaking:
        assert speaking.bind(ACCOUNT, ACCOUNT_PASSWORD)
        found = speaking.entries(
            BASE, SearchScope.SUBTREE, LDAPFilter.from_string(f"(uid={escaped(text)})"), "uid"
        )
        assert [each.values for each in found] == ([{"uid": [ODD]}] if text == ODD else [])
        below = speaking.entries(
            f"uid={escaped(text)},ou=people,{BASE}",
            SearchScope.BASE,
            LDAPFilter.from_string("(objectClass=*)"),
            "uid",
        )
        assert [each.values for each in below] == ([{"uid": [ODD]}] if text == ODD else [])
    assert escaped(text).replace("\\", "").isalnum()


@pytest.mark.services
@pytest.mark.parametrize(
    ("settings", "roles"),
    [
        ({"membership": "memberOf"}, {"ann": 3, "bob": 2, "gil": 1, "eve": 0, "fay": 0}),
        ({"lineage_viewers": [group("company")]}, {"ann": 3, "eve": 0, "gil": 0}),
        (
            {"lineage_viewers": [group("company")], "membership": "nested"},
            {"ann": 3, "eve": 1, "dan": 0, "fay": 0},
        ),
        ({"default_role": "lineage-viewer"}, {"ann": 3, "dan": 1, "eve": 1, "fay": 0}),
        ({key: [] for key in GROUPS} | {"default_role": "lineage-viewer"}, {"ann": 1, "fay": 1, "nobody": 0}),
        ({"administrators": [group("no-such-group")]}, {"ann": 0, "bob": 2}),
        ({"search_filter": "(&(uid={name})(!(uid=ann)))"}, {"ann": 0, "bob": 2}),
        ({"name_attribute": "cn"}, {"ann": 0}),
    ],
    ids=str,
)
def test_settings_determine_the_groups_that_count(
    directory: Callable[..., Directory], settings: dict[str, Any], roles: dict[str, int]
) -> None:
    made = directory(**settings)
    for name, role in roles.items():
        found = role_of(made, name)
        assert (found if isinstance(found, Role) else 0) == role, (name, found)


# -- The connection ------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_passwords_are_sent_only_over_trusted_tls(
    directory: Callable[..., Directory], ldap: LdapServer, tmp_path: Path
) -> None:
    others = str(certificate(tmp_path / "others").certificate)
    untrusted, own = "its certificate is not trusted", str(ldap.tls.certificate)
    for url in (ldap.url, ldap.tls_url):
        assert role_of(directory(urls=[url]), "ann") is Role.ADMINISTRATOR
    by_name = ldap.tls_url.replace("127.0.0.1", "localhost")
    for settings, words in {
        (ldap.url, others): untrusted,
        (ldap.tls_url, others): untrusted,
        (ldap.tls_url, None): untrusted,
        (by_name, own): untrusted,
        (ldap.tls_url, "/nowhere/ca.pem"): "/nowhere/ca.pem cannot be read",
        (ldap.url.replace("ldap:", "ldaps:"), own): "SSL|closed",
    }.items():
        url, ca_file = settings
        made = directory(urls=[url], ca_file=ca_file)
        with pytest.raises(DirectoryFailed, match=words) as raised:
            made.user("ann", PASSWORD)
        assert str(raised.value).startswith(url)
        assert not [each for each in ldap.asked() if each[0] == "bind"], "no password went there"


@contextmanager
def speaking_server(answer: Callable[[socket.socket, bytes], None]) -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that calls ``answer`` for each piece that it receives. Yield the server's address and the list of
    all pieces.
    """
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    taken, _ = listening.accept()
                except OSError:
                    return
                with taken:
                    try:
                        while piece := taken.recv(65_536):
                            heard.append(piece)
                            answer(taken, piece)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"ldap://127.0.0.1:{listening.getsockname()[1]}", heard
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def start_tls_answer(result_code: int = 0) -> bytes:
    served = LDAPServer()
    client_hello = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x16" + ExtendedOperations.LDAP_START_TLS.value.encode()
    (request,) = served.receive(client_hello)
    served.extended_response(request.message_id, result_code=LDAPResultCode(result_code))
    return served.data_to_send()


@pytest.mark.services
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "it does not answer in time"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it sent something that is not LDAP"),
        (start_tls_answer(2), "it refused StartTLS"),
        (start_tls_answer(10), "referrals are not followed"),
        (start_tls_answer() + b"\x30\x0c\x02\x01", "it sent more than the answer to StartTLS"),
        (
            start_tls_answer() + bytes.fromhex("300c02010261070a010004000400"),
            "it sent something that is not LDAP",
        ),
        (start_tls_answer(), "in time|SSL|TLS"),
        (b"\x30\x84\x7f\xff\xff\xff" + b"\0" * (2 << 20), "more than 1 MiB"),
    ],
    ids=("silence", "http", "no", "referral", "a piece more", "an answer more", "no tls", "endless"),
)
def test_a_misbehaving_server_gets_no_password(
    directory: Callable[..., Directory], answer: bytes, words: str
) -> None:
    with speaking_server(lambda taken, _: taken.sendall(answer)) as (url, heard):
        begun_s = time.monotonic()
        with pytest.raises(DirectoryFailed, match=words):
            directory(urls=[url], timeout_s=1.0, **PATTERN).user("ann", PASSWORD)
        assert time.monotonic() - begun_s < 60, "the bound of one second, and what a busy machine adds"
    assert PASSWORD.encode() not in b"".join(heard)


@pytest.mark.services
def test_a_plain_text_password_requires_a_setting(
    directory: Callable[..., Directory], ldap: LdapServer
) -> None:
    with speaking_server(lambda _taken, _piece: None) as (url, heard):
        for in_clear in (False, True):
            with pytest.raises(DirectoryFailed):
                directory(urls=[url], timeout_s=0.5, passwords_in_clear=in_clear, **PATTERN).user(
                    "ann", PASSWORD
                )
            assert (PASSWORD.encode() in b"".join(heard)) == in_clear
    assert (
        role_of(directory(urls=[ldap.url], passwords_in_clear=True, ca_file=None), "ann")
        is Role.ADMINISTRATOR
    )


@pytest.mark.services
def test_referrals_are_not_followed(directory: Callable[..., Directory], ldap: LdapServer) -> None:
    with pytest.raises(
        DirectoryFailed, match="refers the search to another server, and referrals are not followed"
    ):
        directory(search_base=f"ou=elsewhere,{BASE}").user("ann", PASSWORD)


@pytest.mark.services
def test_servers_are_tried_in_order_until_one_answers(
    directory: Callable[..., Directory], ldap: LdapServer
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = f"ldaps://127.0.0.1:{listening.getsockname()[1]}"
        made = directory(urls=[silent, ldap.tls_url], timeout_s=5.0)
        made.clock = lambda: 0.0  # stop the clock of the directory
        assert role_of(made, "ann") is Role.ADMINISTRATOR
        listening.setblocking(False)
        listening.accept()[0].close()
        assert role_of(made, "ann") is Role.ADMINISTRATOR
        with pytest.raises(BlockingIOError):
            listening.accept()  # the silent server is not tried again for some time
    ldap.asked()
    both = directory(urls=[ldap.tls_url, ldap.url])
    assert role_of(both, "ann", "wrong") == WRONG
    assert ldap.asked().count(("bind", dn_of("ann"))) == 1, "a wrong password counts once"


@pytest.mark.services
def test_a_failing_bind_account_is_reported(
    directory: Callable[..., Directory], tmp_path: Path, ldap: LdapServer
) -> None:
    wrong, empty = tmp_path / "wrong", tmp_path / "empty"
    wrong.write_text("no such word\n")
    empty.write_text("\n")
    for file, words in (
        (wrong, "the bind account cn=navlin,ou=services,dc=example,dc=org was refused"),
        (empty, "is empty"),
        (tmp_path / "none", "none cannot be read"),
    ):
        made = directory(bind_password_file=str(file))
        with pytest.raises(DirectoryFailed, match=words):
            made.user("ann", PASSWORD)
        ((fine, text),) = made.check()
        assert not fine
        assert words in text
        assert "no such word" not in text
    for settings, words in (
        ({"administrators": [group("no-such")]}, f"the bind account finds no {group('no-such')}"),
        ({"search_base": "dc=nowhere"}, "the bind account finds no dc=nowhere"),
    ):
        ((fine, text),) = directory(**settings).check()
        assert (fine, text) == (False, f"{ldap.tls_url}: {words}")
    ((fine, text),) = directory(**PATTERN).check()
    assert (fine, text) == (
        True,
        f"{ldap.tls_url} answers; without a bind account nothing more can be checked",
    )


@pytest.mark.services
def test_a_silent_directory_delays_no_local_user(ldap: LdapServer, solr: Solr, tmp_path: Path) -> None:
    with speaking_server(lambda _taken, _piece: None) as (url, heard):
        silent = section(ldap, urls=[url], timeout_s=45.0, **PATTERN)
        with running_web(solr.address, tmp_path, silent) as web, ThreadPoolExecutor(60) as strangers:
            waiting = [strangers.submit(Browser(web).log_in, f"stranger{each}", "x") for each in range(60)]
            while not heard:
                time.sleep(0.05)
            for name in ("viewer", "editor"):
                assert web.get("/session", name).status_code == 200
            assert not any(each.done() for each in waiting), "before the directory has had its time"
            assert {each.result().status_code for each in waiting} == {503}


# -- Together with navlin's own users ------------------------------------------------------------------------------------


class Clock:
    """Clock in epoch ms, set by the test."""

    now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authentication(directory: Callable[..., Directory], tmp_path: Path, clock: Clock) -> Authentication:
    file = AccessFile(tmp_path / "state")
    file.add_user("chief", Role.LINEAGE_VIEWER, OWN_PASSWORD)
    sessions = Sessions(tmp_path / "state", 3_600, 36_000, clock)
    return Authentication(
        file,
        Attempts(lambda: clock.now_ms / 1000),
        clock,
        sessions,
        KnownAddresses(tmp_path / "state"),
        directory=directory(remember_s=60.0),
    )


def shown(
    authentication: Authentication, name: str, password: str = PASSWORD
) -> Caller | AuthenticationFailed:
    return settled(authentication.by_password(name, password, "10.0.0.1"))


def settled(found: Caller | AuthenticationFailed | DeferredCheck) -> Caller | AuthenticationFailed:
    return found.ask() if isinstance(found, DeferredCheck) else found


@pytest.mark.services
def test_a_local_user_is_never_looked_up_in_the_directory(
    authentication: Authentication, ldap: LdapServer
) -> None:
    assert isinstance(shown(authentication, "chief"), AuthenticationFailed)
    ours = shown(authentication, "chief", OWN_PASSWORD)
    assert isinstance(ours, Caller)
    assert ours.user.role is Role.LINEAGE_VIEWER
    assert ldap.asked() == []
    spelled = shown(authentication, "CHIEF")
    assert isinstance(spelled, AuthenticationFailed)
    assert spelled.reason == "chief is a local user of navlin, with a password of its own here"


@pytest.mark.services
def test_a_directory_answer_is_cached_briefly(
    authentication: Authentication, ldap: LdapServer, clock: Clock
) -> None:
    for _ in range(3):
        assert isinstance(shown(authentication, "ann"), Caller)
    assert isinstance(shown(authentication, "ann", "wrong"), AuthenticationFailed), (
        "what is remembered is the right password alone"
    )
    assert ldap.asked().count(("bind", dn_of("ann"))) == 2
    clock.now_ms += 60_000
    assert isinstance(shown(authentication, "ann"), Caller)
    assert ldap.asked().count(("bind", dn_of("ann"))) == 1


@pytest.mark.services
def test_guessing_is_throttled_before_the_directory_is_queried(
    authentication: Authentication, ldap: LdapServer
) -> None:
    for number in range(6):
        assert isinstance(
            shown(authentication, ("bob", "BOB", "Bob")[number % 3], f"guess {number}"), AuthenticationFailed
        )
    ldap.asked()
    locked = shown(authentication, "bob")
    assert isinstance(locked, AuthenticationFailed)
    assert locked.wait_s > 0
    assert ldap.asked() == []


@pytest.mark.services
def test_a_silent_directory_locks_nobody_out(authentication: Authentication, ldap: LdapServer) -> None:
    ldap.close()
    try:
        for _ in range(8):
            found = shown(authentication, "bob")
            assert isinstance(found, AuthenticationFailed)
            assert found.failed
            assert found.wait_s == 0
    finally:
        ldap.open()
    time.sleep(2)
    assert isinstance(shown(authentication, "bob"), Caller)


@pytest.mark.services
def test_a_session_ends_if_the_group_or_user_is_removed(
    authentication: Authentication, ldap: LdapServer, clock: Clock
) -> None:
    ldap.change("dn: " + person("ivy")[4:].replace("\nobjectClass", "\nchangetype: add\nobjectClass", 1))
    member = f"dn: {group('viewers')}\nchangetype: modify\n{{}}: memberUid\nmemberUid: ivy\n"
    ldap.change(member.format("add"))
    caller = shown(authentication, "ivy")
    assert isinstance(caller, Caller)
    session = authentication.log_in(caller)

    def asked() -> Caller | AuthenticationFailed:
        return settled(authentication.caller("", "10.0.0.1", (), session.secret))

    first = asked()
    assert isinstance(first, Caller)
    assert (first.user.name, first.user.role, first.means) == ("ivy", Role.LINEAGE_VIEWER, "session")
    ldap.change(member.format("delete"))
    assert isinstance(asked(), Caller), "for as long as an answer counts"
    clock.now_ms += 60_000
    assert isinstance(asked(), AuthenticationFailed)
    ldap.change(member.format("add"))
    assert isinstance(asked(), AuthenticationFailed), "what has ended stays so"

    clock.now_ms += 60_000
    again = shown(authentication, "ivy")
    assert isinstance(again, Caller)
    session = authentication.log_in(again)
    assert isinstance(asked(), Caller)
    ldap.change(f"dn: {dn_of('ivy')}\nchangetype: delete\n")
    clock.now_ms += 60_000
    assert isinstance(asked(), AuthenticationFailed)


BAD = {
    'user_dn = "uid={name},dc=x"': "user_dn needs urls",
    'urls = ["http://x"]\nuser_dn = "uid={name}"\ndefault_role = "lineage-viewer"': "begins with neither ldap:// nor ldaps://",
    'urls = ["ldaps://x/dc=y"]\nuser_dn = "uid={name}"\ndefault_role = "lineage-viewer"': "has more than a host and a port",
    'urls = ["ldaps://x:port"]\nuser_dn = "uid={name}"\ndefault_role = "lineage-viewer"': "cannot be parsed",
    'urls = ["ldaps://"]\nuser_dn = "uid={name}"\ndefault_role = "lineage-viewer"': "has no host",
    'urls = ["ldaps://x"]\ndefault_role = "lineage-viewer"': "needs either user_dn",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\nsearch_base = "dc=x"': "needs either user_dn",
    'urls = ["ldaps://x"]\nuser_dn = "uid=name"\ndefault_role = "lineage-viewer"': "user_dn must contain {name}",
    'urls = ["ldaps://x"]\nsearch_base = "dc=x"\ndefault_role = "lineage-viewer"': "search_base needs bind_dn",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\nbind_dn = "cn=x"\ndefault_role = "lineage-viewer"': "must be set",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\nsearch_filter = "(uid=x)"': "search_filter must contain {name}",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\nsearch_filter = "(uid={name}"': "is not a valid LDAP filter",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\ndefault_role = "chief"': "default_role must be one of",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"': "nobody could log in by urls",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\nmembership = "all"': "membership must be one of",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\ntimeout_s = 0': "timeout_s must be more than 0",
    'urls = ["ldaps://x"]\nuser_dn = "uid={name}"\nremember_s = -1': "remember_s must not be less than 0",
}


@pytest.mark.parametrize(("settings", "words"), BAD.items(), ids=BAD.values())
def test_inconsistent_settings_are_refused(tmp_path: Path, settings: str, words: str) -> None:
    file = tmp_path / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "c"\n\n[ldap]\n{settings}\n')
    with pytest.raises(BadConfiguration) as raised:
        read_configuration(file, None, {})
    assert words in str(raised.value)
