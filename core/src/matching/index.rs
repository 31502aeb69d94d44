//! Finds the few rules that a request may match among many.
//!
//! Every rule is filed under one thing that a request must have for the rule to match: a literal text of the
//! path, the value of a header, or the network of the address. Of a rule's own such things it is the one
//! that the fewest rules share. A request is looked through once, for all of them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use aho_corasick::automaton::Automaton as _;
use aho_corasick::nfa::contiguous::NFA;

use super::conditions::Conditions;
use super::view::RequestView;
use crate::net::subnet::Subnet;

/// A rule's number.
pub(super) type Number = u32;

/// So few rules are sooner looked at than looked for: most do not match by the first letters of their patterns.
const FEW: usize = 32;

/// Longer literals are looked for by their ends.
const LONGEST_MARK: usize = 32;

/// What a request must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mark<'a> {
    Literal(&'a str),
    Header(usize, &'a str),
    Subnet(Subnet),
}

/// A rule under its rarest literal.
#[derive(Debug, Clone, Copy)]
struct ByLiteral {
    number: Number,
    /// The next rarest of its literals: looked for too before the rule is looked at.
    second: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Rules without a mark.
    always: Vec<Number>,
    /// Finds all literals of a path in one pass, without regard to capitals.
    automaton: Option<NFA>,
    by_literal: Vec<Vec<ByLiteral>>,
    /// By place of the header.
    by_header: HashMap<usize, HashMap<String, Vec<Number>>>,
    by_subnet: HashMap<Subnet, Vec<Number>>,
    /// The sizes of networks that occur.
    prefixes: BTreeSet<u8>,
}

impl Index {
    pub(super) fn new(rules: &[Conditions]) -> Self {
        let alternatives: Vec<_> = rules.iter().map(alternatives).collect();
        let mut sharing: HashMap<Mark<'_>, usize> = HashMap::new();
        for mark in alternatives.iter().flatten().flatten() {
            *sharing.entry(*mark).or_default() += 1;
        }
        let cost = |marks: &Vec<Mark<'_>>| {
            let sharers: usize = marks.iter().map(|mark| sharing[mark]).sum();
            (sharers, Reverse(marks.iter().map(Mark::length).max()))
        };
        let (mut index, mut literals) = (Self::default(), Literals::default());
        for ((number, rule), mut alternatives) in (0..).zip(rules).zip(alternatives) {
            alternatives.sort_by_key(cost);
            match rule.can_hold() {
                true if rules.len() <= FEW => index.always.push(number),
                true => index.file(number, &alternatives, &mut literals),
                false => {}
            }
        }
        index.compile(&literals);
        index
    }

    /// Files a rule under the first of its alternatives.
    fn file<'a>(&mut self, number: Number, alternatives: &[Vec<Mark<'a>>], literals: &mut Literals<'a>) {
        let Some((first, others)) = alternatives.split_first() else { return self.always.push(number) };
        for mark in first {
            match *mark {
                Mark::Literal(text) => {
                    let second = others.iter().flatten().find_map(|other| match other {
                        Mark::Literal(other) if *other != text => Some(literals.place(other)),
                        _ => None,
                    });
                    let place = literals.place(text);
                    self.by_literal.resize_with(literals.texts.len(), Vec::new);
                    self.by_literal[place as usize].push(ByLiteral { number, second });
                }
                Mark::Header(place, value) => {
                    let values = self.by_header.entry(place).or_default();
                    values.entry(value.to_owned()).or_default().push(number);
                }
                Mark::Subnet(subnet) => {
                    self.prefixes.insert(subnet.prefix());
                    self.by_subnet.entry(subnet).or_default().push(number);
                }
            }
        }
    }

    /// Only gigabytes of literals would not fit an automaton; then every rule is looked at.
    fn compile(&mut self, literals: &Literals<'_>) {
        if literals.texts.is_empty() {
            return;
        }
        match NFA::new(&literals.texts) {
            Ok(automaton) => self.automaton = Some(automaton),
            Err(_) => self.always.extend(self.by_literal.iter().flatten().map(|rule| rule.number)),
        }
    }

    /// The rules that may match, in order; no other one does.
    #[inline]
    pub(super) fn candidates(&self, view: &RequestView<'_>) -> Vec<Number> {
        let mut found = self.always.clone();
        self.by_path(view, &mut found);
        for (place, values) in &self.by_header {
            let numbers = view.headers[*place].values().filter_map(|value| values.get(value));
            found.extend(numbers.flatten());
        }
        if let Some(ip) = view.ip {
            found.extend(self.networks(ip).filter_map(|subnet| self.by_subnet.get(&subnet)).flatten());
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    #[inline]
    fn by_path(&self, view: &RequestView<'_>, found: &mut Vec<Number>) {
        let Some(automaton) = &self.automaton else { return };
        let mut hits = Hits::new(self.by_literal.len());
        for reading in &view.readings {
            let text = reading.folded_text();
            // Overlapping matches are refused only of an automaton that prefers the leftmost, which this is not.
            let found = automaton.try_find_overlapping_iter(text.as_ref().into()).into_iter().flatten();
            found.for_each(|hit| hits.add(hit.pattern().as_u32()));
        }
        let rules = hits.once.iter().flat_map(|literal| &self.by_literal[*literal as usize]);
        let may_match = |rule: &&ByLiteral| rule.second.is_none_or(|literal| hits.contain(literal));
        found.extend(rules.filter(may_match).map(|rule| rule.number));
    }

    /// Every network that the address is in and that is of a size that occurs.
    #[inline]
    fn networks(&self, ip: IpAddr) -> impl Iterator<Item = Subnet> {
        self.prefixes.iter().map(move |prefix| Subnet::of(ip, *prefix))
    }
}

/// The literals that were found, each once, however often a client repeats them.
struct Hits {
    bits: Vec<u64>,
    once: Vec<u32>,
}

impl Hits {
    fn new(literals: usize) -> Self {
        Self { bits: vec![0; literals.div_ceil(64)], once: Vec::new() }
    }

    #[inline]
    fn add(&mut self, literal: u32) {
        if !self.contain(literal) {
            self.bits[literal as usize / 64] |= 1 << (literal % 64);
            self.once.push(literal);
        }
    }

    #[inline]
    fn contain(&self, literal: u32) -> bool {
        self.bits[literal as usize / 64] >> (literal % 64) & 1 == 1
    }
}

/// The literals to look for, each with a place.
#[derive(Default)]
struct Literals<'a> {
    texts: Vec<&'a str>,
    places: HashMap<&'a str, u32>,
}

