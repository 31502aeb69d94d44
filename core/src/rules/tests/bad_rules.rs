//! Every fault a rule can have, and what is said about it.

use super::fault;

/// What a capital letter after a comma stands for in `BAD_RULES`.
const SHORTHANDS: [(&str, &str); 5] = [
    (", A", r#", "algorithm": "gcra""#),
    (", B", r#", "algorithm": "sliding_buckets", "window_size_seconds": 60"#),
    (", F", r#", "algorithm": "fixed_window", "limit": 1"#),
    (", G", r#", "algorithm": "gcra", "limit": 1, "window_size_seconds": 60"#),
    (", W", r#", "algorithm": "sliding_window", "window_size_seconds": 1"#),
];

/// The text of a file with one rule, `r`.
pub(super) fn rule_text(fields: &str) -> String {
    let text = format!(r#"[{{ "rule_id": "r", {fields} }}]"#);
    SHORTHANDS.iter().fold(text, |text, (short, long)| text.replace(short, long))
}

#[test]
fn a_bad_rule_is_answered_with_its_field_and_what_would_be_right() {
    let mut lines = BAD_RULES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    while let (Some(fields), Some(expected)) = (lines.next(), lines.next()) {
        assert_eq!(fault(&rule_text(fields)), format!("rule \"r\": {}", expected.trim_start()), "{fields}");
    }
}

/// The fields of a rule beside its id and, in the line below, the message after `rule "r": `.
const BAD_RULES: &str = r##"
# Fields
"rule_id": "s"
    field "rule_id" is stated twice; state it once
"limits": [{"limit": 1, "limit": 2}], A
    field "limits[0].limit" is stated twice; state it once
"Limit": 1
    field "Limit" is not known; did you mean "limit"?
"scope": "key"
    field "scope" does not belong here; move it into an entry of "limits"
"methods": []
    field "methods" does not belong here; move it into "match"
"description": 1, G
    field "description" is 1; it has to be a text
"shadow": 1, G
    field "shadow" is 1; it has to be true or false
"priority": 0.5, G
    field "priority" is 0.5; it has to be a whole number from -9007199254740991 to 9007199254740991
"ipv6_prefix_length": 0, G
    field "ipv6_prefix_length" is 0; it has to be a whole number from 1 to 128
"ipv6_prefix_length": 129, G
    field "ipv6_prefix_length" is 129; it has to be a whole number from 1 to 128

# Rates
"rate": 5
    field "rate" is 5; it has to be a limit and its window, such as "5/minute", "100/s" or "20/30s"
"rate": ""
    field "rate" is ""; found the end at character 1, expected a whole number from 1 to 9007199254740991
"rate": "0/s"
    field "rate" is "0/s"; found "0/s" at character 1, expected a whole number from 1 to 9007199254740991
"rate": "-5/s"
    field "rate" is "-5/s"; found "-5/s" at character 1, expected a whole number from 1 to 9007199254740991
"rate": "100001/s", "algorithm": "sliding_log"
    field "rate" is "100001/s"; found "100001/s" at character 1, expected a whole number from 1 to 100000
"rate": "5 per minute"
    field "rate" is "5 per minute"; found " per minute" at character 2, expected "/" and a window, as in "5/minute"
"rate": "5"
    field "rate" is "5"; found the end at character 2, expected "/" and a window, as in "5/minute"
"rate": "5/"
    field "rate" is "5/"; found the end at character 3, expected a unit of time: ms, s, m, h or d, or second, minute, hour or day
"rate": "5/minut"
    field "rate" is "5/minut"; found "minut" at character 3, expected a unit of time; did you mean "minute"?
"rate": "20/30"
    field "rate" is "20/30"; found the end at character 6, expected a unit of time: ms, s, m, h or d, or second, minute, hour or day
"rate": "20/30 s"
    field "rate" is "20/30 s"; found " s" at character 6, expected a unit of time: ms, s, m, h or d, or second, minute, hour or day
"rate": "20/0s"
    field "rate" is "20/0s"; found "0s" at character 4, expected a window from 1 ms to 3650 days
"rate": "20/3651d"
    field "rate" is "20/3651d"; found "3651d" at character 4, expected a window from 1 ms to 3650 days
"rate": "1/99999999999999999999s"
    field "rate" is "1/99999999999999999999s"; found "99999999999999999999s" at character 3, expected a window from 1 ms to 3650 days
"rate": "5/s", "limit": 5
    field "limit" and "rate" exclude each other; leave one out
"rate": "5/s", "window_size_seconds": 1
    field "window_size_seconds" and "rate" exclude each other; leave one out
"rate": "5/s", "limits": [{"rate": "1/s"}]
    field "rate" and "limits" exclude each other; move it into "limits"
"limits": [{"rate": "5/s"}, {"rate": "1/x"}]
    field "limits[1].rate" is "1/x"; found "x" at character 3, expected a unit of time: ms, s, m, h or d, or second, minute, hour or day
"limits": [{"rate": "5/s", "limit": 1}]
    field "limits[0].limit" and "rate" exclude each other; leave one out
"rate": "5/s", "algorithm": "decay"
    field "rate" does not belong to "decay"; leave it out, or use "fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra", "token_bucket", "leaky_bucket" or "uniform"
"rate": "4294967297/s"
    field "rate" is "4294967297/s"; it has to be a limit of at most 4294967296 without a smaller "burst"

# Costs
"cost": 0, "match": {}, G
    field "cost" is 0; it has to be a whole number from 1 to 9007199254740991
"cost": 1.5, "match": {}, G
    field "cost" is 1.5; it has to be a whole number from 1 to 9007199254740991
"cost": 2, G
    field "cost" is for a rule with "match"; add one, or leave the field out

# Algorithms and their options
"algorithm": "sliding_windw"
    field "algorithm" is "sliding_windw"; did you mean "sliding_window"?
"algorithm": null
    field "algorithm" is null; it has to be "fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra", "token_bucket", "leaky_bucket", "uniform", "decay" or "concurrency"
"burst": 1, "algorithm": "uniform"
    field "burst" does not belong to "uniform"; leave it out, or use "gcra", "token_bucket" or "leaky_bucket"
"resolution_seconds": 1, "algorithm": "gcra"
    field "resolution_seconds" does not belong to "gcra"; leave it out, or use "sliding_buckets" or "decay"
"decay_factor": 2, "algorithm": "gcra"
    field "decay_factor" does not belong to "gcra"; leave it out, or use "decay"
"window_start": "aligned", "algorithm": "gcra"
    field "window_start" does not belong to "gcra"; leave it out, or use "fixed_window"
"structure": "list", "algorithm": "gcra"
    field "structure" does not belong to "gcra"; leave it out, or use "sliding_log"
"count_denied": true, "algorithm": "gcra"
    field "count_denied" does not belong to "gcra"; leave it out, or use "fixed_window", "sliding_window", "sliding_buckets" or "decay"
"window_size_seconds": 1, "algorithm": "decay"
    field "window_size_seconds" does not belong to "decay"; its time is "resolution_seconds"
"limits": [{"limit": 1, "resolution_seconds": 1}], "algorithm": "gcra"
    field "limits[0].resolution_seconds" does not belong to "gcra"; leave it out, or use "sliding_buckets" or "decay"
"window_start": "alined", "algorithm": "fixed_window"
    field "window_start" is "alined"; did you mean "aligned"?

# Windows of the calendar
"window": "day", "limit": 1
    field "window" does not belong to "gcra"; leave it out, or use "fixed_window"
"limits": [{"window": "day", "limit": 1}], "algorithm": "sliding_log"
    field "limits[0].window" does not belong to "sliding_log"; leave it out, or use "fixed_window"
"window": "days", F
    field "window" is "days"; did you mean "day"?
"window": "quarter", F
    field "window" is "quarter"; it has to be "day", "week", "month" or "year"
"window": 86400, F
    field "window" is 86400; it has to be "day", "week", "month" or "year"
"window": "day", "window_size_seconds": 60, F
    field "window_size_seconds" and "window" exclude each other; leave one out
"window": "day", "rate": "5/m", "algorithm": "fixed_window"
    field "rate" and "window" exclude each other; leave one out
"window": "day", "window_start": "aligned", F
    field "window_start" and "window" exclude each other; the calendar says when windows begin
"window": "day", "limits": [{"window": "day", "limit": 1}], "algorithm": "fixed_window"
    field "window" and "limits" exclude each other; move it into "limits"
"window": "day", "time_zone": "Europe/Berln", F
    field "time_zone" is "Europe/Berln", which is no time zone; did you mean "Europe/Berlin"?
"window": "day", "time_zone": "europe/berlin", F
    field "time_zone" is "europe/berlin", which is no time zone; did you mean "Europe/Berlin"?
"window": "day", "time_zone": "Berlin", F
    field "time_zone" is "Berlin", which is no time zone; did you mean "Europe/Berlin"?
"window": "day", "time_zone": "+02:00", F
    field "time_zone" is "+02:00", which is no time zone; it has to be the name of a time zone, such as "Europe/Berlin" or "UTC"
"window": "day", "time_zone": 2, F
    field "time_zone" is 2; it has to be the name of a time zone, such as "Europe/Berlin" or "UTC"
"time_zone": "UTC", "window_size_seconds": 60, F
    field "time_zone" is for a "window" of the calendar, "day", "week", "month" or "year"; add one, or leave it out
"month_start_day": 2, "limits": [{"window_size_seconds": 60, "limit": 1}], "algorithm": "fixed_window"
    field "month_start_day" is for a "window" of the calendar, "day", "week", "month" or "year"; add one, or leave it out
"limits": [{"window_size_seconds": 60, "limit": 1, "time_zone": "UTC"}], "algorithm": "fixed_window"
    field "limits[0].time_zone" is for a "window" of the calendar, "day", "week", "month" or "year"; add one, or leave it out
"window": "day", "month_start_day": 2, F
    field "month_start_day" is for a "window" that is "month", and this one is "day"; leave it out
"month_start_day": 2, "limits": [{"window": "day", "limit": 1}], "algorithm": "fixed_window"
    field "month_start_day" is for a "window" that is "month", and this one is of another kind; leave it out
"window": "month", "month_start_day": 32, F
    field "month_start_day" is 32; it has to be a whole number from 1 to 31
"window": "month", "month_start_day": 0, F
    field "month_start_day" is 0; it has to be a whole number from 1 to 31
"limits": [{"window": "day", "limit": 1}, {"window": "day", "limit": 2, "time_zone": "UTC"}], "algorithm": "fixed_window"
    field "limits[1]" has the time and scope of "limits[0]"; keep the lower one
"structure": "zset", "algorithm": "sliding_log"
    field "structure" is "zset"; it has to be "list" or "sorted_set"
"decay_factor": 1, "algorithm": "decay"
    field "decay_factor" is 1; it has to be a number of at least 1.0001

# Limits
"limit": 0, W
    field "limit" is 0; it has to be a whole number from 1 to 9007199254740991
"limit": -1, W
    field "limit" is -1; it has to be a whole number from 1 to 9007199254740991
"limit": 1.5, W
    field "limit" is 1.5; it has to be a whole number from 1 to 9007199254740991
"limit": "50", W
    field "limit" is "50"; it has to be a whole number from 1 to 9007199254740991
"limit": 9007199254740992, W
    field "limit" is 9007199254740992; it has to be a whole number from 1 to 9007199254740991
"limit": 18446744073709551616, W
    field "limit" is 1.8446744073709552e+19; it has to be a whole number from 1 to 9007199254740991
W
    field "limit" is missing; it has to be a whole number from 1 to 9007199254740991
"limit": 100001, "algorithm": "sliding_log"
    field "limit" is 100001; it has to be a whole number from 1 to 100000
"limit": 0.5, "algorithm": "decay"
    field "limit" is 0.5; it has to be a number from 1 to 9007199254740991
"limit": 1e300, "algorithm": "decay"
    field "limit" is 1e+300; it has to be a number from 1 to 9007199254740991
"limit": 1, A
    field "window_size_seconds" is missing; it has to be a number of seconds from 0.001 to 315360000 (10 years)
"limit": 1, A, "window_size_seconds": 0.0009999
    field "window_size_seconds" is 0.0009999; it has to be a number of seconds from 0.001 to 315360000 (10 years)
"limit": 1, A, "window_size_seconds": 315360000.1
    field "window_size_seconds" is 315360000.1; it has to be a number of seconds from 0.001 to 315360000 (10 years)
"limit": 1, A, "window_size_seconds": -60
    field "window_size_seconds" is -60; it has to be a number of seconds from 0.001 to 315360000 (10 years)
"limit": 1, B, "resolution_seconds": 0
    field "resolution_seconds" is 0; it has to be a number of seconds from 0.000001 to 315360000 (10 years)
"limit": 1, B, "resolution_seconds": 60.1
    field "resolution_seconds" is 60.1; it has to be from 0.014649 (1/4096 of the window) to 60 seconds (the window)
"limit": 1, B, "resolution_seconds": 0.014648
    field "resolution_seconds" is 0.014648; it has to be from 0.014649 (1/4096 of the window) to 60 seconds (the window)
"limit": 1, "algorithm": "decay"
    field "resolution_seconds" is missing; it has to be a number of seconds from 0.000001 to 315360000 (10 years)
"limit": 1, "algorithm": "decay", "resolution_seconds": 200000000
    field "resolution_seconds" is 200000000; it has to be at most 108520472.948686 seconds for such a "decay_factor"
"burst": 0, G
    field "burst" is 0; it has to be a whole number from 1 to 9007199254740991
"burst": 150119988, G
    field "burst" is 150119988; it has to be at most 150119987: burst * window / limit must not exceed 2^53 microseconds
"limits": 1, A
    field "limits" is 1; it has to be an array of limits
"limits": [], A
    field "limits" is an empty array; it has to be an array of at least one limit
"limits": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], A
    field "limits" has 33 limits; a rule has 32 at most
"limits": [1], A
    field "limits[0]" is 1; it has to be an object
"limits": [], "limit": 1, W
    field "limit" and "limits" exclude each other; move it into "limits"
"limits": [], W
    field "window_size_seconds" and "limits" exclude each other; move it into "limits"
"limits": [{}, {}], A, "burst": 2
    field "burst" is for a rule with one limit; this one has 2
"limits": [{"window_seconds": 1}], A
    field "limits[0].window_seconds" is not known; it could be "limit", "window_size_seconds", "rate", "window", "time_zone", "month_start_day", "resolution_seconds" or "scope"
"limits": [{"scope": "keys"}], A
    field "limits[0].scope" is "keys"; did you mean "key"?
"limits": [{"limit": 1, "window_size_seconds": 1}, {"limit": 2, "window_size_seconds": 1.0}], A
    field "limits[1]" has the time and scope of "limits[0]"; keep the lower one
"limits": [{"limit": 1, "window_size_seconds": 1}, {"limit": 2, "window_size_seconds": 0}], A
    field "limits[1].window_size_seconds" is 0; it has to be a number of seconds from 0.001 to 315360000 (10 years)

# Identifiers
"identifier_type": "user", G
    field "identifier_type" is "user"; it has to be "user_id", "ip_address", "api_key", "header:<name>", "path:<name>" or "global"
"identifier_type": "userid", G
    field "identifier_type" is "userid"; did you mean "user_id"?
"identifier_type": "header:", G
    field "identifier_type" is "header:"; it has to be "header:" and the name of an HTTP header
"identifier_type": "header:a b", G
    field "identifier_type" is "header:a b"; it has to be "header:" and the name of an HTTP header
"identifier_type": "path:id", G
    field "identifier_type" is "path:id"; it has to be "path:" and a name that "match.path_pattern" has in braces, as in "/orders/{id}"
"identifier_type": "path:a}/{b", "match": {"path_pattern": "/{a}/{b}"}, G
    field "identifier_type" is "path:a}/{b"; it has to be "path:" and a name that "match.path_pattern" has in braces, as in "/orders/{id}"
"resource_identifier_type": "global", G
    field "resource_identifier_type" is for a rule with a limit of "scope": "resource"; add one, or leave the field out
"match": {}, G
    field "identifier_type" is missing; it has to be "user_id", "ip_address", "api_key", "header:<name>", "path:<name>" or "global" in a rule with "match"
"identifier_type": "global", "match": {}, "limits": [{"limit": 1, "window_size_seconds": 1, "scope": "resource"}], A
    field "resource_identifier_type" is missing; it has to be "user_id", "ip_address", "api_key", "header:<name>", "path:<name>" or "global" in a rule with "match" and a limit of "scope": "resource"

# Matches
"match": [], G
    field "match" is an empty array; it has to be an object
"match": {"path": "/"}, G
    field "match.path" is not known; it could be "path_pattern", "methods", "requires_authentication", "required_headers" or "ip_subnet"
"match": {"path_pattern": "orders"}, G
    field "match.path_pattern" is "orders"; it has to be a path that begins with "/" or "*"
"match": {"path_pattern": "/{"}, G
    field "match.path_pattern" is "/{"; it has to be a path in which every "{" has its "}", as in "/orders/{id}"
"match": {"path_pattern": "/}{a}"}, G
    field "match.path_pattern" is "/}{a}"; it has to be a path in which every "{" has its "}", as in "/orders/{id}"
"match": {"path_pattern": "/{a}}"}, G
    field "match.path_pattern" is "/{a}}"; it has to be a path in which every "{" has its "}", as in "/orders/{id}"
"match": {"path_pattern": "/{}"}, G
    field "match.path_pattern" is "/{}"; it has to be a path whose names in braces are of A-Z a-z 0-9 _
"match": {"path_pattern": "/{a}/{a}"}, G
    field "match.path_pattern" is "/{a}/{a}"; it has to be a path whose names in braces are all different
"match": {"path_pattern": "/{a}{b}"}, G
    field "match.path_pattern" is "/{a}{b}"; it has to be a path whose names in braces are whole segments, as in "/orders/{id}"
"match": {"path_pattern": "/*{a}"}, G
    field "match.path_pattern" is "/*{a}"; it has to be a path whose names in braces are whole segments, as in "/orders/{id}"
"match": {"path_pattern": "/{a}.json"}, G
    field "match.path_pattern" is "/{a}.json"; it has to be a path whose names in braces are whole segments, as in "/orders/{id}"
"match": {"path_pattern": "/orders?full=1"}, G
    field "match.path_pattern" is "/orders?full=1"; it has to be a path without query, so without "?" and "#"
"match": {"path_pattern": "//orders"}, G
    field "match.path_pattern" is "//orders"; it has to be a path without empty segments, "." and ".."
"match": {"path_pattern": "/orders/%2e./*"}, G
    field "match.path_pattern" is "/orders/%2e./*"; it has to be a path without empty segments, "." and ".."
"match": {"path_pattern": "/\u0000"}, G
    field "match.path_pattern" is "/\0"; it has to be a path without control characters
"match": {"methods": []}, G
    field "match.methods" is an empty array; it has to be an array of at least one method; leave it out for all
"match": {"methods": "GET"}, G
    field "match.methods" is "GET"; it has to be an array of HTTP methods, as in ["GET", "POST"]
"match": {"methods": ["GET", "P T"]}, G
    field "match.methods[1]" is "P T"; it has to be an HTTP method, as in "GET"
"match": {"methods": ["GET", "get"]}, G
    field "match.methods[1]" states "GET" again; state it once
"match": {"requires_authentication": "yes"}, G
    field "match.requires_authentication" is "yes"; it has to be true or false
"match": {"required_headers": []}, G
    field "match.required_headers" is an empty array; it has to be an object of names and values of headers
"match": {"required_headers": {"a:": "b"}}, G
    field "match.required_headers" names "a:"; it has to be the name of an HTTP header
"match": {"required_headers": {"a": 1}}, G
    field "match.required_headers.a" is 1; it has to be a text ("*" for any value)
"match": {"required_headers": {"a": "1", "A": "1"}}, G
    field "match.required_headers.A" is stated twice (capitals do not count); state it once
"match": {"ip_subnet": "10.0.0.0/33"}, G
    field "match.ip_subnet" is "10.0.0.0/33"; it has to be a network such as "192.168.1.0/24" or "2001:db8::/32", or an array of them
"match": {"ip_subnet": ["::/128", "::/+8"]}, G
    field "match.ip_subnet[1]" is "::/+8"; it has to be a network such as "192.168.1.0/24" or "2001:db8::/32"
"match": {"ip_subnet": ["10.0.0.1", "10.0.0.0/"]}, G
    field "match.ip_subnet[1]" is "10.0.0.0/"; it has to be a network such as "192.168.1.0/24" or "2001:db8::/32"
"match": {"ip_subnet": []}, G
    field "match.ip_subnet" is an empty array; it has to be an array of at least one network; leave it out for all

# Exemptions
"unless": {"path_pattern": "/health"}, G
    field "unless" is for a rule with "match"; add one, or leave the field out
"match": {}, "unless": "/health", G
    field "unless" is "/health"; it has to be an object of conditions like "match", or an array of them
"match": {}, "unless": {}, G
    field "unless" has no condition, so it exempts every request; add one
"match": {}, "unless": {"requires_authentication": false}, G
    field "unless" has no condition, so it exempts every request; add one
"match": {}, "unless": [], G
    field "unless" is an empty array; it has to be an array of at least one object; leave it out for no exemption
"match": {}, "unless": [{"path_pattern": "/health"}, {}], G
    field "unless[1]" has no condition, so it exempts every request; add one
"match": {}, "unless": ["/health"], G
    field "unless[0]" is "/health"; it has to be an object
"match": {}, "unless": {"path": "/health"}, G
    field "unless.path" is not known; it could be "path_pattern", "methods", "requires_authentication", "required_headers" or "ip_subnet"
"match": {}, "unless": {"path_pattern": "health"}, G
    field "unless.path_pattern" is "health"; it has to be a path that begins with "/" or "*"
"match": {}, "unless": [{"methods": []}], G
    field "unless[0].methods" is an empty array; it has to be an array of at least one method; leave it out for all
"match": {}, "unless": [{"ip_subnet": ["10.0.0.0/8"]}, {"ip_subnet": ["10.0.0.0/33"]}], G
    field "unless[1].ip_subnet[0]" is "10.0.0.0/33"; it has to be a network such as "192.168.1.0/24" or "2001:db8::/32"
"match": {}, "unless": {"required_headers": {"a": 1}}, G
    field "unless.required_headers.a" is 1; it has to be a text ("*" for any value)
"##;
