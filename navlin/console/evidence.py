"""``/evidence``: the origin of an entity, as one document for an auditor, made to be printed."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import Final

from navlin.api.answers import Html
from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.query.evidence import evidence
from navlin.questions.show import Parameters
from navlin.render.evidence import evidence_html

_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def _answer(request: ApiRequest) -> Html:
    start = request.question(request.parameters).entity_id()
    text = evidence_html(evidence(request.solr, start, request.service.now_ms()), request.service.base_path)
    # The document is self-contained, so that it can be saved to a file. The policy allows only the style in the
    # document.
    styles = (b64encode(sha256(each.encode()).digest()).decode() for each in _STYLE.findall(text)[:1])
    allowed = " ".join(f"'sha256-{each}'" for each in styles)
    return Html(text, f"default-src 'none'; style-src {allowed}; base-uri 'none'; frame-ancestors 'none'")


PAGE = ConsolePage("/evidence", "Evidence", Parameters, _answer, walks=True)
