"""``/purge``: requests a purge of old data, or a preview of one, for the forms of ``/purges`` and ``/request``."""

from __future__ import annotations

from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.answers import Onward
from navlin.api.endpoint import Asked
from navlin.api.own.questions import requested
from navlin.console.page import Page
from navlin.questions.purge import QUESTION


def _answer(asked: Asked) -> Onward:
    return Onward("/request?" + urlencode({"id": requested(QUESTION, asked, asked.parameters)["id"]}))


PAGE = Page("/purge", "Purge", QUESTION.parameters, _answer, Role.ADMINISTRATOR, method="POST")
