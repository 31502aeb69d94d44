"""The dashboard conforms to Grafana's own schema, which is published as types of TypeScript."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import unittest
from copy import deepcopy
from pathlib import Path
from typing import Any

from queries import dashboard

HERE = Path(__file__).parent
COMPILE = [HERE / "node_modules/.bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]


def faults(dashboards: list[dict[str, Any]]) -> dict[int, str]:
    """What the compiler says first of each that does not conform, by its place."""
    lines = [f"import type {{ DashboardFile }} from {json.dumps(str(HERE / 'grafana.js'))};"]
    lines += [f"export const of{place}: DashboardFile = {json.dumps(each)};" for place, each in enumerate(dashboards)]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "dashboards.ts"
        program.write_text("\n".join(lines))
        compiled = subprocess.run([*COMPILE, program], capture_output=True, text=True)
    found = re.findall(r"^.*dashboards\.ts\((\d+),\d+\): error (.*)", compiled.stdout, re.MULTILINE)
    # Nothing else is wrong, such as the types themselves.
    assert compiled.returncode == bool(found) * 2 and len(found) == compiled.stdout.count(": error "), compiled.stdout
    # The first line is that of the types.
    return {int(line) - 2: fault for line, fault in reversed(found)}


def spoilt() -> list[dict[str, Any]]:
    """The dashboard with one fault each."""
    copies = [deepcopy(dashboard()) for _ in range(8)]
    copies[0]["refreshes"] = "30s"
    copies[1]["panels"][0]["type"] = "histogram"
    copies[2]["panels"][0]["options"]["colorMode"] = "backdrop"
    del copies[3]["panels"][-1]["options"]["legend"]["calcs"]
    copies[4]["panels"][0]["fieldConfig"]["defaults"]["unity"] = "s"
    copies[5]["panels"][-1]["fieldConfig"]["defaults"]["custom"]["drawStyle"] = "lines"
    copies[6]["panels"][0]["targets"][0]["query"] = "up"
    copies[7]["templating"]["list"][-1]["refresh"] = "daily"
    return copies


class Schema(unittest.TestCase):
    def test_the_dashboard_conforms_and_faults_are_found(self) -> None:
        copies = spoilt()
        found = faults([dashboard(), *copies])
        self.assertNotIn(0, found, found.get(0))
        self.assertEqual(sorted(found), list(range(1, len(copies) + 1)))


if __name__ == "__main__":
    unittest.main()
