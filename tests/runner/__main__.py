"""Runs the tests: all of them, those of some names, the quick ones, or those of a night. See `tests/run --help`."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jobs
import report
import suites

REPOSITORY = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/run", description="Runs every test, against servers that the tests start themselves.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these suites, with what they need; `nightly`: what takes long")
    parser.add_argument("--quick", action="store_true", help="format, lints, unit tests, vectors in memory and on one Redis, structure")
    parser.add_argument("--list", action="store_true", help="only names the suites")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[jobs.Job]:
    """The jobs to run, with all that they wait for."""
    every = suites.QUICK if options.quick else suites.RUN
    names = {name.lower() for name in options.names}
    if "nightly" in names:
        every, names = suites.NIGHTLY, names - {"nightly"}
    unknown = names - {job.name.lower() for job in every}
    if unknown:
        sys.exit(f"no suite is called {', '.join(sorted(unknown))}; they are: {', '.join(job.name for job in every)}")
    wanted = {job.name for job in every if not names or job.name.lower() in names}
    # Who waits for another stands after it or before it: go on until nothing is added.
    while more := {name for job in every if job.name in wanted for name in job.after} - wanted:
        wanted |= more
    return [job for job in every if job.name in wanted]


def environment(options: argparse.Namespace) -> dict[str, str]:
    """Says to suites what they need not build, and whether it is night."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target").absolute()
    built = {
        "CARGO_TARGET_DIR": str(target),
        "SLUICEGATE_BUILT_PACKAGES": str(target / "package-lists"),
        "SLUICEGATE_BUILT_PROGRAMS": str(target / "debug"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**os.environ, **built, **(suites.BY_NIGHT if "nightly" in options.names else {})}


def main() -> int:
    options = arguments()
    wanted = chosen(options)
    if options.list:
        print("\n".join(job.name for job in wanted))
        return 0
    os.chdir(REPOSITORY)
    if subprocess.run(["tests/runner/install"], check=False).returncode != 0:
        return 1
    # Told to end, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    began = time.monotonic()
    results: list[jobs.Result] = []

    def ended(result: jobs.Result) -> None:
        results.append(result)
        report.show(result)

    with tempfile.TemporaryDirectory() as folder:
        jobs.run(wanted, Path(folder), environment(options), ended)
    return report.summary(results, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
