/// The JSON Schema (draft 2020-12) of a file of rules, for editors and for other programs that check rules.
///
/// What it refuses the reader refuses too. A schema cannot compare values, so it admits rules that share an id, a
/// `path:<name>` that the pattern lacks, limits with the same window and scope, and the like.
///
/// ```
/// let schema = sluicegate::rules::schema();
/// assert!(schema.contains("\"window_size_seconds\""));
/// ```
pub fn schema() -> &'static str {
    include_str!("schema.json")
}
