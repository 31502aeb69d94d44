"""Frameworks, which are needed only by those who use them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needed(framework: str, extra: str) -> Iterator[None]:
    """Says how to install what is imported inside."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{framework} is needed: pip install sluicegate[{extra}]") from error
