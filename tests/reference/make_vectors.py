#!/usr/bin/env python3
"""Writes tests/vectors/*.json from the scenarios and the reference limiter.

python3 tests/reference/make_vectors.py           writes the files
python3 tests/reference/make_vectors.py --check   writes nothing, exits 1 if a file is not current
"""

import difflib
import json
import sys
from itertools import islice
from pathlib import Path

import allotments
import random_histories
from player import vector
from scenarios import FILES
from strict import faults

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
SCHEMA = VECTORS / "schema.json"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = {f"{name}.json": make_file(name) for name in FILES}
    files |= {f"{name}.json": content for name, content in allotments.files().items()}
    complaints = complaints_about(files)
    if arguments == ["--check"]:
        complaints += differences(files)
    elif not complaints:
        write(files)
    print("\n".join(complaints) or summary(files))
    return 1 if complaints else 0


def make_file(name: str) -> dict:
    description, scenarios = FILES[name]
    return {
        "description": description,
        "vectors": [vector(scenario) for scenario in scenarios] + random_histories.vectors(name),
    }


def complaints_about(files: dict[str, dict]) -> list[str]:
    """Faults of form: against the schema, and ids that are not unique or not named after their file."""
    found = []
    for name, content in files.items():
        schema = json.loads(schema_of(name).read_text())
        found += [f"{name}: {fault}" for fault in faults(content, schema, schema)]
    seen: set[str] = set()
    for name, content in files.items():
        for each in content["vectors"]:
            identifier = each["id"]
            if identifier in seen or not identifier.startswith(Path(name).stem + "/"):
                found.append(f"{name}: {identifier} is not unique or not named after its file")
            seen.add(identifier)
    return found


def schema_of(name: str) -> Path:
    """A folder may have a form of its own."""
    own = (VECTORS / name).parent / SCHEMA.name
    return own if own.exists() else SCHEMA


def differences(files: dict[str, dict]) -> list[str]:
    """The first lines of the difference between what is on disk and what should be."""
    on_disk = {
        str(path.relative_to(VECTORS)): path.read_text()
        for folder in {VECTORS / Path(name).parent for name in files}
        for path in folder.glob("*.json")
        if path.name != SCHEMA.name
    }
    found = [f"{name}: nothing makes this file" for name in on_disk.keys() - files.keys()]
    for name, content in files.items():
        before, after = on_disk.get(name, "").splitlines(), text(content).splitlines()
        difference = difflib.unified_diff(before, after, f"{name} on disk", f"{name} as made", n=0, lineterm="")
        found += islice(difference, 12)
    return found


def write(files: dict[str, dict]) -> None:
    for name, content in files.items():
        (VECTORS / name).parent.mkdir(exist_ok=True)
        (VECTORS / name).write_text(text(content))


def text(content: dict) -> str:
    """JSON with one line per step, so that a diff shows which answer changed."""
    blocks = ",\n".join(vector_text(each) for each in content["vectors"])
    return f'{{"description": {compact(content["description"])},\n"vectors": [\n{blocks}\n]}}\n'


def vector_text(each: dict) -> str:
    steps = ",\n  ".join(compact(step) for step in each["steps"])
    return (
        f'{{"id": {compact(each["id"])},\n'
        f' "note": {compact(each["note"])},\n'
        f' "rules": {compact(each["rules"])},\n'
        f' "steps": [\n  {steps}]}}'
    )


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def summary(files: dict[str, dict]) -> str:
    vectors = [each for content in files.values() for each in content["vectors"]]
    steps = sum(len(each["steps"]) for each in vectors)
    return f"{len(files)} files, {len(vectors)} vectors, {steps} steps"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
