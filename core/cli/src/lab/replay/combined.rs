//! The combined log format of web servers, and the common one, which lacks its end.

use std::borrow::Cow;

use super::entry::{LogEntry, present};
use super::time;

/// `IP IDENTITY USER [TIME] "METHOD PATH PROTOCOL" STATUS BYTES "REFERER" "USER AGENT"`
pub(super) fn read(line: &str) -> Result<LogEntry<'_>, &'static str> {
    let (ip, rest) = line.split_once(' ').ok_or("it has no address")?;
    let (identity, rest) = rest.split_once(" [").ok_or("it has no [time]")?;
    let (time, rest) = rest.split_once("] ").ok_or("it has no [time]")?;
    // Names of users may have spaces; what is before them has none.
    let user = identity.split_once(' ').map_or("-", |(_, user)| user);
    let (request, rest) = quoted(rest).ok_or("it has no \"request\"")?;
    let (method, target) = request.split_once(' ').ok_or("its request has no path")?;
    let path = target.rsplit_once(" HTTP/").map_or(target, |(path, _)| path);
    let mut headers = Vec::new();
    // Behind status and bytes.
    if let Some((referer, rest)) = rest.find('"').and_then(|place| quoted(&rest[place..])) {
        let agent = quoted(rest.trim_start()).map_or("-", |(agent, _)| agent);
        for (name, value) in [("referer", referer), ("user-agent", agent)] {
            headers.extend(present(unescaped(value)).map(|value| (Cow::Borrowed(name), value)));
        }
    }
    Ok(LogEntry {
        at_us: time::of_web_servers(time)
            .ok_or("its time is not of the form [10/Oct/2000:13:55:36 -0700]")?,
        method: method.into(),
        path: unescaped(path),
        ip: present(ip.into()),
        user: present(unescaped(user)),
        api_key: None,
        duration_us: None,
        headers,
    })
}

/// What stands in quotes at the beginning, and what follows them. A backslash keeps a quote from ending it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    for (place, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some((&inside[..place], &inside[place + 1..])),
            _ => {}
        }
    }
    None
}

/// Without the backslashes before quotes and backslashes.
fn unescaped(text: &str) -> Cow<'_, str> {
    match text.contains('\\') {
        true => Cow::Owned(text.replace("\\\"", "\"").replace("\\\\", "\\")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "http://x/" "Mozilla \"4\"""#;

    #[test]
    fn a_line_has_it_all() {
        let entry = read(LINE).unwrap();
        assert_eq!((&*entry.method, &*entry.path, entry.at_us), ("GET", "/a?b=1", 971_211_336_000_000));
        assert_eq!((entry.ip.as_deref(), entry.user.as_deref()), (Some("192.0.2.7"), Some("frank")));
        assert_eq!(entry.headers[1], ("user-agent".into(), "Mozilla \"4\"".into()));
    }

    #[test]
    fn the_common_format_lacks_the_end() {
        let entry = read(r#"::1 - - [10/Oct/2000:13:55:36 +0000] "POST /x HTTP/1.0" 200 -"#).unwrap();
        assert_eq!((entry.user, entry.headers.len(), &*entry.path), (None, 0, "/x"));
    }

    #[test]
    fn what_is_no_line_is_said() {
        for (line, reason) in [
            ("", "it has no address"),
            ("hello world", "it has no [time]"),
            (
                r#"::1 - - [yesterday] "GET / HTTP/1.1" 200 1"#,
                "its time is not of the form [10/Oct/2000:13:55:36 -0700]",
            ),
            ("::1 - - [10/Oct/2000:13:55:36 +0000] GET", "it has no \"request\""),
            ("::1 - - [10/Oct/2000:13:55:36 +0000] \"-\" 400 0", "its request has no path"),
        ] {
            assert_eq!(read(line).unwrap_err(), reason, "{line}");
        }
    }
}
