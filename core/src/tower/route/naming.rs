//! The names of rules that are stated at a route.

use sha2::{Digest, Sha256};

/// The longest name of a rule.
const LONGEST: usize = 128;
/// Hexadecimal digits of the hash that keeps an altered name unique.
const HASH: usize = 8;

/// Parts with colons between them. Where that cannot be a name it is altered, and a hash at its end keeps it unique.
pub(super) fn rule_name<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let whole = parts.into_iter().collect::<Vec<_>>().join(":");
    let may_stay = |character: char| character.is_ascii_alphanumeric() || "_.:/-".contains(character);
    let mut plain: String =
        whole.chars().map(|character| if may_stay(character) { character } else { '_' }).collect();
    if plain == whole && whole.len() <= LONGEST {
        return whole;
    }
    let hash = Sha256::digest(whole.as_bytes());
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).take(HASH / 2).collect();
    plain.truncate(LONGEST - HASH - 1);
    format!("{plain}-{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_has_to_be_altered_ends_with_a_hash() {
        assert_eq!(rule_name(["routes", "/items", "5/minute"]), "routes:/items:5/minute");
        // As other languages name it.
        assert_eq!(rule_name(["routes", "/items/{id}", "5/minute"]), "routes:/items/_id_:5/minute-a805eadf");
        let long = "a".repeat(200);
        let name = rule_name(["routes", &long, "5/minute"]);
        assert_eq!((name.len(), name.is_char_boundary(120)), (128, true));
        assert_ne!(name, rule_name(["routes", &long, "6/minute"]));
    }
}
