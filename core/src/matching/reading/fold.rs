//! Texts without capitals, for applications that route without regard to them.

use std::borrow::Cow;

/// The text with all that some router takes for the same character written as one: routers compare upper case, or
/// lower case, and what both do not tell apart is the same.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    Cow::Owned(text.chars().flat_map(folded).collect())
}

fn folded(character: char) -> impl Iterator<Item = char> {
    character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// A folded text that knows where each part of it stands in the original.
#[derive(Debug)]
pub(super) struct Folded {
    text: String,
    /// Where each byte, and the end, comes from; absent where that is the same place.
    origins: Option<Vec<u32>>,
}

impl Folded {
    pub(super) fn new(original: &str) -> Self {
        let text = fold(original).into_owned();
        let origins = (!original.is_ascii()).then(|| origins(original));
        Self { text, origins }
    }

    /// The folded text of what precedes a place in the original.
    pub(super) fn until(&self, end: usize) -> &str {
        let end = match &self.origins {
            Some(origins) => origins.partition_point(|origin| (*origin as usize) < end),
            None => end,
        };
        &self.text[..end]
    }

    /// The original of a part of the folded text.
    pub(super) fn original<'a>(&self, part: &str, original: &'a str) -> &'a str {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        let origin = |place: usize| self.origins.as_ref().map_or(place, |origins| origins[place] as usize);
        &original[origin(start)..origin(start + part.len())]
    }
}

fn origins(original: &str) -> Vec<u32> {
    let mut origins = Vec::with_capacity(original.len() + 1);
    for (at, character) in original.char_indices() {
        let length: usize = folded(character).map(char::len_utf8).sum();
        origins.extend(std::iter::repeat_n(at as u32, length));
    }
    origins.push(original.len() as u32);
    origins
}
