"""Runs every code block of the site's pages and of the README. The last line counts them.

A block that stands alone is a program. Comments right above a block say otherwise:

    <!-- continues -->           it goes on where the block of that language above it ended
    <!-- request: POST /login 200 429 -->
                                 it is a server; ask it, and expect these statuses
    <!-- not run: REASON -->     it is shown only, and counted openly

A block titled "Output" is what the one above prints. One whose title is the name of a file can be used by
the other blocks of its page. Rust is run by the crate beside this file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from blocks import Block, blocks_of, pages
from languages import RUNNERS, SHOWN_ONLY, Failed, Place, compare
from places import Redis, c_library, environment, node_package, page_folder, python_package


def main(wanted: list[str]) -> int:
    passed, failed, shown = 0, 0, []
    with tempfile.TemporaryDirectory() as scratch:
        python_package(Path(scratch))
        node_package(Path(scratch))
        c_library(Path(scratch))
        redis = Redis()
        try:
            for page in pages():
                if wanted and not any(name in str(page) for name in wanted):
                    continue
                for name, reason in run_page(Path(scratch), redis, page, shown):
                    passed, failed = passed + (not reason), failed + bool(reason)
                    print(f"FAILED {name}\n{reason}" if reason else f"ok {name}")
        finally:
            redis.close()
    for name in shown:
        print(f"not run: {name}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def run_page(scratch: Path, redis: Redis, page: Path, shown: list[str]):
    """The name of each block that was run, and what was wrong with it."""
    blocks = blocks_of(page)
    if not blocks:
        return
    place = Place(page_folder(scratch, blocks), redis, environment(scratch))
    before: dict[str, str] = {}
    for block in blocks:
        if reason := block.directive("not run"):
            shown.append(f"{block.name}: {reason[0]}")
        elif block.language not in SHOWN_ONLY | {"rust"}:
            yield block.name, fault(block, place, before)


def fault(block: Block, place: Place, before: dict[str, str]) -> str:
    """What is wrong with a block; empty: nothing."""
    code = before.get(block.language, "") + block.code if block.directive("continues") else block.code
    before[block.language] = code
    if block.language not in RUNNERS:
        return "no runner for this language; run it, or say why not"
    place.redis.empty()
    try:
        printed = RUNNERS[block.language](block, code, place)
        if block.output is not None:
            compare(block.output, printed)
    except (Failed, subprocess.TimeoutExpired, ValueError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
