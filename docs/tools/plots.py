"""Draws the plots of the page on benchmarks from the tables that the benchmarks wrote."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "api" / "plots"
WIDTH, ROW, VALUE = 480, 40, 100

Bar = tuple[str, float, str, bool]


def table(page: str, heading: str) -> list[dict[str, str]]:
    """The rows of the table whose first column has that heading."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if re.match(rf"\| *{re.escape(heading)} *\|", line))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
    return [dict(zip(rows[0], row, strict=False)) for row in rows[2:]]


def number(cell: str) -> float:
    found = re.match(r"[\d,.]+", cell)
    return float(found[0].replace(",", "").rstrip(".")) if found else 0.0


def bars(title: str, unit: str, rows: list[Bar]) -> str:
    """Horizontal bars; those of Sluicegate are in the colour of the site."""
    most = max(value for _, value, _, _ in rows)
    height = ROW * len(rows) + 8
    lines = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" class="plot">']
    for at, (label, value, shown, ours) in enumerate(rows):
        y = ROW * at + 4
        width = max(2.0, (WIDTH - VALUE) * value / most)
        kind = "ours" if ours else "theirs"
        lines += [
            f'<text x="0" y="{y + 12}">{escape(label)}</text>',
            f'<rect class="{kind}" x="0" y="{y + 17}" width="{width:.1f}" height="14" rx="3"/>',
            f'<text x="{width + 8:.1f}" y="{y + 29}">{escape(shown)} {unit}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def server_time() -> str:
    rows: list[Bar] = []
    for row in table("tests/benchmarks/README.md", "admitted"):
        if not row.get("by hand"):
            continue
        rows.append((row["admitted"].split(":")[0].replace(", token_bucket, leaky_bucket, uniform", ""),
                     number(row["us"]), f"{number(row['us']):.2f}", True))
        rows.append((f"by hand: {row['by hand']}", number(row["us by hand"]), f"{number(row['us by hand']):.2f}", False))
    return bars("Server time per check, microseconds", "µs", first_of_each(rows))


def first_of_each(rows: list[Bar]) -> list[Bar]:
    """Without the variants of sliding logs and buckets that the table has below the first."""
    kept: list[Bar] = []
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        if ours[0] not in [name for name, *_ in kept]:
            kept += [ours, theirs]
    return kept


def memory() -> str:
    rows = table("tests/benchmarks/README.md", "algorithm")
    return bars(
        "Memory per key, bytes",
        "bytes",
        [(row["algorithm"], number(row["limit 10"]), f"{number(row['limit 10']):.0f}", True) for row in rows],
    )


def throughput(page: str, heading: str, column: str, title: str) -> str:
    rows = [row for row in table(page, heading) if number(row[column])]
    return bars(
        title,
        "/s",
        [
            (name, number(row[column]), f"{number(row[column]):,.0f}", name.startswith("sluicegate"))
            for row in rows
            for name in [next(iter(row.values()))]
        ],
    )


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    plots = {
        "server-time": server_time(),
        "memory": memory(),
        "python-threads": throughput("bindings-python/README.md", "", "64 threads", "Python, 64 threads"),
        "python-asyncio": throughput("bindings-python/README.md", "", "64 tasks", "Python, asyncio, 64 tasks"),
        "node": throughput("bindings-node/README.md", "on Redis", "64 in flight: checks/s", "Node, 64 in flight"),
    }
    for name, plot in plots.items():
        (PICTURES / f"{name}.svg").write_text(plot, encoding="utf-8")


if __name__ == "__main__":
    main()
