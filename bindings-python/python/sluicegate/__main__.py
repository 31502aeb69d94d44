"""The command-line tool: `sluicegate`, or `python -m sluicegate`."""

import signal
import sys

from ._native import cli


def main() -> int:
    # Nothing of Python runs before the tool ends, so Python could not answer Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return cli(["sluicegate", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
