"""A Rust compiler from Debian packages, for Linux on x86_64, where another version than the installed one is needed, or the
standard library of another system.

Debian keeps `libstd-rust-VERSION`, which is all of rustc as a library, and `rust-src` longer than `rustc` itself. Cargo is the
installed one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/matrix"))

import packages  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve()
SUITE = "trixie-backports"
HOST = "x86_64-unknown-linux-gnu"
NOT_TO_BE_HAD = 77


def promised() -> str:
    """The oldest version that Cargo.toml promises."""
    return tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def assembled(version: str) -> Path:
    """A compiler from Debian packages; one that was assembled before is used again."""
    place = TARGET / f"rust-{version}"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        try:
            compiler = packages.extracted(place / "compiler", SUITE, f"libstd-rust-{version}")
            source = packages.extracted(place / "source", SUITE, f"rust-src={version}.*")
        # No such packages any more, no apt-get, or not from a mirror of Debian.
        except (subprocess.CalledProcessError, OSError, IndexError):
            print(f"Rust {version} is neither installed nor in {SUITE}", file=sys.stderr)
            sys.exit(NOT_TO_BE_HAD)
        packages.with_libraries(place, compiler, program(compiler))
        (place / "library").symlink_to(next(source.glob("usr/src/rustc-*/library")))
        add_standard_library(place, HOST, "build")
        (place / "complete").touch()
    return place / "rustc"


def program(compiler: Path) -> Path:
    """What the package `rustc` would have: a program that calls the library."""
    driver = next(compiler.rglob("librustc_driver-*.so"))
    symbols = subprocess.run(["nm", "--dynamic", "--defined-only", driver], capture_output=True, text=True, check=True)
    main = re.search(r"_R\w+17rustc_driver_impl4main$", symbols.stdout, re.MULTILINE)[0]
    source = compiler / "rustc.c"
    source.write_text(f"void {main}(void);\nint main(void) {{ {main}(); }}\n")
    # Its libraries need a newer C library than the one of this machine.
    subprocess.run(["cc", "-Wl,--unresolved-symbols=ignore-in-shared-libs", "-o", compiler / "rustc", source, driver], check=True)
    return compiler / "rustc"


def add_standard_library(place: Path, system: str, cargo_command: str) -> None:
    """Compiles the standard library with that compiler, but its build scripts, which need one themselves, with the installed."""
    chosen = place / "rustc-for-library"
    chosen.write_text(
        f'#!/bin/sh\ncase " $* " in *" build_script_build "*) exec rustc "$@" ;; esac\nexec {place}/rustc "$@"\n'
    )
    chosen.chmod(0o755)
    # As the build of Rust itself does; the compiler takes crates of the standard library for others without the flag.
    flags = {"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": "-Zforce-unstable-if-unmarked", "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"}
    environment = {**os.environ, **flags, "RUSTC": str(chosen), "CARGO_TARGET_DIR": str(place / "built")}
    manifest = place / "library/sysroot/Cargo.toml"
    command = ["cargo", cargo_command, "--quiet", "--release", "--target", system, "--manifest-path", manifest]
    subprocess.run(command, env=environment, check=True)
    compiled = place / "compiler/root/usr/lib/rustlib" / system / "lib"
    compiled.mkdir(parents=True, exist_ok=True)
    for kind in ("*.rlib", "*.rmeta"):
        for built in (place / "built" / system / "release/deps").glob(kind):
            shutil.copy(built, compiled)
