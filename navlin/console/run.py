"""``/run``: requests a run of a source, for the button on its page. For a blocked run, the request may accept the loss
that was shown."""

from __future__ import annotations

from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.answers import Onward
from navlin.api.endpoint import Asked
from navlin.api.own.questions import requested
from navlin.console.page import Page
from navlin.questions.extract import QUESTION, Parameters


def _answer(asked: Asked) -> Onward:
    return Onward("/request?" + urlencode({"id": requested(QUESTION, asked, asked.parameters)["id"]}))


PAGE = Page("/run", "Run", Parameters, _answer, Role.ADMINISTRATOR, method="POST")
