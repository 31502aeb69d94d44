//! The id of a reservation: all that a limiter in another process, or another language, needs to end it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;
use smol_str::SmolStr;

use crate::algorithm::HoldId;
use crate::error::{Error, ErrorKind, Result};

/// What an id of this form begins with.
const VERSION: &str = "r1.";
/// A longer id is refused before anything is reserved.
pub(super) const LONGEST: usize = 2_048;
const CHECKSUM: usize = 4;
/// Whose names have fewer bytes is shorter as text, however they are escaped and encoded.
const SURELY_SHORT: usize = LONGEST / 4;
/// What an item takes beside its names.
const ITEM: usize = 50;

/// A reservation as its id states it. Names of keys stand in it as they are stored, secrets hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) id: HoldId,
    pub(crate) prefix: SmolStr,
    pub(crate) items: SmallVec<[TicketItem; 1]>,
}

/// Whether the id of a reservation of one key is known to be short enough, which few are not.
#[inline]
pub(crate) fn is_surely_short(prefix: &str, rule: &str, tag: &str) -> bool {
    prefix.len() + rule.len() + tag.len() + ITEM < SURELY_SHORT
}

/// What is reserved under one rule for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TicketItem {
    /// The places in the call of the items that it is made of.
    pub(crate) places: SmallVec<[usize; 1]>,
    pub(crate) rule: SmolStr,
    pub(crate) tag: SmolStr,
    pub(crate) member: Option<SmolStr>,
    pub(crate) cost: u64,
    /// The limit that the call gave.
    pub(crate) limit: Option<u64>,
}

impl Ticket {
    /// The id as text.
    pub(crate) fn text(&self) -> String {
        let items = self.items.iter().map(|item| {
            let (places, member) = (item.places.as_slice(), item.member.as_deref());
            json!([places, item.rule.as_str(), item.tag.as_str(), member, item.cost, item.limit])
        });
        let id = BASE64.encode(self.id);
        let stated = json!([id, self.prefix.as_str(), items.collect::<Vec<_>>()]).to_string();
        let checksum = &Sha256::digest(&stated)[..CHECKSUM];
        VERSION.to_owned() + &BASE64.encode([checksum, stated.as_bytes()].concat())
    }

    /// Refuses a reservation whose id would be too long. Few are long enough to be looked at.
    #[inline]
    pub(crate) fn ensure_short(&self) -> Result<()> {
        let names = |item: &TicketItem| {
            item.rule.len() + item.tag.len() + item.member.as_ref().map_or(0, SmolStr::len) + ITEM
        };
        let roughly = self.prefix.len() + self.items.iter().map(names).sum::<usize>();
        if roughly < SURELY_SHORT || self.text().len() <= LONGEST {
            return Ok(());
        }
        let what = format!(
            "the reservation has too many items: its id would be longer than {LONGEST} bytes (reserve fewer items in \
             one call)"
        );
        Err(Error::new(ErrorKind::InvalidArgument, what))
    }

    /// The reservation that an id states, for a limiter with this prefix.
    pub(crate) fn read(text: &str, prefix: &str) -> Result<Self> {
        let refused = |what: &str| Error::new(ErrorKind::InvalidArgument, format!("the id {what}"));
        if text.len() > LONGEST {
            return Err(refused(&format!("has {} bytes; an id has {LONGEST} at most", text.len())));
        }
        let altered = || {
            refused("is not that of a reservation (pass the id that reserve answered, whole and unchanged)")
        };
        let encoded = text.strip_prefix(VERSION).ok_or_else(altered)?;
        let bytes = BASE64.decode(encoded).map_err(|_| altered())?;
        let (checksum, stated) = bytes.split_at_checked(CHECKSUM).ok_or_else(altered)?;
        if Sha256::digest(stated)[..CHECKSUM] != *checksum {
            return Err(altered());
        }
        let ticket = serde_json::from_slice(stated).ok().and_then(|stated| Self::stated(&stated));
        let ticket = ticket.ok_or_else(altered)?;
        if ticket.prefix != prefix {
            return Err(refused(&format!(
                "was made with prefix \"{}\"; this limiter has \"{prefix}\"",
                crate::text::printable::printable(&ticket.prefix)
            )));
        }
        Ok(ticket)
    }

    fn stated(stated: &Value) -> Option<Self> {
        let [id, prefix, items] = stated.as_array()?.as_slice() else { return None };
        let id = BASE64.decode(id.as_str()?).ok()?.try_into().ok()?;
        let items = items.as_array()?.iter().map(TicketItem::stated).collect::<Option<SmallVec<_>>>()?;
        let is_used = !items.is_empty();
        is_used.then_some(Self { id, prefix: prefix.as_str()?.into(), items })
    }
}

impl TicketItem {
    fn stated(stated: &Value) -> Option<Self> {
        let [places, rule, tag, member, cost, limit] = stated.as_array()?.as_slice() else { return None };
        let text = |value: &Value| value.as_str().map(SmolStr::from);
        let place = |value: &Value| value.as_u64().and_then(|place| usize::try_from(place).ok());
        Some(Self {
            places: places.as_array()?.iter().map(place).collect::<Option<_>>()?,
            rule: text(rule)?,
            tag: text(tag)?,
            member: text(member),
            cost: cost.as_u64()?,
            limit: limit.as_u64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;

    fn ticket(tag: &str) -> Ticket {
        let item = TicketItem {
            places: smallvec![0],
            rule: "api".into(),
            tag: tag.into(),
            member: None,
            cost: 7,
            limit: Some(9),
        };
        Ticket { id: [5; 16], prefix: "p".into(), items: smallvec![item] }
    }

    #[test]
    fn ids_are_read_as_they_were_written() {
        let ticket = ticket("älice\u{7f}\"");
        assert_eq!(Ticket::read(&ticket.text(), "p").unwrap(), ticket);
        assert!(ticket.text().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)));
    }

    #[test]
    fn whatever_is_cut_or_altered_is_refused() {
        let text = ticket("alice").text();
        for end in 0..text.len() {
            assert!(Ticket::read(&text[..end], "p").is_err(), "{end}");
        }
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'B' } else { b'A' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(Ticket::read(&other, "p").unwrap_err().kind(), ErrorKind::InvalidArgument, "{place}");
        }
        let error = Ticket::read(&text, "q").unwrap_err();
        assert_eq!(error.message(), "the id was made with prefix \"p\"; this limiter has \"q\"");
    }

    #[test]
    fn long_ids_are_refused() {
        assert!(ticket(&"x".repeat(128)).ensure_short().is_ok());
        let mut long = ticket("x");
        long.items = smallvec![ticket(&"x".repeat(128)).items[0].clone(); 12];
        let error = long.ensure_short().unwrap_err();
        assert!(error.message().contains("longer than 2048 bytes"), "{error}");
    }
}
