//! Whether regions have the same rules: of a limit over all of them that differs, that of the region in charge applies.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Write;

use serde_json::Value;
use sluicegate::Rules;
use sluicegate::rules::Rule;

use super::report::Report;
use crate::outcome::CommandError;
use crate::rules::flat;
use crate::show::json_line;
use crate::source::load;

const TO_DO: &str = "give all regions the same: that of the region in charge of a key applies";
/// A field that decides nothing.
const COMMENT: &str = "description";

/// The rules of one region, by its name.
type Regions<'a> = [(&'a str, Rules)];

/// Looks at the rules of all regions; `default` are those of a region that `stated` does not name.
pub(super) fn region_rules<'a>(
    names: impl Iterator<Item = &'a str>,
    stated: &[(String, String)],
    default: Option<&OsStr>,
    report: &mut Report<'_, impl Write>,
) -> Result<(), CommandError> {
    writeln!(report.out, "the rules of the regions")?;
    let mut regions = Vec::new();
    for name in names {
        let own = stated.iter().find(|(region, _)| region == name).map(|(_, rules)| OsStr::new(rules));
        let what = format!("region {name}");
        match own.or(default).map(load) {
            None => {
                report.note(&what, "its rules are not known; name them with --region-rules, or --rules")?
            }
            Some(Ok(rules)) => {
                report.good(&what, format!("{} of version {}", rules.len(), rules.version()))?;
                regions.push((name, rules));
            }
            Some(Err(error)) => {
                let to_do = "mend its rules (sluicegate rules validate shows each fault)";
                report.bad(&what, error, to_do)?;
            }
        }
    }
    compare(&regions, report)
}

fn compare(regions: &Regions<'_>, report: &mut Report<'_, impl Write>) -> Result<(), CommandError> {
    let ids: BTreeSet<&str> =
        regions.iter().flat_map(|(_, rules)| rules.iter().map(|rule| rule.id.as_str())).collect();
    let (mut same, mut apart) = (0, Vec::new());
    for id in ids {
        let of_regions: Vec<_> =
            regions.iter().map(|(name, rules)| (*name, rules.get(id).map(|rule| &**rule))).collect();
        let is_global = of_regions.iter().any(|(_, rule)| rule.is_some_and(|rule| rule.global_us.is_some()));
        match (differences(&of_regions), is_global) {
            (None, is_global) => same += usize::from(is_global),
            (Some(found), true) => report.bad(&format!("rule {id}"), found, TO_DO)?,
            (Some(_), false) => apart.push(id),
        }
    }
    if !apart.is_empty() {
        let found = format!("{} differ; each region counts them by itself", apart.join(", "));
        report.note("rules without global", found)?;
    }
    if regions.len() > 1 {
        report.good("rules with global", format!("{same} are the same in all regions"))
    } else {
        Ok(())
    }
}

/// What differs between the regions' rules of one name, if anything does.
fn differences(regions: &[(&str, Option<&Rule>)]) -> Option<String> {
    let without: Vec<_> = regions.iter().filter(|(_, rule)| rule.is_none()).map(|(name, _)| *name).collect();
    let with: Vec<_> = regions.iter().filter_map(|(name, rule)| Some((*name, flat((*rule)?)))).collect();
    let paths: BTreeSet<&String> = with.iter().flat_map(|(_, fields)| fields.keys()).collect();
    let mut found: Vec<_> = paths.into_iter().filter_map(|path| values(path, &with)).collect();
    if !without.is_empty() {
        found.insert(0, format!("missing in {}", without.join(" and ")));
    }
    (!found.is_empty()).then(|| found.join("; "))
}

/// What a field is in each region, if it differs: `limit is 100 in ap and eu, 50 in us`.
fn values(path: &str, regions: &[(&str, BTreeMap<String, Value>)]) -> Option<String> {
    let mut values: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, fields) in regions {
        let value = fields.get(path).map_or_else(|| "unset".to_owned(), json_line);
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(name),
            None => values.push((value, vec![name])),
        }
    }
    let shown: Vec<_> =
        values.iter().map(|(value, names)| format!("{value} in {}", names.join(" and "))).collect();
    (path != COMMENT && shown.len() > 1).then(|| format!("{path} is {}", shown.join(", ")))
}
