"""Where blocks are run: a folder per page, a Redis server of the tests' own, and what was built."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from blocks import ROOT, Block

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BUILT = TARGET / "debug"
TIMEOUT = 60


class Redis:
    """A server that ends with this process."""

    def __init__(self) -> None:
        program = [BUILT / "sluicegate-test-servers", "start", "redis"]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.url: str = json.loads(self._process.stdout.readline())["redis"]
        self.address = urlsplit(self.url)

    def empty(self) -> None:
        with socket.create_connection((self.address.hostname, self.address.port), TIMEOUT) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            assert connection.recv(64) == b"+OK\r\n"

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(TIMEOUT)

    def located(self, code: str) -> str:
        """The code with this server in place of the one that pages name."""
        netloc = f"{self.address.hostname}:{self.address.port}"
        return re.sub(r"(redis://(?:[\w-]+:\w+@)?)localhost\b(?::6379)?", rf"\g<1>{netloc}", code)


def python_package(folder: Path) -> None:
    """The package as it is in the repository, with the native part that was built."""
    package = folder / "sluicegate"
    shutil.copytree(ROOT / "bindings-python/python/sluicegate", package, dirs_exist_ok=True)
    shutil.copy(BUILT / "lib_native.so", package / "_native.abi3.so")


def node_package(folder: Path) -> None:
    """The same for Node, beside what else pages import."""
    modules = folder / "node_modules"
    shutil.copytree(ROOT / "tests/docs/node_modules", modules, symlinks=True, dirs_exist_ok=True)
    package = modules / "sluicegate"
    for part in ("lib", "package.json"):
        source = ROOT / "bindings-node" / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        package.mkdir(exist_ok=True)
        copy(source, package / part)
    platform = subprocess.run(["node", "-p", "process.platform + '-' + process.arch"], capture_output=True, text=True)
    (package / "native").mkdir()
    shutil.copy(BUILT / "libsluicegate_node.so", package / "native" / f"sluicegate.{platform.stdout.strip()}.node")


def c_library(folder: Path) -> None:
    """The library under the name that programs ask for."""
    (folder / "lib").mkdir()
    (folder / "lib" / "libsluicegate.so.0").symlink_to((BUILT / "libsluicegate_c.so").resolve())


def environment(scratch: Path) -> dict[str, str]:
    """Finds the tool, the packages and the libraries that were built."""
    folders = [str(BUILT), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        **os.environ,
        "PATH": os.pathsep.join(folders),
        "PYTHONPATH": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": str(scratch / "lib"),
        "NO_COLOR": "1",
    }


def page_folder(scratch: Path, blocks: list[Block]) -> Path:
    """A folder with the files that a page shows, and `examples` as in a clone."""
    folder = scratch / blocks[0].page.relative_to(ROOT).with_suffix("").as_posix().replace("/", "-")
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples")
    for block in blocks:
        if block.is_file:
            (folder / block.title).write_text(block.code, encoding="utf-8")
    return folder
