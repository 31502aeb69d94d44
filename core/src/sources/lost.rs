//! What an update leaves without a rule. It takes effect all the same: whoever edits rules may want just that.

use crate::catalog::Catalog;
use crate::matching::uncovered;
use crate::text::words::first_of;

/// So many routes are named.
const NAMED: usize = 5;

/// What to warn of when one catalog takes the place of another.
pub(super) fn warnings(before: &Catalog, after: &Catalog) -> Vec<String> {
    if before.rules().version() == after.rules().version() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    let count = |catalog: &Catalog| catalog.rules().len() - catalog.added().len();
    if count(before) > 0 && count(after) == 0 {
        warnings.push("the update leaves no rules: nothing is limited by it any more".to_owned());
    }
    let routes = uncovered(before.rules(), after.rules());
    if !routes.is_empty() {
        let routes = first_of(routes.iter().map(String::as_str), NAMED);
        warnings.push(format!(
            "the update takes away the last rule of {routes}: these requests are not limited any more"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rules;
    use crate::catalog::Share;
    use crate::keys::secret::SecretNames;

    fn rule(path: &str) -> String {
        let id = path.replace('*', ".");
        format!(
            r#"{{"rule_id": "{id}", "rate": "1/s", "identifier_type": "global", "match": {{"path_pattern": "{path}"}}}}"#
        )
    }

    fn rules(paths: &[&str]) -> Rules {
        let rules: Vec<_> = paths.iter().map(|path| rule(path)).collect();
        Rules::from_json(&format!("[{}]", rules.join(","))).unwrap()
    }

    #[test]
    fn what_is_left_without_a_rule_is_named() {
        let before = Catalog::new(rules(&["/a", "/b"]), SecretNames::default(), Share::default());
        let after = |paths: &[&str]| warnings(&before, &before.after(rules(paths)));
        assert!(after(&["/a", "/b"]).is_empty() && after(&["/b", "/a", "/c"]).is_empty());
        assert_eq!(
            after(&["/a"]),
            [r#"the update takes away the last rule of "/b": these requests are not limited any more"#]
        );
        let all = after(&[]);
        assert_eq!(all[0], "the update leaves no rules: nothing is limited by it any more");
        assert!(all[1].contains(r#"of "/a", "/b": "#), "{all:?}");
    }

    #[test]
    fn rules_of_the_application_are_not_those_of_the_source() {
        let before = Catalog::new(rules(&["/a"]), SecretNames::default(), Share::default())
            .with(&rules(&["/a/b"]))
            .unwrap();
        let after = warnings(&before, &before.after(Rules::default()));
        assert_eq!(after.len(), 2, "{after:?}");
        let covered = before.with(&rules(&["/*"])).unwrap();
        assert_eq!(warnings(&covered, &covered.after(Rules::default())).len(), 1);
        let first = Catalog::new(Rules::default(), SecretNames::default(), Share::default());
        assert!(warnings(&first, &first.after(rules(&["/a"]))).is_empty());
    }
}
