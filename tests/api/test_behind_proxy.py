"""navlin below a URL path: with an nginx that keeps the prefix, with one that strips it, and without a proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import requests

from navlin.api.own import ROOT
from navlin.index.solr.solr import Solr
from tests.services.nginx import NoNginx, running_nginx, unpack
from tests.support.query_estate import World
from tests.support.web import PASSWORD, PATIENCE_S, Web, running_web

PAGE = {"Accept": "text/html"}
PREFIX = "/navlin"
WAYS = {
    "keeps": "location /navlin {{ proxy_pass http://127.0.0.1:{port}; {headers} }}",
    "strips": "location /navlin/ {{ proxy_pass http://127.0.0.1:{port}/; {headers} }}",
    "strips, and says where it is": "location /navlin/ {{ proxy_pass http://127.0.0.1:{port}/; {headers}"
    " proxy_set_header X-Forwarded-Prefix /navlin; }}",
}
HEADERS = "proxy_set_header Host $http_host;"
_LINK = re.compile(r'(?:href|src|action)="([^"#]+)"')


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return unpack(tmp_path_factory.mktemp("nginx-program"))
    except NoNginx as error:
        pytest.skip(str(error))


@pytest.fixture
def web(solr: Solr, tmp_path: Path) -> Iterator[Web]:
    world = World(solr, f"proxied-{tmp_path.name}")
    world.table("berths", "id")
    world.index()
    with running_web(solr.address, tmp_path) as running:
        yield running


def port_of(web: Web) -> int:
    port = urlsplit(web.url).port
    assert port is not None
    return port


def test_the_bare_prefix_redirects_to_the_first_page(web: Web) -> None:
    host = f"http://127.0.0.1:{port_of(web)}"
    for path in (PREFIX, f"{PREFIX}/"):
        asked = requests.get(host + path, headers=PAGE, allow_redirects=False, timeout=PATIENCE_S)
        assert asked.headers["Location"] == "/navlin/login?next=%2Fnavlin%2F"
        allowed = requests.get(
            host + path,
            headers=PAGE,
            auth=("viewer", PASSWORD),
            allow_redirects=False,
            timeout=PATIENCE_S,
        )
        assert (allowed.status_code, allowed.headers["Location"]) == (303, "/navlin/search")


@pytest.mark.services
@pytest.mark.parametrize("way", WAYS)
def test_every_link_redirect_form_cookie_and_file_works_behind_a_proxy(
    way: str, web: Web, nginx: Path, tmp_path: Path
) -> None:
    home = tmp_path / "nginx"
    home.mkdir()
    with running_nginx(nginx, home, WAYS[way].format(port=port_of(web), headers=HEADERS)) as url:
        session = requests.Session()
        session.trust_env = False
        session.headers.update(PAGE)
        first = session.get(url + PREFIX, timeout=PATIENCE_S)
        assert first.url == f"{url}/navlin/login?next=%2Fnavlin%2F"

        form = re.search(r'<form[^>]*action="([^"]+)"', first.text)
        onward = re.search(r'name="next" value="([^"]*)"', first.text)
        assert form is not None and onward is not None
        logged_in = session.post(
            urljoin(first.url, unescape(form[1])),
            {"name": "chief", "password": PASSWORD, "next": unescape(onward[1])},
            headers={"Origin": url},
            timeout=PATIENCE_S,
        )
        assert (logged_in.status_code, logged_in.url) == (200, f"{url}/navlin/search")
        [(_, cookie)] = [(each.name, each) for each in iter(session.cookies)]
        assert cookie.path == PREFIX

        seen: set[str] = set()
        pages = [logged_in.url, f"{url}/navlin/search?query=berths"]
        while pages and len(seen) < 60:
            page = pages.pop(0)
            if page in seen:
                continue
            seen.add(page)
            answer = session.get(page, timeout=PATIENCE_S)
            # A form's URL may accept POST only.
            assert answer.status_code in (200, 405), (page, answer.status_code)
            if not answer.headers["Content-Type"].startswith("text/html"):
                continue
            for link in map(unescape, _LINK.findall(answer.text)):
                address = urljoin(answer.url, link).partition("#")[0]
                if not address.startswith(url) or "logout" in address:
                    continue
                assert address.startswith(f"{url}/navlin/"), (page, link)
                pages.append(address)
        assert len(seen) > 20
        assert any("/static/" in page or page.endswith(".css") for page in seen)
        api = session.get(f"{url}/navlin{ROOT}/search?query=berths", timeout=PATIENCE_S)
        assert api.status_code == 200
