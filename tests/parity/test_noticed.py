"""Whatever is added to one language alone is noticed.

Each test changes the text of one file as the comparison reads it; the files stay as they are.
"""

from __future__ import annotations

import re
import unittest

from comparison import READERS, Place, read, unexcused, unneeded
from sources import Changed, Sources
from surface import Surface

SURFACES = read(Sources())
NOTICED, UNNEEDED = unexcused(SURFACES), unneeded(SURFACES)
FOLDERS = {"core": "rust", "bindings-python": "python", "bindings-node": "node", "bindings-c": "c"}

LIMITERS = "core/src/limiter"
LIMITER = f"{LIMITERS}/blocking.rs"
MATCHING = "core/src/matching"
PYTHON = "bindings-python/python/sluicegate"
STUBS = f"{PYTHON}/_native.pyi"
NODE = "bindings-node/types"
C = "bindings-c/include/sluicegate.h"

ADDED_OPTION = "pub fn added(mut self, added: u8) -> Self { self }\n"
PROPERTY = "    @property\n    def added(self) -> str: ...\n"


class Noticed(unittest.TestCase):
    def assert_noticed(self, path: str, after: str, added: str, *parts: str) -> None:
        """With this text behind another, others lack the name `added` in these parts, and that is all."""
        with self.subTest(path=path, added=added):
            found = noticed(path, after, after + added)
            self.assertEqual({(part, name) for _, part, name in found}, {(part, "added") for part in parts})


def noticed(path: str, old: str, new: str) -> set[Place]:
    return unexcused(changed(path, old, new)) - NOTICED


def changed(path: str, old: str, new: str) -> dict[str, Surface]:
    language = FOLDERS[path.split("/")[0]]
    return SURFACES | {language: READERS[language](Changed(path, old, new))}


class Packages(Noticed):
    def test_functions(self) -> None:
        for beginning in ("pub fn", "pub const fn", "pub async unsafe fn"):
            self.assert_noticed("core/src/lib.rs", "mod sequence;\n", f"{beginning} added() {{}}\n", "package")
        self.assert_noticed(f"{PYTHON}/__init__.py", "    WrongTypeError,\n)\n", "def added(): ...\n", "package")
        types = "export { ManualClock, RateLimiter, Reservation, SluicegateError, WrongTypeError, addressKey, events, headers };\n"
        self.assert_noticed(f"{NODE}/index.d.ts", types, "export function added(): void;\n", "package")
        self.assert_noticed(C, "const char *sluicegate_version(void);\n", "int sluicegate_added(void);\n", "package")

    def test_names_from_other_files(self) -> None:
        self.assert_noticed("core/src/lib.rs", "pub use decision::{Decision", ", added", "package")
        self.assert_noticed("core/src/sources/mod.rs", "pub use status::{Refusal", ", added", "package")
        self.assert_noticed(f"{PYTHON}/__init__.py", "__all__ = [\n", '    "added",\n', "package")
        self.assert_noticed(f"{PYTHON}/wsgi.py", '__all__ = ["RateLimitMiddleware"', ', "added"', "package")
        self.assert_noticed(f"{NODE}/index.d.ts", "export { ManualClock", ", added", "package")
        module = "export * from './index.js';\n"
        self.assert_noticed(f"{NODE}/index.d.mts", module, "export const added: 1;\n", "package")
        self.assert_noticed(C, "#define SLUICEGATE_VERSION_MAJOR 0\n", "#define SLUICEGATE_added 1\n", "package")
        self.assert_noticed(f"{NODE}/express.d.ts", "", "export const added: string;\n", "package")


