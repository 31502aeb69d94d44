"""What a run prints: the output of each job as it ends, then its seconds, the table of vectors, and the count."""

from __future__ import annotations

import re

from jobs import Result

VECTORS = re.compile(r"^vectors: ([^,]+), ([^:]+): (\d+ passed), (\d+ failed), (.*)$", re.MULTILINE)


def show(result: Result) -> None:
    print(f"== {result.job.name}", flush=True)
    print(result.output, end="" if result.output.endswith("\n") or not result.output else "\n")
    if result.wrong:
        print(f"FAILED {result.job.name}: {result.wrong}")
    print(f"-- {result.job.name}: {result.seconds:.0f} s", flush=True)


def summary(results: list[Result], seconds: float) -> int:
    """Prints what all came to; 0 if nothing failed."""
    print("== seconds, and those of processors")
    for result in sorted(results, key=lambda result: result.seconds, reverse=True):
        counted = f"{result.counted.passed} passed, {result.counted.failed} failed" if result.job.count else ""
        wrong = f"FAILED: {result.wrong}" if result.wrong else ""
        line = f"{result.job.name:18} {result.seconds:6.0f} {result.processor_seconds:6.0f}  {counted:26} {wrong}"
        print(line.rstrip())
    print(f"{'all':18} {seconds:6.0f} {sum(result.processor_seconds for result in results):6.0f}")
    print("== vectors x runner x backend")
    for result in results:
        for runner, backend, passed, failed, skipped in VECTORS.findall(result.output):
            print(f"{runner:16} {backend:8} {passed:>12} {failed:>10}  {skipped}")
    passed, failed = (sum(getattr(result.counted, name) for result in results) for name in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not results else 0
