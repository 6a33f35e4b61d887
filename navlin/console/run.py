"""``/run``: runs a source now, as requested by the button of its page; for a held run it may accept the loss that was
shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.answers import Onward
from navlin.api.endpoint import Asked
from navlin.api.own.requests import request
from navlin.console.page import Page
from navlin.index.requests import Job


@dataclass(frozen=True, slots=True)
class Parameters:
    """The fields of the form."""

    source: Annotated[str, "The name of a configured source."]
    accept_loss: Annotated[str, "The held run whose loss is admitted."] = ""


def _answer(asked: Asked) -> Onward:
    given: Parameters = asked.parameters
    arguments = {
        "source": given.source,
        "complete": False,
        "dry_run": False,
        "accept_loss": given.accept_loss,
    }
    asked_for = request(asked, Job.EXTRACT, arguments)
    return Onward("/request?" + urlencode({"id": asked_for["id"]}))


PAGE = Page("/run", "Run", Parameters, _answer, Role.ADMINISTRATOR, method="POST")
