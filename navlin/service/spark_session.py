"""The only Spark session of a process, started on first use, and the class archive that makes later starts faster."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from navlin.service.settings.configuration import Configuration, SparkSettings
from navlin.shipped import CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from navlin.pipeline.yarn import Cluster


def archive_directory(state_directory: Path) -> Path:
    """Return the directory for archives of Spark's classes: next to the jars in a checkout, otherwise in the state
    directory."""
    jars = CONF.parent / ".jars"
    return (jars if jars.is_dir() else state_directory) / "class-archives"


def environment_directory(state_directory: Path) -> Path:
    """Return the directory for the archive of the executors' environment: next to the jars in a checkout, otherwise in
    the state directory."""
    return archive_directory(state_directory).with_name("environments")


class LazySparkSession:
    """A Spark session that is started when this object is first called. Thread-safe. ``files`` are local files that
    tasks open; on YARN, each executor gets a copy."""

    def __init__(self, settings: SparkSettings, state_directory: Path, files: tuple[Path, ...] = ()) -> None:
        self._settings = settings
        self._state_directory = state_directory
        self._files = files
        self._scratch = state_directory / "scratch"
        self._archives = archive_directory(state_directory)
        self._session: SparkSession | None = None
        self._stopped = False
        self._lock = threading.Lock()

    @classmethod
    def of(cls, configuration: Configuration) -> Self:
        ca_file = configuration.solr.ca_file
        files = (ca_file,) if ca_file is not None else ()
        return cls(configuration.spark, configuration.navlin.state_directory, files)

    def __call__(self) -> SparkSession:
        """Return the session. The first call, and the first call after the session has died, start Spark, which takes
        seconds."""
        with self._lock:
            if self._session is not None and not self._stopped and self.dead:
                self._end()
            if self._session is None:
                from navlin.pipeline.session import start_session
                from navlin.pipeline.spark_jvm import archive_in

                self._session = start_session(
                    self._scratch,
                    master=self._settings.master,
                    driver_memory=self._settings.driver_memory,
                    settings=self._settings.conf,
                    archive=archive_in(self._archives),
                    cluster=self._cluster(),
                )
            return self._session

    def _cluster(self) -> Cluster | None:
        settings = self._settings
        if settings.hadoop_configuration_directory is None:
            return None
        from navlin.pipeline.packing import pack
        from navlin.pipeline.yarn import Cluster
        from navlin.service.loader import modules_of_others

        directory = environment_directory(self._state_directory)
        return Cluster(
            settings.hadoop_configuration_directory,
            pack(directory, python=not settings.executor_python, modules=modules_of_others()),
            settings.executor_python,
            settings.principal,
            settings.keytab,
            self._files,
        )

    def start_early(self) -> None:
        """Start the session in the background. If that fails, the first call fails with the same error."""

        def start() -> None:
            with suppress(Exception):
                self()

        threading.Thread(target=start, name="spark-start", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def dead(self) -> bool:
        """Whether a session was started whose JVM or context has ended since. If so, the next call starts a new
        session."""
        from navlin.pipeline.session import has_ended

        return self._session is not None and has_ended(self._session)

    def cancel(self) -> None:
        """Cancel all Spark jobs in progress. The threads that wait for them get an error."""
        if self._session is not None and not self.dead:
            self._session.sparkContext.cancelAllJobs()

    def stop(self) -> None:
        """End the session and its JVM. A session that is just starting is ended when it has started. Afterwards, this
        process may start another session."""
        with self._lock:
            if self._session is not None and not self._stopped:
                self._stopped = True
                self._end(keep=True)

    def _end(self, *, keep: bool = False) -> None:
        from navlin.pipeline.session import end_session

        assert self._session is not None
        end_session(self._session, dead=self.dead)
        if not keep:
            self._session = None


class ArchiveProcess:
    """A child process that creates the archive of Spark's classes, at the lowest priority. It ends when this process
    ends."""

    def __init__(self, state_directory: Path) -> None:
        self._directory = archive_directory(state_directory)
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> bool:
        """Start the child unless the archive exists. Return whether it was started."""
        from navlin.pipeline.spark_jvm import archive_in

        if archive_in(self._directory).exists():
            return False
        program = [sys.executable, "-m", "navlin.pipeline.archiving", str(self._directory), "--with-parent"]
        self._child = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return True

    def wait(self) -> bool:
        """Wait until the child ends. Return True if it was successful, or if no child was started."""
        return self._child is None or self._child.wait() == 0

    def stop(self) -> None:
        """End the child, whether or not it has finished."""
        if self._child is not None:
            self._child.terminate()
            self._child.wait()
            assert self._child.stdin is not None
            self._child.stdin.close()
            self._child = None
