"""A copy of the repository to make mistakes in."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = Path("core/src")


def copy_to(folder: Path, changed: dict[Path, str] | None = None) -> None:
    """Makes the folder hold the files that git knows, as they are now but for the `changed` ones.

    Writes only what differs, so that cargo compiles a folder that is used again only where something has changed.
    """
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    names = {Path(name) for name in listed.stdout.split("\0") if (REPOSITORY / name).is_file()}
    for name in names:
        text = (changed or {}).get(name)
        contents = (REPOSITORY / name).read_bytes() if text is None else text.encode()
        copy = folder / name
        if not copy.is_file() or copy.read_bytes() != contents:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(contents)
    for copy in list(folder.rglob("*")):
        if copy.is_file() and copy.relative_to(folder) not in names:
            copy.unlink()
