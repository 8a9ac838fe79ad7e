//! What is told of runs in which agents become others.

use super::{Telling, Told};
use crate::{progress::tests::Feed, styled::Line};
use gg_core::AgentId;

fn told(feed: &Feed, told: Told, only: Option<&AgentId>) -> String {
    let mut telling = Telling::new(&feed.view, told, only, 100);
    let mut lines: Vec<Line> = feed.log.iter().flat_map(|event| telling.observe(event.clone())).collect();
    let (left, ending) = telling.finish();
    assert_eq!(ending, None);
    lines.extend(left);
    lines.iter().map(|line| format!("{}\n", line.text().trim_end())).collect()
}

#[test]
fn a_machine_is_told_turn_by_turn() {
    let feed = Feed::test_driven();
    let (first, third) = (AgentId::nth(1), AgentId::nth(3));
    insta::assert_snapshot!("turns", told(&feed, Told::Turns, None));
    insta::assert_snapshot!("turns_first", told(&feed, Told::Turns, Some(&first)));
    insta::assert_snapshot!("turns_third", told(&feed, Told::Turns, Some(&third)));
}

#[test]
fn what_was_taken_over_stands_in_a_transcript_once() {
    let feed = Feed::handed_over();
    let (first, second, copy) = (AgentId::nth(1), AgentId::nth(2), AgentId::nth(3));
    insta::assert_snapshot!("transcript", told(&feed, Told::Whole, None));
    insta::assert_snapshot!("transcript_first", told(&feed, Told::Whole, Some(&first)));
    insta::assert_snapshot!("transcript_second", told(&feed, Told::Whole, Some(&second)));
    insta::assert_snapshot!("transcript_copy", told(&feed, Told::Whole, Some(&copy)));
    insta::assert_snapshot!("turns_of_all", told(&feed, Told::Turns, None));
}

#[test]
fn what_was_taken_over_is_told_even_if_nothing_follows() {
    let mut feed = Feed::handed_over();
    let end = feed.log.iter().position(|event| event.agent == Some(AgentId::nth(2)));
    feed.log.truncate(end.unwrap() + 4);
    let shown = told(&feed, Told::Whole, None);
    assert!(shown.ends_with("── a2 before its first turn ──\n  begins with 2 messages of a1\n"), "{shown}");
}
