"""The files that are compared."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


class Sources:
    """The repository as it is."""

    def read(self, path: str) -> str:
        return (REPOSITORY / path).read_text(encoding="utf-8")

    def files(self, pattern: str) -> list[str]:
        return sorted(path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.glob(pattern))


class Changed(Sources):
    """The repository as it would be with another text in one file."""

    def __init__(self, path: str, old: str, new: str) -> None:
        text = super().read(path)
        assert old in text, f"{path} has no {old!r}"
        self.path = path
        self.text = text.replace(old, new, 1)

    def read(self, path: str) -> str:
        return self.text if path == self.path else super().read(path)
