//! Fuzzing on stable Rust: random inputs, and mutations of real ones, for a time that is given.
//!
//! A target is a test whose name begins with `fuzz_`. It runs for as many seconds as `SLUICEGATE_FUZZ_SECONDS` says, a
//! blink by default, so that `cargo test` includes it. `tests/fuzz/run` runs all of them for a minute each, or for as
//! long as its argument says. What fails is shrunk; bytes that failed are kept in `tests/fuzz/corpus/<target>`, which is
//! tried first and mutated with the seeds. It begins with inputs that parsers have stumbled over.

// A harness of tests says what failed by a panic.
#![allow(clippy::panic)]

use std::fmt::Debug;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

/// Inputs between two looks at the clock.
const CASES: u32 = 64;
const DEFAULT: Duration = Duration::from_millis(300);

/// Tries values of a strategy; a test fails by a panic.
pub fn values<S: Strategy>(strategy: &S, test: impl Fn(S::Value))
where
    S::Value: Debug,
{
    if let Some(input) = failing(strategy, &test) {
        panic!("fails for {input:?}");
    }
}

/// Tries mutations of seeds, which are inputs as they should be, and the corpus of the target.
pub fn bytes(target: &str, seeds: Vec<Vec<u8>>, test: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let corpus = corpus(&folder);
    corpus.iter().chain(&seeds).for_each(|input| test(input));
    let inputs = mutated([seeds, corpus].concat());
    if let Some(input) = failing(&inputs, &|input: Vec<u8>| test(&input)) {
        let kept = keep(&folder, &input);
        panic!("fails for {:?}, which is kept in {}", String::from_utf8_lossy(&input), kept.display());
    }
}

/// The shortest input found for which a test fails.
fn failing<S: Strategy>(strategy: &S, test: &impl Fn(S::Value)) -> Option<S::Value>
where
    S::Value: Debug,
{
    let (began, time) = (Instant::now(), time());
    while began.elapsed() < time {
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let outcome = TestRunner::new(config).run(strategy, |input| {
            test(input);
            Ok(())
        });
        if let Err(TestError::Fail(_, input)) = outcome {
            return Some(input);
        }
    }
    None
}

fn time() -> Duration {
    let seconds = std::env::var("SLUICEGATE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.map_or(DEFAULT, Duration::from_secs_f64)
}

fn corpus(folder: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| fs::read(file.path()).ok()).collect()
}

fn keep(folder: &Path, input: &[u8]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    // Where it cannot be written, the panic message still has it.
    let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&path, input));
    path
}

/// One of the seeds with some changes, or nothing like it.
fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..6),
        2 => prop::sample::select(EVIL.to_vec()).prop_map(<[u8]>::to_vec),
        1 => any::<i32>().prop_map(|number| number.to_be_bytes().to_vec()),
    ];
    let edit = (any::<prop::sample::Index>(), 0usize..6, piece);
    let like_a_seed = (prop::sample::select(seeds), prop::collection::vec(edit, 0..8));
    prop_oneof![
        9 => like_a_seed.prop_map(|(seed, edits)| edits.into_iter().fold(seed, |input, (at, length, piece)| {
            let start = at.index(input.len() + 1);
            let end = input.len().min(start + length);
            [&input[..start], &piece, &input[end..]].concat()
        })),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

/// What parsers have stumbled over.
const EVIL: [&[u8]; 24] = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\x1b",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"%00",
    b"%2f",
    b"%25",
    b"../",
    b"//",
    b"{",
    b"}",
    b"[",
    b"\"",
    b"\\",
    b"*",
    b"1e308",
    b"-1",
    b"null",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"9007199254740993",
];
