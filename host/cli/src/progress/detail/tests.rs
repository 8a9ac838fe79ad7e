//! What scrolls by in how much detail.

use super::Detail;
use crate::{
    progress::{
        item::{Done, Item, What},
        passage::Passage,
    },
    styled::Line,
};
use gg_core::{CallStatus, SuccessionKind};
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

#[test]
fn what_an_agent_becomes_is_told_however_many_there_are() {
    let became = Passage::Became {
        from: "a2".into(),
        to: "a9".into(),
        profile: "coder".into(),
        kind: SuccessionKind::Fsm,
        modules: "history moved".into(),
    };
    let entered = Passage::Entered { machine: "feature".into(), state: "build".into(), from: None };
    let carried = Passage::Carried { messages: 1, from: "a2".into() };
    let told = |detail: Detail| {
        let items = [(&became, "a2"), (&entered, "a9"), (&carried, "a9")];
        let lines = items.into_iter().flat_map(|(passage, agent)| {
            detail.lines(&Item { agent: Some(agent.into()), what: What::Passage(passage.clone()) }, 200)
        });
        lines.map(|line| line.text()).collect::<Vec<_>>()
    };
    let lines = ["a2   became a9: coder (fsm)  history moved", "a9   state build of feature"];
    assert_eq!(told(Detail::Brief), lines);
    assert_eq!(told(Detail::Milestones), lines);
    assert_eq!(told(Detail::Whole), [&lines[..], &["a9     begins with the prompt alone"]].concat());
}
