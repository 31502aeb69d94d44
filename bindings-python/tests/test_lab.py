"""What rules let through, seen from Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from sluicegate import InvalidArgumentError, InvalidRuleError, lab

NOTEBOOK = Path(__file__).parents[2] / "examples" / "lab.ipynb"


def test_fixed_windows_let_twice_the_limit_through_at_an_edge() -> None:
    rules = lab.compare("fixed_window", "sliding_log", limit=10, window=10)
    result = lab.run(rules, "edge:size=20,window=10s,for=1m")
    assert (result["fixed_window"].worst_ratio, result["sliding_log"].worst_ratio) == (2.0, 1.0)
    assert [strategy.name for strategy in result] == ["fixed_window", "sliding_log"]
    assert (len(result), result.length) == (2, 60.0)


def test_columns_are_arrays_of_numpy() -> None:
    calls = [(0.5, "alice"), (0.25, "bob", 2), (0.5, "alice", 1)]
    rules = [{"rule_id": "r", "algorithm": "gcra", "limit": 2, "window_size_seconds": 10}]
    strategy = lab.run(rules, calls)["r"]
    columns = {name: numpy.asarray(getattr(strategy, name)) for name in ("time", "key", "cost", "admitted")}
    assert columns["time"].tolist() == [0.25, 0.5, 0.5] and columns["time"].dtype == numpy.float64
    assert [strategy.keys[key] for key in columns["key"]] == ["bob", "alice", "alice"]
    assert columns["cost"].tolist() == [2, 1, 1]
    assert columns["admitted"].all() and columns["admitted"].dtype == bool
    assert list(strategy.remaining) == [0, 1, 0] and list(strategy.retry_after) == [0.0, 0.0, 0.0]
    assert strategy.time is strategy.time
    with pytest.raises(AttributeError):
        strategy.tiem  # noqa: B018


def test_a_cost_that_never_fits_waits_for_ever() -> None:
    rules = lab.compare("gcra", limit=2, window=10)
    strategy = lab.run(rules, [(0, "k", 3)])["gcra"]
    assert list(strategy.retry_after) == [float("inf")] and not any(strategy.admitted)


def test_calls_that_are_under_way() -> None:
    rules = [{"rule_id": "jobs", "algorithm": "concurrency", "limit": 2}]
    calls = [(0, "k", 1, 5.0), (1, "k", 1, 1.0), (1.5, "k", 1, 1.0), (2, "k", 1, 1.0)]
    jobs = lab.run(rules, calls)["jobs"]
    assert list(jobs.admitted) == [True, True, False, True] and jobs.worst_ratio == 1.0
    with pytest.raises(InvalidArgumentError, match='call 1 has no duration: rule "jobs"'):
        lab.run(rules, [(0, "k")])
    assert lab.run(rules, "poisson:duration=exp(300ms)")["jobs"].worst_ratio == 1.0


def test_options() -> None:
    rules = json.dumps(lab.compare("gcra", limit=10, window=10))
    bins = lambda seed: lab.run(rules, ["poisson:for=1m"], seed=seed).strategies["gcra"].bins  # noqa: E731
    assert bins(1) == bins(1) != bins(2)
    result = lab.run(rules, "steady:for=1m", bin=6, start=1_000_000)
    assert result.bin == 6.0 and len(result["gcra"].bins["admitted"]) == 10
    assert result.figures["start_us"] == 1_000_000_000_000


def test_pictures_and_page() -> None:
    result = lab.run(lab.compare("gcra", limit=10, window=10), "poisson:keys=3,for=1m")
    assert result.svg("fairness").startswith("<svg ") and result._repr_html_() == result.svg("raster")
    assert result.html().startswith("<!doctype html>")
    with pytest.raises(InvalidArgumentError, match="picture 'rastre' is not known|picture \"rastre\" is not known"):
        result.svg("rastre")


def test_mistakes() -> None:
    rules = lab.compare("gcra", limit=10, window=10)
    with pytest.raises(InvalidArgumentError, match='did you mean "poisson"'):
        lab.run(rules, "poison")
    with pytest.raises(InvalidArgumentError, match='did you mean "gcra"'):
        lab.compare("gcar", limit=1, window=1)
    with pytest.raises(InvalidRuleError):
        lab.run(lab.compare("gcra", limit=0, window=1), "poisson")
    for call in [(0,), (0, "k", 1, 1, 1), (-1, "k"), (float("nan"), "k")]:
        with pytest.raises(InvalidArgumentError, match="has to be"):
            lab.run(rules, [call])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not both"):
        lab.run(rules, ["poisson", (1.0, "k")])  # type: ignore[list-item]


def test_no_traffic_is_an_empty_result() -> None:
    result = lab.run(lab.compare("gcra", limit=10, window=10), [])
    assert list(result["gcra"].time) == [] and "There was no traffic" in result.html()
    assert result._repr_html_() == ""


def test_plot() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = lab.run(lab.compare("gcra", "uniform", limit=10, window=10), "poisson:for=1m").plot()
    assert len(figure.axes) == 4 and figure.axes[2].get_ylabel() == "uniform"
    figure.canvas.draw()
    pyplot.close(figure)


def test_bars_narrower_than_a_pixel_are_drawn() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    calls = [(float(second), "k") for second in range(0, 1_500, 150)]
    figure = lab.run(lab.compare("gcra", limit=10, window=10), calls, bin=1).plot()
    figure.canvas.draw()
    axis = figure.axes[0]
    row = round(figure.bbox.height - axis.transData.transform((0, 0.5))[1])
    left, right = (round(x) for x in axis.bbox.intervalx)
    red = numpy.asarray(figure.canvas.buffer_rgba())[row, left + 3 : right - 3, 0] < 200
    assert (numpy.diff(red.astype(int)) == 1).sum() == len(calls)
    pyplot.close(figure)


def test_processes_borrow() -> None:
    rules = [{"rule_id": "r", "rate": "10000/s", "burst": 1000, "lease": {}}]
    result = lab.run(rules, "poisson:rate=20000/s,for=500ms")
    assert list(result.strategies) == ["r", "r-even", "r-skewed"]
    assert result["r-even"].figures["borrowing"]["processes"] == 10
    assert list(lab.run(rules, "poisson:rate=20000/s,for=100ms", processes=0).strategies) == ["r"]


def test_the_notebook_runs() -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
