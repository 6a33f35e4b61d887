"""``/impact``: the entities affected if an entity is dropped or changed, grouped by owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.query.bounds import MAX_WALKED, MOST_WALK_S
from navlin.query.impact import LISTED, impact
from navlin.questions.show import Parameters
from navlin.render.impact import total_words


def _values(request: ApiRequest) -> Mapping[str, Any]:
    identity = request.question(request.parameters).entity_id()
    found = impact(request.solr, identity)
    listed = found.listed(LISTED)
    return {
        "identity": identity,
        "start": found.start,
        "total": total_words(found),
        "cut": found.cut_words,
        "cut_at": next(iter(found.truncated_at), None),
        "most": MAX_WALKED,
        "most_s": MOST_WALK_S,
        "owners": listed.owners,
        "more": len(found.affected) - len(listed.affected),
        "unlinked": found.unlinked,
    }


PAGE = ConsolePage("/impact", "Impact", Parameters, _values, walks=True)
