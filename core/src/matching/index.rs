//! Finds the few rules that a request may match among many.
//!
//! Every rule is filed under one thing that a request must have for the rule to match: a literal text of the
//! path, the value of a header, or the network of the address. Of a rule's own such things it is the one
//! that the fewest rules share. A request is looked through once, for all of them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use aho_corasick::AhoCorasick;

use super::conditions::Conditions;
use super::facts::Facts;
use super::subnet::Subnet;

/// A rule's number.
pub(super) type Number = u32;

/// What a request must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mark<'a> {
    Literal(&'a str),
    Header(usize, &'a str),
    Subnet(Subnet),
}

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Rules without a mark.
    always: Vec<Number>,
    literals: Option<AhoCorasick>,
    by_literal: Vec<Vec<Number>>,
    /// By place of the header.
    by_header: HashMap<usize, HashMap<String, Vec<Number>>>,
    by_subnet: HashMap<Subnet, Vec<Number>>,
    /// The sizes of networks that occur.
    prefixes: BTreeSet<u8>,
}

impl Index {
    pub(super) fn new(rules: &[Conditions]) -> Self {
        let marks: Vec<Vec<Vec<Mark<'_>>>> = rules.iter().map(alternatives).collect();
        let mut sharing: HashMap<Mark<'_>, usize> = HashMap::new();
        for mark in marks.iter().flatten().flatten() {
            *sharing.entry(*mark).or_default() += 1;
        }
        let cost = |marks: &&Vec<Mark<'_>>| {
            let sharers: usize = marks.iter().map(|mark| sharing[mark]).sum();
            (sharers, Reverse(marks.iter().map(Mark::length).max()))
        };
        let (mut index, mut literals) = (Self::default(), HashMap::new());
        for ((number, rule), alternatives) in (0..).zip(rules).zip(&marks) {
            if !rule.can_hold() {
                continue;
            }
            match alternatives.iter().min_by_key(cost) {
                Some(marks) => marks.iter().for_each(|mark| index.file(*mark, number, &mut literals)),
                None => index.always.push(number),
            }
        }
        index.compile(literals);
        index
    }

    fn file<'a>(&mut self, mark: Mark<'a>, number: Number, literals: &mut HashMap<&'a str, Vec<Number>>) {
        let numbers = match mark {
            Mark::Literal(text) => literals.entry(text).or_default(),
            Mark::Header(place, value) => {
                self.by_header.entry(place).or_default().entry(value.to_owned()).or_default()
            }
            Mark::Subnet(subnet) => {
                self.prefixes.insert(subnet.prefix());
                self.by_subnet.entry(subnet).or_default()
            }
        };
        numbers.push(number);
    }

    /// One automaton finds all literals in one pass. Only gigabytes of them would not fit it; then every
    /// rule is looked at.
    fn compile(&mut self, literals: HashMap<&str, Vec<Number>>) {
        let (texts, numbers): (Vec<_>, Vec<_>) = literals.into_iter().unzip();
        if texts.is_empty() {
            return;
        }
        self.by_literal = numbers;
        match AhoCorasick::new(texts) {
            Ok(automaton) => self.literals = Some(automaton),
            Err(_) => self.always.extend(self.by_literal.drain(..).flatten()),
        }
    }

    /// The rules that may match, in order; no other one does.
    pub(super) fn candidates(&self, facts: &Facts<'_>) -> Vec<Number> {
        let mut found = self.always.clone();
        self.by_path(facts, &mut found);
        for (place, values) in &self.by_header {
            let value = facts.headers[*place].as_deref();
            found.extend(value.and_then(|value| values.get(value)).into_iter().flatten());
        }
        if let Some(ip) = facts.ip {
            found.extend(self.networks(ip).filter_map(|subnet| self.by_subnet.get(&subnet)).flatten());
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn by_path(&self, facts: &Facts<'_>, found: &mut Vec<Number>) {
        let Some(literals) = &self.literals else { return };
        let mut hits: Vec<_> = Vec::new();
        for path in &facts.paths {
            hits.extend(literals.find_overlapping_iter(path.as_ref()).map(|hit| hit.pattern().as_usize()));
        }
        hits.sort_unstable();
        hits.dedup();
        found.extend(hits.into_iter().flat_map(|literal| &self.by_literal[literal]));
    }

    /// Every network that the address is in and that is of a size that occurs.
    fn networks(&self, ip: IpAddr) -> impl Iterator<Item = Subnet> {
        self.prefixes.iter().map(move |prefix| Subnet::of(ip, *prefix))
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

/// Everything a rule may be filed under; a request that it matches has at least one mark of each.
fn alternatives(rule: &Conditions) -> Vec<Vec<Mark<'_>>> {
    let literals = rule.pattern.iter().flat_map(|pattern| pattern.literals().map(Mark::Literal));
    let headers =
        rule.headers.iter().filter_map(|header| Some(Mark::Header(header.place, header.value.as_deref()?)));
    let mut alternatives: Vec<_> = literals.chain(headers).map(|mark| vec![mark]).collect();
    if !rule.subnets.is_empty() {
        alternatives.push(rule.subnets.iter().copied().map(Mark::Subnet).collect());
    }
    alternatives
}
