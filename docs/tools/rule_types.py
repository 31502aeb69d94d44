"""Writes the types of rules from their schema: for Python a module, for Node a part of its JSDoc.

With --check it writes nothing, and says whether they are current. `npm run types` then declares those of Node.
"""

from __future__ import annotations

import json
import sys
import textwrap
from keyword import iskeyword
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "bindings-python/python/sluicegate/rules.py"
NODE = ROOT / "bindings-node/lib/index.js"
BEGIN, END = "// Rules, from docs/rules.schema.json by docs/tools/rule_types.py.\n", "// So far from the schema.\n"
ABOUT = {
    "Block": "How keys of a rule are blocked.",
    "Global": "How a limit holds over regions.",
    "Lease": "How a process borrows units of its server.",
    "Limit": "One of several limits of a rule.",
    "Match": "Which requests a rule applies to.",
    "Rule": "A rule, with the names of fields that rule files have.",
}
# Fields that hold objects with types of their own.
OBJECTS = {
    "block": "Block",
    "global": "Global",
    "lease": "Lease",
    "match": "Match",
    "limits": "{limits}",
    "unless": "Match | {matches}",
}
PYTHON_TYPES = {"string": "str", "boolean": "bool", "integer": "int", "number": "float"}


def objects() -> dict[str, dict[str, Any]]:
    rule = json.loads((ROOT / "docs/rules.schema.json").read_text(encoding="utf-8"))["$defs"]["rule"]
    fields = rule["properties"]
    return {
        "Block": fields["block"],
        "Global": fields["global"],
        "Lease": fields["lease"],
        "Limit": fields["limits"]["items"],
        "Match": fields["match"],
        "Rule": rule,
    }


def in_order(schema: dict[str, Any]) -> list[str]:
    return sorted(schema["properties"], key=lambda name: (name not in schema["required"], name))


def in_python(name: str, value: dict[str, Any]) -> str:
    if name in OBJECTS:
        return OBJECTS[name].format(limits="Sequence[Limit]", matches="Sequence[Match]")
    if "enum" in value:
        return f"Literal[{', '.join(json.dumps(word) for word in value['enum'])}]"
    if "anyOf" in value:
        return " | ".join(in_python("", one) for one in value["anyOf"])
    if value.get("type") == "array":
        return f"Sequence[{in_python('', value['items'])}]"
    if value.get("type") == "object":
        return f"Mapping[str, {in_python('', value['additionalProperties'])}]"
    return PYTHON_TYPES[value.get("type", "string")]


def in_node(name: str, value: dict[str, Any]) -> str:
    if name in OBJECTS:
        return OBJECTS[name].format(limits="readonly Limit[]", matches="readonly Match[]")
    if "enum" in value:
        return " | ".join(f"'{word}'" for word in value["enum"])
    if "anyOf" in value:
        return " | ".join(in_node("", one) for one in value["anyOf"])
    if value.get("type") == "array":
        return f"readonly {in_node('', value['items'])}[]"
    if value.get("type") == "object":
        return f"Readonly<Record<string, {in_node('', value['additionalProperties'])}>>"
    return {"integer": "number"}.get(value.get("type", ""), value.get("type", "string"))


def python() -> str:
    parts = ['"""The types of rules, for type checkers."""\n# Written by docs/tools/rule_types.py.\n']
    parts.append("from collections.abc import Mapping, Sequence\nfrom typing import Literal, TypedDict\n")
    parts.append(f"__all__ = {json.dumps(list(objects()))}\n")
    for name, schema in objects().items():
        required = [field for field in in_order(schema) if field in schema["required"]]
        if required:
            parts.append("\n" + python_class(f"_Named{name}", f"What every {name.lower()} has.", schema, required, ""))
        base = f"_Named{name}" if required else "TypedDict"
        rest = [field for field in in_order(schema) if field not in required and not iskeyword(field)]
        # A class cannot have a field that is called like a word of the language.
        keywords = {field: in_python(field, schema["properties"][field]) for field in in_order(schema) if iskeyword(field)}
        if keywords:
            own = ", ".join(f'"{field}": {kind}' for field, kind in keywords.items())
            parts.append(f'\n_Keyword{name} = TypedDict("_Keyword{name}", {{{own}}}, total=False)\n')
            base = f"{base}, _Keyword{name}"
        parts.append("\n" + python_class(name, ABOUT[name], schema, rest, f"{base}, total=False"))
    return "\n".join(parts)


def python_class(name: str, about: str, schema: dict[str, Any], fields: list[str], bases: str) -> str:
    lines = [f"class {name}({bases or 'TypedDict'}):", f'    """{about}"""', ""]
    for field in fields:
        value = schema["properties"][field]
        line = f"    {field}: {in_python(field, value)}"
        lines += textwrap.wrap(line, 118, subsequent_indent=" " * 8, break_long_words=False)
        lines += [f'    """{value["description"]}"""']
    return "\n".join(lines) + "\n"


def node() -> str:
    parts = [BEGIN]
    for name, schema in objects().items():
        lines = ["/**", f" * {ABOUT[name]}", " *", f" * @typedef {{object}} {name}"]
        for field in in_order(schema):
            value = schema["properties"][field]
            shown = field if field in schema["required"] else f"[{field}]"
            text = f"@property {{{in_node(field, value)}}} {shown} {value['description']}"
            lines += textwrap.wrap(text, 116, initial_indent=" * ", subsequent_indent=" *   ", break_long_words=False)
        parts.append("\n".join([*lines, " */"]) + "\n")
    return "\n".join([*parts, END])


def main(arguments: list[str]) -> int:
    before = NODE.read_text(encoding="utf-8")
    start, end = before.index(BEGIN), before.index(END) + len(END)
    wanted = {PYTHON: python(), NODE: before[:start] + node() + before[end:]}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        print("".join(f"{path.relative_to(ROOT)} is not current\n" for path in stale), end="")
        return len(stale)
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
