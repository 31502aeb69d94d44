"""What one language lacks or has alone, and why.

Each exception is (language, part of the surface, name). One that is none any longer fails the test.
"""

from __future__ import annotations


def each(language: str, part: str, names: str, reason: str) -> dict[tuple[str, str, str], str]:
    return {(language, part, name): reason for name in names.split()}


# It is not there, though at least one other language has it.
MISSING = {
    # Classes and types.
    **each("node", "package", "AsyncRateLimiter", "every call answers with a promise"),
    **each("c", "package", "AsyncRateLimiter", "there is no event loop that all programs share"),
    **each("c", "package", "RateLimitLayer", "there is no interface of servers that all programs share"),
    **each("python", "package", "Builder CheckOptions Request", "their fields are keyword arguments"),
    **each("python", "package", "ErrorKind", "each kind is a class of its own"),
    **each("python", "package", "HeaderStyle Source", "they are texts, which the annotations list"),
    **each("python", "package", "Explanation", "a RequestMatch has the reason too"),
    **each("node", "package", "Refusal", "RulesStatus says what is in one"),
    **each("node", "package", "Source", "it is a text, which the type of a decision lists"),
    **each("c", "package", "Explanation", "a sluicegate_match has the reason too"),
    **each("c", "package", "HeaderStyle", "it is a text, as names of rules are"),
    **each("c", "package", "Limit Match Rule", "rules are JSON"),
    **each("c", "package", "Refusal", "sluicegate_rules_status passes its fields to a callback"),
    **each("c", "package", "Reservation", "it is a decision, an id and a token, which are written to where the caller says"),
    **each("python", "package", "Usage", "it is an int or a mapping"),
    **each("c", "package", "Block", "rules are JSON"),
    **each("rust", "Block", "seconds max_seconds", "elsewhere it is as it stands in a file"),
    **each("python", "Block", "length max", "it is as it stands in a file"),
    **each("node", "Block", "length max", "it is as it stands in a file"),
    **each("rust", "package", "RateLimited", "how frameworks of Python and Node are told of a denied request"),
    **each("c", "package", "RateLimited", "how frameworks of Python and Node are told of a denied request"),
    **each("rust", "package", "Key Name", "a key is a str"),
    **each("python", "package", "Key Name", "annotations name them; there is no class"),
    **each("c", "package", "Key Name", "a key is a text and its length"),
    **each("rust", "package", "WrongTypeError", "the compiler checks types"),
    **each("c", "package", "WrongTypeError", "the compiler checks types"),
    **each("python", "package", "WrongTypeError", "it stands among the kinds of errors"),
    **each("node", "ErrorKind", "WrongType", "its kind is InvalidArgument; the class tells it"),
    **each("rust", "ErrorKind", "WrongType", "the compiler checks types"),
    **each("c", "ErrorKind", "WrongType", "the compiler checks types"),
    **each("rust", "package", "LogCallback set_log", "warnings go to the crate `log`"),
    **each("python", "package", "LogCallback set_log", "warnings go to `logging`"),
    **each("node", "package", "LogCallback set_log", "warnings go to standard error"),
    # Members.
    **each("node", "RateLimited", "new code retry_after", "`statusCode` is the status, the decision has the wait; nobody but a limit makes one"),
    **each("python", "RateLimited", "kind status_code", "`code` is the status, as errors of Werkzeug have it"),
    **each("rust", "Reservation", "commit release renew", "a value has no limiter, whose methods take it"),
    **each("c", "Decision", "parts", "sluicegate_check_all writes them to an array of the caller's"),
    **each("rust", "RequestMatch", "matched reason", "they are what an Explanation has more"),
    **each("node", "RequestMatch", "matched reason", "they are what an Explanation has more"),
    **each("python", "package", "Fallback", "a word"),
    **each("node", "package", "Fallback", "a word"),
    **each("c", "package", "Fallback", "a word"),
    **each("node", "Check", "new", "it is a plain object"),
    **each("c", "Check", "new", "it is a plain struct"),
    **each("python", "Error", "kind", "the class is the kind"),
    **each("python", "Error", "message", "str(error) is the message"),
    **each("node", "Error", "message", "Error has it"),
    **each("rust", "OnError", "raise", "the errors of a tower service are of the service's own type"),
    # What methods take.
    **each("rust", "Check.new()", "cost limit resource timeout", "`with` sets them"),
    **each("python", "Check", "request_id", "items have none of their own; Rust has one struct for all options"),
    **each("node", "Check", "request_id", "items have none of their own; Rust has one struct for all options"),
    **each("c", "package", "CheckAllOptions", "its one field is an argument of sluicegate_check_all_with"),
    **each("python", "package", "CheckAllOptions", "its field is a keyword argument"),
    **{
        exception: reason
        for owner, language in (("RateLimiter", "python"), ("AsyncRateLimiter", "python"), ("RateLimiter", "node"))
        for method in ("inspect", "peek", "reserve", "reset", "reset_all", "wait")
        for exception, reason in each(
            language, f"{owner}.{method}()", "request_id", "it takes none; Rust has one struct for all options"
        ).items()
    },
    **{
        exception: reason
        for owner, language in (("RateLimiter", "python"), ("AsyncRateLimiter", "python"), ("RateLimiter", "node"))
        for method in ("block", "unblock", "set_limit", "clear_limit")
        for exception, reason in each(
            language,
            f"{owner}.{method}()",
            "cost resource request_id" if method == "set_limit" else "cost limit resource request_id",
            "they make no difference; Rust has one struct for all",
        ).items()
    },
    **each("python", "RateLimiter.block()", "duration", "it says that it is in seconds"),
    **each("python", "AsyncRateLimiter.block()", "duration", "it says that it is in seconds"),
    **each("rust", "RateLimitLayer.new()", "max_lease_seconds", "it is `max_lease`, a Duration"),
    **each("python", "RateLimitLayer.new()", "max_lease", "it says that it is in seconds"),
    **each("node", "RateLimitLayer.new()", "max_lease", "it says that it is in seconds"),
    **each("python", "RateLimiter.match_request()", "timeout", "no server is asked; elsewhere a request has it"),
    **each("python", "AsyncRateLimiter.match_request()", "timeout", "no server is asked; elsewhere a request has it"),
    **each("python", "RateLimiter.reset()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("python", "AsyncRateLimiter.reset()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("node", "RateLimiter.reset()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("python", "RateLimiter.inspect()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("python", "RateLimiter.reset_all()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("python", "AsyncRateLimiter.inspect()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("python", "AsyncRateLimiter.reset_all()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("node", "RateLimiter.inspect()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("node", "RateLimiter.reset_all()", "cost limit", "they make no difference; Rust has one struct for all"),
    **each("node", "RateLimitLayer.new()", "root_path", "only ASGI has root paths"),
    **each("rust", "RateLimitLayer.new()", "root_path", "only ASGI has root paths"),
    # What methods do not insist on.
    **each("rust", "RateLimiter.open() required", "rules", "a builder insists on none of its methods"),
    **each("rust", "AsyncRateLimiter.open() required", "rules", "a builder insists on none of its methods"),
    **each("rust", "RateLimiter.set_limit() required", "limit", "an option of checks has that name, and is not insisted on"),
    **each("rust", "AsyncRateLimiter.set_limit() required", "limit", "an option of checks has that name, and is not insisted on"),
    **each("c", "RateLimiter.set_limit() required", "limit", "an option of checks has that name, and is not insisted on"),
    **each("python", "RateLimiter.set_limit() required", "expires_in", "there are default arguments, and never is one"),
    **each("python", "AsyncRateLimiter.set_limit() required", "expires_in", "there are default arguments, and never is one"),
    **each("node", "RateLimiter.set_limit() required", "expires_in", "there are default arguments, and never is one"),
    **each("python", "RateLimiter.commit() required", "cost", "as much as was reserved is the default"),
    **each("python", "AsyncRateLimiter.commit() required", "cost", "as much as was reserved is the default"),
    **each("node", "RateLimiter.commit() required", "cost", "as much as was reserved is the default"),
    **each("python", "ManualClock.new() required", "now", "there are default arguments, and 0 is one"),
    **each("node", "ManualClock.new() required", "now", "there are default arguments, and 0 is one"),
    **each("python", "Decision.headers() required", "style", "there are default arguments, and ietf is one"),
    **each("node", "Decision.headers() required", "style", "there are default arguments, and ietf is one"),
    **each("c", "RateLimiter.check_request() required", "method path", "any field of a struct can be left out"),
    **each("c", "RateLimiter.match_request() required", "method path", "any field of a struct can be left out"),
    **each("c", "RateLimiter.reserve_request() required", "method path", "any field of a struct can be left out"),
}

# No other language has it.
ALONE = {
    # Classes, types and constants.
    **each("rust", "package", "Rules RuleId", "rules are read beforehand; elsewhere by the limiter that is given them"),
    **each(
        "rust",
        "package",
        "Algorithm CalendarUnit CalendarWindow GcraName Identifier Scope Structure WindowStart",
        "what has been read of a rule; elsewhere rules are data in the form of JSON",
    ),
    **each(
        "rust",
        "package",
        "FileSource Following RuleSource TlsFiles Updates ZooKeeperSource named",
        "sources of rules can be written by users; elsewhere a text names one of those that there are",
    ),
    **each("rust", "package", "RuleBuilder", "elsewhere a rule is written as it stands in a file, and has a type"),
    **each("rust", "package", "schema", "the tool prints the schema, and the site has it as a file"),
    **each("rust", "package", "CompositeKey", "elsewhere a key is an array of parts, or they are joined by a function"),
    **each("rust", "package", "RateLimit ResponseBody", "the service that the layer makes, and its answers, have to have names"),
    **each("rust", "package", "OnError", "an enum; elsewhere a text"),
    **each("rust", "package", "Result", "the short form that crates have"),
    **each("node", "package", "FastifyRateLimitOptions RateLimitOptions", "types of what are arguments elsewhere"),
    **each("python", "package", "RATE_LIMIT RateLimitMixin RouteLimits SluicegateMiddleware", "what its frameworks take at their routes"),
    **each("python", "package", "FunctionLimits", "how Python decorates functions"),
    **each("python", "package", "AsyncRateLimitTransport RateLimitAdapter RateLimitTransport", "what its clients of HTTP take"),
    **each(
        "python",
        "package",
        "connect_rate_limiter rate_limiter rate_limiter_clock rate_limiter_rules",
        "fixtures of pytest, which only Python has",
    ),
    **each("python", "package", "SluicegateStorage", "what the package limits takes, which only Python has"),
    **each("node", "package", "FastifyRouteLimits FastifyRouteOptions route_limits", "what its frameworks take at their routes"),
    **each("node", "package", "RateLimitException RateLimitGuard RateLimitModule RateLimitModuleOptions rate_limit", "what NestJS takes"),
    **each("node", "package", "LimitedFetchOptions limited_fetch", "what paces outgoing calls, of which languages have libraries of their own"),
    **each("node", "package", "NestArguments NestDenied NestRequest NestRouteOptions", "types of what NestJS takes"),
    **each("node", "package", "SluicegateStore SluicegateThrottlerStorage sluicegate_store", "what packages of Node take as stores"),
    **each("node", "package", "PeekOptions PingOptions ResetOptions WaitAllOptions WaitOptions", "types of what are arguments elsewhere"),
    **each("node", "package", "ChangeOptions SetLimitOptions", "types of what are arguments elsewhere"),
    **each("node", "package", "ReserveAllOptions ReserveOptions", "types of what are arguments elsewhere"),
    **each("c", "package", "KeyPart", "a struct is how an array of texts with lengths is passed"),
    **each("c", "package", "Header PairCallback", "there is no type for pairs and lists of them"),
    **each("c", "package", "CHECK_OPTIONS_INIT OPTIONS_INIT REQUEST_INIT", "how a struct gets its defaults"),
    **each("c", "package", "ERROR_KEY_SIZE MESSAGE_SIZE RULES_VERSION_SIZE RULE_SIZE", "the caller makes room for texts"),
    **each("c", "package", "NEVER", "elsewhere the longest time has a name already"),
    **each(
        "c",
        "package",
        "VERSION_MAJOR VERSION_MINOR VERSION_PATCH version",
        "header and library may differ; elsewhere the package manager knows the version",
    ),
    **each("c", "package", "status_name", "a number has to be named; elsewhere a kind knows its name"),
    **each("rust", "package", "ReservationRef", "an enum; elsewhere a value or a text"),
    **each("python", "package", "AsyncReservation", "its methods are awaited"),
    **each("c", "package", "RESERVATION_ID_SIZE", "the caller makes room for texts"),
    **each("rust", "package", "Key Name", "a key is a str"),
    **each("python", "package", "Key Name", "annotations name them; there is no class"),
    **each("c", "package", "Key Name", "a key is a text and its length"),
    **each("rust", "package", "WrongTypeError", "the compiler checks types"),
    **each("c", "package", "WrongTypeError", "the compiler checks types"),
    **each("python", "package", "WrongTypeError", "it stands among the kinds of errors"),
    **each("node", "ErrorKind", "WrongType", "its kind is InvalidArgument; the class tells it"),
    **each("rust", "ErrorKind", "WrongType", "the compiler checks types"),
    **each("c", "ErrorKind", "WrongType", "the compiler checks types"),
    **each("rust", "package", "LogCallback set_log", "warnings go to the crate `log`"),
    **each("python", "package", "LogCallback set_log", "warnings go to `logging`"),
    **each("node", "package", "LogCallback set_log", "warnings go to standard error"),
    # Members.
    **each("rust", "Reservation", "decision", "elsewhere a reservation has the fields itself, and nothing else is passed on"),
    **each("c", "RateLimiter", "commit_usage", "elsewhere one argument takes every form"),
    **each("rust", "Check", "with", "elsewhere options are arguments or fields"),
    **each("rust", "CheckAllOptions", "new", "elsewhere a plain object, or an argument"),
    **each("rust", "CheckOptions", "new", "elsewhere a plain object or struct"),
    **each("rust", "Request", "new", "elsewhere a plain object or struct"),
    **each("rust", "ErrorKind", "ALL name", "elsewhere a kind is its name, and what lists types lists the kinds"),
    **each("rust", "HeaderStyle", "name", "elsewhere a style is its name"),
    **each("rust", "Source", "name", "elsewhere a source is its name, or a number"),
    **each("python", "Decision", "new", "decisions can be made by hand to test an application, and unpickled"),
    **each("python", "Error", "new", "every exception can be raised by hand"),
    **each("node", "Error", "name", "every error of JavaScript has one"),
    **each("c", "RateLimiter", "new_from_file", "elsewhere one argument takes both JSON and a path of any form"),
    **each("c", "RequestMatch", "at count", "elsewhere matches are a list of the language"),
    **each("c", "ErrorKind", "Internal", "a panic, which other languages have exceptions for"),
    **each("c", "Source", "other", "the ABI stays as it is when sources are added"),
    # What methods take.
    **each("python", "RateLimiter.block()", "by", "how long, in seconds"),
    **each("python", "AsyncRateLimiter.block()", "by", "how long, in seconds"),
    **each(
        "node",
        "RateLimiter.wait()",
        "signal",
        "how promises are cancelled; tasks of Python are by themselves, futures of Rust are dropped, and threads wait",
    ),
    **each("node", "RateLimiter.wait_all()", "signal", "as of a wait"),
    **each("node", "RateLimiter.reserve()", "signal", "as of a wait"),
    **each("node", "RateLimiter.reserve_all()", "signal", "as of a wait"),
    **each("python", "RateLimitLayer.new()", "app", "middleware is made around the application"),
    **each("python", "RateLimitLayer.new()", "skip key cost rules on_denied on_decision count", "elsewhere limits at routes have them"),
    **each("rust", "RateLimitLayer.new()", "peer", "tower does not say where the server keeps the address"),
    **each("node", "RateLimitLayer.new()", "log", "elsewhere there is one log for all libraries"),
    **each("c", "RateLimiter.match_request() required", "explain", "there are no default arguments"),
    **each("c", "RateLimiter.rules_status()", "context refused", "a callback receives the list"),
    **each("c", "RateLimiter.prometheus()", "context text", "a callback receives the text"),
    **each("c", "RateLimiter.rules()", "context rule", "a callback receives the list"),
    **each("c", "Decision.headers()", "context header", "a callback receives the list"),
    **each("c", "Decision.headers()", "parts", "elsewhere a decision has them"),
}

# (language, name): what it is called by belongs to the language, wherever it is met.
IDIOMS = {
    ("python", "__init__"): "the class of the limiter for asyncio says, if it is called, that `connect` makes one",
    ("python", "__slots__"): "where an object keeps its attributes",
    ("python", "__enter__"): "`with` closes; in Rust a limiter that is dropped does",
    ("python", "__exit__"): "`with` closes; in Rust a limiter that is dropped does",
    ("python", "__aenter__"): "`async with` closes; in Rust a limiter that is dropped does",
    ("python", "__aexit__"): "`async with` closes; in Rust a limiter that is dropped does",
    ("python", "__del__"): "a limiter that was not closed is reported; in Rust it is closed when it is dropped",
    ("python", "__bool__"): "`if decision` asks whether it is allowed",
    ("python", "__call__"): "how servers call what handles requests",
    ("python", "__eq__"): "values compare, which Rust derives",
    ("python", "__ne__"): "values compare, which Rust derives",
    ("python", "__hash__"): "values can be keys, which Rust derives",
    ("python", "__getnewargs_ex__"): "values can be pickled",
    ("node", "[Symbol.asyncDispose]"): "`await using` closes; in Rust a limiter that is dropped does",
    ("c", "free"): "memory is freed by hand",
    ("c", "reserved"): "the ABI stays as it is when fields are added",
}

# What is one thing in Rust and another elsewhere, in spite of its name.
READ_OTHERWISE = {
    "Usage": "in Rust an enum, in Node a type of what there is in JavaScript, in C one of several costs",
    "Rule": "in Rust what has been read of a rule, in Node the JSON itself",
    "Limit": "in Rust what has been read of a rule, in Node the JSON itself",
}