class Members(Noticed):
    def test_methods(self) -> None:
        limiter = "impl RateLimiter {\n"
        for beginning in ("pub fn", "pub const fn", "pub async fn"):
            self.assert_noticed(LIMITER, limiter, f"    {beginning} added(&self) {{}}\n", "RateLimiter")
        added = "    pub async fn added(&self) -> Result<()> { self.forget() }\n"
        self.assert_noticed(f"{LIMITERS}/resetting.rs", "both_limiters! {\n", added, "RateLimiter", "AsyncRateLimiter")
        added = "    pub fn added(mut self, added: &str) -> Self { self }\n"
        self.assert_noticed(f"{MATCHING}/request.rs", "impl<'a> Request<'a> {\n", added, "Request")
        added = "    def added(self) -> None: ...\n"
        self.assert_noticed(STUBS, "    ) -> RateLimiter: ...\n", added, "RateLimiter")
        ping = "    ping(given?: PingOptions): Promise<void>;\n"
        self.assert_noticed(f"{NODE}/limiter.d.ts", ping, "    added(): void;\n", "RateLimiter")
        added = "int sluicegate_added(const sluicegate_limiter *limiter);\n"
        self.assert_noticed(C, 'extern "C" {\n#endif // __cplusplus\n\n', added, "RateLimiter")
        added = "size_t sluicegate_matches_added(const sluicegate_matches *matches);\n"
        self.assert_noticed(C, 'extern "C" {\n#endif // __cplusplus\n\n', added, "RequestMatch")

    def test_attributes(self) -> None:
        clock = "class ManualClock:\n"
        self.assert_noticed(STUBS, clock, "    added: int\n", "ManualClock")
        self.assert_noticed(STUBS, clock, "    added = 1\n", "ManualClock")
        self.assert_noticed(STUBS, clock, PROPERTY, "ManualClock")
        self.assert_noticed(f"{PYTHON}/errors.py", "self.retryable = retryable\n", "        self.added = 1\n", "Error")
        limiter, error = "implements AsyncDisposable {\n", "class SluicegateError extends Error {\n"
        for added in ("readonly added: string", "static added: string", "get added(): string", "added?: string"):
            self.assert_noticed(f"{NODE}/limiter.d.ts", limiter, f"    {added};\n", "RateLimiter")
            self.assert_noticed(f"{NODE}/error.d.ts", error, f"    {added};\n", "Error")
        self.assert_noticed(C, "    bool retryable;\n", "    int added;\n", "Error")

    def test_what_python_calls_itself(self) -> None:
        found = noticed(STUBS, "class RulesStatus:\n", "class RulesStatus:\n    def __len__(self) -> int: ...\n")
        self.assertIn(("rust", "RulesStatus", "__len__"), found)


class Fields(Noticed):
    def test_decisions(self) -> None:
        self.assert_noticed("core/src/decision.rs", "    pub allowed: bool,\n", "    pub added: u8,\n", "Decision", "Reservation")
        self.assert_noticed(STUBS, "    ) -> Decision: ...\n", PROPERTY, "Decision", "Reservation")
        self.assert_noticed(f"{NODE}/types.d.ts", "    allowed: boolean;\n", "    added: string;\n", "Decision")
        self.assert_noticed(C, "    bool rule_applied;\n", "    bool added;\n", "Decision")

    def test_checks(self) -> None:
        self.assert_noticed("core/src/request.rs", "    pub rule: &'a str,\n", "    pub added: u8,\n", "Check")
        self.assert_noticed(STUBS, "    ) -> Check: ...\n", PROPERTY, "Check")
        self.assert_noticed(f"{NODE}/types.d.ts", "type Subject = {\n", "    added: string;\n", "Check")
        self.assert_noticed(C, "    const void *key;\n", "    int added;\n", "Check")

    def test_requests(self) -> None:
        calls = ("RateLimiter.check_request()", "RateLimiter.reserve_request()", "RateLimiter.match_request()")
        both = (*calls, *(call.replace("R", "AsyncR", 1) for call in calls))
        path, key = "    pub path: &'a str,\n", "    apiKey?: string | null | undefined;\n"
        self.assert_noticed(f"{MATCHING}/request.rs", path, "    pub added: u8,\n", "Request", *both)
        self.assert_noticed(f"{NODE}/index.d.ts", key, "    added?: string;\n", "Request", *calls)
        self.assert_noticed(C, "    size_t header_count;\n", "    const void *added;\n", "Request", *calls)

    def test_matches_and_explanations(self) -> None:
        rust = f"{MATCHING}/mod.rs"
        self.assert_noticed(rust, "pub struct RequestMatch {\n", "    pub added: u8,\n", "RequestMatch")
        self.assert_noticed(rust, "pub struct Explanation {\n", "    pub added: u8,\n", "Explanation")
        self.assert_noticed(STUBS, "class RequestMatch:\n", PROPERTY, "RequestMatch", "Explanation")
        types = "type RequestMatch = {\n"
        self.assert_noticed(f"{NODE}/index.d.ts", types, "    added: string;\n", "RequestMatch", "Explanation")
        self.assert_noticed(f"{NODE}/types.d.ts", "type Verdict = {\n", "    added: string;\n", "Explanation")
        self.assert_noticed(C, "    bool matched;\n", "    int added;\n", "RequestMatch", "Explanation")

    def test_status_of_rules(self) -> None:
        rust = "core/src/sources/status.rs"
        self.assert_noticed(rust, "pub struct RulesStatus {\n", "    pub added: u8,\n", "RulesStatus")
        self.assert_noticed(STUBS, "class RulesStatus:\n", PROPERTY, "RulesStatus")
        self.assert_noticed(f"{NODE}/index.d.ts", "    cached: boolean;\n", "    added: string;\n", "RulesStatus")
        self.assert_noticed(C, "    bool cached;\n", "    int added;\n", "RulesStatus")

    def test_refusals(self) -> None:
        self.assert_noticed("core/src/sources/status.rs", "pub struct Refusal {\n", "    pub added: u8,\n", "Refusal")
        self.assert_noticed(STUBS, "class Refusal:\n", PROPERTY, "Refusal")
        self.assert_noticed(f"{NODE}/index.d.ts", "        unit: string;\n", "        added: string;\n", "Refusal")
        self.assert_noticed(C, "const char *name, const char *value", ", const char *added", "Refusal")

    def test_kinds_of_errors(self) -> None:
        self.assert_noticed("core/src/error.rs", "pub enum ErrorKind {\n", "    added,\n", "ErrorKind")
        self.assert_noticed(f"{PYTHON}/errors.py", "__all__ = [\n", '    "addedError",\n', "ErrorKind")
        self.assert_noticed(f"{NODE}/index.d.ts", "export type ErrorCode =", ' "added" |', "ErrorKind")
        found = noticed(C, "    SLUICEGATE_OK = 0,\n", "    SLUICEGATE_OK = 0,\n    SLUICEGATE_ADDED = 9,\n")
        self.assertEqual({(part, name) for _, part, name in found}, {("ErrorKind", "Added")})


