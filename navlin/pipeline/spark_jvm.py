"""Starts Spark's JVM with a class archive, and without the additional JVM that PySpark runs only to build the command
line. Together, this saves three quarters of the start time."""

from __future__ import annotations

import hashlib
import os
import shlex
import struct
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from navlin.java import QUICK, class_sharing, find_java, identity_of_java, pyspark_jars

MAIN: Final = "org.apache.spark.deploy.SparkSubmit"
OPENED: Final = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
"""Packages of Java modules that Spark needs to open. The vector module is left out because it only serves machine
learning, prevents Java from using its own archive of modules, and prints a warning."""
PROPERTIES: Final = (
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
FOR_NEWER_JAVA: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
STANDARD_ERROR: Final = 2
OTHERS_NOTHING: Final = 0o077
START_S: Final = 300.0
"""Maximum time until the JVM listens, in seconds."""


class NoSpark(Exception):
    """Spark's JVM does not start; the message gives the reason."""


def is_left_to_pyspark(properties: Mapping[str, str]) -> bool:
    """Whether the operator has set native libraries, which only PySpark's own launcher supports."""
    return "spark.driver.extraLibraryPath" in properties


def archive_in(directory: Path) -> Path:
    """Return the path of the class archive for the installed Java and PySpark's jars. The file may not exist."""
    known = hashlib.sha256(identity_of_java(_java()))
    for jar in _jars():
        status = jar.stat()
        known.update(f"{jar}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return directory / f"spark-{known.hexdigest()[:16]}.jsa"


def start_jvm(
    properties: Mapping[str, str],
    *,
    archive: Path | None = None,
    record: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Any:
    """Start the JVM and return PySpark's gateway to it. The attribute ``proc`` of the gateway is the child process.

    ``properties`` are Spark properties. ``archive`` is a class archive to use if it exists, or, with ``record``, to
    write when the JVM shuts down cleanly. The JVM ends when its standard input is closed. ``environment``, for Spark on
    YARN, are variables in addition to those of this process. Raises `NoSpark` or `navlin.java.NoJava`.
    """
    submit = [word for name, value in properties.items() for word in ("--conf", f"{name}={value}")]
    with TemporaryDirectory() as folder:
        connection = Path(folder) / "connection"
        # Spark would pass this process's PYTHONPATH on to executors, and its folders do not exist there.
        inherited = {
            name: value for name, value in os.environ.items() if name != "PYTHONPATH" or not environment
        }
        variables = {
            **inherited,
            **(environment or {}),
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
            "SPARK_CONNECT_MODE": "0",
        }
        try:
            child = subprocess.Popen(
                [
                    *_command(properties, archive, record=record, environment=environment or {}),
                    MAIN,
                    *submit,
                    "pyspark-shell",
                ],
                stdin=subprocess.PIPE,
                stdout=STANDARD_ERROR,  # standard output is reserved for navlin's own output
                env=variables,
                start_new_session=True,  # Ctrl-C must only reach navlin, which stops the child itself
                umask=OTHERS_NOTHING,  # the spill files of the JVM and its workers contain data from the sources
            )
        except FileNotFoundError as error:
            raise NoSpark(f"there is no {_java()}: install Java 17 or newer, or set JAVA_HOME") from error
        deadline = time.monotonic() + START_S
        while not connection.exists():
            if child.poll() is not None:
                raise NoSpark(f"Spark's JVM exited while starting (exit code {child.returncode})")
            if time.monotonic() > deadline:
                child.kill()
                raise NoSpark(f"Spark's JVM was not ready within {START_S:.0f} s")
            time.sleep(0.02)
        with connection.open("rb") as file:
            port, secret_bytes = struct.unpack(">ii", file.read(8))
            secret = file.read(secret_bytes).decode()
    gateway = _connected(port, secret)
    gateway.proc = child
    return gateway


def _command(
    properties: Mapping[str, str], archive: Path | None, *, record: bool, environment: Mapping[str, str]
) -> list[str]:
    # The operator's options come last, so that they take precedence.
    given = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
    options = [word for name in given for word in shlex.split(properties.get(name, ""))]
    if archive is not None and not record and not archive.exists():
        archive = None  # if given a missing archive, Java would not use its default archive either
    jars = os.pathsep.join(map(str, _jars()))
    hadoop = environment.get("HADOOP_CONF_DIR")
    class_path = os.pathsep.join(filter(None, (properties.get("spark.driver.extraClassPath"), hadoop, jars)))
    return [
        _java(),
        *(class_sharing(archive, record=record) if archive is not None else ()),
        *FOR_NEWER_JAVA,
        *(f"--add-opens={opened}=ALL-UNNAMED" for opened in OPENED),
        *PROPERTIES,
        *QUICK,
        # A JVM that continues after running out of memory is unreliable, so it exits and navlin starts another.
        "-XX:+ExitOnOutOfMemoryError",
        f"-Xmx{properties['spark.driver.memory']}",
        *options,
        "-cp",
        class_path,
    ]


def _connected(port: int, secret: str) -> Any:
    from pyspark.java_gateway import launch_gateway

    # PySpark accepts an existing JVM only through these environment variables.
    there = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(there)
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in there:
            del os.environ[name]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return find_java(Path(home) if home else None)


def _jars() -> list[Path]:
    # List the jars one by one and sorted, because an archive is valid for exactly one class path.
    return sorted(pyspark_jars().glob("*.jar"))
