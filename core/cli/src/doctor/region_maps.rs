//! Whether regions know the same regions: which one is in charge of a key follows from their names.

use std::collections::BTreeSet;
use std::io::Write;
use std::iter;

use super::report::Report;
use crate::outcome::CommandError;

const TO_DO: &str = "give all regions the same names: while two maps are in use, a key may have two regions in charge, \
                     which admit its limit once each";

/// Looks whether each region's map has the regions of these names.
pub(super) fn region_maps(
    names: &BTreeSet<&str>,
    stated: &[(String, String)],
    report: &mut Report<'_, impl Write>,
) -> Result<(), CommandError> {
    writeln!(report.out, "the maps of the regions")?;
    for name in names {
        let what = format!("map of region {name}");
        let Some((_, map)) = stated.iter().find(|(region, _)| region == name) else {
            report.note(&what, "is not known; name it with --region-map")?;
            continue;
        };
        match names_of(map) {
            Ok(map) => match difference(names, &map) {
                None => report.good(&what, listed(map.iter()))?,
                Some(difference) => report.bad(&what, difference, TO_DO)?,
            },
            Err(fault) => report.bad(&what, fault, "write the names alone, as in ap,eu,us")?,
        }
    }
    Ok(())
}

/// The names of a map, or why it is none. What may have a password is not repeated.
fn names_of(map: &str) -> Result<BTreeSet<&str>, String> {
    if map.contains("://") || map.contains('@') {
        return Err("has a URL".to_owned());
    }
    if map.contains(['{', '[', '"']) {
        return Err("is JSON, not a list of names".to_owned());
    }
    let mut names = BTreeSet::new();
    for name in map.split(',').map(str::trim) {
        if name.is_empty() {
            return Err("has a name that is empty (a comma too many?)".to_owned());
        }
        if !names.insert(name) {
            return Err(format!("has {} twice", listed(iter::once(&name))));
        }
    }
    Ok(names)
}

fn difference(names: &BTreeSet<&str>, map: &BTreeSet<&str>) -> Option<String> {
    let lacks: Vec<_> = names.difference(map).collect();
    let has: Vec<_> = map.difference(names).collect();
    let parts = [("lacks", lacks), ("has also", has)];
    let said = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let said: Vec<_> = said.map(|(what, names)| format!("{what} {}", listed(names.into_iter()))).collect();
    (!said.is_empty()).then(|| said.join(", and "))
}

/// Names, quoted where spaces and the like would hide.
fn listed<'a>(names: impl Iterator<Item = &'a &'a str>) -> String {
    let shown = |name: &&str| {
        let is_plain = !name.is_empty() && name.chars().all(|it| it.is_alphanumeric() || "-_.".contains(it));
        if is_plain { (*name).to_owned() } else { sluicegate::internal::quote(name) }
    };
    names.map(shown).collect::<Vec<_>>().join(", ")
}
