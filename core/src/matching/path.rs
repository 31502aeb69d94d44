//! Paths in one form, so that no spelling of a path slips past a rule.
//!
//! The form: it begins with a slash; escapes are decoded, but for those of `%`, `?`, `#`, control
//! characters and bytes that are not UTF-8, which stay as `%XX`; there are no empty and no dot segments.
//! Bringing a path into this form twice changes nothing.

use std::borrow::Cow;

/// What servers take for a slash in links.
const SLASHES: [char; 2] = ['/', '\\'];

/// Servers differ in what they take for a slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// `%2F` separates segments.
    escaped_slash: bool,
    /// `\` and `%5C` separate segments.
    backslash: bool,
}

impl Reading {
    /// Nothing but a slash separates.
    pub(crate) const PLAIN: Self = Self { escaped_slash: false, backslash: false };

    const ALL: [Self; 4] = [
        Self { escaped_slash: true, backslash: true },
        Self { escaped_slash: true, backslash: false },
        Self { escaped_slash: false, backslash: true },
        Self::PLAIN,
    ];
}

/// Every path that a server may take the path of a request for. A rule that matches one of them applies:
/// one rule too many is the safe side.
pub(super) fn readings(path: &str) -> Vec<Cow<'_, str>> {
    if is_canonical(path) {
        return with_and_without_last_slash(vec![Cow::Borrowed(path)]);
    }
    let mut paths: Vec<Cow<'_, str>> = Vec::new();
    for text in texts(path) {
        for reading in Reading::ALL {
            let path = resolved(&decoded(&text, reading));
            if !paths.contains(&Cow::Borrowed(path.as_str())) {
                paths.push(Cow::Owned(path));
            }
        }
    }
    with_and_without_last_slash(paths)
}

/// What servers differ in before anything is decoded: whether two slashes begin a host, as in a link, and
/// whether `;` begins parameters of a segment (RFC 3986, 3.3), which some cut off.
fn texts(path: &str) -> Vec<Cow<'_, str>> {
    let mut texts = vec![path];
    let rest = path.trim_start_matches(SLASHES);
    if path.len() > rest.len() + 1 {
        texts.push(rest.find(SLASHES).map_or("/", |at| &rest[at..]));
    }
    // Those without parameters come first: the first that a pattern matches says who is counted, and nobody is
    // to become another one by parameters.
    let has_parameters = |text: &&&str| text.contains(';');
    let bare = texts.iter().filter(has_parameters).map(|text| Cow::Owned(without_parameters(text)));
    bare.chain(texts.iter().map(|text| Cow::Borrowed(*text))).collect()
}

fn without_parameters(path: &str) -> String {
    path.split_inclusive(SLASHES).map(without_parameter).collect()
}

fn without_parameter(segment: &str) -> String {
    let slash = segment.rfind(SLASHES).map_or("", |at| &segment[at..]);
    format!("{}{slash}", segment.trim_end_matches(SLASHES).split(';').next().unwrap_or_default())
}

/// Many servers answer `/orders/` as `/orders`.
fn with_and_without_last_slash(paths: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    let mut both = Vec::with_capacity(2 * paths.len());
    for path in paths {
        let shorter = (path.len() > 1 && path.ends_with('/')).then(|| match &path {
            Cow::Borrowed(path) => Cow::Borrowed(without_last_slash(path)),
            Cow::Owned(path) => Cow::Owned(without_last_slash(path).to_owned()),
        });
        both.push(path);
        both.extend(shorter);
    }
    both
}

pub(super) fn without_last_slash(path: &str) -> &str {
    match path.strip_suffix('/') {
        Some(shorter) if !shorter.is_empty() => shorter,
        _ => path,
    }
}

/// What stands between the authority, if the target names one, and the query.
pub(super) fn path_of(target: &str) -> &str {
    let target = &target[..target.find(['?', '#']).unwrap_or(target.len())];
    match target.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => &rest[rest.find(['/', '\\']).unwrap_or(rest.len())..],
        _ => target,
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Whether a path is certain to be in the one form already, as nearly every path is.
fn is_canonical(path: &str) -> bool {
    let is_plain = |byte: u8| !byte.is_ascii_control() && !b"%\\;".contains(&byte);
    let bytes = path.as_bytes();
    let is_doubtful = |pair: &[u8]| pair[0] == b'/' && (pair[1] == b'/' || pair[1] == b'.');
    path.starts_with('/') && bytes.iter().copied().all(is_plain) && !bytes.windows(2).any(is_doubtful)
}

/// The text with its escapes decoded.
pub(crate) fn decoded(text: &str, reading: Reading) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, escaped, after)) = next(rest) {
        rest = after;
        match byte {
            b'/' if escaped && !reading.escaped_slash => push_escape(&mut bytes, byte),
            b'\\' if reading.backslash => bytes.push(b'/'),
            b'%' | b'?' | b'#' => push_escape(&mut bytes, byte),
            _ if byte.is_ascii_control() => push_escape(&mut bytes, byte),
            _ => bytes.push(byte),
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => with_foreign_bytes_escaped(error.as_bytes()),
    }
}

