"""What is published installs on its own, far from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
# What it is compiled from.
SOURCES = ("lua/src", "core/src", "core/lab/src", "core/cli/src", "bindings-python/src", "bindings-python/python/sluicegate")
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


def sources(folder: str) -> Iterator[str]:
    """Its files, without Python's caches and a native part that was built in place."""
    for path in (PACKAGE.parent / folder).rglob("*.*"):
        if path.is_file() and path.suffix not in (".pyc", ".so", ".pyd"):
            yield path.relative_to(PACKAGE.parent).as_posix()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The source distribution."""
    run(sys.executable, "-m", "maturin", "sdist", "--out", tmp_path, folder=PACKAGE)
    (archive,) = tmp_path.glob("sluicegate-*.tar.gz")
    return archive


def test_the_source_distribution_has_all_sources(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        packed = {name.split("/", 1)[1] for name in opened.getnames()}
    # What is in Python moves to the root.
    needed = {file.removeprefix("bindings-python/python/") for folder in SOURCES for file in sources(folder)}
    packed = {file.removeprefix("python/") for file in packed}
    assert len(needed) > 300
    assert not needed - packed
    assert {"pyproject.toml", "Cargo.toml", "Cargo.lock", "lua/Cargo.toml", "core/Cargo.toml"} <= packed


@pytest.mark.skipif(not os.environ.get("SLUICEGATE_LONG_TESTS"), reason="compiles everything: `tests/run nightly` does it")
def test_the_source_distribution_installs(archive: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "fresh", folder=tmp_path)
    python = tmp_path / "fresh" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "--disable-pip-version-check", "install", archive, folder=tmp_path)
    assert run(python, "-c", PROGRAM, folder=tmp_path) == "True False\n"
