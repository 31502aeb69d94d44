//! Options as fields of a struct of C.

use std::io::Write;
use std::process::{Command, Stdio};

use sluicegate::bridge::{OPTIONS, OptionKind, OptionSpec};

use crate::place::Place;
use crate::text::{about, is_time, wrapped};

pub(crate) fn places() -> Vec<Place> {
    let zeros: Vec<_> = OPTIONS.iter().map(|option| if is_pointer(option) { "NULL" } else { "0" }).collect();
    let start = format!(" \\\\\n    {{sizeof(sluicegate_options), {}}}\n", zeros.join(", "));
    vec![
        Place::whole("bindings-c/src/options.rs", formatted(module())),
        Place::part(
            "bindings-c/cbindgen.toml",
            ("#define SLUICEGATE_OPTIONS_INIT", "#define SLUICEGATE_CHECK_OPTIONS_INIT"),
            start,
        ),
    ]
}

/// The text as rustfmt would have it; as it is where there is none.
fn formatted(text: String) -> String {
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rustfmt.toml");
    let rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path", settings])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut rustfmt) = rustfmt else { return text };
    let written = rustfmt.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    match (written, rustfmt.wait_with_output()) {
        (Some(Ok(())), Ok(output)) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => text,
    }
}

fn module() -> String {
    let each = |of: fn(&OptionSpec) -> String| -> String { OPTIONS.iter().map(of).collect() };
    let fields = each(|option| {
        let about = wrapped(&about(option, name), "    /// ", "    /// ", 110);
        format!("{about}    pub {}: {},\n", name(option), c_type(option))
    });
    let defaults = each(|option| {
        let default = match c_type(option) {
            "f64" => "0.0",
            _ if is_pointer(option) => "null()",
            _ => "0",
        };
        format!("            {}: {default},\n", name(option))
    });
    let sizes = each(|option| format!("        offset_of!(Self, {}),\n", name(option)));
    let sets = each(set);
    format!(
        r#"//! How a limiter is made. Made from the table of core: cargo run -p sluicegate-tables.

use std::ffi::c_char;
use std::mem::offset_of;
use std::ptr::null;
use std::time::Duration;

use sluicegate::Builder;
use sluicegate::bridge::OptionValue;

use crate::argument::{{Argument, Growing, growing, optional_text}};
use crate::clock::Clock;
use crate::credentials::CredentialsSource;
use crate::error::Failure;

/// Options of a limiter. Begin with SLUICEGATE_OPTIONS_INIT and set what you need; NULL and 0 stand
/// for the default. Nothing in it is needed after the call.
#[repr(C)]
pub struct Options {{
    /// The size of this struct as the caller knows it; later releases may add fields at the end.
    pub size: usize,
{fields}}}

impl Default for Options {{
    fn default() -> Self {{
        Self {{
            size: size_of::<Self>(),
{defaults}        }}
    }}
}}

// SAFETY: it begins with its size; the rest are numbers and pointers.
unsafe impl Growing for Options {{
    const SIZES: &'static [usize] = &[
{sizes}        size_of::<Self>(),
    ];
}}

/// The options that are given, by their names in core.
pub(crate) struct Given(Vec<(&'static str, OptionValue)>);

impl Given {{
    /// A builder with these options.
    pub(crate) fn apply(self, builder: Builder) -> sluicegate::Result<Builder> {{
        self.0.into_iter().try_fold(builder, |builder, (name, value)| builder.set(name, value))
    }}
}}

impl<'a> Argument<'a> for *const Options {{
    type Received = Given;

    unsafe fn receive(self, name: &'static str) -> Result<Given, Failure> {{
        let mut given = Vec::new();
        // SAFETY: promised by the caller, also for what the fields point to.
        unsafe {{
            let options = growing(self, name)?;
{sets}        }}
        Ok(Given(given))
    }}
}}
"#
    )
}

/// The statement that takes the field.
fn set(option: &OptionSpec) -> String {
    let (core, field) = (option.name, name(option));
    let value = match option.kind {
        OptionKind::Text
        | OptionKind::OptionalText
        | OptionKind::Path
        | OptionKind::Texts
        | OptionKind::Numbers => {
            let kind = match option.kind {
                OptionKind::Path => "Path",
                OptionKind::Texts | OptionKind::Numbers => "Object",
                _ => "Text",
            };
            return format!(
                "            if let Some(text) = optional_text(options.{field}, \"options.{field}\")? {{\n                \
                 given.push((\"{core}\", OptionValue::{kind}(text.into())));\n            }}\n"
            );
        }
        OptionKind::Clock => {
            return format!(
                "            if let Some(clock) = options.{field}.as_ref() {{\n                \
                 given.push((\"{core}\", OptionValue::Clock(clock.0.clone())));\n            }}\n"
            );
        }
        OptionKind::Credentials => {
            return format!(
                "            if let Some(source) = options.{field}.as_ref() {{\n                \
                 given.push((\"{core}\", OptionValue::Credentials(source.provider(\"options.{field}\")?)));\n            }}\n"
            );
        }
        OptionKind::Time(_) => format!("Time(Duration::from_micros(options.{field}))"),
        OptionKind::Flag => "Flag(true)".to_owned(),
        OptionKind::Part(_) => format!("Part(options.{field})"),
        OptionKind::Count("u32", _) => format!("Count(options.{field}.into())"),
        OptionKind::Count(..) | OptionKind::OptionalCount(_) => format!("Count(options.{field} as f64)"),
    };
    let zero = if c_type(option) == "f64" { "0.0" } else { "0" };
    format!(
        "            if options.{field} != {zero} {{\n                given.push((\"{core}\", OptionValue::{value}));\n            }}\n"
    )
}

fn c_type(option: &OptionSpec) -> &'static str {
    match option.kind {
        OptionKind::Text
        | OptionKind::OptionalText
        | OptionKind::Path
        | OptionKind::Texts
        | OptionKind::Numbers => "*const c_char",
        OptionKind::Clock => "*const Clock",
        OptionKind::Credentials => "*const CredentialsSource",
        OptionKind::Time(_) => "u64",
        OptionKind::Part(_) => "f64",
        OptionKind::Flag => "u32",
        OptionKind::Count(kind, _) | OptionKind::OptionalCount(kind) => kind,
    }
}

fn is_pointer(option: &OptionSpec) -> bool {
    c_type(option).starts_with('*')
}

fn name(option: &OptionSpec) -> String {
    option.name.to_owned() + if is_time(option) { "_us" } else { "" }
}
