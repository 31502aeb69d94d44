//! Fails the build when a mark is missing at which other Lua belongs: the script would silently lack it.

use crate::allotment::ONE_OF_SEVERAL;
use crate::kernel::{self, Fragments};
use crate::key_record::{DECIDE, FORGET_BLOCKS, KEY_RECORDS};
use crate::marks::{has, has_all};
use crate::{ENDING, ENDING_PLAINLY, HELD, HELD_PLAINLY, LATE, REPEATABLE, SEVERAL};

/// A reply of any kernel takes numbers before its own.
const fn takes_numbers(fragments: &[Fragments]) -> bool {
    let mut place = 0;
    while place < fragments.len() {
        if !has_all(fragments[place].reply, &[kernel::PACKED, kernel::NUMBERS]) {
            return false;
        }
        place += 1;
    }
    true
}

const _: () =
    assert!(has_all(HELD, &["  --KEY RECORD LOAD\n", "  --KEY RECORD GRANT\n", "  --KEY RECORD REPLY\n"]));
const _: () = assert!(has(ENDING, "--KEY RECORD HEAL\n"));
const _: () = assert!(has(LATE, "--KEY RECORDS\n"));
const _: () = assert!(has_all(KEY_RECORDS, &["--LOAD\n", "--BEGIN\n", "--SAVE\n", "--OVER\n", "--STORED\n"]));
const _: () = assert!(has_all(DECIDE, &["--BEGIN\n", "--OVER\n", "--SAVE\n"]));
const _: () = assert!(has(FORGET_BLOCKS, "--SAVE\n"));
const _: () = assert!(has_all(HELD_PLAINLY, &["--LOAD\n", "--COMMIT\n", "--REPLY\n", "--REPLY_BESIDE\n"]));
const _: () = assert!(has_all(ENDING_PLAINLY, &["--LOAD\n", "--COMMIT\n"]));
const _: () = assert!(has(REPEATABLE, "  --SCRIPT\n"));
const _: () = assert!(has_all(ONE_OF_SEVERAL, &["  --LOAD\n", "    --SPEND\n"]));
const _: () = assert!(has_all(SEVERAL, &["  --LOAD\n", "  --COMMIT\n"]));
const _: () = assert!(has_all(kernel::GCRA.commit, &[kernel::IS_SHARED, kernel::WRITTEN]));
const _: () = assert!(takes_numbers(&kernel::KINDS));
