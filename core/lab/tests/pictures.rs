//! The pictures of the documentation are those that the lab draws.
//!
//! After a change of the engine, the lab or this file:
//! `SLUICEGATE_WRITE_PICTURES=1 cargo test -p sluicegate-lab --test pictures`.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use sluicegate::Rules;
use sluicegate_lab::plot::Picture;
use sluicegate_lab::{Options, Report, Traffic, compare, simulate};

const SECOND: u64 = 1_000_000;
const EDGE: [&str; 1] = ["edge:size=20,window=10s,spread=400ms,for=1m"];
const OVERLOAD: [&str; 1] = ["poisson:rate=2/s,for=2m"];
const ALGORITHMS: [&str; 7] =
    ["fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra", "uniform", "decay"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All algorithms at 10 per 10 seconds.
fn compared(specs: &[&str]) -> Report {
    run(&Rules::from_json(&compare(&ALGORITHMS, 10, 10 * SECOND, None).unwrap()).unwrap(), specs)
}

fn run(rules: &Rules, specs: &[&str]) -> Report {
    simulate(rules, &Traffic::parse(specs, rules).unwrap(), Options::default(), &mut ()).unwrap()
}

/// The traffic of the zoo's example.
fn zoo() -> Report {
    let script = fs::read_to_string(root().join("examples/zoo/run")).unwrap();
    let specs: Vec<_> =
        script.split("--traffic ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    run(&Rules::from_file(root().join("examples/zoo/rules.jsonc")).unwrap(), &specs)
}

/// The run of the page about leases.
fn leases() -> Report {
    let page = fs::read_to_string(root().join("docs/operations/leases.md")).unwrap();
    let command = page.split("$ sluicegate lab '").nth(1).unwrap().split("```").next().unwrap();
    let (rules, rest) = command.split_once('\'').unwrap();
    let specs: Vec<_> =
        rest.split("--traffic ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    run(&Rules::from_json(rules).unwrap(), &specs)
}

fn pictures() -> Vec<(&'static str, String)> {
    let (edge, overload) = (compared(&EDGE), compared(&OVERLOAD));
    let polite = compared(&["obedient:clients=12,keys=1,rate=2/s,pick=turn,for=10m"]);
    let many = compared(&["poisson:rate=20/s,keys=40,zipf=1,for=2m"]);
    let hour = Rules::from_json(
        &compare(&["fixed_window", "sliding_window", "gcra"], 3_000, 3_600 * SECOND, None).unwrap(),
    );
    let day = run(&hour.unwrap(), &["day:rate=2400/h,for=1d"]);
    let (zoo, leases) = (zoo(), leases());
    vec![
        ("edge-raster", Picture::Raster.svg(&edge)),
        ("edge-windows", Picture::Windows.svg(&edge)),
        ("edge-cumulative", Picture::Cumulative.svg(&edge)),
        ("overload-raster", Picture::Raster.svg(&overload)),
        ("overload-admitted", Picture::Admitted.svg(&overload)),
        ("overload-windows", Picture::Windows.svg(&overload)),
        ("waits", Picture::Waits.svg(&polite)),
        ("fairness", Picture::Fairness.svg(&many)),
        ("day-admitted", Picture::Admitted.svg(&day)),
        ("zoo-raster", Picture::Raster.svg(&zoo)),
        ("zoo-admitted", Picture::Admitted.svg(&zoo)),
        ("leases-excess", Picture::Excess.svg(&leases)),
    ]
}

#[test]
fn pictures_are_current() {
    let folder = root().join("docs/pictures");
    let write = std::env::var_os("SLUICEGATE_WRITE_PICTURES").is_some();
    for (name, svg) in pictures() {
        let path = folder.join(name).with_extension("svg");
        if write {
            fs::write(&path, &svg).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == svg, "docs/pictures/{name}.svg is stale: see the head of core/lab/tests/pictures.rs");
    }
}

/// The table of "Choosing an algorithm" has the figures of the runs that are drawn there.
#[test]
fn figures_are_current() {
    let page = fs::read_to_string(root().join("docs/algorithms.md")).unwrap();
    let table = page.split("| around edges: fullest 10 s |").nth(1).unwrap();
    let (edge, overload) = (compared(&EDGE), compared(&OVERLOAD));
    for (edge, overload) in edge.strategies.iter().zip(&overload.strategies) {
        let start = format!("| `{}` |", edge.name);
        let row = table.lines().find(|line| line.starts_with(&start)).unwrap();
        let figures = [edge.worst().count, overload.admitted, overload.worst().count];
        let stated: Vec<_> =
            row.split('|').skip(2).take(3).map(|cell| cell.split_whitespace().next()).collect();
        assert_eq!(
            stated,
            figures.map(|figure| figure.to_string()).each_ref().map(|text| Some(text.as_str()))
        );
    }
}
