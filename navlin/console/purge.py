"""``/purge``: removes old data, or previews the removal, as requested by the forms of its pages."""

from __future__ import annotations

from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.answers import Onward
from navlin.api.endpoint import Asked
from navlin.api.own.purge import Parameters, purge
from navlin.console.page import Page


def _answer(asked: Asked) -> Onward:
    return Onward("/request?" + urlencode({"id": purge(asked)["id"]}))


PAGE = Page("/purge", "Purge", Parameters, _answer, Role.ADMINISTRATOR, method="POST")