impl<'a> Literals<'a> {
    fn place(&mut self, text: &'a str) -> u32 {
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() as u32 - 1
        })
    }
}

impl Mark<'_> {
    fn length(&self) -> usize {
        match self {
            Self::Literal(text) | Self::Header(_, text) => text.len(),
            Self::Subnet(subnet) => usize::from(subnet.prefix()),
        }
    }
}

/// The end of a literal is as good a mark as the whole, and bounds how many marks can end at one place of
/// a path, and thus what a path made of them costs.
fn mark_of(literal: &str) -> Mark<'_> {
    Mark::Literal(&literal[literal.ceil_char_boundary(literal.len().saturating_sub(LONGEST_MARK))..])
}

/// Everything a rule may be filed under; a request that it matches has at least one mark of each.
fn alternatives(rule: &Conditions) -> Vec<Vec<Mark<'_>>> {
    let literals = rule.pattern.iter().flat_map(|pattern| pattern.folded.literals().map(mark_of));
    let headers =
        rule.headers.iter().filter_map(|header| Some(Mark::Header(header.place, header.value.as_deref()?)));
    let mut alternatives: Vec<_> = literals.chain(headers).map(|mark| vec![mark]).collect();
    if !rule.subnets.is_empty() {
        alternatives.push(rule.subnets.iter().copied().map(Mark::Subnet).collect());
    }
    alternatives
}
