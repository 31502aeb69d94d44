//! Decoded paths in which the characters that servers disagree about are marked.
//!
//! A control character is never part of a decoded path (it stays escaped), so some of them serve as marks.

use crate::text::spelling::{DecodedBytes, push, push_digits, push_escape};

/// `%2F`
pub(super) const ESCAPED_SLASH: u8 = 1;
/// `\`
pub(super) const BACKSLASH: u8 = 2;
/// `%5C`
pub(super) const ESCAPED_BACKSLASH: u8 = 3;
/// `%3B`
pub(super) const ESCAPED_SEMICOLON: u8 = 4;
/// `%2E`
pub(super) const ESCAPED_DOT: u8 = 5;

/// The path with its escapes decoded, in each way in which bytes that are not UTF-8 are read.
#[inline]
pub(super) fn decoded(path: &[u8]) -> Vec<Vec<u8>> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    // Most paths have nothing special, which is sooner seen of all bytes than of one after the other.
    if !path.iter().fold(false, |found, byte| found | is_special(*byte)) {
        return utf8(path.to_vec());
    }
    while let Some(at) = rest.iter().position(|byte| is_special(*byte)) {
        bytes.extend(&rest[..at]);
        let mut decoded = DecodedBytes(&rest[at..]);
        if let Some((byte, escaped)) = decoded.next() {
            mark(&mut bytes, byte, escaped);
        }
        rest = decoded.0;
    }
    bytes.extend(rest);
    utf8(bytes)
}

#[inline]
fn utf8(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    if std::str::from_utf8(&bytes).is_ok() {
        return vec![bytes];
    }
    vec![String::from_utf8_lossy(&bytes).into_owned().into_bytes(), escaped_again(&bytes)]
}

/// Whether a path escapes what may stand in it as it is (RFC 3986, 3.3).
#[inline]
pub(super) fn has_needless_escape(path: &[u8]) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
    let mut bytes = DecodedBytes(path);
    std::iter::from_fn(|| bytes.next()).any(|(byte, escaped)| escaped && is_plain(byte))
}

/// Whether a byte is another one in the decoded path.
#[inline]
fn is_special(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'?' | b'#') || byte.is_ascii_control()
}

#[inline]
fn mark(bytes: &mut Vec<u8>, byte: u8, escaped: bool) {
    match (byte, escaped) {
        (b'/', true) => bytes.push(ESCAPED_SLASH),
        (b'\\', false) => bytes.push(BACKSLASH),
        (b'\\', true) => bytes.push(ESCAPED_BACKSLASH),
        (b';', true) => bytes.push(ESCAPED_SEMICOLON),
        (b'.', true) => bytes.push(ESCAPED_DOT),
        _ => push(bytes, byte),
    }
}

/// Django leaves bytes that are not UTF-8 escaped, in capitals: to its handlers they are percent signs.
#[inline]
fn escaped_again(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.extend(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            push_escape(&mut text, b'%');
            push_digits(&mut text, *byte);
        }
    }
    text
}

/// The text without marks: what is still marked is part of a segment.
#[inline]
pub(super) fn spelled(marked: Vec<u8>) -> Vec<u8> {
    if !marked.iter().fold(false, |found, byte| found | (*byte <= ESCAPED_DOT)) {
        return marked;
    }
    let mut text = Vec::with_capacity(marked.len());
    for byte in marked {
        match byte {
            ESCAPED_SLASH => push_escape(&mut text, b'/'),
            BACKSLASH | ESCAPED_BACKSLASH => text.push(b'\\'),
            ESCAPED_SEMICOLON => text.push(b';'),
            ESCAPED_DOT => text.push(b'.'),
            _ => text.push(byte),
        }
    }
    text
}