class Parameters(Noticed):
    def test_rust(self) -> None:
        given = {
            "deciding.rs": "check peek_with refund_with check_all",
            "looking.rs": "ping",
            "requests.rs": "match_request",
            "resetting.rs": "reset_with",
            "waiting.rs": "wait_with",
        }
        for file, method in ((file, method) for file, methods in given.items() for method in methods.split()):
            parts = [f"{limiter}.{method.removesuffix('_with')}()" for limiter in ("RateLimiter", "AsyncRateLimiter")]
            self.assert_noticed(f"{LIMITERS}/{file}", f" fn {method}(", "added: &str, ", *parts)
        parts = ("RateLimiter.match_request()", "AsyncRateLimiter.match_request()")
        self.assert_noticed(f"{LIMITERS}/requests.rs", "pub fn explain_request(", "added: &str, ", *parts)
        self.assert_noticed("core/src/http/headers.rs", "pub fn headers(&self, ", "added: u8, ", "Decision.headers()")
        opening = ("RateLimiter.open()", "AsyncRateLimiter.open()")
        self.assert_noticed("core/src/limiter/builder.rs", "impl Builder {\n", f"    {ADDED_OPTION}", *opening)
        self.assert_noticed("core/src/limiter/builder.rs", "pub fn build(", "added: u8, ", *opening)
        self.assert_noticed("core/src/limiter/builder.rs", "pub fn builder(", "added: u8, ", "RateLimiter.open()")
        layer, new = "impl RateLimitLayer {\n", "RateLimitLayer.new()"
        self.assert_noticed("core/src/tower/layer.rs", layer, f"    {ADDED_OPTION}", new)
        self.assert_noticed("core/src/tower/layer.rs", "    pub fn new(", "added: u8, ", new)

    def test_python(self) -> None:
        for method in ("check", "peek", "refund", "reset", "wait", "check_all", "check_request", "match_request"):
            # As the formatter breaks lines, a method begins in one of two ways.
            with self.subTest(method):
                lines = re.search(rf"    def {method}\(\s*self,", Sources().read(STUBS))[0]
                self.assert_noticed(STUBS, lines, " added: int,", f"RateLimiter.{method}()")
        self.assert_noticed(STUBS, "    def ping(self", ", added: int", "RateLimiter.ping()")
        self.assert_noticed(STUBS, "    def advance(self", ", added: int", "ManualClock.advance()")
        self.assert_noticed(STUBS, "    def headers(self", ", *, added: int = 1", "Decision.headers()")
        asynchronous = f"{PYTHON}/_asynchronous.py"
        self.assert_noticed(asynchronous, "    async def ping(self", ", added: int", "AsyncRateLimiter.ping()")
        keys = f"{PYTHON}/_async_keys.py"
        self.assert_noticed(keys, "    async def unblock(self", ", added: int", "AsyncRateLimiter.unblock()")
        self.assert_noticed(asynchronous, "        cls,\n        url: str,", " added: int,", "AsyncRateLimiter.open()")

    def test_node(self) -> None:
        for method in ("check", "peek", "refund", "reset", "wait"):
            declared = f"\n    {method}(rule: string, key: Key"
            self.assert_noticed(f"{NODE}/limiter.d.ts", declared, ", added: string", f"RateLimiter.{method}()")
        self.assert_noticed(f"{NODE}/limiter.d.ts", "\n    ping(", "added?: string, ", "RateLimiter.ping()")
        explain = "        explain: true;\n"
        self.assert_noticed(f"{NODE}/limiter.d.ts", explain, "        added: 1;\n", "RateLimiter.match_request()")
        types, limiter = f"{NODE}/types.d.ts", "    limiter: RateLimiter | Promise<RateLimiter>;\n"
        waits = ("RateLimiter.wait()", "RateLimiter.wait_all()")
        self.assert_noticed(f"{NODE}/index.d.ts", "type WaitAllOptions = {\n", "    added?: string;\n", *waits)
        self.assert_noticed(types, "RateLimitOptions<Request> = {\n", "    added?: 1;\n", "RateLimitLayer.new()")
        self.assert_noticed(f"{NODE}/fastify.d.ts", limiter, "    added: 1;\n", "RateLimitLayer.new()")
        options = "type ConnectOptions = {\n"
        self.assert_noticed(f"{NODE}/table.d.ts", options, "    added?: string;\n", "RateLimiter.open()")
        headers = "function headers(decision: Decision"
        self.assert_noticed(f"{NODE}/headers.d.ts", headers, ", added: string", "Decision.headers()")

    def test_c(self) -> None:
        for method in ("check", "check_all", "check_request", "match_request", "peek", "refund", "reset", "wait"):
            declared = f"\nsluicegate_status sluicegate_{method}(const sluicegate_limiter *limiter"
            self.assert_noticed(C, declared, ", int added", f"RateLimiter.{method}()")
        self.assert_noticed(C, "    const sluicegate_clock *clock;\n", "    int added;\n", "RateLimiter.open()")
        headers = "sluicegate_decision_headers(const sluicegate_decision *decision"
        self.assert_noticed(C, headers, ", int added", "Decision.headers()")

    def test_an_option_of_all_checks(self) -> None:
        calls = {f"RateLimiter.{method}()" for method in ("check", "peek", "refund", "wait")}
        changes = {
            "core/src/request.rs": ("pub struct CheckOptions<'a> {\n", "    pub added: u8,\n"),
            f"{NODE}/index.d.ts": ("type PeekOptions = {\n", "    added?: string;\n"),
            C: ("    uint64_t cost;\n", "    int added;\n"),
        }
        for path, (after, added) in changes.items():
            with self.subTest(path=path):
                self.assertLess(calls, {part for _, part, _ in noticed(path, after, after + added)})

    def test_what_is_required(self) -> None:
        required = "RateLimiter.wait() required"
        of_both = {("node", f"RateLimiter.{method}() required", "timeout") for method in ("wait", "wait_all")}
        self.assertEqual(noticed(f"{NODE}/index.d.ts", "timeoutMs: ", "timeoutMs?: "), of_both)
        self.assertEqual(noticed(STUBS, "timeout: float,", "timeout: float = 1.0,"), {("python", required, "timeout")})
        opening = {("python", "RateLimiter.open() required", "rules")}
        self.assertEqual(noticed(STUBS, "        rules: _Rules,", "        rules: _Rules = (),"), opening)


