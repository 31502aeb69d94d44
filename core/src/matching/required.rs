//! The headers and the networks that a rule requires, or exempts.

use super::header::HeaderNames;
use super::view::RequestView;
use crate::net::subnet::Subnet;
use crate::rules::Match;

/// The value of a required header that any value satisfies.
const ANY_VALUE: &str = "*";

#[derive(Debug)]
pub(super) struct RequiredHeader {
    name: String,
    pub(super) place: usize,
    /// `None`: any.
    pub(super) value: Option<String>,
}

impl RequiredHeader {
    pub(super) fn is_in(&self, view: &RequestView<'_>) -> bool {
        let header = &view.headers[self.place];
        match &self.value {
            Some(required) => header.values().any(|value| value == required),
            None => header.is_present(),
        }
    }

    /// Whether an application sees it whichever of the lines it looks at; an empty one may pass for none, and one with
    /// another name may be none.
    pub(super) fn is_all_of(&self, view: &RequestView<'_>) -> bool {
        let header = &view.headers[self.place];
        let is_seen = |value: &str| !value.is_empty() && self.value.as_deref().is_none_or(|it| it == value);
        header.is_present() && header.is_named(&self.name) && header.values().all(is_seen)
    }
}

pub(super) fn required_headers(stated: &Match, names: &mut HeaderNames) -> Vec<RequiredHeader> {
    let mut required = |(name, value): (&String, &String)| RequiredHeader {
        name: name.clone(),
        place: names.place(name),
        // Values of headers have no white space around them.
        value: (value != ANY_VALUE).then(|| value.trim_matches([' ', '\t']).to_owned()),
    };
    stated.required_headers.iter().map(&mut required).collect()
}

pub(super) fn subnets(stated: &Match) -> Vec<Subnet> {
    stated.ip_subnet.iter().filter_map(|subnet| Subnet::parse(subnet)).collect()
}
