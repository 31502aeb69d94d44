"""What `tests/run` runs: every job, the command of each, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable

from counts import of_cargo, of_runner, of_status, of_unittest
from jobs import Counted, Job

# What is compiled for tests is compiled once: by these words, all of it has the same features.
WORKSPACE = ["--workspace", "--all-features", "--locked"]
FUZZ_SECONDS = {"short": "10", "nightly": "120"}

# How packages are told to be made of what is compiled for tests.
OF_TESTS = ("env", "SLUICEGATE_PROFILE=dev")
KINDS = ("npm", "wheel", "c-archive", "debian", "crates")
PACKAGES = tuple(f"package {kind}" for kind in KINDS)


def step(name: str, *command: str, after: tuple[str, ...] = (), most: int = 1800) -> Job:
    """Something that has to succeed and counts no tests."""
    return Job(name, list(command), "debug", None, after, most)


def suite(name: str, count: Callable[[str, int], Counted], *command: str, after: tuple[str, ...] = (), most: int = 1500) -> Job:
    """Tests that need no compiler, or none to speak of."""
    return Job(name, list(command), "tests", count, after, most)


def package(kind: str, after: tuple[str, ...] = ()) -> Job:
    """A package as a release has it, which is a test, too."""
    return Job(f"package {kind}", ["tests/packages/build", kind], "release", of_status, after, 1800)


def packed(kind: str) -> Job:
    """A package of what is compiled for tests: nothing is compiled for it."""
    return Job(f"package {kind}", [*OF_TESTS, "tests/packages/build", kind], "packages", of_status, ("programs",))


def unittests(name: str) -> Job:
    return suite(name, of_unittest, "python3", "-m", "unittest", "discover", "--start-directory", f"tests/{name}")


FORM = step("format", "cargo", "fmt", "--all", "--check", most=60)
PROGRAMS = step("programs", "tests/runner/programs", "--build")
COMPILED = step("compile", "tests/runner/programs", "--compile", after=("programs",))
LINTS = step("lints", "cargo", "clippy", *WORKSPACE, "--all-targets", "--", "-D", "warnings")
# Default features only; tests too at night.
FEWER = step("lints by default", "cargo", "clippy", "-p", "sluicegate", "--locked", "--", "-D", "warnings")
FEWER_TESTS = step("lints of tests by default", "cargo", "clippy", "-p", "sluicegate", "--all-targets", "--locked", "--", "-D", "warnings")
DOCUMENTED = step("documentation", "env", "RUSTDOCFLAGS=-D warnings", "cargo", "doc", "--no-deps", *WORKSPACE)

# In the order in which they are wanted: the first that can run runs first.
RUN = [
    FORM,
    PROGRAMS,
    packed("wheel"),
    packed("npm"),
    packed("c-archive"),
    packed("debian"),
    packed("crates"),
    COMPILED,
    LINTS,
    FEWER,
    DOCUMENTED,
    unittests("reference"),
    suite("core", of_cargo, "tests/runner/programs", after=("compile",), most=1800),
    Job("doc tests", ["cargo", "test", "--doc", *WORKSPACE], "debug", of_cargo, ("compile",)),
    Job("structure", ["python3", "-m", "unittest", "discover", "--start-directory", "tests/structure"], "debug", of_unittest),
    suite("Python vectors", of_runner, "bindings-python/tests/run", "vectors", after=("programs", "package wheel")),
    suite("Python", of_runner, "bindings-python/tests/run", "rest", after=("programs", "package wheel"), most=1800),
    suite("Node", of_runner, "bindings-node/test/run", after=("programs", "package npm"), most=1800),
    suite("C", of_runner, *OF_TESTS, "bindings-c/tests/run", after=("programs", "package c-archive"), most=1800),
    suite("fleet", of_unittest, "tests/fleet/run", after=("programs", "package wheel", "package npm", "package c-archive")),
    suite("chaos", of_unittest, "tests/chaos/run", after=("programs", "package wheel", "package npm", "package c-archive")),
    suite("frameworks", of_unittest, "tests/differential/run", after=("programs", "package wheel", "package npm")),
    suite("time series", of_cargo, "tests/timeseries/run", after=("compile",)),
    unittests("parity"),
    unittests("runner"),
    suite("operations", of_unittest, "tests/operations/run", most=600),
    suite("site", of_runner, "tests/docs/run", after=("programs", "compile", "documentation")),
    suite("packages", of_runner, *OF_TESTS, "tests/packages/run", after=PACKAGES),
    suite("fuzz", of_cargo, "tests/fuzz/run", FUZZ_SECONDS["short"], after=("compile",)),
]

QUICK = [
    FORM,
    PROGRAMS,
    COMPILED,
    LINTS,
    suite("unit tests", of_cargo, "tests/runner/programs", "--units", after=("compile",)),
    suite("vectors", of_runner, "tests/runner/vectors", after=("programs", "compile")),
    Job("structure", ["python3", "-m", "unittest", "discover", "--start-directory", "tests/structure"], "debug", of_unittest),
    unittests("reference"),
    unittests("parity"),
]

# Tests that have a short form do all of it at night.
BY_NIGHT = {"SLUICEGATE_LONG_TESTS": "1"}

NIGHTLY = [
    PROGRAMS,
    COMPILED,
    FEWER_TESTS,
    suite("core", of_cargo, "tests/runner/programs", after=("compile",), most=3600),
    *map(package, KINDS),
    suite("packages", of_runner, "tests/packages/run", "--all", after=PACKAGES, most=3600),
    suite("fuzz", of_cargo, "tests/fuzz/run", FUZZ_SECONDS["nightly"], after=("compile",), most=3600),
    suite("Flask-Limiter", of_runner, "bindings-python/tests/suites/run", after=("programs", "package wheel")),
    suite("Python", of_runner, "bindings-python/tests/run", "rest", after=("programs", "package wheel"), most=3600),
    suite("previous frameworks", of_runner, "bindings-python/tests/run", "previous", after=("programs", "package wheel")),
    suite("Node", of_runner, "bindings-node/test/run", after=("programs", "package npm"), most=1800),
    suite("previous frameworks of Node", of_runner, "bindings-node/test/run", "previous", after=("programs", "package npm")),
    suite("C", of_runner, "bindings-c/tests/run", after=("programs", "package c-archive"), most=3600),
    suite("chaos", of_unittest, "tests/chaos/run", after=("programs", "package wheel", "package npm", "package c-archive"), most=3600),
    suite("Python vectors", of_runner, "bindings-python/tests/run", "vectors", after=("programs", "package wheel")),
    unittests("reference"),
    Job("servers", ["tests/matrix/run"], "debug", of_runner, ("compile",), 3600),
]
