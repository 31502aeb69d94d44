//! Names of state in Redis. Whatever a caller passes as a key, the name stays in the rule's
//! namespace, in one hash slot, and short.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::text::printable::is_control;

/// A longer key is replaced by its hash.
const LONGEST: usize = 128;
const HASH_BYTES: usize = 16;
/// Redis Cluster hashes only what stands between the first pair of these.
const TAG: [char; 2] = ['{', '}'];

/// A key, or a resource, in the form in which it is stored: the same for every backend.
///
/// Characters that could end the hash tag, and [control characters](is_control), become `%XX`, as does `%` itself;
/// a key longer than 128 bytes becomes `%h` and 32 hexadecimal digits, which no escaping produces.
pub(crate) fn canonical(key: &str) -> Cow<'_, str> {
    match key {
        key if is_canonical(key) => Cow::Borrowed(key),
        key if key.len() > LONGEST => Cow::Owned(hashed(key)),
        key => Cow::Owned(escaped(key)),
    }
}

/// Whether two names are the same. Most are short, and compared sooner than a function is called for it.
#[inline(always)]
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && match one.len() {
            8..=16 => ends::<8>(one) == ends::<8>(other),
            4..8 => ends::<4>(one) == ends::<4>(other),
            0..4 => one.iter().eq(other),
            _ => one == other,
        }
}

/// The first and the last bytes, which may overlap.
#[inline(always)]
fn ends<const N: usize>(name: &[u8]) -> Option<([u8; N], [u8; N])> {
    Some((*name.first_chunk()?, *name.last_chunk()?))
}

/// Whether a key is stored as it is.
#[inline(always)]
pub(crate) fn is_canonical(key: &str) -> bool {
    // Every byte is looked at, whatever those before it were: faster than to branch on each.
    let is_suspect = || key.bytes().fold(false, |found, byte| found | is_suspect(byte));
    key.len() <= LONGEST && (!is_suspect() || is_free_of_escaped(key))
}

#[cold]
fn is_free_of_escaped(key: &str) -> bool {
    !key.contains(is_escaped)
}

/// Whether a byte may belong to a character that is escaped: it is one, or begins one of the
/// [control characters](is_control) beyond ASCII.
#[inline]
fn is_suspect(byte: u8) -> bool {
    const SUSPECT: [bool; 256] = {
        let mut suspect = [false; 256];
        let mut byte = 0;
        while byte < suspect.len() {
            suspect[byte] = (byte as u8).is_ascii_control()
                || matches!(byte as u8, b'%' | b'{' | b'}' | 0xC2 | 0xD8 | 0xE2);
            byte += 1;
        }
        suspect
    };
    SUSPECT[usize::from(byte)]
}

fn hashed(key: &str) -> String {
    hexadecimal("%h", &Sha256::digest(key))
}

/// A mark, and the first 128 bits of a digest.
pub(crate) fn hexadecimal(mark: &str, digest: &[u8]) -> String {
    digest.iter().take(HASH_BYTES).fold(String::from(mark), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn escaped(key: &str) -> String {
    let mut text = String::with_capacity(key.len() + 16);
    for character in key.chars() {
        if is_escaped(character) {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(text, "%{byte:02X}");
            }
        } else {
            text.push(character);
        }
    }
    text
}

/// Whether a character is stored as `%XX`, one for each of its bytes.
fn is_escaped(character: char) -> bool {
    matches!(character, '%' | '{' | '}') || is_control(character)
}

/// The name of one limit's state: `prefix:rule:{tag}:suffix`, with the key before the suffix when the
/// tag is a resource.
pub(crate) fn name(prefix: &str, rule: &str, tag: &str, member: Option<&str>, suffix: &str) -> String {
    let member_length = member.map_or(0, |member| member.len() + 1);
    let mut name =
        String::with_capacity(prefix.len() + rule.len() + tag.len() + member_length + suffix.len() + 5);
    for piece in [prefix, ":", rule, ":{", tag, "}:"] {
        name.push_str(piece);
    }
    if let Some(member) = member {
        name.push_str(member);
        name.push(':');
    }
    name.push_str(suffix);
    name
}

/// The last part of the name of a request's record. No state's begins like it, and it has no colon: no key and no id make
/// the name of one the name of another. A plain id can be looked up; of others there is a hash.
pub(crate) fn request_suffix(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if id.bytes().all(is_plain) { format!("q-{id}") } else { hexadecimal("q%", &Sha256::digest(id)) }
}

/// Whether a prefix can begin every name: it must not open a hash tag of its own.
pub(crate) fn is_valid_prefix(prefix: &str) -> bool {
    (1..=LONGEST).contains(&prefix.len()) && !prefix.contains(TAG) && !prefix.contains(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_keys_stay_as_they_are() {
        for key in ["alice", "10.0.0.1", "2001:db8::1", "Grüße", "a b"] {
            assert!(matches!(canonical(key), Cow::Borrowed(same) if same == key));
        }
    }

    #[test]
    fn special_characters_cannot_leave_the_tag() {
        assert_eq!(canonical("a}b{c%\n\0"), "a%7Db%7Bc%25%0A%00");
        assert_ne!(canonical("%7D"), canonical("}"));
    }

    #[test]
    fn what_terminals_and_editors_obey_is_escaped() {
        assert_eq!(canonical("a\u{85}b\u{2028}c\u{202e}\u{7f}"), "a%C2%85b%E2%80%A8c%E2%80%AE%7F");
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            assert_eq!(is_canonical(&text), !is_escaped(character), "{character:?}");
            assert!(!canonical(&text).contains(is_control), "{character:?}");
        }
    }

    #[test]
    fn long_keys_have_bounded_names_of_their_own() {
        let (long, longer) = ("x".repeat(129), "x".repeat(1 << 20));
        assert_eq!(canonical(&long).len(), 34);
        assert_ne!(canonical(&long), canonical(&longer));
        assert_ne!(canonical(&canonical(&long)), canonical(&long));
    }

    #[test]
    fn names_are_the_same_only_in_every_byte() {
        for length in 0..40 {
            let name = vec![b'x'; length];
            assert!(is_same(&name, &name) && !is_same(&name, &[&name[..], b"x"].concat()));
            for place in 0..length {
                let mut other = name.clone();
                other[place] = b'y';
                assert!(!is_same(&name, &other));
            }
        }
    }

    #[test]
    fn names_keep_limits_and_keys_apart() {
        assert_eq!(name("sluicegate", "api", "alice", None, "gt1m"), "sluicegate:api:{alice}:gt1m");
        assert_eq!(name("p", "r", "pool", Some("bob"), "f1s"), "p:r:{pool}:bob:f1s");
    }
}
