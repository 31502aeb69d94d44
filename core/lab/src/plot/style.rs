//! How pictures look: colours that colour-blind people tell apart (Okabe and Ito), for light, dark and print.

/// The rules of every picture. Viewers that know no media queries show the light ones.
pub(super) const CSS: &str = "\
.lab{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif}
.lab text{font-size:12px;fill:#24292f}
.lab .name{font-weight:600;font-size:13px}
.lab .title{font-weight:600;font-size:16px}
.lab .note,.lab .tick{fill:#57606a;font-size:11px}
.lab .strong{font-weight:600}
.lab .ground{fill:#ffffff}
.lab .grid{stroke:#d8dee4;stroke-width:1;fill:none}
.lab .base{stroke:#8c959f;stroke-width:1;fill:none}
.lab .admitted{fill:#0072b2}
.lab .denied{fill:#d55e00}
.lab .asked{fill:#c9d1d9}
.lab .line{fill:none;stroke:#0072b2;stroke-width:2;stroke-linejoin:round}
.lab .area{fill:#0072b2;fill-opacity:.18}
.lab .demand{fill:none;stroke:#8c959f;stroke-width:1.5}
.lab .bound{fill:none;stroke:#24292f;stroke-width:1.5;stroke-dasharray:5 3}
.lab .over{font-weight:600;fill:#b34700}
";

/// What the dark theme changes.
pub(super) const DARK: &str = "\
.lab text{fill:#e6edf3}
.lab .note,.lab .tick{fill:#9198a1}
.lab .ground{fill:#0d1117}
.lab .grid{stroke:#30363d}
.lab .base{stroke:#656c76}
.lab .admitted{fill:#56b4e9}
.lab .denied{fill:#f0883e}
.lab .asked{fill:#3d444d}
.lab .line{stroke:#56b4e9}
.lab .area{fill:#56b4e9}
.lab .demand{stroke:#656c76}
.lab .bound{stroke:#e6edf3}
.lab .over{fill:#f0883e}
";

/// All of it. Print is always light.
pub(super) fn sheet() -> String {
    format!("{CSS}@media screen and (prefers-color-scheme:dark){{\n{DARK}}}\n")
}
