//! The region that is in charge of a key.
//!
//! By rendezvous hashing (Thaler and Ravishankar, "A name-based mapping scheme for rendezvous", 1996): each region has a
//! weight for the key, and the heaviest is in charge. Where a region is added or taken away, only its own keys move.

use sha2::{Digest, Sha256};

/// The place of the region in charge; of two with one weight, which does not happen, the first.
pub(super) fn owner(names: &[String], rule: &str, key: &str) -> usize {
    let weights = names.iter().map(|name| weight(name, rule, key));
    let heaviest = |best: (usize, u64), (place, weight)| if weight > best.1 { (place, weight) } else { best };
    weights.enumerate().fold((0, 0), heaviest).0
}

/// The first eight bytes of the SHA-256 of the three texts, each after its length: no two triples are one text.
fn weight(name: &str, rule: &str, key: &str) -> u64 {
    let mut hash = Sha256::new();
    for text in [name, rule, key] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    u64::from_be_bytes(*hash.finalize().first_chunk().unwrap_or(&[0; 8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// What other implementations have to agree on; the key as it is stored. (By Python: `hashlib.sha256` of the texts, each after its length in eight
    /// bytes, least first.)
    #[test]
    fn owners_are_the_same_everywhere() {
        let regions = names(&["ap", "eu", "us"]);
        let owners: Vec<_> =
            (0..12).map(|key| regions[owner(&regions, "login", &format!("user-{key}"))].as_str()).collect();
        assert_eq!(owners, OWNERS);
    }

    const OWNERS: [&str; 12] = ["ap", "ap", "ap", "us", "eu", "eu", "ap", "us", "ap", "eu", "eu", "ap"];

    #[test]
    fn keys_are_spread_evenly_and_stay_where_they_are() {
        let (three, two) = (names(&["ap", "eu", "us"]), names(&["ap", "us"]));
        let mut counts = [0; 3];
        for key in (0..3000).map(|key| key.to_string()) {
            let before = owner(&three, "r", &key);
            counts[before] += 1;
            if three[before] != "eu" {
                assert_eq!(three[before], two[owner(&two, "r", &key)]);
            }
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }
}
