"""What the dashboard and the alerts ask Prometheus for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exposition import metrics, words

OPERATIONS = Path(__file__).resolve().parents[2] / "docs/operations"
DASHBOARD = OPERATIONS / "dashboard.json"
ALERTS = OPERATIONS / "alerts.yml"

SELECTOR = re.compile(r"\bsluicegate_(\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
BY = re.compile(r"\bby \(([^)]*)\)")
# What Prometheus adds to every series.
ADDED = {"job", "instance"}


@dataclass
class Query:
    """An expression, the labels that its captions name, and where it stands."""

    place: str
    expression: str
    shown: set[str]

    def faults(self) -> Iterator[str]:
        """What it asks for that no process serves."""
        selected = SELECTOR.findall(self.expression)
        if not selected:
            yield f"{self.place}: it asks for no metric"
        known: set[str] = set(ADDED)
        for name, matchers in selected:
            metric = metrics().get(name)
            if metric is None:
                yield f"{self.place}: there is no sluicegate_{name}"
                continue
            known |= metric.labels
            for label, text in MATCHER.findall(matchers):
                if label not in metric.labels | ADDED:
                    yield f"{self.place}: sluicegate_{name} has no label {label}"
                elif not text.startswith("$") and (unknown := set(text.split("|")) - words()):
                    yield f"{self.place}: no {label} is {', '.join(sorted(unknown))}"
        kept = {label.strip() for labels in BY.findall(self.expression) for label in labels.split(",")}
        if unknown := kept - known:
            yield f"{self.place}: its metrics have no label {', '.join(sorted(unknown))}"
        if unknown := self.shown - kept:
            yield f"{self.place}: it shows {', '.join(sorted(unknown))}, which its result lacks"


def dashboard() -> dict[str, Any]:
    return json.loads(DASHBOARD.read_text())


def of_dashboard() -> list[Query]:
    targets = [(panel, target) for panel in dashboard()["panels"] for target in panel["targets"]]
    captions = re.compile(r"\{\{(\w+)\}\}")
    return [Query(panel["title"], target["expr"], set(captions.findall(target["legendFormat"]))) for panel, target in targets]


def of_alerts() -> list[Query]:
    alerts = re.split(r"^ *- alert: ", ALERTS.read_text(), flags=re.M)[1:]
    expression, labels = re.compile(r"^ *expr: (.*)$", re.M), re.compile(r"\$labels\.(\w+)")
    return [Query(text.split("\n")[0], expression.findall(text)[0], set(labels.findall(text))) for text in alerts]


def concrete(expression: str) -> str:
    """It, as Grafana sends it with everything chosen."""
    return expression.replace("$__rate_interval", "10s").replace("$job", ".*").replace("$rule", ".*")
