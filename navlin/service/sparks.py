"""The one Spark session of a process: made when it is first asked for, by whoever asks first."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from navlin.service.configuration import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Spark:
    """A session to be. Calling it gives the session. May be shared by threads."""

    def __init__(self, settings: SparkSettings, state_directory: Path) -> None:
        self._settings = settings
        self._scratch = state_directory / "scratch"
        self._session: SparkSession | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def __call__(self) -> SparkSession:
        """The session; the first call takes the seconds that Spark takes to start."""
        with self._lock:
            if self._session is None:
                from navlin.pipeline.session import start_session

                self._session = start_session(
                    self._scratch,
                    master=self._settings.master,
                    driver_memory=self._settings.driver_memory,
                    settings=self._settings.conf,
                )
            return self._session

    @property
    def dead(self) -> bool:
        """Whether there was a session and its JVM or its context has ended. A dead one does not come back."""
        if self._session is None:
            return False
        context = self._session.sparkContext
        jvm = getattr(context._gateway, "proc", None)
        if jvm is not None and jvm.poll() is not None:
            return True
        try:
            return bool(context._jsc.sc().isStopped())
        except Exception:  # py4j's several ways to say that nobody answers
            return True

    def cancel(self) -> None:
        """Ends what Spark is doing now, with an error for whoever waits for it."""
        if self._session is not None and not self.dead:
            self._session.sparkContext.cancelAllJobs()

    def stop(self) -> None:
        """Ends the session and its JVM. Another `Spark` may then have its own in this process."""
        if self._session is not None and not self._stopped:
            from navlin.pipeline.session import end_session

            self._stopped = True
            end_session(self._session, dead=self.dead)
