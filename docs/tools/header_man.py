"""Writes the man page of the C library from its header: header_man.py HEADER VERSION."""

from __future__ import annotations

import sys
from pathlib import Path

from header import ITEM, kind_of, name_of


def escaped(text: str) -> str:
    """The text as roff, of which no line is a request."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def as_it_is(text: str) -> str:
    return f".nf\n{escaped(text)}\n.fi"


def paragraphs(doc: str) -> str:
    text = "\n".join(line.removeprefix("///").removeprefix(" ") for line in doc.splitlines())
    return escaped(text).replace("\n\n", "\n.PP\n")


def page(header: str, version: str) -> str:
    opening = [line.removeprefix(" *").removeprefix(" ") for line in header.split("*/")[0].splitlines()[1:]]
    parts = [
        f'.TH LIBSLUICEGATE 3 "" "sluicegate {version}"',
        ".SH NAME\nlibsluicegate \\- distributed rate limiter",
        ".SH SYNOPSIS\n" + as_it_is("#include <sluicegate.h>\n\ncc ... $(pkg-config --cflags --libs sluicegate)"),
        ".SH DESCRIPTION\n" + as_it_is("\n".join(opening)),
    ]
    sections: dict[str, list[str]] = {"Functions": [], "Types": [], "Constants": []}
    for found in ITEM.finditer(header):
        code = found["code"].rstrip()
        item = f".SS {name_of(code)}\n{as_it_is(code)}\n.PP\n{paragraphs(found['doc'])}"
        sections[kind_of(code)].append(item)
    for title, items in sections.items():
        parts += [f".SH {title.upper()}", *items]
    return "\n".join([*parts, ".SH SEE ALSO\n.BR sluicegate (1)"]) + "\n"


if __name__ == "__main__":
    print(page(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]), end="")
