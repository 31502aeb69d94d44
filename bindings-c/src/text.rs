//! Text as C likes it.

use std::ffi::{CString, c_char};

const CUT: &str = "...";

/// Writes text and the NUL that ends it. What does not fit is cut between two characters, and dots
/// show it; a NUL in the text, which would end it too early, becomes a space.
pub(crate) fn fill(room: &mut [c_char], text: &str) {
    let most = room.len().saturating_sub(1);
    let (kept, cut) =
        if text.len() <= most { (text, "") } else { (until(text, most.saturating_sub(CUT.len())), CUT) };
    for (place, byte) in room.iter_mut().zip(without_nul(kept).chain(cut.bytes()).chain([0])) {
        *place = byte as c_char;
    }
}

/// The same in room of its own.
pub(crate) fn terminated(text: &str) -> CString {
    CString::new(without_nul(text).collect::<Vec<_>>()).unwrap_or_default()
}

fn without_nul(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().map(|byte| if byte == 0 { b' ' } else { byte })
}

/// The longest beginning of so many bytes that does not split a character.
fn until(text: &str, most: usize) -> &str {
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled<const SIZE: usize>(text: &str) -> String {
        let mut room = [0x7F; SIZE];
        fill(&mut room, text);
        let end = room.iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8(room[..end].iter().map(|byte| *byte as u8).collect()).unwrap()
    }

    #[test]
    fn text_that_fits_is_whole() {
        assert_eq!((filled::<6>("abcde"), filled::<6>("")), ("abcde".to_owned(), String::new()));
    }

    #[test]
    fn text_that_does_not_is_cut_between_characters() {
        assert_eq!(
            (filled::<6>("abcdef"), filled::<7>("a\u{e9}\u{e9}\u{e9}b")),
            ("ab...".to_owned(), "a\u{e9}...".to_owned())
        );
    }

    #[test]
    fn a_nul_does_not_end_it() {
        assert_eq!((filled::<8>("a\0b"), terminated("a\0b").as_c_str()), ("a b".to_owned(), c"a b"));
    }
}
