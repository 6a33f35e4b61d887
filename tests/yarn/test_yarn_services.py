"""Several ResourceManagers with one active, services that do not respond, and the resulting messages."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from extractors.rest import RestAddress, RestError, RestService, RestUnavailable
from extractors.yarn import Yarn
from navlin.model.plan import Positions
from tests.services.rest import JobHistory, ResourceManager, RestServer, as_json
from tests.support.yarn_rounds import ESTATE, SOURCE, Following, app, running


def standby(form: str, *, of: ResourceManager) -> RestServer:
    """A standby ResourceManager that redirects to the active one: by HTTP 307 since Hadoop 2.7, and before that by
    a header, which omitted the parameters in the first releases."""
    service = RestServer()

    def answer(path: str, query: Any) -> Any:
        asked = urlencode(query) if form != "a bare header" else ""
        further = f"{of.url}{path}?{asked}" if asked else of.url + path
        payload = f"This is standby RM. The redirect url is: {further}".encode()
        if form == "307":
            return 307, {"Location": further}, payload
        return 200, {"Refresh": f"3;url={further}"}, payload

    service.routes["/"] = answer
    return service


@pytest.mark.parametrize("form", ["307", "a header", "a bare header"])
def test_a_standby_redirects_to_the_active_one(resource_manager: ResourceManager, form: str) -> None:
    resource_manager.apps = [app(1), running(2)]
    with standby(form, of=resource_manager) as other:
        following = Following(other, resource_manager)
        assert len(following.run().executions) == 2
        assert all("states" in query for _, query in resource_manager.asked)
        # The remaining requests of the round go directly to the active ResourceManager.
        assert len(other.asked) == 1
        # A failover between two rounds causes no extra records.
        switched = Following(resource_manager, other)
        switched.positions = following.positions
        assert switched.is_quiet()


def test_an_unreachable_one_is_skipped(resource_manager: ResourceManager) -> None:
    resource_manager.apps = [app(1)]
    following = Following(resource_manager)
    urls = ("http://127.0.0.1:1", resource_manager.url)
    following.extractor = Yarn(SOURCE, ESTATE, urls)
    assert len(following.run().executions) == 1


def test_a_failing_one_is_asked_once_whatever_trailing_slashes_its_address_has() -> None:
    with RestServer() as one:
        one.routes["/"] = lambda *_: (503, {}, b"starting")
        with (
            pytest.raises(RestUnavailable),
            closing(RestService(RestAddress("X", "urls", (f"{one.url}/", one.url)))) as service,
        ):
            service.get("/ws/v1/cluster/info", "clusterInfo")
        assert len(one.asked) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_resource_manager_that_fails_is_skipped_for_the_next(
    resource_manager: ResourceManager, status: int
) -> None:
    resource_manager.apps = [app(1)]
    with RestServer() as broken:
        broken.routes["/"] = lambda *_: (status, {}, b"NullPointerException")

        following = Following(broken, resource_manager)

        assert len(following.run().executions) == 1
        assert broken.asked


def test_the_error_of_resource_managers_that_all_fail_is_the_first_ones() -> None:
    with RestServer() as one, RestServer() as two:
        one.routes["/"] = lambda *_: (500, {}, b"NullPointerException")
        two.routes["/"] = lambda *_: (500, {}, b"StackOverflowError")
        with pytest.raises(RestError, match="HTTP 500: NullPointerException"):
            Following(one, two).plan()
        two.routes["/"] = lambda *_: (503, {}, b"starting")
        with pytest.raises(RestUnavailable, match=r"NullPointerException.*starting"):
            Following(one, two).plan()


def test_two_standbys_are_unavailable() -> None:
    with RestServer() as one:
        again = {"Refresh": f"1;url={one.url}/ws/v1/cluster/apps?next.refresh.interval=2"}
        one.routes["/"] = lambda *_: (200, again, b"Can't find any active RM. Will retry in next 1 seconds.")
        with pytest.raises(RestUnavailable, match=f"{one.url}.*knows of no active one"):
            Following(one).plan()
        one.routes["/"] = lambda *_: (200, {}, b"There is no active RM right now.")
        with pytest.raises(RestUnavailable, match="There is no active RM right now"):
            Following(one).plan()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"WWW-Authenticate": "Negotiate"}, b"<h1>Authentication required</h1>"), 'auth = "kerberos"'),
        ((403, {}, b"forbidden"), "allowed to look at every application"),
        ((500, {}, b"NullPointerException"), "HTTP 500.*NullPointerException"),
        (
            (200, {}, b"<html><body>Login here</body></html>"),
            "not JSON .Login here.: is this the address of a",
        ),
        ((404, {}, b"no such page"), "HTTP 404"),
        ((503, {}, b"starting"), "is it running, and is `urls` right"),
        ((302, {"Location": "/ws/v1/cluster/apps"}, b""), "redirected more than"),
    ],
)
def test_an_error_names_the_url_and_the_remedy(answer: Any, words: str) -> None:
    with RestServer() as service:
        service.routes["/"] = lambda *_: answer
        with pytest.raises(RestError, match=words) as error:
            Following(service).plan()
        assert service.url in str(error.value)


def test_a_refused_connection_and_a_timeout_are_distinguished() -> None:
    down = Yarn(SOURCE, ESTATE, ("http://127.0.0.1:1",))
    with pytest.raises(RestUnavailable, match=r"127\.0\.0\.1:1.*Connection refused.*`urls`"):
        down.plan(Positions())
    with RestServer() as service:
        silent = threading.Event()
        service.routes["/"] = lambda *_: as_json(silent.wait(30))
        with pytest.raises(RestUnavailable, match=r"no answer within 0\.2 s .`read_timeout_s`"):
            Following(service, read_timeout_s=0.2).plan()
        silent.set()


def test_unescaped_control_characters_are_accepted(
    resource_manager: ResourceManager,
) -> None:
    body = orjson.dumps({"apps": {"app": [app(1, name="tab#here")]}}).replace(b"#", b"\t")
    resource_manager.routes["/ws/v1/cluster/apps"] = lambda *_: (200, {}, body)
    assert set(Following(resource_manager).run().operations) == {"tab\there"}


def test_a_configured_user_is_sent(resource_manager: ResourceManager) -> None:
    Following(resource_manager, user="navlin").plan()
    assert {query["user.name"] for _, query in resource_manager.asked} == {"navlin"}


def test_invalid_settings_are_reported() -> None:
    urls = ("rm:8088", "http://etl:pw@rm:8088")
    extractor = Yarn(SOURCE, ESTATE, urls, ("http://h:x",), overlap_s=0, page_size=1, user="u")
    assert [setting for setting, _ in extractor.problems()] == [
        "urls", "urls", "history_urls", "overlap_s", "page_size",
    ]  # fmt: skip
    assert next(text for setting, text in extractor.problems() if setting == "urls") == (
        "urls: 'rm:8088' is not an address: write http://resourcemanager:8088"
    )
    assert [setting for setting, _ in Yarn(SOURCE, ESTATE, ()).problems()] == ["urls"]
    assert list(Yarn(SOURCE, ESTATE, ("http://rm:8088", "https://rm2")).problems()) == []


def test_check_reports_which_services_answer(resource_manager: ResourceManager, history: JobHistory) -> None:
    first, second = Following(resource_manager).extractor.check()
    assert first == f"{resource_manager.url} answers: Hadoop 3.5.0, ACTIVE, shows no application"
    assert "history_urls" in second
    _, second = Following(resource_manager, history=history).extractor.check()
    assert second.startswith(f"{history.url} answers")


def test_an_address_is_asked_once_with_or_without_a_trailing_slash(
    resource_manager: ResourceManager,
) -> None:
    following = Following(resource_manager)
    slashed = replace(following.extractor, urls=(f"{resource_manager.url}/",))
    slashed.plan(Positions())
    resource_manager.asked.clear()
    resource_manager.routes["/ws/v1/cluster/apps"] = lambda *_: (503, {}, b"busy")
    with pytest.raises(RestUnavailable):
        slashed.plan(Positions())
    assert [path for path, _ in resource_manager.asked] == ["/ws/v1/cluster/apps"]
