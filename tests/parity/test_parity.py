"""Every language offers the same."""

from __future__ import annotations

import json
import unittest

from comparison import read, unexcused, unneeded
from sources import REPOSITORY, Sources

SURFACES = read(Sources())
MISTAKES = REPOSITORY / "tests" / "vectors" / "errors"


class Parity(unittest.TestCase):
    maxDiff = None

    def test_whatever_one_language_has_all_have(self) -> None:
        self.assertEqual(unexcused(SURFACES), set())

    def test_every_exception_is_one(self) -> None:
        self.assertEqual(unneeded(SURFACES), set())

    def test_both_limiters_of_a_language_offer_the_same(self) -> None:
        for language in ("rust", "python"):
            with self.subTest(language=language):
                blocking, asynchronous = (self.of(language, name) for name in ("RateLimiter", "AsyncRateLimiter"))
                self.assertEqual(blocking, asynchronous)

    def of(self, language: str, limiter: str) -> dict[str, set[str]]:
        """The parts about one limiter, but for what is called by Python itself."""
        named = {part.partition(".") for part in SURFACES[language]}
        return {
            method: {name for name in SURFACES[language][owner + dot + method] if not name.startswith("__")}
            for owner, dot, method in named
            if owner == limiter
        }

    def test_what_was_read_makes_sense(self) -> None:
        """A pattern that finds nothing in one language would compare nothing."""
        identity = {"method", "path", "user_id", "ip", "api_key", "headers"}
        known = {
            "package": {"RateLimiter", "ManualClock", "Decision", "Check", "RequestMatch", "RulesStatus", "Error"},
            "RateLimiter": {
                "open", "check", "check_all", "check_request", "match_request", "peek", "refund", "reset", "wait", "wait_all",
                "rules_status", "ping", "close",
            },
            "RateLimiter.open()": {
                "url", "rules", "rules_cache", "prefix", "clock", "connect_timeout", "response_timeout", "tls_ca",
                "tls_cert", "tls_key", "identifier_secret", "max_keys", "breaker_failures",
                "breaker_probe",
            },
            "RateLimiter.check()": {"rule", "key", "cost", "resource", "limit"},
            "RateLimiter.check() required": {"rule", "key"},
            "RateLimiter.check_all()": {"checks"},
            "RateLimiter.check_request()": identity,
            "RateLimiter.match_request()": identity | {"explain"},
            "RateLimiter.peek()": {"rule", "key", "cost", "resource", "limit"},
            "RateLimiter.refund()": {"rule", "key", "cost", "resource", "limit"},
            "RateLimiter.reset()": {"rule", "key", "resource"},
            "RateLimiter.wait_all()": {"checks", "timeout"},
            "RateLimiter.wait_all() required": {"checks", "timeout"},
            "RateLimiter.wait()": {"rule", "key", "timeout", "cost", "resource", "limit"},
            "RateLimiter.wait() required": {"rule", "key", "timeout"},
            "Check": {"rule", "key", "cost", "resource", "limit"},
            "Decision": {
                "allowed", "rule", "rule_applied", "limit", "window", "remaining", "retry_after", "reset_after",
                "shadow", "shadow_denied", "source", "headers",
            },
            "Decision.headers()": {"style"},
            "RequestMatch": {"rule_id", "key", "resource"},
            "Explanation": {"rule_id", "key", "resource", "matched", "reason"},
            "RulesStatus": {
                "source", "version", "rules", "loaded_at", "updates", "refusals", "refused", "reachable", "cached",
                "last_error",
            },
            "Refusal": {"unit", "reason"},
            "ManualClock": {"new", "now", "advance", "set"},
            "ManualClock.advance()": {"by"},
            "Error": {"retryable", "key"},
            "ErrorKind": {
                "InvalidRule", "UnknownRule", "InvalidArgument", "Connection", "Timeout", "Server", "Closed",
            },
            "Source": {"server", "memory", "fallback"},
        }  # fmt: skip
        for language, surface in SURFACES.items():
            for part, names in known.items():
                with self.subTest(language=language, part=part):
                    self.assertLessEqual(names, surface.get(part, set()))

    def test_middleware_was_read(self) -> None:
        options = {"limiter", "user_id", "api_key", "trusted_proxies", "headers", "on_error"}
        for language in ("rust", "python", "node"):
            with self.subTest(language=language):
                self.assertLessEqual(options, SURFACES[language]["RateLimitLayer.new()"])
                self.assertLessEqual({"admit", "deny"}, SURFACES[language]["OnError"])
                self.assertLessEqual({"ietf", "x-ratelimit", "x-ratelimit-seconds", "none"}, SURFACES[language]["HeaderStyle"])


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
                self.assertIn(vector.get("op", "ping"), SURFACES["rust"]["RateLimiter"])
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
        self.assertEqual(met, set.intersection(*(surface["ErrorKind"] for surface in SURFACES.values())))


if __name__ == "__main__":
    unittest.main()
