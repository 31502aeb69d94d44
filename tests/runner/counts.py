"""How many tests passed and failed, by what their runners print."""

from __future__ import annotations

import re

from jobs import Counted

CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)
RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
FAILED = re.compile(r"^FAILED \((.*)\)", re.MULTILINE)
RUNNER = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def of_cargo(output: str, _status: int) -> Counted:
    """The sum of the summaries of test programs."""
    found = CARGO.findall(output)
    return Counted(sum(int(passed) for passed, _ in found), sum(int(failed) for _, failed in found))


def of_unittest(output: str, _status: int) -> Counted:
    """A test may fail in several parts, each of which counts."""
    ran = sum(map(int, RAN.findall(output)))
    failed = sum(int(number) for words in FAILED.findall(output) for number in re.findall(r"(?:failures|errors)=(\d+)", words))
    return Counted(max(ran - failed, 0), failed)


def of_runner(output: str, _status: int) -> Counted:
    """The last line of a script like `tests/run`."""
    found = RUNNER.findall(output)
    return Counted(*map(int, found[-1])) if found else Counted()


def of_status(_output: str, status: int) -> Counted:
    """One test, which has passed if the exit status says so."""
    return Counted(1, 0) if status == 0 else Counted(0, 1)
