//! The path of a target, which may name a scheme and a host.

/// The paths that a target may have; the query is no part of them.
///
/// Where the host ends is read in two ways: before the query, as RFC 3986 has it, or at the first slash, whatever
/// precedes it. What has neither a slash nor a scheme at its beginning is left by a server that cut a prefix off; some
/// routers drop all before the first slash of it.
#[inline]
pub(super) fn paths(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let conventional = without_origin(target, &['/', '\\', '?', '#']);
    let careless = without_origin(target, &['/']);
    let cut = (conventional == target).then(|| without_query(target)).and_then(from_first_slash);
    let paths = [conventional, careless].into_iter().chain(cut);
    paths.map(|path| without_query(path).as_bytes().to_vec())
}

#[inline]
fn from_first_slash(path: &str) -> Option<&str> {
    path.find('/').map(|slash| &path[slash..])
}

#[inline]
fn without_origin<'a>(target: &'a str, ends_of_host: &[char]) -> &'a str {
    let scheme = target.bytes().position(|byte| !is_of_scheme(byte)).unwrap_or(0);
    match target[scheme..].strip_prefix("://") {
        Some(rest) if target.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            &rest[rest.find(ends_of_host).unwrap_or(rest.len())..]
        }
        _ => target,
    }
}

#[inline]
pub(super) fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

#[inline]
fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}
