//! What each character becomes without capitals: asking the standard library takes far longer, and a client may send
//! thousands of characters.

use std::sync::OnceLock;

const BLOCK: usize = 256;
/// No character behind them is another one in upper or lower case.
const BLOCKS: usize = 0x2_0000 / BLOCK;

/// The characters of a block, unless all of them stay as they are. Made when the first of them is asked for.
type UnicodeBlock = Option<Box<[Folding]>>;
static BLOCK_OF: [OnceLock<UnicodeBlock>; BLOCKS] = [const { OnceLock::new() }; BLOCKS];

/// What a character becomes, in UTF-8.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folding {
    bytes: [u8; Self::LONGEST],
    length: u8,
}

impl Folding {
    const LONGEST: usize = 7;

    /// `None`: it stays as it is.
    pub(super) fn of(character: char) -> Option<Self> {
        let code = character as usize;
        let block = BLOCK_OF.get(code / BLOCK)?.get_or_init(|| block(code / BLOCK));
        block.as_ref()?.get(code % BLOCK).copied()
    }

    pub(super) fn length(self) -> usize {
        usize::from(self.length)
    }

    pub(super) fn push(self, text: &mut Vec<u8>) {
        let length = text.len() + self.length();
        // So many bytes at once are copied faster than their number is looked at.
        text.extend_from_slice(&self.bytes);
        text.truncate(length);
    }

    fn new(code: usize) -> Self {
        let mut folding = Self { bytes: [0; Self::LONGEST], length: 0 };
        let character = u32::try_from(code).ok().and_then(char::from_u32);
        for folded in character.into_iter().flat_map(folded) {
            let start = folding.length();
            folding.length += folded.encode_utf8(&mut folding.bytes[start..]).len() as u8;
        }
        folding
    }
}

fn block(number: usize) -> UnicodeBlock {
    let codes = number * BLOCK..(number + 1) * BLOCK;
    let is_changed = |code| char::from_u32(code as u32).is_some_and(|it| folded(it).ne([it]));
    codes.clone().any(is_changed).then(|| codes.map(Folding::new).collect())
}

fn folded(character: char) -> impl Iterator<Item = char> {
    character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_becomes_what_the_standard_library_says() {
        for character in '\0'..=char::MAX {
            let mut text = Vec::new();
            match Folding::of(character) {
                Some(folding) => folding.push(&mut text),
                None => text.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            assert_eq!(text, folded(character).collect::<String>().into_bytes(), "{character:?}");
        }
    }
}
