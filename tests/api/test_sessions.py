"""Browser sessions, through a real `navlin web`.

Attacks that must fail:

- writing with a cookie that the browser sends by itself: to any path, by any method, without the session's token,
  with another session's token, with a token in the URL, or with a form on another page;
- reading data that the cookie gives access to from another site's page; logging a user in as the attacker from
  another page;
- making a user use an id that the attacker knows (fixation); being two users at once with a second cookie;
- guessing ids or passwords; sending paths, or hashes from a session file, instead of ids;
- continuing a session that has ended: idle, too old, logged out here or everywhere, password or role changed (and
  changed back), user removed (and created again), process restarted;
- obtaining an id from a file, a log, a URL, plain HTTP, or a script in a page;
- redirecting a user to another site after login; filling the disk with sessions; breaking the service with a
  damaged file.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from click.testing import CliRunner
from starlette.routing import Route

from navlin.access.roles import Role
from navlin.access.sessions import CLOCK_MS, DIRECTORY, MOST_OF_A_USER, Sessions
from navlin.access.store import AccessFile, User
from navlin.api import navigator, own
from navlin.api.application import application
from navlin.api.own import ROOT
from navlin.cli import main
from navlin.index.solr.solr import Solr
from navlin.service.daemon.web import service_of
from navlin.service.settings.configuration import BadConfiguration, read_configuration
from tests.support.http_browser import Browser
from tests.support.web import PASSWORD, PATIENCE_S, Web, running_web, started_web

SEARCH = ROOT + "/search?query=x"
OF_HOSTS = ("/api/navlin/v1/lines/", "/api/forward/")
"""Beginnings of the addresses that take the tokens of hosts alone."""
COOKIE_ALONE = "a cookie is not enough to change anything"


def state_of(web: Web) -> Path:
    return web.file.parent / "state"


@pytest.fixture
def somebody(web: Web, request: pytest.FixtureRequest) -> str:
    name = "u" + hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]
    AccessFile(state_of(web)).add_user(name, Role.LINEAGE_VIEWER, PASSWORD)
    return name


@pytest.fixture
def browser(web: Web, somebody: str) -> Browser:
    browser = Browser(web)
    assert browser.log_in(somebody).status_code == 200
    return browser


# -- Logging in ----------------------------------------------------------------------------------------------------------


def test_a_login_returns_the_user_and_its_cookie_identifies_them(web: Web, somebody: str) -> None:
    browser = Browser(web)
    answer = browser.log_in(somebody)
    told = answer.json()
    assert (told["user"], told["role"], told["means"]) == (somebody, "lineage-viewer", "session")
    assert browser.send("GET", "/session").json() == told
    assert browser.send("GET", SEARCH).status_code == 200
    assert browser.send("POST", "/logout", headers={"X-Navlin-CSRF": told["csrf"]}).json() == {"ended": 1}
    assert browser.cookies == {}
    assert web.logged("logged in", user=somebody)[0]["path"].endswith("/login")
    assert web.logged("logged out", user=somebody)


def test_the_cookie_is_http_only_same_site_and_limited_to_its_path(web: Web, browser: Browser) -> None:
    (cookie,) = (browser.log_in("viewer").headers["Set-Cookie"],)
    name, _, rest = cookie.partition("=")
    instance = (state_of(web) / DIRECTORY / "instance").read_text()
    assert name == f"navlin-{instance}"
    assert re.fullmatch(r"[\w-]{43}; Path=/navlin; HttpOnly; SameSite=Lax", rest)


def test_a_form_login_redirects_only_within_this_server(web: Web, somebody: str) -> None:
    for wanted, there in {
        "/navlin/?view=detailsView&id=1": "/navlin/?view=detailsView&id=1",
        "": "/navlin/",
        "https://evil.example/": "/navlin/",
        "//evil.example/": "/navlin/",
        "/\\evil.example/": "/navlin/",
        "/\t/evil.example/": "/navlin/",
        "javascript:alert(1)": "/navlin/",
    }.items():
        browser = Browser(web)
        answer = browser.log_in(somebody, data={"name": somebody, "password": PASSWORD, "next": wanted})
        assert (answer.status_code, answer.headers["Location"]) == (303, there), wanted
        assert browser.known()


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"json": {"name": "viewer", "password": "wrong"}}, 401),
        ({"json": {"name": "viewer", "password": ""}}, 401),
        ({"json": {"name": "viewer"}}, 400),
        ({"json": {"name": "viewer", "password": 1}}, 400),
        ({"json": ["viewer", PASSWORD]}, 400),
        ({"data": b"{", "headers": {"Content-Type": "application/json"}}, 400),
        ({"data": b"\xff=1", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}, 400),
        ({"data": "name=viewer&name=chief&password=x"}, 415),
        ({"data": [("name", "viewer"), ("name", "chief"), ("password", PASSWORD)]}, 400),
        ({"data": json.dumps({"name": "viewer", "password": PASSWORD})}, 415),
        ({"json": {"name": "viewer", "password": "x" * 100_000}}, 413),
        ({"json": {"name": "viewer\n", "password": PASSWORD}}, 401),
    ],
)
def test_a_failed_login_sets_no_cookie(web: Web, how: dict[str, Any], status: int) -> None:
    answer = Browser(web).log_in("viewer", **how)
    assert answer.status_code == status, answer.text
    assert "Set-Cookie" not in answer.headers
    assert "WWW-Authenticate" not in answer.headers, "a page asks for the password, not the browser"


def test_guessing_passwords_at_login_is_throttled(web: Web, somebody: str) -> None:
    statuses = [Browser(web).log_in(somebody, "guessed").status_code for _ in range(6)]
    assert statuses == [401] * 6
    locked = Browser(web).log_in(somebody)
    assert locked.status_code == 429
    assert int(locked.headers["Retry-After"]) >= 1
    assert Browser(web).log_in(somebody.upper()).status_code == 429, "a name in capitals is no other name"
    assert web.get(SEARCH, somebody).status_code == 429, "the other doors are closed as well"
    assert "guessed" not in json.dumps(web.log)


def test_a_password_or_a_token_sets_no_cookie(web: Web, somebody: str) -> None:
    secret = AccessFile(state_of(web)).add_token(somebody, "test", None, 0)
    by_token = web.send("GET", SEARCH, None, headers={"Authorization": f"Bearer {secret}"})
    for answer in (web.get(SEARCH, somebody), by_token):
        assert answer.status_code == 200
        assert "Set-Cookie" not in answer.headers
    told = web.get("/session", somebody).json()
    assert (told["means"], told["csrf"]) == ("password", None)


# -- Writing -------------------------------------------------------------------------------------------------------------


def addresses(web: Web) -> Iterator[tuple[str, str]]:
    """Yield (method, path) of every endpoint, including unusual methods. One version of Navigator's API is enough,
    because all versions have the same handler."""
    app = application(service_of(read_configuration(web.file, None, {}), {}))
    for route in app.routes:
        assert isinstance(route, Route)
        path = re.sub(r"\{\w+\}", "x", route.path)
        if not re.match(r"/api/v\d", path) or path.startswith("/api/v14/"):
            methods = (route.methods or set()) - {"GET", "HEAD"}
            yield from ((method, path) for method in (*sorted(methods), "DELETE", "QUERY"))


def test_no_address_can_be_written_with_a_cookie_alone(web: Web, browser: Browser) -> None:
    open_to_all = {"/api/version", "/healthz", "/readyz", "/login"}
    every = [each for each in dict.fromkeys(addresses(web)) if each[1] not in open_to_all]
    of_hosts = [(method, path) for method, path in every if path.startswith(OF_HOSTS) and method != "QUERY"]
    assert of_hosts
    for method, path in of_hosts:
        for headers in ({}, {"X-Navlin-CSRF": browser.csrf}):
            assert browser.send(method, path, headers=headers).status_code in (401, 403, 405), (method, path)
    tried = [each for each in every if not each[1].startswith(OF_HOSTS)]
    written = {(each.method, f"{ROOT}{each.path}") for each in own.ENDPOINTS if each.method != "GET"}
    assert {(method, re.sub(r"\{\w+\}", "x", path)) for method, path in written} <= set(tried)
    for method, path in tried:
        alone = browser.send(method, path)
        assert (alone.status_code, COOKIE_ALONE in alone.text) == (403, True), (method, path)
    assert browser.known(), "nothing of that has ended it"
    for method, path in tried:
        if method in ("POST", "PUT") and path != "/logout":
            meant = browser.send(method, path, headers={"X-Navlin-CSRF": browser.csrf})
            assert COOKIE_ALONE not in meant.text, (method, path)
            assert meant.status_code != 401, (method, path)
    for path in open_to_all:
        assert browser.send("DELETE", path).status_code in (403, 405), path


def test_a_session_has_the_role_of_its_user_and_is_logged_as_that_user(
    web: Web, browser: Browser, somebody: str
) -> None:
    assert browser.write(ROOT + "/link", json={}).status_code == 403
    assert [line["reason"] for line in web.logged("request refused", user=somebody)] == ["role"]
    AccessFile(state_of(web)).set_role(somebody, Role.ADMINISTRATOR)
    browser.log_in(somebody)
    assert browser.send("POST", ROOT + "/link", json={}).status_code == 403
    refused = web.logged("request refused", 2, user=somebody)
    assert refused[-1]["reason"].startswith(COOKIE_ALONE)
    assert browser.write(ROOT + "/link", json={}).status_code == 503, "there is no daemon"
    assert web.logged("run requested", user=somebody)
    assert browser.send("GET", "/purges").status_code == 200
    assert web.logged("read requested", user=somebody), "a page for administrators asks for no run"


def test_no_read_endpoint_requires_a_writers_role(web: Web) -> None:
    reading = [
        each
        for each in (*own.ENDPOINTS, *navigator.ENDPOINTS, *navigator.UNVERSIONED)
        if each.method == "GET"
    ]
    assert {each.path for each in reading if each.role > Role.METADATA_ADMINISTRATOR} <= {
        "/requests/{id}",
        "/purges",
    }


def test_only_the_sessions_own_csrf_token_is_accepted(web: Web, browser: Browser, somebody: str) -> None:
    other = Browser(web)
    other.log_in(somebody)
    old = browser.csrf
    for token in (
        "",
        "x",
        other.csrf,
        old.upper(),
        old + " x",
        old[:-1],
        "\xe9",
        next(iter(browser.cookies.values())),
    ):
        assert browser.write("/logout", token=token).status_code == 403, token
    assert browser.send("POST", f"/logout?csrf={old}&X-Navlin-CSRF={old}").status_code == 403
    assert browser.send("POST", "/logout", json={"csrf": old}).status_code == 403, "no form"
    assert browser.send("POST", "/logout", data={"csrf": other.csrf}).status_code == 403
    assert browser.send("POST", "/logout", data=[("csrf", old), ("csrf", old)]).status_code == 403
    browser.log_in(somebody)
    assert browser.write("/logout", token=old).status_code == 403, "a new log-in has a new token"
    assert browser.known()


def test_a_form_may_carry_the_token_as_a_field(web: Web, browser: Browser) -> None:
    other = Browser(web)
    other.cookies, other.csrf = dict(browser.cookies), browser.csrf
    answer = browser.send(
        "POST", "/logout", data={"csrf": browser.csrf, "everywhere": "true", "next": "/navlin/x"}
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, "/navlin/x")
    assert not other.known()


ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "whatever"},
]


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_a_cross_origin_write_is_refused_even_with_the_token(
    web: Web, browser: Browser, headers: dict[str, str]
) -> None:
    answer = browser.write("/logout", headers=headers)
    assert answer.status_code == 403
    assert "cross-site request refused" in answer.json()["message"]
    assert browser.known()


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_a_cross_origin_login_is_refused(web: Web, headers: dict[str, str]) -> None:
    body = {"name": "viewer", "password": PASSWORD}
    answer = requests.post(f"{web.url}/login", data=body, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


def test_a_same_origin_write_is_accepted(web: Web, browser: Browser) -> None:
    own = {"Origin": web.url.removesuffix("/navlin"), "Sec-Fetch-Site": "same-origin"}
    assert browser.write("/logout", headers=own).json() == {"ended": 1}


@pytest.mark.parametrize(
    ("mode", "destination", "site", "status"),
    [
        ("navigate", "document", "cross-site", 200),
        ("navigate", "document", "none", 200),
        ("cors", "empty", "same-origin", 200),
        ("cors", "empty", "cross-site", 403),
        ("cors", "empty", "same-site", 403),
        ("no-cors", "image", "cross-site", 403),
        ("no-cors", "script", "same-site", 403),
        ("navigate", "iframe", "cross-site", 403),
        ("navigate", "object", "same-site", 403),
    ],
)
def test_a_cross_site_request_is_accepted_only_for_navigation(
    browser: Browser, mode: str, destination: str, site: str, status: int
) -> None:
    headers = {"Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination, "Sec-Fetch-Site": site}
    assert browser.send("GET", SEARCH, headers=headers).status_code == status


def test_an_authorization_header_takes_precedence_over_the_cookie(web: Web, browser: Browser) -> None:
    for header in ("Basic eDp5", "Bearer x", "Negotiate x", "x"):
        assert browser.send("GET", SEARCH, headers={"Authorization": header}).status_code == 401, header
    by_password = (
        requests.Request("GET", "http://x", auth=("editor", PASSWORD)).prepare().headers["Authorization"]
    )
    told = browser.send("GET", "/session", headers={"Authorization": by_password}).json()
    assert (told["user"], told["means"]) == ("editor", "password")


# -- Ids -----------------------------------------------------------------------------------------------------------------


def test_each_login_gets_a_new_unpredictable_id(web: Web, somebody: str) -> None:
    browser = Browser(web)
    name = f"navlin-{(state_of(web) / DIRECTORY / 'instance').read_text()}"
    planted = "A" * 43
    browser.cookies[name] = planted
    assert not browser.known()
    browser.log_in(somebody)
    first = browser.cookies[name]
    assert first != planted
    browser.log_in(somebody)
    second = browser.cookies[name]
    assert second not in (first, planted)
    for old in (planted, first):
        browser.cookies[name] = old
        assert not browser.known(), "a log-in ends what the browser had before"


def test_two_session_cookies_are_refused(web: Web, browser: Browser) -> None:
    ((name, good),) = browser.cookies.items()
    for header in (f"{name}={good}; {name}=x", f"{name}=x; {name}={good}", f"{name}={good}; {name}={good}"):
        answer = requests.get(f"{web.url}/session", headers={"Cookie": header}, timeout=PATIENCE_S)
        assert answer.status_code == 401, header


def test_an_invalid_id_is_refused(web: Web, browser: Browser) -> None:
    ((name, good),) = browser.cookies.items()
    (file,) = [
        each
        for each in (state_of(web) / DIRECTORY).iterdir()
        if each.name == hashlib.sha256(good.encode()).hexdigest()
    ]
    for value in (
        "",
        "x",
        "../access.json",
        "instance",
        file.name,
        good + "x",
        good[:-1],
        good.swapcase(),
        "x" * 5_000,
    ):
        browser.cookies[name] = value
        answer = browser.send("GET", SEARCH)
        assert answer.status_code == 401, value
        assert "WWW-Authenticate" not in answer.headers, "a page asks for the password, not the browser"


def test_ids_are_in_no_file_log_or_answer(web: Web, browser: Browser) -> None:
    (secret,) = browser.cookies.values()
    assert secret not in browser.send("GET", "/session").text
    browser.send("POST", "/logout", headers={"X-Navlin-CSRF": "x"})
    folder = state_of(web) / DIRECTORY
    assert folder.stat().st_mode & 0o077 == 0
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o077 == 0
        assert secret not in file.name + file.read_text()
        assert browser.csrf not in file.read_text()
    assert secret not in json.dumps(web.log)
    assert browser.csrf not in json.dumps(web.log)


# -- The end of a session ------------------------------------------------------------------------------------------------


def command(web: Web, *arguments: str) -> str:
    done = CliRunner().invoke(main, ["--config", str(web.file), *arguments], input=f"{PASSWORD}2\n")
    assert done.exit_code == 0, done.output
    return done.stdout


def change_password(web: Web, name: str) -> None:
    command(web, "user", "password", name, "--password-file", "-")


def change_role_and_back(web: Web, name: str) -> None:
    command(web, "user", "role", name, "administrator")
    command(web, "user", "role", name, "lineage-viewer")


def remove_and_make_again(web: Web, name: str) -> None:
    command(web, "user", "remove", name)
    AccessFile(state_of(web)).add_user(name, Role.LINEAGE_VIEWER, PASSWORD)


def log_out_by_command(web: Web, name: str) -> None:
    assert command(web, "user", "logout", name) == f"ended: 2 sessions of {name}\n"


def log_out_by_administrator(web: Web, name: str) -> None:
    assert web.send("POST", f"{ROOT}/users/{name}/logout", "editor").status_code == 403
    answer = web.send("POST", f"{ROOT}/users/{name}/logout", "chief")
    assert answer.json() == {"user": name, "ended": 2}
    assert web.logged("log-out requested", user="chief")


def log_out_everywhere(web: Web, name: str) -> None:
    assert web.send("POST", "/logout", name, json={"everywhere": True}).json() == {"ended": 2}


@pytest.mark.parametrize(
    "change",
    [
        change_password,
        change_role_and_back,
        remove_and_make_again,
        log_out_by_command,
        log_out_by_administrator,
        log_out_everywhere,
    ],
)
def test_ending_all_sessions_of_a_user_keeps_those_of_others(
    web: Web, somebody: str, browser: Browser, change: Callable[[Web, str], None]
) -> None:
    another, of_viewer = Browser(web), Browser(web)
    another.log_in(somebody)
    of_viewer.log_in("viewer")

    change(web, somebody)

    assert (browser.known(), another.known(), of_viewer.known()) == (False, False, True)


def test_logging_out_ends_only_that_session(web: Web, somebody: str, browser: Browser) -> None:
    another = Browser(web)
    another.log_in(somebody)
    kept = dict(browser.cookies)
    browser.write("/logout")
    browser.cookies = kept
    assert not browser.known(), "the cookie is not only forgotten"
    assert another.known()


@pytest.mark.services
def test_sessions_are_shared_by_processes_of_one_state_directory_only(
    solr: Solr, tmp_path: Path, web: Web
) -> None:
    with running_web(solr.address, tmp_path, "session_idle_s = 1.0") as first:
        browser = Browser(first)
        browser.log_in("viewer")
        longer = first.file.with_name("longer.toml")
        longer.write_text(first.file.read_text().replace("session_idle_s = 1.0", "tls_by_proxy = false"))
        with started_web(longer) as second:
            browser.web = second
            assert browser.known(), "it knows sessions that it did not begin"
            time.sleep(1.1)
            browser.web = first
            assert not browser.known(), "for the first one it has been idle for too long"
            browser.web = second
            assert not browser.known(), "what has ended has ended everywhere"

            theirs = Browser(web)
            theirs.log_in("viewer")
            browser.log_in("viewer")
            assert theirs.cookies.keys().isdisjoint(browser.cookies)
            theirs.cookies |= browser.cookies
            browser.cookies = theirs.cookies
            assert theirs.known(), "what two navlins of one host set does not overwrite the other's"
            assert browser.known()


@pytest.mark.services
@pytest.mark.parametrize(
    ("base_path", "name"), [("/navlin", "__Secure-navlin-"), ("", "__Host-navlin-")], ids=("below", "alone")
)
def test_under_tls_the_cookie_is_secure_and_prefixed(
    solr: Solr, tmp_path: Path, base_path: str, name: str
) -> None:
    lines = ("tls_by_proxy = true", 'public_origin = "https://gateway.example:8443"')
    with running_web(solr.address, tmp_path, *lines) as first:
        file = first.file.with_name("other.toml")
        file.write_text(first.file.read_text().replace('"/navlin"', f'"{base_path}"'))
        with started_web(file) as web:
            browser = Browser(web)
            cookie = browser.log_in("viewer").headers["Set-Cookie"]
            assert cookie.startswith(name)
            assert cookie.endswith(f"; Path={base_path or '/'}; HttpOnly; SameSite=Lax; Secure")
            assert browser.write("/logout", headers={"Origin": "http://127.0.0.1:1"}).status_code == 403
            assert browser.write("/logout", headers={"Origin": "http://" + host_of(web)}).status_code == 403
            for origin in ("https://gateway.example:8443", "https://" + host_of(web)):
                browser.log_in("viewer")
                assert browser.write("/logout", headers={"Origin": origin}).status_code == 200


def host_of(web: Web) -> str:
    return web.url.split("/")[2]


# -- Files of sessions ---------------------------------------------------------------------------------------------------


class Clock:
    """A clock in epoch ms, which the test sets."""

    now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


ANN = User("ann", Role.LINEAGE_VIEWER, "hash", "mark")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(tmp_path: Path, clock: Clock) -> Sessions:
    return Sessions(tmp_path, 60, 600, clock)


def test_each_use_extends_a_session_up_to_a_maximum(sessions: Sessions, clock: Clock) -> None:
    session = sessions.begin(ANN)
    for _ in range(10):
        clock.now_ms += 59_000
        assert sessions.find(session.secret) == session
    clock.now_ms += 9_999
    assert sessions.find(session.secret) == session
    clock.now_ms += 1
    assert sessions.find(session.secret) is None
    idle = sessions.begin(ANN)
    clock.now_ms += 60_000
    assert sessions.find(idle.secret) is None


def test_setting_the_clock_back_extends_no_session(sessions: Sessions, clock: Clock) -> None:
    session = sessions.begin(ANN)
    clock.now_ms -= CLOCK_MS
    assert sessions.find(session.secret) == session
    clock.now_ms -= 1
    assert sessions.find(session.secret) is None


def test_sessions_per_user_are_limited_and_ended_ones_removed(
    sessions: Sessions, clock: Clock, tmp_path: Path
) -> None:
    first = sessions.begin(ANN)
    clock.now_ms += 1
    others = [sessions.begin(ANN) for _ in range(MOST_OF_A_USER)]
    assert sessions.find(first.secret) is None, "the oldest has gone"
    assert all(map(sessions.find, (each.secret for each in others)))
    clock.now_ms += 600_000
    last = sessions.begin(User("bob", Role.LINEAGE_VIEWER, "hash"))
    (left,) = (tmp_path / DIRECTORY).iterdir()
    assert left.name == hashlib.sha256(last.secret.encode()).hexdigest()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"user": "ann", "role": "chief"}', b"\xff"])
def test_a_damaged_session_file_is_ignored(sessions: Sessions, tmp_path: Path, content: bytes) -> None:
    session = sessions.begin(ANN)
    (file,) = (tmp_path / DIRECTORY).iterdir()
    file.write_bytes(content)
    assert sessions.find(session.secret) is None
    assert sessions.find(sessions.begin(ANN).secret)
    assert sessions.end_all("ann") == 1


BAD = {
    "session_idle_s = 0": "session_idle_s must be more than 0",
    "session_lifetime_s = -1": "session_lifetime_s must be more than 0",
    'public_origin = "gateway.example"': "public_origin must be the address that browsers show",
    'public_origin = "https://gateway.example/navlin"': "public_origin must be the address that browsers show",
    'hue_url = "hue.example:8888"': "hue_url must be the address at which browsers find Hue",
    'hue_url = "javascript:alert(1)"': "hue_url must be the address at which browsers find Hue",
}


@pytest.mark.parametrize(("setting", "words"), BAD.items(), ids=BAD)
def test_inconsistent_settings_are_refused(tmp_path: Path, setting: str, words: str) -> None:
    file = tmp_path / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "c"\n\n[web]\n{setting}\n')
    with pytest.raises(BadConfiguration, match=words):
        read_configuration(file, None, {})
