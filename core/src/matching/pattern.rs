//! Path patterns: `*` is any run of characters, `{name}` one whole segment, which may be empty: Fastify runs the handler
//! of `/users/:id` for `/users/`.

use super::reading::fold;
use crate::text::spelling::canonical;

/// A pattern, taken apart at its stars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    head: Part,
    /// What stands between two stars.
    middles: Vec<Part>,
    /// What stands behind the last star; `None`: there is no star.
    tail: Option<Part>,
}

/// What stands between stars: literal texts and names in turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Part(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Segment(String),
}

impl Pattern {
    /// A pattern that the rules accepted. Anything else would be taken literally.
    pub(super) fn new(text: &str) -> Self {
        Self::of(text, canonical)
    }

    /// The same for texts without capitals.
    pub(super) fn folded(text: &str) -> Self {
        Self::of(text, |literal| fold(&canonical(literal)).into_owned())
    }

    fn of(text: &str, spelled: impl Fn(&str) -> String) -> Self {
        let text = text.strip_suffix('/').filter(|shorter| !shorter.is_empty()).unwrap_or(text);
        let mut parts = text.split('*').map(|part| Part::new(part, &spelled));
        let head = parts.next().unwrap_or_default();
        let mut others: Vec<_> = parts.collect();
        let tail = others.pop();
        others.retain(|part| !part.0.is_empty());
        Self { head, middles: others, tail }
    }

    /// The literal texts that every path it matches contains.
    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        let parts = [&self.head].into_iter().chain(&self.middles).chain(&self.tail);
        parts.flat_map(|part| &part.0).filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.as_str()),
            Piece::Segment(_) => None,
        })
    }

    #[inline]
    pub(super) fn matches(&self, path: &str) -> bool {
        self.walk(path, &mut |_, _| true)
    }

    /// The same, if no segment that a name stands for is empty.
    #[inline]
    pub(super) fn matches_without_empty(&self, path: &str) -> bool {
        self.walk(path, &mut |_, segment| !segment.is_empty())
    }

    /// The segment that a name stands for, if the pattern matches.
    #[inline]
    pub(super) fn capture<'p>(&self, path: &'p str, wanted: &str) -> Option<&'p str> {
        let mut found = None;
        let matches = self.walk(path, &mut |name, segment| {
            if name == wanted {
                found = Some(segment);
            }
            true
        });
        found.filter(|_| matches)
    }

    /// Matches, and asks of every name whether it may stand for its segment; the last question about a name counts.
    ///
    /// Slashes at the end are no empty segment where the pattern matches without them: `/t/*/{last}` would have one
    /// in every path that ends with a slash.
    #[inline]
    fn walk<'p>(&self, path: &'p str, accept: &mut impl FnMut(&str, &'p str) -> bool) -> bool {
        let ends_with_name = self.tail.as_ref().is_some_and(Part::ends_with_name);
        let is_again =
            ends_with_name && path.ends_with('/') && self.strip(path.trim_end_matches('/'), &mut |_, _| true);
        !is_again && self.strip(path, accept)
    }

    #[inline]
    fn strip<'p>(&self, path: &'p str, accept: &mut impl FnMut(&str, &'p str) -> bool) -> bool {
        let Some(mut rest) = self.head.strip_from_start(path, accept) else { return false };
        let Some(tail) = &self.tail else { return rest.is_empty() };
        let Some(before) = tail.strip_from_end(rest, accept) else { return false };
        rest = before;
        // A part has a fixed number of slashes and ends in a literal, so the earliest place for it also
        // ends earliest: no later part needs more room than that leaves.
        for middle in &self.middles {
            let Some(after) = middle.find(rest, accept) else { return false };
            rest = after;
        }
        true
    }
}

impl Part {
    fn new(text: &str, spelled: impl Fn(&str) -> String) -> Self {
        let mut pieces = Vec::new();
        let push_literal = |pieces: &mut Vec<Piece>, text: &str| {
            if !text.is_empty() {
                pieces.push(Piece::Literal(spelled(text)));
            }
        };
        let mut rest = text;
        while let Some((literal, opened)) = rest.split_once('{')
            && let Some((name, after)) = opened.split_once('}')
        {
            push_literal(&mut pieces, literal);
            pieces.push(Piece::Segment(name.to_owned()));
            rest = after;
        }
        push_literal(&mut pieces, rest);
        Self(pieces)
    }

    fn ends_with_name(&self) -> bool {
        matches!(self.0.last(), Some(Piece::Segment(_)))
    }

    /// What follows the part, when the text begins with it.
    #[inline]
    fn strip_from_start<'p>(
        &self,
        text: &'p str,
        accept: &mut impl FnMut(&str, &'p str) -> bool,
    ) -> Option<&'p str> {
        self.0.iter().try_fold(text, |rest, piece| match piece {
            Piece::Literal(literal) => rest.strip_prefix(literal.as_str()),
            Piece::Segment(name) => {
                let (segment, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                accept(name, segment).then_some(after)
            }
        })
    }

    /// What precedes the part, when the text ends with it.
    #[inline]
    fn strip_from_end<'p>(
        &self,
        text: &'p str,
        accept: &mut impl FnMut(&str, &'p str) -> bool,
    ) -> Option<&'p str> {
        self.0.iter().rev().try_fold(text, |rest, piece| match piece {
            Piece::Literal(literal) => rest.strip_suffix(literal.as_str()),
            Piece::Segment(name) => {
                let (before, segment) = rest.split_at(rest.rfind('/').map_or(0, |at| at + 1));
                accept(name, segment).then_some(before)
            }
        })
    }

    /// What follows the part where it occurs first.
    #[inline]
    fn find<'p>(&self, text: &'p str, accept: &mut impl FnMut(&str, &'p str) -> bool) -> Option<&'p str> {
        let Some(Piece::Literal(first)) = self.0.first() else { return None };
        let mut rest = text;
        while let Some(at) = rest.find(first.as_str()) {
            if let Some(after) = self.strip_from_start(&rest[at..], accept) {
                return Some(after);
            }
            // Occurrences of the literal may overlap, so the search goes on one character later.
            let step = rest[at..].chars().next().map_or(1, char::len_utf8);
            rest = &rest[at + step..];
        }
        None
    }
}
