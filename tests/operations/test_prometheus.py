"""promtool accepts the alerts and their tests, and a real Prometheus answers every query of the dashboard."""

from __future__ import annotations

import http.server
import itertools
import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from exposition import metrics
from queries import ALERTS, OPERATIONS, concrete, of_dashboard

# So many seconds Prometheus may take: the machine may be slow.
PATIENCE = 120
TEXTS = {
    "rule": ["login", "api"],
    "result": ["admitted", "denied", "shadow_denied", "blocked", "error"],
    "source": ["server", "fallback", "allotment", "share"],
    "what": ["asked", "granted", "spent", "given_back", "lost"],
    "kind": ["Timeout", "Connection"],
    "server": ["redis:6379"],
    "version": ["1"],
    "region": ["eu"],
    "le": ["0.001", "0.01", "+Inf"],
}


def setUpModule() -> None:
    if not (shutil.which("promtool") and shutil.which("prometheus")):
        raise FileNotFoundError("promtool and prometheus are needed: tests/operations/run brings them")


class Promtool(unittest.TestCase):
    def promtool(self, *words: str) -> str:
        done = subprocess.run(["promtool", *words], cwd=OPERATIONS, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_alerts_are_rules(self) -> None:
        self.assertIn("SUCCESS: 5 rules found", self.promtool("check", "rules", ALERTS.name))

    def test_the_alerts_come_when_they_should(self) -> None:
        self.assertIn("SUCCESS", self.promtool("test", "rules", "alerts_test.yml"))


def page(number: int) -> str:
    """Every metric with every text of its labels; the counters grow."""
    lines = []
    for name, metric in metrics().items():
        labels = sorted(metric.labels)
        for place, texts in enumerate(itertools.product(*(TEXTS[label] for label in labels))):
            inner = ",".join(f'{label}="{text}"' for label, text in zip(labels, texts, strict=True))
            lines.append(f"sluicegate_{name}{{{inner}}} {number * (place + 1) if metric.kind != 'gauge' else 1}")
    return "\n".join(lines) + "\n"


class Exporter(http.server.BaseHTTPRequestHandler):
    numbers = itertools.count(1)

    def do_GET(self) -> None:
        body = page(next(self.numbers)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Panels(unittest.TestCase):
    def setUp(self) -> None:
        exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        self.addCleanup(exporter.server_close)
        self.addCleanup(exporter.shutdown)
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        job = {"job_name": "api", "scrape_interval": "1s", "static_configs": [{"targets": [f"127.0.0.1:{exporter.server_port}"]}]}
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps({"rule_files": [str(ALERTS)], "scrape_configs": [job]}))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/api/v1/query?"
        options = {"config.file": folder / "prometheus.yml", "storage.tsdb.path": folder / "data", "web.listen-address": f"127.0.0.1:{port}"}
        words = ["prometheus", *(f"--{name}={value}" for name, value in options.items())]
        self.log = folder / "log"
        with self.log.open("w") as log:
            process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def answer(self, expression: str) -> list[object]:
        """What it answers now; nothing while it starts."""
        try:
            with urllib.request.urlopen(self.url + urllib.parse.urlencode({"query": expression}), timeout=PATIENCE) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 503, f"{expression}: {error.read().decode()}")
        except urllib.error.URLError:
            pass
        return []

    def test_every_query_has_an_answer(self) -> None:
        end = time.monotonic() + PATIENCE
        for query in of_dashboard():
            while not self.answer(concrete(query.expression)):
                self.assertLess(time.monotonic(), end, f"{query.place}: {query.expression}: no answer\n{self.log.read_text()[-3000:]}")
                time.sleep(0.2)


if __name__ == "__main__":
    unittest.main()