class Middleware(unittest.TestCase):
    def test_both_kinds_have_the_same_options(self) -> None:
        with self.assertRaisesRegex(AssertionError, "different options"):
            changed(f"{PYTHON}/wsgi.py", "limiter: RateLimiter,", "limiter: RateLimiter, added: int,")


class Exceptions(unittest.TestCase):
    def test_one_that_is_none_any_longer(self) -> None:
        index = f"{NODE}/index.d.ts"
        changes = {
            ("python", "__bool__"): (STUBS, "    def __bool__(self) -> bool: ...\n", ""),
        }
        for exception, change in changes.items():
            with self.subTest(exception):
                self.assertEqual(unneeded(changed(*change)) - UNNEEDED, {exception})
        # Both kinds of waits have the same one.
        signals = {("node", f"RateLimiter.{method}()", "signal") for method in ("wait", "wait_all")}
        self.assertEqual(unneeded(changed(index, "    signal?: AbortSignal | undefined;\n", "")) - UNNEEDED, signals)

    def test_one_that_another_language_has_too(self) -> None:
        waiting = "def wait(\n        self,"
        found = unneeded(changed(STUBS, waiting, f"{waiting} signal: object,")) - UNNEEDED
        self.assertEqual(found, {("node", "RateLimiter.wait()", "signal")})


if __name__ == "__main__":
    unittest.main()
