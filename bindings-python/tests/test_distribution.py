"""What is published installs on its own, far from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
# Where Cargo has the dependencies compiled already.
TARGET = Path(os.environ["SLUICEGATE_TEST_SERVERS"]).parents[1]
PROGRAM = """
from sluicegate import RateLimiter
rules = [{"rule_id": "a", "algorithm": "gcra", "limit": 1, "window_size_seconds": 60}]
limiter = RateLimiter("memory://", rules=rules)
print(limiter.check("a", "b").allowed, limiter.check("a", "b").allowed)
"""


def run(*command: str | Path, folder: Path) -> str:
    # That it compiles is to be seen, not how fast it is.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "MATURIN_PEP517_ARGS": "--profile dev"}
    # The time of the files in the archive: Cargo takes old ones for those that it has compiled before.
    environment["SOURCE_DATE_EPOCH"] = str(int(time.time()))
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_source_distribution_installs(tmp_path: Path) -> None:
    run(sys.executable, "-m", "maturin", "sdist", "--out", tmp_path, folder=PACKAGE)
    (archive,) = tmp_path.glob("sluicegate-*.tar.gz")
    run(sys.executable, "-m", "venv", "fresh", folder=tmp_path)
    python = tmp_path / "fresh" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "--disable-pip-version-check", "install", archive, folder=tmp_path)
    assert run(python, "-c", PROGRAM, folder=tmp_path) == "True False\n"
