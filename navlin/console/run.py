"""``/run``: runs a source now, as requested by the button of its page; for a held run it may accept the loss that was
shown."""

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
