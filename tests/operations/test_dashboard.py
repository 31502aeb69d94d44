"""The dashboard has the shape that Grafana imports, and it and the alerts ask for what is served."""

from __future__ import annotations

import unittest
from itertools import combinations
from typing import Any

from exposition import OF_HISTOGRAMS, metrics, of_page
from queries import Query, dashboard, of_alerts, of_dashboard

# Of Grafana 10.4: later ones convert it.
SCHEMA = 39
COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


class Asked(unittest.TestCase):
    def test_the_page_names_what_is_served(self) -> None:
        served = {OF_HISTOGRAMS.sub("", name) if metric.kind == "histogram" else name: metric for name, metric in metrics().items()}
        page = of_page()
        self.assertEqual(page.keys(), served.keys())
        for name, metric in page.items():
            with self.subTest(name):
                self.assertEqual(metric.kind, served[name].kind)
                self.assertEqual(metric.labels, served[name].labels - {"le"})

    def test_what_is_asked_for_is_served(self) -> None:
        queries = of_dashboard() + of_alerts()
        self.assertGreater(len(queries), 20)
        self.assertEqual([fault for query in queries for fault in query.faults()], [])

    def test_every_metric_is_shown(self) -> None:
        shown = " ".join(query.expression for query in of_dashboard())
        for name, metric in metrics().items():
            if metric.kind != "histogram":
                self.assertIn(f"sluicegate_{name}{{", shown)

    def test_what_is_not_served_is_noticed(self) -> None:
        for expression, shown, fault in [
            ("rate(up[5m])", "", "no metric"),
            ("sluicegate_decision_total", "", "no sluicegate_decision_total"),
            ('sluicegate_waiting{key="k"}', "", "no label key"),
            ('sluicegate_decisions_total{result=~"denied|refused"}', "", "no result is refused"),
            ("sum by (server) (sluicegate_waiting)", "", "no label server"),
            ("sum by (rule) (sluicegate_waiting)", "job", "shows job"),
        ]:
            faults = list(Query("it", expression, {shown} - {""}).faults())
            self.assertEqual(len(faults), 1, faults)
            self.assertIn(fault, faults[0])


class Shape(unittest.TestCase):
    def setUp(self) -> None:
        self.dashboard = dashboard()
        self.panels: list[dict[str, Any]] = self.dashboard["panels"]

    def test_the_dashboard(self) -> None:
        self.assertEqual(self.dashboard["schemaVersion"], SCHEMA)
        # One with an id belongs to one Grafana.
        self.assertNotIn("id", self.dashboard)
        self.assertRegex(self.dashboard["uid"], r"^[\w-]{1,40}$")
        for name, kind in {"title": str, "tags": list, "time": dict, "refresh": str, "panels": list, "version": int}.items():
            self.assertIsInstance(self.dashboard[name], kind, name)
            self.assertTrue(self.dashboard[name], name)
        self.assertEqual(self.dashboard["time"].keys(), {"from", "to"})
        self.assertIsInstance(self.dashboard["annotations"]["list"], list)

    def test_variables(self) -> None:
        variables = {variable["name"]: variable for variable in self.dashboard["templating"]["list"]}
        self.assertEqual(list(variables), ["datasource", "job", "rule"])
        source = variables.pop("datasource")
        self.assertEqual((source["type"], source["query"]), ("datasource", "prometheus"))
        for name, variable in variables.items():
            self.assertEqual((variable["type"], variable["datasource"]), ("query", SOURCE))
            query = variable["query"]["query"]
            metric, label = query.removeprefix("label_values(").removesuffix(")").rsplit(", ", 1)
            self.assertEqual(label, name)
            self.assertEqual(list(Query(name, f"sum by ({label}) ({metric})", set()).faults()), [])

    def test_panels(self) -> None:
        ids = [panel["id"] for panel in self.panels]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in self.panels:
            with self.subTest(panel["title"]):
                self.assertIn(panel["type"], {"stat", "timeseries"})
                self.assertTrue(panel["title"] and panel["description"])
                self.assertEqual(panel["datasource"], SOURCE)
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                self.assertIsInstance(panel["fieldConfig"]["overrides"], list)
                self.assertIsInstance(panel["options"], dict)
                names = [target["refId"] for target in panel["targets"]]
                self.assertTrue(names)
                self.assertEqual(len(names), len(set(names)))
                for target in panel["targets"]:
                    self.assertEqual(target["datasource"], SOURCE)
                    self.assertTrue(target["expr"] and target["legendFormat"])

    def test_panels_stand_beside_each_other(self) -> None:
        places = {}
        for panel in self.panels:
            place = panel["gridPos"]
            self.assertEqual(place.keys(), {"x", "y", "w", "h"})
            self.assertLessEqual(place["x"] + place["w"], COLUMNS)
            across, down = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
            places[panel["title"]] = {(x, y) for x in across for y in down}
        for one, other in combinations(places, 2):
            self.assertFalse(places[one] & places[other], f"{one} covers {other}")


if __name__ == "__main__":
    unittest.main()
