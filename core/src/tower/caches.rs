//! What an answer says to caches.

use http::header::{CACHE_CONTROL, HeaderMap};

/// Whether a cache that clients share may send an answer with these headers to other clients.
pub(super) fn is_for_all(headers: &HeaderMap) -> bool {
    let stated = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let directives: Vec<String> =
        stated.flat_map(|line| line.split(',')).map(|one| one.trim().to_ascii_lowercase()).collect();
    let is_for_one =
        |one: &String| ["private", "no-store", "no-cache"].iter().any(|name| one.starts_with(name));
    !directives.iter().any(is_for_one) && directives.iter().any(|one| one == "public" || lasts(one))
}

fn lasts(directive: &str) -> bool {
    let Some((name, seconds)) = directive.split_once('=') else { return false };
    matches!(name, "max-age" | "s-maxage") && !seconds.trim_matches(['"', ' ', '0']).is_empty()
}

#[cfg(test)]
mod tests {
    use http::header::{CACHE_CONTROL, HeaderMap};

    use super::is_for_all;

    #[test]
    fn answers_for_all_and_for_one_client() {
        let asked = |lines: &[&'static str]| {
            let lines = lines.iter().map(|line| (CACHE_CONTROL, line.parse().expect("a value")));
            is_for_all(&lines.collect::<HeaderMap>())
        };
        for shared in
            ["public", "PUBLIC, max-age=60", "max-age=60", "Max-Age=060", "s-maxage=5", "max-age=\"5\""]
        {
            assert!(asked(&[shared]), "{shared}");
        }
        for own in ["private", "private, max-age=60", "no-store", "no-cache", "max-age=0", "immutable", ""] {
            assert!(!asked(&[own]), "{own}");
        }
        assert!(!asked(&[]) && !asked(&["public", "private"]) && asked(&["immutable", "max-age=5"]));
    }
}
