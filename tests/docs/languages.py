"""How a block of each language is run. A runner returns what the block printed, or raises `Failed`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blocks import ROOT, Block
from places import BUILT, TIMEOUT, Redis
from serving import SERVED, answers

INSTALLS = re.compile(r"(sudo )?(pip|npm|cargo add|cargo install|make|apt-get|rustup|docs/build|tests/run|\.ci/run)\b")
SHOWN_ONLY = {"text", "http", "ini", "toml", "yaml"}


class Failed(Exception):
    """What a block did instead of what its page says."""


@dataclass
class Place:
    """What a runner needs: the folder of the page, the server, the environment."""

    folder: Path
    redis: Redis
    environment: dict[str, str]

    def run(self, *command: str | Path, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, input=text, capture_output=True, text=True, timeout=TIMEOUT
        )
        if check and done.returncode != 0:
            raise Failed(f"ended with status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def file(self, name: str, code: str) -> Path:
        path = self.folder / name
        path.write_text(self.redis.located(code), encoding="utf-8")
        return path


def python(block: Block, code: str, place: Place) -> str:
    if requests := block.directive("request"):
        file = place.file("served.py", code + SERVED["python"])
        return answers([sys.executable, file], place, requests)
    return place.run(sys.executable, "-X", "dev", place.file("block.py", code)).stdout


def javascript(block: Block, code: str, place: Place) -> str:
    if requests := block.directive("request"):
        name = "served.cjs" if " = require(" in code else "served.mjs"
        file = place.file(name, code.replace("8000", "process.env.PORT"))
        return answers(["node", file], place, requests)
    # A block may leave connections open; a program would go on using them.
    place.file("main.mjs", "await import('./block.mjs');\nprocess.exit();\n")
    place.file("block.mjs", code)
    return place.run("node", "main.mjs").stdout


def c(block: Block, code: str, place: Place) -> str:
    program = place.folder / "program"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "bindings-c/include"]
    place.run("cc", *flags, "-o", program, place.file("block.c", code), "-L", BUILT, "-lsluicegate_c")
    return place.run(program).stdout


def rules(block: Block, code: str, place: Place) -> str:
    """JSON in these pages is rules: several, one, or what an array of them is made of."""
    if '"rule_id"' not in code:
        json.loads(re.sub(r"//.*", "", code))
        return ""
    text = code if re.match(r'\s*(//.*\s*)*(\[|\{\s*("\$schema".*\s*)?"rules")', code) else f"[{code}]"
    return place.run("sluicegate", "rules", "validate", place.file("block.jsonc", text)).stdout


def console(block: Block, code: str, place: Place) -> str:
    """Commands after `$ `, each followed by what it prints."""
    for step in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, expected = _command(step)
        if INSTALLS.match(command):
            continue
        command = re.sub(r"^cargo run -p sluicegate-cli -- ", "sluicegate ", place.redis.located(command))
        done = place.run("bash", "-c", command, check=False)
        compare(expected, done.stdout + done.stderr)
    return ""


def _command(step: str) -> tuple[str, str]:
    lines = step.splitlines()
    length = 1
    while lines[length - 1].endswith("\\"):
        length += 1
    return "\n".join(lines[:length]), "\n".join(lines[length:])


def compare(expected: str, printed: str) -> None:
    """The same but for times; a line `...` stands for any lines."""
    pattern = re.escape(_without_times(expected.strip()))
    pattern = re.sub(r"(?m)^\\\.\\\.\\\.$", r"(?s:.*)", pattern)
    if not re.fullmatch(pattern, _without_times(printed.strip())):
        raise Failed(f"printed\n{printed}instead of\n{expected}")


def _without_times(text: str) -> str:
    times = re.sub(r"\b\d+(\.\d+)?(us|ms|s|m|h)\b( \d+s\b)?", "TIME", text)
    return "\n".join(line.rstrip() for line in times.splitlines())


RUNNERS: dict[str, Callable[[Block, str, Place], str]] = {
    "python": python,
    "js": javascript,
    "c": c,
    "json": rules,
    "json5": rules,
    "console": console,
}
