"""What an import says where the native part is missing, or is that of another system."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "python" / "sluicegate"


@pytest.mark.parametrize("native", [None, b"of another system"])
def test_an_import_says_which_platforms_there_are_and_how_to_build(tmp_path: Path, native: bytes | None) -> None:
    shutil.copytree(SOURCES, tmp_path / "sluicegate", ignore=shutil.ignore_patterns("*.so"))
    if native:
        (tmp_path / "sluicegate" / "_native.abi3.so").write_bytes(native)
    program = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import sluicegate"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    (message,) = [line for line in done.stderr.splitlines() if line.startswith("ImportError: sluicegate ")]
    for words in (sys.platform, "CPython 3.10", "glibc 2.17 or musl 1.2", "macOS", "Windows", "another interpreter", "--no-binary"):
        assert words in message
    assert done.returncode == 1
