//! Nothing: cargo compiles a dependency once for each set of features that is asked of it, and what is below
//! `dev-dependencies` counts for tests alone. What would make a difference stands in `Cargo.toml` of this crate too.
