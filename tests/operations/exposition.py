"""The metrics that a process serves, as core writes them: their kinds, their labels, and the words that labels may have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CORE = REPOSITORY / "core/src"
PAGE = REPOSITORY / "docs/operations/metrics.md"

FAMILY = re.compile(r'\.family\(\s*"(\w+)",\s*Kind::(\w+)')
SAMPLE = re.compile(r'\.(?:sample|count)\(\s*"(\w+)",\s*(&\[.*?\]|&\w+)', re.S)
LABEL = re.compile(r'\(\s*"(\w+)",')
# | `name{label, label}` | kind | what it says |
ROW = re.compile(r"^\| `sluicegate_(\w+)(?:\{([\w, ]+)\})?` \| (\w+) \|", re.M)
OF_HISTOGRAMS = re.compile(r"_(bucket|sum|count)$")


@dataclass
class Metric:
    kind: str
    labels: frozenset[str]


@cache
def metrics() -> dict[str, Metric]:
    """By the names of samples: those of a histogram end with `_bucket`, `_sum` and `_count`."""
    source = (CORE / "metrics/families.rs").read_text()
    kinds = {name: kind.lower() for name, kind in FAMILY.findall(source)}
    found = {}
    for sample in SAMPLE.finditer(source):
        name, labels = sample.groups()
        if not labels.startswith("&["):
            # Those of a variable: the nearest above.
            labels = re.findall(rf"let {labels[1:]} = (\[.*?\]);", source[: sample.start()], re.S)[-1]
        found[name] = Metric(kinds[family(name, kinds)], frozenset(LABEL.findall(labels)))
    missing = kinds.keys() - {family(name, kinds) for name in found}
    if missing or not found:
        raise ValueError(f"families.rs is written otherwise than this file reads: no sample of {missing}")
    return found


def family(name: str, kinds: dict[str, str]) -> str:
    return name if name in kinds else OF_HISTOGRAMS.sub("", name)


def of_page() -> dict[str, Metric]:
    """The same, as the table of the page has them; those of a histogram without their ends."""
    rows = ROW.findall(PAGE.read_text())
    return {name: Metric(kind, frozenset(labels.replace(" ", "").split(",")) - {""}) for name, labels, kind in rows}


@cache
def words() -> frozenset[str]:
    """All that core may write as a label's text: results, sources, kinds."""
    files = [*(CORE / "metrics").glob("*.rs"), CORE / "decision.rs", CORE / "error.rs"]
    return frozenset(word for file in files for word in re.findall(r'"(\w+)"', file.read_text()))
