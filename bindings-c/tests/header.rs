//! `include/sluicegate.h` is generated from the sources, and committed.
//!
//! After a change of the sources: `SLUICEGATE_WRITE_HEADER=1 cargo test -p sluicegate-c --test header`.

#![allow(clippy::unwrap_used)] // A test that cannot go on has failed.

use std::fs;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config};
use quote::{ToTokens, format_ident};
use syn::{File, Item, ItemEnum, ItemFn, ItemMacro, parse_quote, parse_str};

/// The modules with something for the header, in its order.
const MODULES: [&str; 19] = [
    "version",
    "status",
    "error",
    "decision",
    "clock",
    "credentials",
    "options",
    "check",
    "request",
    "callback",
    "limiter",
    "log",
    "rules",
    "calls",
    "reservation",
    "key_record",
    "key",
    "matching",
    "headers",
];

#[test]
fn the_header_is_current() {
    let path = folder().join("include/sluicegate.h");
    let header = generate();
    if std::env::var_os("SLUICEGATE_WRITE_HEADER").is_some() {
        fs::write(&path, &header).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == header, "include/sluicegate.h is not current; see tests/header.rs");
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn generate() -> String {
    let place = tempfile::tempdir().unwrap();
    let config = Config::from_file(folder().join("cbindgen.toml")).unwrap();
    let sources = MODULES.into_iter().map(|module| {
        let plain = place.path().join(module);
        fs::write(&plain, without_macros(&folder().join(format!("src/{module}.rs")))).unwrap();
        plain
    });
    let builder = sources.fold(Builder::new().with_config(config), Builder::with_src);
    let mut header = Vec::new();
    builder.generate().unwrap().write(&mut header);
    String::from_utf8(header).unwrap()
}

/// A source with its names and exports as they are to C: cbindgen expands no macros.
fn without_macros(path: &Path) -> String {
    let mut source: File = parse_str(&fs::read_to_string(path).unwrap()).unwrap();
    for item in &mut source.items {
        match item {
            Item::Macro(call) if call.mac.path.is_ident("export") => *item = Item::Fn(exported(call)),
            Item::Enum(numbers) => prefix(numbers),
            _ => {}
        }
    }
    source.into_token_stream().to_string()
}

/// C has one namespace for all. `Status::Ok` is `SLUICEGATE_OK`, `Source::Server` is
/// `SLUICEGATE_SOURCE_SERVER`.
fn prefix(numbers: &mut ItemEnum) {
    let of = if numbers.ident == "Status" { String::new() } else { numbers.ident.to_string() };
    for variant in &mut numbers.variants {
        variant.ident = format_ident!("Sluicegate{of}{}", variant.ident);
    }
}

/// What the macro `export!` makes of a function.
fn exported(call: &ItemMacro) -> ItemFn {
    let mut function: ItemFn = call.mac.parse_body().unwrap();
    function.vis = parse_quote!(pub);
    function.attrs.push(parse_quote!(#[unsafe(no_mangle)]));
    function.sig.abi = Some(parse_quote!(extern "C"));
    let signature = &mut function.sig;
    if matches!(signature.output, syn::ReturnType::Default) {
        signature.inputs.push(parse_quote!(error: *mut Error));
        signature.output = parse_quote!(-> Status);
    }
    function
}
