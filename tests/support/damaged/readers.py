from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.support.damaged.event_logs import spark_events
from tests.support.damaged.hdfs_images import hdfs
from tests.support.damaged.line_logs import (
    hive_events,
    impala_events,
    openlineage_events,
    spark_lineage_events,
    sqoop_publications,
)
from tests.support.damaged.metastore_answers import hms
from tests.support.damaged.oozie_answers import oozie
from tests.support.damaged.s3_answers import s3
from tests.support.damaged.tallies import Reader
from tests.support.damaged.yarn_answers import yarn

READERS: Final[Mapping[str, Reader]] = {
    each.__name__: each
    for each in (
        hms,
        hdfs,
        yarn,
        oozie,
        s3,
        spark_events,
        spark_lineage_events,
        impala_events,
        hive_events,
        openlineage_events,
        sqoop_publications,
    )
}
"""Extractor name → function that damages and reads its records."""
