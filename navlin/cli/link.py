from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.cli.invocation import Invocation
from navlin.cli.jobs import JobCommand, submitted
from navlin.cli.terminal import say
from navlin.questions.link import QUESTION


def _run(invocation: Invocation, given: Any) -> Mapping[str, int]:
    from navlin.service import jobs
    from navlin.service.spark_session import LazySparkSession

    configuration = invocation.configuration()
    with invocation.solr(configuration) as solr:
        how, changed = submitted(QUESTION, invocation, configuration, solr, given)
        if changed is None:
            configured = invocation.configured_sources(configuration, solr)
            with LazySparkSession.of(configuration) as spark:
                changed = jobs.link(solr, configured, spark, invocation.now_ms, **how)
        done: Mapping[str, int] = changed
        return done


def print_answer(changed: Mapping[str, int]) -> None:
    """Print how many relations each rule changed, and how many entities have other inherited values now."""
    from navlin.render.counts import count_lines

    for line in list(count_lines(changed)) or ["nothing changed"]:
        say(line)


command = JobCommand(QUESTION, _run, print_answer)
