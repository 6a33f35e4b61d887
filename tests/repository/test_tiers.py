"""Every test runs in exactly one tier: `make test`, `make test-services` or `make soak`."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.manual import page

ROOT = Path(__file__).parents[2]
ONE_OF_EACH_TIER = """
import pytest

def test_unmarked(): pass

@pytest.mark.services
def test_of_a_service(): pass

@pytest.mark.services
@pytest.mark.alone
def test_that_measures(): pass

@pytest.mark.soak
def test_repeated(seed, soaked):
    soaked.add_struck({"another_process_is_killed": 1, "dead_from_a_request_on": 2, "rotated": 4})
    soaked.add_compared(100, seed.endswith("002"))
"""
OF_TWO_TIERS = """
import pytest

@pytest.mark.soak
@pytest.mark.services
def test_of_two_tiers(): pass
"""

WITH_HADOOP = """
import pytest

@pytest.fixture
def hadoop_jars(): pass

@pytest.mark.parametrize("number", range(3))
def test_of_hadoop(hadoop_jars, number): pass

@pytest.mark.parametrize("number", range(3))
def test_without(number): pass
"""


def make(target: str, *variables: str) -> list[list[str]]:
    """Return the arguments of each call of pytest by a target of `make`."""
    # Remove the variables that `make test ARGS=...` passes on.
    environment = {
        name: value for name, value in os.environ.items() if name != "ARGS" and not name.startswith("MAKE")
    }
    printed = subprocess.run(
        ["make", "--dry-run", target, *variables], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    return [
        shlex.split(each)
        for each in re.findall(r"^\S+/pytest (.*?)(?: \|\| .*)?$", printed.stdout, re.MULTILINE)
    ]


def run(arguments: list[str], folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Run test files as if they were in this repository."""
    for number, tests in enumerate(files):
        (folder / f"test_{number}.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest"]
    return subprocess.run([*command, *arguments, str(folder)], cwd=ROOT, capture_output=True, text=True)


def passed(ran: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^PASSED \S*::(.*?)(?:@.*)?$", ran.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("target", "tests"),
    [("test", [["test_unmarked"]]), ("test-services", [["test_of_a_service"], ["test_that_measures"]])],
)
def test_a_make_target_runs_only_its_own_tier_and_measuring_tests_one_by_one(
    target: str, tests: list[list[str]], tmp_path: Path
) -> None:
    calls = make(target)
    # Worker processes are switched off, because they need seconds to start.
    ran = [run([*each, "-n0", "-rp"], tmp_path, ONE_OF_EACH_TIER) for each in calls]

    assert [passed(each) for each in ran] == tests, [each.stdout for each in ran]
    assert [call[:2] for call in calls[1:]] == [["-n", "1"]] * (len(tests) - 1)


def test_a_soak_runs_the_remaining_rounds_and_prints_its_seed_progress_and_a_summary(tmp_path: Path) -> None:
    ran = run([*make("soak", "SEED=7", "FROM=2", "ROUNDS=3")[0], "-rp"], tmp_path, ONE_OF_EACH_TIER)

    assert passed(ran) == ["test_repeated[seed 7 round 002]", "test_repeated[seed 7 round 003]"], ran.stdout
    assert "seed 7, rounds 2 to 3; go on with: make soak SEED=7 FROM=" in ran.stdout
    assert re.search(r"test_repeated\[seed 7 round 002\] PASSED .*50%", ran.stdout)
    assert "faults injected: 6 kills (2 of whole processes, 4 at requests), 8 others" in ran.stdout
    assert "differences found: 1 in 200 documents" in ran.stdout


@pytest.mark.services
def test_in_parallel_the_hadoop_tests_run_in_one_process(tmp_path: Path) -> None:
    ran = run([*make("test")[0], "-n2", "-v"], tmp_path, WITH_HADOOP, WITH_HADOOP)

    processes = re.findall(r"^\[(gw\d)\] .* PASSED \S*::test_of_hadoop", ran.stdout, re.MULTILINE)
    assert (len(processes), len(set(processes))) == (6, 1), ran.stdout


OF_ATLAS = """
import pytest

pytestmark = pytest.mark.services

@pytest.fixture
def atlas(): pass

def test_of_atlas(atlas): pass

def test_beside_it(): pass
"""


@pytest.mark.services
def test_in_parallel_a_services_file_and_all_atlas_tests_stay_together(tmp_path: Path) -> None:
    ran = run([*make("test-services")[0], "-n2", "-v"], tmp_path, OF_ATLAS, OF_ATLAS)

    processes = re.findall(
        r"^\[(gw\d)\] .* PASSED \S*::test_(?:of_atlas|beside_it)", ran.stdout, re.MULTILINE
    )
    assert (len(processes), len(set(processes))) == (4, 1), ran.stdout


def test_a_test_of_two_tiers_is_refused(tmp_path: Path) -> None:
    ran = run([], tmp_path, OF_TWO_TIERS)

    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "a test belongs to one tier, and is marked services and soak" in ran.stderr


@pytest.mark.parametrize("target", ["test", "test-services", "soak"])
def test_the_manual_names_each_tier(target: str) -> None:
    assert f"\n| `make {target}` |" in page("contribute/working")
