"""A real Hive: its CLI runs statements on a metastore, and the LineageLogger hook writes to a file.

MapReduce runs in the CLI's own process, so there are no YARN jobs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from navlin.java import pyspark_jars

LINEAGE_LOG = "hive-lineage.log"
_TIMEOUT_S = 300
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.net",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
)

_LOG4J = """
status = error
appenders = lineage, console
appender.lineage.type = File
appender.lineage.name = lineage
appender.lineage.fileName = {log}
appender.lineage.layout.type = PatternLayout
appender.lineage.layout.pattern = {pattern}
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c: %m%n
loggers = hook
logger.hook.name = org.apache.hadoop.hive.ql.hooks.LineageLogger
logger.hook.level = info
logger.hook.additivity = false
logger.hook.appenderRefs = lineage
logger.hook.appenderRef.lineage.ref = lineage
rootLogger.level = error
rootLogger.appenderRefs = console
rootLogger.appenderRef.console.ref = console
"""


def run_hive(
    statements: Iterable[str],
    directory: Path,
    jars: Path,
    metastore_uri: str,
    *,
    layout: str = "%d{ISO8601} %-5p [%t] %c{2}: %m%n",
) -> Path:
    """Run statements one after the other, verbatim. Return the path of the lineage log.

    ``layout`` is log4j's pattern of a line. Raises RuntimeError with the end of Hive's output if a statement fails.
    """
    conf, scratch = directory / "conf", directory / "scratch"
    conf.mkdir(parents=True, exist_ok=True)
    scratch.mkdir(exist_ok=True)
    scratch.chmod(0o777)
    log = directory / LINEAGE_LOG
    (conf / "hive-site.xml").write_text(_site(_settings(scratch, metastore_uri)))
    (conf / "hive-log4j2.properties").write_text(_LOG4J.format(log=log, pattern=layout))
    script = directory / "statements.sql"
    script.write_text("".join(f"{statement};\n" for statement in statements))
    # Spark's own logger bindings come first. With the bindings in hive-exec, the lineage would not be written
    # anywhere.
    spark = pyspark_jars()
    first = [*spark.glob("slf4j-api-*.jar"), *spark.glob("log4j-slf4j2-impl-*.jar")]
    classes = [str(conf), *map(str, first), f"{jars.resolve()}/*", f"{spark}/*"]
    options = ["-Xmx768m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    options += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    options += [f"-Dlog4j2.configurationFile={conf}/hive-log4j2.properties", f"-Djava.io.tmpdir={scratch}"]
    command = [
        "java",
        *options,
        "-cp",
        ":".join(classes),
        "org.apache.hadoop.hive.cli.CliDriver",
        "-f",
        str(script),
    ]
    done = subprocess.run(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"Hive ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return log


def _settings(scratch: Path, metastore_uri: str) -> dict[str, str]:
    return {
        "hive.metastore.uris": metastore_uri,
        "hive.execution.engine": "mr",
        "mapreduce.framework.name": "local",
        "mapreduce.cluster.local.dir": f"{scratch}/mapred",
        "hadoop.tmp.dir": f"{scratch}/hadoop",
        "hive.exec.submit.local.task.via.child": "false",
        "hive.support.concurrency": "false",
        "hive.async.log.enabled": "false",
        "hive.exec.scratchdir": f"file://{scratch}/hive",
        "hive.exec.local.scratchdir": f"{scratch}/local",
        "hive.downloaded.resources.dir": f"{scratch}/resources",
        "hive.exec.post.hooks": "org.apache.hadoop.hive.ql.hooks.LineageLogger",
        "hive.exec.dynamic.partition.mode": "nonstrict",
        "hive.stats.autogather": "false",
        "hive.metastore.schema.verification": "false",
    }


def _site(settings: Mapping[str, str]) -> str:
    properties = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    return f"<configuration>{''.join(properties)}</configuration>"
