//! What scrolls by in how much detail.

use super::Detail;
use crate::{
    progress::item::{Done, Item, What},
    styled::Line,
};
use gg_core::CallStatus;
use std::time::Duration;

fn answered(name: &str, status: CallStatus) -> What {
    What::Answered {
        name: name.into(),
        arguments: format!("path=\"{}.txt\"", "long".repeat(20)),
        status,
        done: Some(Done { elapsed: Duration::from_secs(2), bytes: 70 }),
        glance: "what it says".into(),
    }
}

#[test]
fn a_call_and_its_answer_share_a_line_where_others_do_the_same() {
    let lines = |detail: Detail, what: What| {
        let item = Item { agent: Some("a2".into()), what };
        detail.lines(&item, 200).iter().map(Line::text).collect::<Vec<_>>()
    };
    let called = || What::Called { name: "read_file".into(), arguments: String::new() };
    assert_eq!(lines(Detail::Whole, called()), ["a2     → read_file"]);
    assert_eq!(lines(Detail::Brief, called()), [""; 0]);
    let ok = || answered("read_file", CallStatus::Ok);
    assert_eq!(lines(Detail::Whole, ok()), ["a2     ← read_file ok, 70 B in 2.0 s  what it says"]);
    let brief = "a2     → read_file path=\"longlonglonglonglonglonglonglongl… ok  what it says";
    assert_eq!(lines(Detail::Brief, ok()), [brief]);
    assert_eq!(lines(Detail::Milestones, ok()), [""; 0]);
    let failed = || answered("read_file", CallStatus::Failed);
    assert_eq!(lines(Detail::Milestones, failed()), [brief.replace(" ok ", " failed ")]);
    assert_eq!(lines(Detail::Brief, answered("spawn_subagent", CallStatus::Ok)), [""; 0]);
    assert_eq!(lines(Detail::Brief, answered("spawn_subagent", CallStatus::Refused)).len(), 1);
}
