//! The tables of what gg is to do are complete, and every test that they name exists.

use std::{collections::BTreeSet, fs, path::PathBuf};

/// How many sentences each document has.
const DOCUMENTS: [(&str, u32); 3] = [("000", 79), ("003", 74), ("004", 45)];

/// Where the tests of a module stand.
fn file_of(module: &str) -> PathBuf {
    let root = gg_tests::root();
    match module {
        "scheduler" => root.join("host/core/src/scheduler/tests.rs"),
        "fsm" => root.join("host/runtime/src/capability/fsm.rs"),
        module => root.join("tests/tests").join(module).with_extension("rs"),
    }
}

#[test]
fn every_sentence_has_a_row_and_every_row_a_test() {
    for (document, count) in DOCUMENTS {
        let path = gg_tests::package().join("sentences").join(document).with_extension("txt");
        let text = fs::read_to_string(&path).unwrap();
        let (comments, rows): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        let hash = comments.join(" ").split("sha256 ").nth(1).unwrap().trim_end_matches('.').to_owned();
        assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{hash}");
        let mut numbers = BTreeSet::new();
        for row in rows {
            let parts: Vec<&str> = row.split(" | ").collect();
            let [number, words, shown] = parts[..] else { panic!("three parts: {row}") };
            assert!(!words.is_empty() && numbers.insert(number.to_owned()), "{row}");
            match shown.split_once("::") {
                Some((module, test)) => {
                    let file = file_of(module);
                    let source = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{row}: {error}"));
                    assert!(source.contains(&format!("fn {test}()")), "no test {test} in {}", file.display());
                }
                None => assert!(shown == "explains" || shown.starts_with("later: "), "{row}"),
            }
        }
        let all: BTreeSet<String> = (1..=count).map(|n| format!("{document}-{n:02}")).collect();
        assert_eq!(numbers, all);
    }
}
