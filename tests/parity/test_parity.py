"""Every language offers the same."""

from __future__ import annotations

import json
import unittest
from dataclasses import fields

import c
import node
import python
import rust
from exceptions import ALONE, MISSING, ONE_LIMITER
from surface import REPOSITORY, Surface

SURFACES = {"rust": rust.surface(), "python": python.surface(), "node": node.surface(), "c": c.surface()}
PARTS = [field.name for field in fields(Surface)]
MISTAKES = REPOSITORY / "tests" / "vectors" / "errors"


def all_names(part: str) -> set[str]:
    """What any language has, but for what one is allowed to have alone."""
    alone = {(language, name) for language, of, name in ALONE if of == part}
    return {
        name
        for language, surface in SURFACES.items()
        for name in getattr(surface, part)
        if (language, name) not in alone
    }


def lacking() -> set[tuple[str, str, str]]:
    return {
        (language, part, name)
        for language, surface in SURFACES.items()
        for part in PARTS
        if not (part == "async_limiter" and language in ONE_LIMITER)
        for name in all_names(part) - getattr(surface, part)
    }


class Parity(unittest.TestCase):
    def test_whatever_one_language_has_all_have(self) -> None:
        self.assertEqual(lacking() - MISSING.keys(), set())

    def test_every_exception_is_one(self) -> None:
        self.assertEqual(MISSING.keys() - lacking(), set())
        absent = {one for one in ALONE if one[2] not in getattr(SURFACES[one[0]], one[1])}
        self.assertEqual(absent, set())
        with_one = {language for language, surface in SURFACES.items() if not surface.async_limiter}
        self.assertEqual(with_one, ONE_LIMITER.keys())

    def test_both_limiters_of_a_language_offer_the_same(self) -> None:
        for language in SURFACES.keys() - ONE_LIMITER.keys():
            with self.subTest(language=language):
                self.assertEqual(SURFACES[language].limiter, SURFACES[language].async_limiter)

    def test_what_was_read_makes_sense(self) -> None:
        """A pattern that finds nothing in one language would compare nothing."""
        known = {
            "limiter": {"open", "check", "check_all", "peek", "refund", "reset", "wait", "ping", "close"},
            "options": {
                "rules", "prefix", "clock", "connect_timeout", "response_timeout", "tls_ca", "tls_cert", "tls_key",
            },
            "check": {"cost", "resource", "limit"},
            "decision": {
                "allowed", "rule", "limit", "remaining", "retry_after", "reset_after", "shadow_denied", "source",
            },
            "clock": {"new", "now", "advance", "set"},
            "error": {"retryable"},
            "kinds": {"InvalidRule", "UnknownRule", "InvalidArgument", "Connection", "Timeout", "Server", "Closed"},
            "sources": {"server", "embedded"},
        }  # fmt: skip
        for language, surface in SURFACES.items():
            for part, names in known.items():
                with self.subTest(language=language, part=part):
                    self.assertLessEqual(names, getattr(surface, part))


class VectorsOfMistakes(unittest.TestCase):
    """The files in `tests/vectors/errors` are of the form that their schema states."""

    def setUp(self) -> None:
        files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(MISTAKES.glob("*.json"))}
        self.schema = files.pop("schema")["$defs"]
        self.vectors = [(name, vector) for name, file in files.items() for vector in file["vectors"]]

    def test_fields_and_ids(self) -> None:
        known = self.schema["vector"]["properties"]
        ids = []
        for file, vector in self.vectors:
            with self.subTest(file, id=vector.get("id")):
                self.assertLessEqual(vector.keys(), known.keys())
                self.assertLessEqual(set(self.schema["vector"]["required"]), vector.keys())
                self.assertEqual("only" in vector, "why" in vector)
                self.assertLessEqual(vector.get("options", {}).keys(), known["options"]["properties"].keys())
                self.assertIn(vector.get("op", "ping"), known["op"]["enum"])
                self.assertTrue(vector["id"].startswith(f"{file}/"))
                for expect in (vector["expect"], *vector.get("instead", {}).values()):
                    self.assert_known(expect)
                ids.append(vector["id"])
        self.assertEqual(len(ids), len(set(ids)))

    def assert_known(self, expect: dict) -> None:
        choices = [set(choice["required"]) for choice in self.schema["expect"]["oneOf"]]
        self.assertIn(expect.keys(), choices)
        self.assertIn(expect.get("error", "Closed"), self.schema["kind"]["enum"])

    def test_every_kind_of_error_is_met(self) -> None:
        met = {vector["expect"].get("error") for _, vector in self.vectors} - {None}
        self.assertEqual(met, SURFACES["rust"].kinds)


if __name__ == "__main__":
    unittest.main()
