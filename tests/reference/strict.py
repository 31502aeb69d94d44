"""A strict check against the part of JSON Schema that tests/vectors/schema.json uses."""

import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
KNOWN = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required",
    "additionalProperties", "items", "minItems", "enum", "const", "minimum", "pattern", "oneOf",
}  # fmt: skip


def faults(value, schema: dict, root: dict, where: str = "$") -> list[str]:
    """What is wrong with `value`, each fault with its place."""
    assert set(schema) <= KNOWN, f"this check does not know {set(schema) - KNOWN}"
    if "$ref" in schema:
        return faults(value, resolve(schema["$ref"], root), root, where)
    if "oneOf" in schema:
        return faults_of_choice(value, schema["oneOf"], root, where)
    if "type" in schema and not has_type(value, schema["type"]):
        return [f"{where}: not of type {schema['type']}"]
    found = [f"{where}: {fault}" for fault in faults_of_scalar(value, schema)]
    if isinstance(value, dict):
        found += faults_of_object(value, schema, root, where)
    if isinstance(value, list):
        found += faults_of_array(value, schema, root, where)
    return found


def resolve(reference: str, root: dict) -> dict:
    return root["$defs"][reference.removeprefix("#/$defs/")]


def has_type(value, name: str) -> bool:
    """True is an int to Python, not to JSON."""
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def faults_of_choice(value, choices: list[dict], root: dict, where: str) -> list[str]:
    outcomes = [faults(value, choice, root, where) for choice in choices]
    fitting = sum(not outcome for outcome in outcomes)
    if fitting == 1:
        return []
    nearest = min(outcomes, key=len) if fitting == 0 else []
    return [f"{where}: fits {fitting} of the choices"] + nearest


def faults_of_scalar(value, schema: dict) -> list[str]:
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{value!r} is not {schema['const']!r}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{value} is below {schema['minimum']}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{value!r} does not match {schema['pattern']}")
    return found


def faults_of_object(value: dict, schema: dict, root: dict, where: str) -> list[str]:
    known, others = schema["properties"], schema["additionalProperties"]
    found = [f"{where}: misses {name}" for name in schema["required"] if name not in value]
    for name, member in value.items():
        if name in known:
            found += faults(member, known[name], root, f"{where}.{name}")
        elif isinstance(others, dict):
            found += faults(member, others, root, f"{where}.{name}")
        elif not others:
            found.append(f"{where}: does not know {name}")
    return found


def faults_of_array(value: list, schema: dict, root: dict, where: str) -> list[str]:
    found = [f"{where}: too short"] if len(value) < schema.get("minItems", 0) else []
    for position, member in enumerate(value):
        found += faults(member, schema["items"], root, f"{where}[{position}]")
    return found