/// The next byte, whether it was escaped, and what follows it. A `%` that begins no escape is itself.
fn next(bytes: &[u8]) -> Option<(u8, bool, &[u8])> {
    if let [b'%', high, low, after @ ..] = bytes
        && let (Some(high), Some(low)) = (hex(*high), hex(*low))
    {
        return Some((16 * high + low, true, after));
    }
    bytes.split_first().map(|(byte, after)| (*byte, false, after))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn push_escape(bytes: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    bytes.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

fn with_foreign_bytes_escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The path without empty and dot segments; it does not climb above the root.
fn resolved(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut ends_with_slash = false;
    for segment in path.split('/') {
        ends_with_slash = matches!(segment, "" | "." | "..");
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    let last = if ends_with_slash && !kept.is_empty() { "/" } else { "" };
    format!("/{}{last}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(target: &str) -> Vec<String> {
        readings(path_of(target)).into_iter().map(Cow::into_owned).collect()
    }

    fn first(target: &str) -> String {
        all(target).swap_remove(0)
    }

    #[test]
    fn hosts_and_parameters_are_read_both_ways() {
        for target in
            ["/orders;x=1/7", "/a/..;/orders/7", "//host/orders/7", "/\\host/orders/7", "//h/orders;a/7;b"]
        {
            assert!(all(target).contains(&"/orders/7".to_owned()), "{target}: {:?}", all(target));
        }
        assert!(all("/orders;x=1/7").contains(&"/orders;x=1/7".to_owned()));
        assert!(all("//orders").contains(&"/orders".to_owned()));
    }

    #[test]
    fn spellings_of_a_path_have_one_form() {
        let same = [
            "/orders/7",
            "//orders///7",
            "/orders/./7",
            "/orders/x/../7",
            "/%6Frders/%37",
            "/../orders/7",
            "/x/%2e%2E/orders/7",
            "/orders/7?x=/../y",
            "/orders/7#/../y",
            "http://host:80/orders/7",
            "HTTPS://user@host/orders/7?q",
            "orders/7",
            "/orders%2F7",
            "/x/..%2forders/7",
            "\\orders\\7",
            "/orders%5c7",
        ];
        for target in same {
            assert_eq!(first(target), "/orders/7", "{target}");
        }
    }

    #[test]
    fn what_must_not_be_decoded_stays_escaped() {
        assert_eq!(first("/a%252e%252E"), "/a%252e%252E");
        assert_eq!(first("/%3f%23%25%00%1F%7f"), "/%3F%23%25%00%1F%7F");
        assert_eq!(first("/\0\n"), "/%00%0A");
        assert_eq!(first("/100%/%zz/%4"), "/100%25/%25zz/%254");
        assert_eq!(first("/%C3%A9/%ff%C0%AE%e2%82"), "/é/%FF%C0%AE%E2%82");
        assert_eq!(first("/a%3Fb/c"), "/a%3Fb/c");
    }

    #[test]
    fn a_doubtful_separator_is_read_in_every_way() {
        assert_eq!(all("/a%2Fb"), ["/a/b", "/a%2Fb"]);
        assert_eq!(all("/a\\b"), ["/a/b", "/a\\b"]);
        assert_eq!(all("/a%2fb%5Cc"), ["/a/b/c", "/a/b\\c", "/a%2Fb/c", "/a%2Fb\\c"]);
        assert_eq!(all("/a/..%2Fb"), ["/b", "/a/..%2Fb"]);
    }

    #[test]
    fn a_last_slash_is_read_in_both_ways() {
        assert_eq!(all("/a/"), ["/a/", "/a"]);
        assert_eq!(all("/a/b/.."), ["/a/", "/a"]);
        assert_eq!(all("/a/."), ["/a/", "/a"]);
        assert_eq!(all("/"), ["/"]);
        assert_eq!(all("?x"), ["/"]);
        assert_eq!(all("http://host"), ["/"]);
    }

    proptest! {
        /// Made of what is special, so that special cases meet.
        #[test]
        fn normalising_twice_changes_nothing(target in r"(/|%2[eEfF5]|%5c|%3F|%C3|%A9|%0|\.|\\|a|é|:|\?|\PC){0,24}") {
            for path in all(&target) {
                prop_assert!(path.starts_with('/'));
                prop_assert!(!path.contains("//") && !path.contains("/../") && !path.contains("/./"));
                let again = all(&path);
                prop_assert!(again.contains(&path), "{path} became {again:?}");
                let plain = resolved(&decoded(&path, Reading::PLAIN));
                prop_assert_eq!(plain, path);
            }
        }
    }
}
