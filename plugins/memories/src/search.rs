//! Finding memories by words.
//!
//! The rank of a memory is, in this order: whether the query is its very name; how many of the query's words it
//! has; how much weight they carry by where they stand; its name. So equal memories and queries always give the
//! same list, on every machine.

use crate::store::{Memories, Memory};
use std::{cmp::Reverse, collections::BTreeSet};

/// The most words of a query that count: a sentence or two.
const MAX_TERMS: usize = 32;

/// What a word in the name is worth. One in a name says what the memory is about; one in the text only that it
/// comes up.
const IN_NAME: usize = 8;

/// What a word that is a tag, or part of one, is worth.
const IN_TAG: usize = 6;

/// The most that a word in the text is worth: one point for each time it stands there.
const MOST_IN_TEXT: usize = 4;

/// A memory that a query found.
pub(crate) struct Hit<'a> {
    pub(crate) name: &'a str,
    pub(crate) memory: &'a Memory,
}

/// The memories that have any of the query's words, the best first. Empty if the query has no words.
pub(crate) fn search<'a>(memories: &'a Memories, query: &str) -> Vec<Hit<'a>> {
    let terms: Vec<String> = {
        let mut seen = BTreeSet::new();
        words(query).filter(|word| seen.insert(word.clone())).take(MAX_TERMS).collect()
    };
    let exact = query.trim();
    let mut ranked: Vec<_> = memories
        .all()
        .filter_map(|(name, memory)| {
            let (matched, weight) = weigh(name, memory, &terms);
            let named = name == exact;
            (named || matched > 0).then_some((Reverse((named, matched, weight)), Hit { name, memory }))
        })
        .collect();
    // Stable, and the memories come by name, so equal ranks stay in the order of their names.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, hit)| hit).collect()
}

/// How many of the terms the memory has, and their weight together.
fn weigh(name: &str, memory: &Memory, terms: &[String]) -> (usize, usize) {
    let name: BTreeSet<String> = words(name).collect();
    let tags: BTreeSet<String> = memory.tags.iter().flat_map(|tag| words(tag)).collect();
    let mut in_text = vec![0; terms.len()];
    for word in words(&memory.text) {
        for (count, term) in in_text.iter_mut().zip(terms) {
            *count += usize::from(fits(&word, term));
        }
    }
    let has = |words: &BTreeSet<String>, term: &str| words.iter().any(|word| fits(word, term));
    let weights = terms.iter().zip(in_text).map(|(term, count)| {
        let in_name = if has(&name, term) { IN_NAME } else { 0 };
        let in_tag = if has(&tags, term) { IN_TAG } else { 0 };
        in_name + in_tag + count.min(MOST_IN_TEXT)
    });
    weights.filter(|weight| *weight > 0).fold((0, 0), |(matched, sum), weight| (matched + 1, sum + weight))
}

/// Whether a word is the one that was asked for, or begins with it: "deploy" finds "deployment". Short terms
/// would begin too many words.
fn fits(word: &str, term: &str) -> bool {
    /// The shortest term that may be the beginning of a word, in bytes.
    const SHORTEST_BEGINNING: usize = 4;
    word == term || (term.len() >= SHORTEST_BEGINNING && word.starts_with(term))
}

/// The words of a text in lower case: runs of letters and digits of any script.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Params;

    fn memories(all: &[(&str, &str, &[&str])]) -> Memories {
        let mut memories = Memories::default();
        for (name, text, tags) in all {
            let memory = Memory {
                text: (*text).into(),
                tags: tags.iter().map(|tag| (*tag).into()).collect(),
                by: "a1".into(),
                saved_ms: 0,
            };
            memories.save(name, memory, &Params::default()).unwrap();
        }
        memories
    }

    fn found<'a>(memories: &'a Memories, query: &str) -> Vec<&'a str> {
        search(memories, query).into_iter().map(|hit| hit.name).collect()
    }

    #[test]
    fn the_query_s_own_name_comes_first_then_more_words_then_better_places() {
        let memories = memories(&[
            ("build", "cargo xtask build", &[]),
            ("deploy", "Push to main; the deployment starts by itself.", &["release"]),
            ("deploy the docs", "mkdocs, then push", &[]),
            ("people", "Ada knows the build and how to deploy.", &[]),
            ("release notes", "write RELEASE.md", &[]),
        ]);
        assert_eq!(found(&memories, "deploy"), ["deploy", "deploy the docs", "people"]);
        assert_eq!(found(&memories, "build deploy"), ["people", "build", "deploy", "deploy the docs"]);
        assert_eq!(found(&memories, "Release"), ["release notes", "deploy"]);
        assert_eq!(found(&memories, "deploy the docs"), ["deploy the docs", "deploy", "people"]);
        assert_eq!(found(&memories, "ship"), [""; 0]);
        assert_eq!(found(&memories, " ?! "), [""; 0]);
    }

    #[test]
    fn equal_ranks_come_by_name() {
        let memories =
            memories(&[("b", "same words", &[]), ("c", "same words", &[]), ("a", "same words", &[])]);
        assert_eq!(found(&memories, "words"), ["a", "b", "c"]);
    }

    #[test]
    fn words_of_any_script_are_found_in_any_case_and_by_their_beginning() {
        let memories = memories(&[("Größe", "Die ÄPFEL sind groß; it is 42.", &["München"])]);
        for query in ["äpfel", "GRÖSSE äpfel", "42", "münchen", "apple größe", "groß"] {
            assert_eq!(found(&memories, query), ["Größe"], "{query}");
        }
        assert_eq!(found(&memories, "sin"), [""; 0], "three letters are a word, not a beginning");
    }

    #[test]
    fn a_name_without_words_is_found_by_itself() {
        let memories = memories(&[("→", "an arrow", &[])]);
        assert_eq!(found(&memories, " → "), ["→"]);
    }
}
