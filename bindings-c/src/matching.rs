//! Which rules a request chooses.

use std::ffi::c_char;
use std::ptr::null;

use sluicegate::{Explanation, RequestMatch};

use crate::export::Fallback;
use crate::limiter::Limiter;
use crate::request::Request;

/// What a rule has to do with a request. Its texts live as long as the list.
#[repr(C)]
pub struct Match {
    /// The rule's name.
    pub rule_id: *const c_char,
    /// Who is counted; NULL if the rule does not apply. The NUL at its end is not part of its length.
    pub key: *const c_char,
    /// The length of the key in bytes.
    pub key_len: usize,
    /// The resource that is used, likewise; NULL if the rule limits none or does not apply.
    pub resource: *const c_char,
    /// The length of the resource in bytes.
    pub resource_len: usize,
    /// Why the rule does not apply: the first condition that does not hold, beginning with the field that
    /// states it; or "every condition holds". NULL if no explanation was asked for.
    pub reason: *const c_char,
    /// Whether the rule applies.
    pub matched: bool,
}

/// What rules have to do with a request, in order of priority, then of their file. Threads may share it.
pub struct Matches {
    items: Vec<Match>,
    /// What the items point to.
    _texts: Texts,
}

/// Texts that stay in their places when there are more.
#[derive(Default)]
struct Texts(Vec<Box<[u8]>>);

impl Texts {
    /// Keeps a text and a NUL at its end; NULL for none.
    fn keep(&mut self, text: Option<&str>) -> *const c_char {
        let Some(text) = text else { return null() };
        let kept: Box<[u8]> = text.bytes().chain([0]).collect();
        let start = kept.as_ptr().cast();
        self.0.push(kept);
        start
    }
}

impl Match {
    fn of(rule: &RequestMatch, texts: &mut Texts) -> Self {
        Self { matched: true, ..Self::new(&rule.rule_id, Some(&rule.key), rule.resource.as_deref(), texts) }
    }

    fn explained(rule: &Explanation, texts: &mut Texts) -> Self {
        Self {
            reason: texts.keep(Some(&rule.reason)),
            matched: rule.matched,
            ..Self::new(&rule.rule_id, rule.key.as_deref(), rule.resource.as_deref(), texts)
        }
    }

    fn new(rule_id: &str, key: Option<&str>, resource: Option<&str>, texts: &mut Texts) -> Self {
        Self {
            rule_id: texts.keep(Some(rule_id)),
            key: texts.keep(key),
            key_len: key.map_or(0, str::len),
            resource: texts.keep(resource),
            resource_len: resource.map_or(0, str::len),
            reason: null(),
            matched: false,
        }
    }
}

impl Fallback for *const Match {
    const FALLBACK: Self = null();
}

impl Matches {
    fn list<T>(rules: &[T], item: impl Fn(&T, &mut Texts) -> Match) -> *mut Self {
        let mut texts = Texts::default();
        let items = rules.iter().map(|rule| item(rule, &mut texts)).collect();
        Box::into_raw(Box::new(Self { items, _texts: texts }))
    }
}

export! {
    /// Lists the rules that sluicegate_check_request would apply; with `explain`, every rule, and why it does
    /// not apply. Nothing is counted, and no server is asked. The list is to be freed.
    fn sluicegate_match_request(
        limiter: *const Limiter,
        request: *const Request,
        explain: bool,
        matches: *mut *mut Matches,
    ) {
        let list = if explain {
            Matches::list(&limiter.0.explain_request(&request)?, Match::explained)
        } else {
            Matches::list(&limiter.0.match_request(&request)?, Match::of)
        };
        matches.write(list);
        Ok(())
    }
}

export! {
    /// How many rules a list has; 0 for NULL.
    fn sluicegate_matches_count(matches: Option<&Matches>) -> usize {
        matches.map_or(0, |matches| matches.items.len())
    }
}

export! {
    /// A rule of a list, from 0 on; NULL behind the end. Lives as long as the list.
    fn sluicegate_matches_at(matches: Option<&Matches>, index: usize) -> *const Match {
        matches.and_then(|matches| matches.items.get(index)).map_or(null(), |rule| rule)
    }
}

export! {
    /// Frees a list and all that it points to. NULL is fine.
    fn sluicegate_matches_free(matches: Option<Box<Matches>>) -> () {
        drop(matches);
    }
}
