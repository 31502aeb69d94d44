//! The lines of a header, and what servers make of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// What servers join lines with: `, ` as RFC 9110 (5.3) and Node, `,` as WSGI and Django.
const JOINTS: [&str; 2] = [", ", ","];

/// Those of a cookie in Node, and in HTTP/2 (RFC 9113, 8.2.3).
const JOINT_OF_COOKIES: &str = "; ";

/// A line, with the name as the client spelled it.
#[derive(Debug)]
struct HeaderLine<'a> {
    name: &'a str,
    value: &'a str,
}

/// The lines of a header. Some applications look at the first, some at the last, some at all of them joined.
///
/// WSGI, like CGI, takes `X_Api_Key` for `X-Api-Key`; elsewhere they are two headers. Here they are lines of one, which
/// are joined in both ways.
#[derive(Debug, Default)]
pub(super) struct HeaderView<'a> {
    lines: Vec<HeaderLine<'a>>,
    /// Several lines, joined.
    joined: Vec<String>,
}

impl<'a> HeaderView<'a> {
    #[inline]
    pub(super) fn push(&mut self, name: &'a str, value: &'a str) {
        self.lines.push(HeaderLine { name, value: value.trim_matches([' ', '\t']) });
    }

    /// Joins the lines, once they are all there.
    #[inline]
    pub(super) fn join(&mut self) {
        let Some((first, others)) = self.lines.split_first() else { return };
        if others.is_empty() {
            return;
        }
        let mut groups = vec![self.lines.iter().map(|line| line.value).collect()];
        if !others.iter().all(|line| line.name.eq_ignore_ascii_case(first.name)) {
            let mut spellings: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for line in &self.lines {
                spellings.entry(line.name.to_ascii_lowercase()).or_default().push(line.value);
            }
            groups.extend(spellings.into_values().filter(|values| values.len() > 1));
        }
        let is_cookie = first.name.eq_ignore_ascii_case("cookie");
        let joints = JOINTS.into_iter().chain(is_cookie.then_some(JOINT_OF_COOKIES));
        self.joined = joints.flat_map(|joint| groups.iter().map(move |values| values.join(joint))).collect();
    }

    /// The values that an application may see.
    #[inline]
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| line.value).chain(self.joined.iter().map(String::as_str))
    }

    #[inline]
    pub(super) fn is_present(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Whether every line has this name, and none another that some servers take for it.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.lines.iter().all(|line| line.name.eq_ignore_ascii_case(name))
    }
}

/// The headers that rules name, each with a place.
#[derive(Debug, Default)]
pub(super) struct HeaderNames(HashMap<String, usize>);

impl HeaderNames {
    /// The place of a name.
    pub(super) fn place(&mut self, name: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(folded(name).into_owned()).or_insert(next)
    }

    #[inline]
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.0.get(folded(name).as_ref()).copied()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

/// Whether some server takes one name for the other.
#[inline]
pub(super) fn is_same_name(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().map(folded_byte).eq(other.bytes().map(folded_byte))
}

/// The name with all that some server takes for the same spelled as one.
#[inline]
fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte == b'_' || byte.is_ascii_uppercase()) {
        return Cow::Owned(name.to_ascii_lowercase().replace('_', "-"));
    }
    Cow::Borrowed(name)
}

#[inline]
fn folded_byte(byte: u8) -> u8 {
    if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(lines: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut header = HeaderView::default();
        lines.iter().for_each(|(name, value)| header.push(name, value));
        header.join();
        header.values().map(str::to_owned).collect()
    }

    #[test]
    fn lines_are_joined_as_servers_join_them() {
        assert_eq!(values(&[("X-A", " 1\t")]), ["1"]);
        assert_eq!(values(&[("X-A", "1"), ("x-a", "2")]), ["1", "2", "1, 2", "1,2"]);
        assert_eq!(values(&[("Cookie", "a=1"), ("cookie", "b=2")])[2..], ["a=1, b=2", "a=1,b=2", "a=1; b=2"]);
        let spelled_differently = values(&[("X-A", "1"), ("X_A", "2"), ("x-a", "3")]);
        assert_eq!(spelled_differently, ["1", "2", "3", "1, 2, 3", "1, 3", "1,2,3", "1,3"]);
    }

    #[test]
    fn names_are_the_same_whatever_joins_their_words() {
        let mut names = HeaderNames::default();
        let place = names.place("x_api-key");
        assert_eq!(names.place("X-Api_Key"), place);
        assert_eq!((names.find("X-API-KEY"), names.find("x-api"), names.count()), (Some(place), None, 1));
        assert!(is_same_name("X_Api_Key", "x-api-key") && !is_same_name("x-a", "x-b"));
    }
}
