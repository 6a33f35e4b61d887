"""Virtual environments with other Spark versions than navlin's own, created once and reused, and the settings of a
session in any of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench._referee_parts import Environment


def python_of(environment: Environment, below: Path) -> Path:
    """Return the Python of an environment below a directory.

    A missing environment is created, which takes minutes and some 400 MB. Raises CalledProcessError if pip fails.
    """
    directory = below / environment.name
    python, made_of = directory / "bin" / "python", directory / "packages.txt"
    wanted = "".join(f"{package}\n" for package in environment.packages)
    if not made_of.exists() or made_of.read_text() != wanted:
        sys.stderr.write(f"{environment.name}: {', '.join(environment.packages)}\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        # PySpark is only published as source, so its build tools are installed first.
        for packages in (("setuptools==80.9.0", "wheel==0.45.1"), environment.packages):
            if environment.packages:
                subprocess.run([*pip, "--no-build-isolation", *packages], check=True)
        made_of.write_text(wanted)
    return python


def session_settings(logs: Path, data: Path) -> dict[str, str]:
    """Return the settings of a session that logs its events, with a Hive metastore and a warehouse below ``data``."""
    return {
        # Only the fast compiler is used, because hardly any code runs often enough to repay optimization.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        f"--add-opens=java.base/java.security=ALL-UNNAMED -Dderby.system.home={data}/derby",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(data / "warehouse"),
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={data}/metastore;create=true",
    }
