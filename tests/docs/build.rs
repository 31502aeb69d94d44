//! Makes a test of every Rust block of the pages.

// A build that cannot read the pages has to fail.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    find_pages(&root.join("docs"), &mut pages);
    let mut tests = String::new();
    for page in pages {
        println!("cargo::rerun-if-changed={}", page.display());
        let name =
            page.strip_prefix(&root).unwrap().to_str().unwrap().replace(['/', '.', '-'], "_").to_lowercase();
        for (line, code) in rust_blocks(&fs::read_to_string(&page).unwrap()) {
            tests.push_str(&test(&format!("{name}_{line}"), &code));
        }
    }
    println!("cargo::rerun-if-changed={}", root.join("docs").display());
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("blocks.rs"), tests).unwrap();
}

/// Adds the pages of a folder and of those in it.
fn find_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        // What is generated has no blocks of its own.
        if path.is_dir() && !path.ends_with("api") && !path.ends_with("node_modules") {
            find_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// The blocks, with the line at which each begins, without the margin that tabs give them.
fn rust_blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let margin = line.len() - line.trim_start().len();
        if !line.trim_start().starts_with("```rust") {
            continue;
        }
        let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
        let code = inside
            .map(|line| line.get(margin..).unwrap_or_default())
            .fold(String::new(), |code, line| code + line + "\n");
        // What is shown of an example is run by the example's own test.
        if !code.starts_with("--8<--") {
            blocks.push((number + 1, code));
        }
    }
    blocks
}

fn test(name: &str, code: &str) -> String {
    let code = code.replace("\"redis://localhost/0\"", &format!("super::redis(\"{name}\")"));
    let mut test = String::new();
    if code.contains("fn main()") {
        let _ = writeln!(test, "mod {name} {{ #[test] fn runs() {{ drop(main()); }} {code} }}");
    } else {
        let (attribute, modifier) =
            if code.contains(".await") { ("tokio::test", "async ") } else { ("test", "") };
        let _ = write!(
            test,
            "mod {name} {{ #[{attribute}] {modifier}fn runs() -> Result<(), Box<dyn std::error::Error>> {{\n{code}\nOk(()) }} }}\n"
        );
    }
    test
}
