"""Stores the records and outcomes of a run until the run ends, so that they are computed only once.

On one machine, they are stored in Spark's scratch directory. On YARN, an executor may be lost together with its disk.
Spark would then recompute the lost data and read the source again, which may fail or give another result. So on YARN,
they are stored on the cluster's file system, in the staging directory of the application, which is removed with the
application.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from navlin.pipeline.session import has_ended


def on_one_machine(spark: SparkSession) -> bool:
    """Whether the driver and all executors are on this machine, and share its disk."""
    return str(spark.sparkContext.master).startswith("local")


def materialised(frame: DataFrame, until: ExitStack) -> DataFrame:
    """Return the rows of ``frame``, computed only once: at first use if Spark runs on one machine, otherwise now.
    Closing ``until`` frees them."""
    spark = frame.sparkSession
    if on_one_machine(spark):
        until.callback(_free, frame)
        return frame.persist(StorageLevel.DISK_ONLY)
    folder = SharedFolder(spark)
    until.callback(folder.remove)
    frame.write.parquet(folder.url)
    return spark.read.schema(frame.schema).parquet(folder.url)


def _free(frame: DataFrame) -> None:
    if not has_ended(frame.sparkSession):  # the scratch directory is removed with the session
        frame.unpersist()


class SharedFolder:
    """A folder on the cluster's file system. The folder is in the staging directory of this Spark application, and is
    removed with that directory.

    The folder is created when its first file is added.
    """

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        self._configuration = context._jsc.hadoopConfiguration()
        staging = (
            context.getConf().get("spark.yarn.stagingDir")
            or self._file_system("").getHomeDirectory().toString()
        )
        self.url = f"{staging}/.sparkStaging/{context.applicationId}/navlin-{uuid4()}"

    def put(self, file: Path) -> None:
        """Move a local file into the folder, under a unique name."""
        path = self._jvm.org.apache.hadoop.fs.Path
        there = path(f"{self.url}/{uuid4()}{file.suffix}")
        self._file_system(self.url).copyFromLocalFile(True, True, path(file.as_uri()), there)

    def remove(self) -> None:
        """Remove the folder with its content. Harmless if it does not exist."""
        self._file_system(self.url).delete(self._jvm.org.apache.hadoop.fs.Path(self.url), True)

    def _file_system(self, url: str) -> Any:
        fs = self._jvm.org.apache.hadoop.fs
        return (
            fs.Path(url).getFileSystem(self._configuration) if url else fs.FileSystem.get(self._configuration)
        )
