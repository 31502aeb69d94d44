//! Texts without capitals, for applications that route without regard to them.

mod table;

use std::borrow::Cow;

use table::Folding;

/// So many bytes are looked at together for one that is not ASCII.
const RUN: usize = 16;

/// The text with all that some router takes for the same character written as one: routers compare upper case, or
/// lower case, and what both do not tell apart is the same.
#[inline]
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(fold_with(text, |_, _| {}));
    }
    match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => Cow::Borrowed(text),
    }
}

/// Folds a text and reports the lengths of the original and of the folded text after each character that differs in
/// length from what it becomes.
#[inline]
fn fold_with(text: &str, mut shifted: impl FnMut(usize, usize)) -> String {
    let mut folded = Vec::with_capacity(text.len() + RUN);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(run) = rest.as_bytes().first_chunk::<RUN>().filter(|run| run.is_ascii()) {
            folded.extend(run.to_ascii_lowercase());
            rest = &rest[RUN..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match Folding::of(character) {
            Some(folding) => {
                folding.push(&mut folded);
                if folding.length() != character.len_utf8() {
                    shifted(text.len() - rest.len(), folded.len());
                }
            }
            None => folded.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    String::from_utf8(folded).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A folded text that knows where each part of it stands in the original.
#[derive(Debug)]
pub(super) struct Folded {
    text: String,
    /// Ends in the original and in the folded text, behind which the distance between the two is another.
    shifts: Vec<(u32, u32)>,
}

impl Folded {
    #[inline]
    pub(super) fn new(original: &str) -> Self {
        let mut shifts = Vec::new();
        let text = match original.is_ascii() {
            true => original.to_ascii_lowercase(),
            false => fold_with(original, |end, folded| shifts.push((end as u32, folded as u32))),
        };
        Self { text, shifts }
    }

    #[inline]
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The folded text of what precedes a place in the original.
    #[inline]
    pub(super) fn until(&self, end: usize) -> &str {
        let before = self.shifts.partition_point(|(original, _)| *original as usize <= end);
        let (original, folded) = self.shift(before);
        self.text.get(..folded + (end - original)).unwrap_or(&self.text)
    }

    /// The original of a part of the folded text that begins and ends between characters of the original.
    #[inline]
    pub(super) fn original<'a>(&self, part: &str, original: &'a str) -> &'a str {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        original.get(self.origin(start)..self.origin(start + part.len())).unwrap_or(original)
    }

    #[inline]
    fn origin(&self, place: usize) -> usize {
        let before = self.shifts.partition_point(|(_, folded)| *folded as usize <= place);
        let (original, folded) = self.shift(before);
        original + (place - folded)
    }

    /// The last of so many shifts.
    #[inline]
    fn shift(&self, count: usize) -> (usize, usize) {
        let last = count.checked_sub(1).and_then(|last| self.shifts.get(last));
        last.map_or((0, 0), |(original, folded)| (*original as usize, *folded as usize))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_found_in_both_texts(before in "[aİßKé/\u{1E9E}\u{10400}a-zA-Z]{0,40}", behind in "[ŉAKΐ/]{0,20}") {
            let original = format!("{before}{behind}");
            let folded = Folded::new(&original);
            let alone = |character: char| fold(character.encode_utf8(&mut [0; 4])).into_owned();
            prop_assert_eq!(folded.text(), original.chars().map(alone).collect::<String>());
            let start = folded.until(before.len());
            prop_assert_eq!(start, fold(&before).into_owned());
            prop_assert_eq!(folded.original(start, &original), before.as_str());
            let end = &folded.text()[start.len()..];
            prop_assert_eq!(folded.original(end, &original), behind.as_str());
        }
    }
}
