use super::*;
use gg_module_sdk::{
    Role,
    testing::{Holder, descriptor_faults},
};

fn entry(id: u64, turn: u32, role: Role, calls: u16) -> Entry {
    Entry { id, turn, tokens: 10, calls, pinned: false, role }
}

/// A pinned prompt (id 1), then for each turn a reply with calls (2, 4, …) and its results (3, 5, …).
fn conversation(turns: u32) -> Holder<Window> {
    let mut history = Holder::<Window>::open(json!({})).unwrap();
    history.append(&[Entry { pinned: true, ..entry(1, 0, Role::User, 0) }]).unwrap();
    history.messages.put(1, "the prompt");
    for turn in 1..=turns {
        let id = u64::from(turn) * 2;
        history.messages.put(id, format!("reply {turn}"));
        history.messages.put(id + 1, format!("result {turn}"));
        history.context.turn = turn;
        history
            .append(&[entry(id, turn, Role::Assistant, 1), entry(id + 1, turn, Role::Results, 0)])
            .unwrap();
    }
    history.messages.turn.set(turns);
    history
}

fn ids(history: &Holder<Window>) -> Vec<u64> {
    history.changes(0).entries.iter().map(|entry| entry.id).collect()
}

fn refusal(answer: Outcome) -> String {
    match answer {
        Err(CallError::Refused(why)) => why,
        other => panic!("not refused: {other:?}"),
    }
}

fn text(answer: Outcome) -> String {
    match answer.unwrap().value {
        Value::String(text) => text,
        other => panic!("not a text: {other}"),
    }
}

fn thread(from: u32, to: u32) -> Value {
    json!({"from": from, "to": to, "title": "the search"})
}

#[test]
fn the_descriptor_is_sound() {
    assert_eq!(descriptor_faults::<Window>(), Vec::<String>::new());
}

#[test]
fn appending_tells_only_the_tail() {
    let mut history = conversation(2);
    let before = history.changes(0);
    assert_eq!((before.kept, before.entries.len(), before.turn, before.tokens), (0, 5, 2, 50));
    history.append(&[entry(9, 3, Role::User, 0)]).unwrap();
    assert_eq!(
        history.changes(before.revision),
        Changes {
            revision: before.revision + 1,
            kept: 5,
            entries: vec![entry(9, 3, Role::User, 0)],
            turn: 3,
            tokens: 60,
        }
    );
    let now = history.changes(before.revision + 1);
    assert_eq!((now.kept, now.entries), (6, vec![]));
    let copy = Holder::<Window>::restore(&history.bytes()).unwrap();
    assert_eq!(copy.changes(before.revision), history.changes(before.revision), "a copy knows as much");
    assert_eq!(history.changes(999).kept, 0);
}

#[test]
fn pairs_are_never_parted() {
    let mut history = conversation(1);
    let window = ids(&history);
    let bad = [
        vec![entry(9, 2, Role::Results, 0)],
        vec![entry(9, 2, Role::Assistant, 1), entry(10, 2, Role::User, 0)],
        vec![entry(9, 2, Role::Assistant, 1), entry(10, 2, Role::Results, 1)],
    ];
    for entries in bad {
        assert!(matches!(history.append(&entries), Err(Error::Request(_))), "{entries:?}");
        assert_eq!(ids(&history), window);
    }
    history.append(&[entry(9, 2, Role::Assistant, 1)]).unwrap();
    assert!(history.append(&[entry(10, 2, Role::User, 0)]).is_err());
    history.append(&[entry(10, 2, Role::Results, 0)]).unwrap();
}

#[test]
fn summaries_take_the_place_of_their_segments() {
    let mut history = conversation(4);
    let known = history.changes(0).revision;
    let said = |id| entry(id, 4, Role::User, 0);
    history
        .folded(&[
            Summary { first: 2, last: 3, entry: said(50) },
            Summary { first: 6, last: 7, entry: said(51) },
        ])
        .unwrap();
    assert_eq!(ids(&history), [1, 50, 4, 5, 51, 8, 9]);
    let changes = history.changes(known);
    assert_eq!((changes.kept, changes.entries.len(), changes.tokens), (1, 6, 70));

    let revision = changes.revision;
    for (first, last, entry) in [
        (1, 50, said(60)),
        (99, 5, said(60)),
        (8, 4, said(60)),
        (4, 4, said(60)),
        (5, 51, said(60)),
        (4, 5, entry(60, 4, Role::Results, 0)),
        (4, 5, entry(60, 4, Role::Assistant, 1)),
    ] {
        let answer = history.folded(&[Summary { first, last, entry }]);
        assert!(matches!(answer, Err(Error::Request(_))), "{first} to {last}");
        assert_eq!(history.changes(0).revision, revision);
    }
    let backwards =
        [Summary { first: 8, last: 9, entry: said(60) }, Summary { first: 4, last: 5, entry: said(61) }];
    assert!(history.folded(&backwards).is_err());
    history.folded(&[]).unwrap();
    assert_eq!(history.changes(0).revision, revision);
}

#[test]
fn a_thread_is_archived_at_the_turns_end_and_read_back() {
    let mut history = conversation(4);
    let known = history.changes(0).revision;
    assert_eq!(
        text(history.declare("archive_thread", thread(2, 3))),
        "Noted: turns 2 to 3 (4 messages, about 40 tokens) are archived at the end of this turn."
    );
    assert_eq!(history.changes(known).entries, vec![], "declaring changes nothing");
    assert_eq!(history.prompt(), vec![]);
    assert_eq!(
        text(history.apply("archive_thread", thread(2, 3))),
        "Turns 2 to 3 are archived as archive 1: 4 messages, about 40 tokens."
    );
    let stub = 1_000_000;
    assert_eq!(ids(&history), [1, 2, 3, stub, 8, 9]);
    assert_eq!(history.changes(known).kept, 3);
    assert_eq!(
        history.messages.get(stub),
        "[Turns 2 to 3 were archived as archive 1, \"the search\": 4 messages, about 40 tokens. read_archive \
         gives them back.]"
    );
    assert_eq!(
        text(history.call("read_archive", json!({"archive": 1}))),
        "[turn 2, reply]\nreply 2\n[turn 2, results]\nresult 2\n[turn 3, reply]\nreply 3\n[turn 3, \
         results]\nresult 3\n"
    );
    assert_eq!(
        history.prompt(),
        vec![Section {
            title: "Archives".into(),
            body: "Earlier turns that read_archive gives back:\n1 \"the search\" (turns 2 to 3)".into(),
        }]
    );
    assert_eq!(
        refusal(history.declare("archive_thread", thread(2, 3))),
        "Nothing of turns 2 to 3 can be archived. The turns that can be archived are 1."
    );
}

#[test]
fn a_long_archive_is_read_page_by_page() {
    let mut history = conversation(3);
    history.messages.put(2, "ñ".repeat(PAGE_BYTES));
    history.messages.put(3, "b".repeat(PAGE_BYTES));
    history.apply("archive_thread", thread(1, 2)).unwrap();
    let (mut offset, mut joined, mut pages) = (0, String::new(), 0);
    loop {
        let read = text(history.call("read_archive", json!({"archive": 1, "offset": offset})));
        assert!(read.len() <= PAGE_BYTES + 60, "{}", read.len());
        pages += 1;
        let (part, end) = read.rsplit_once("\n[the archive ").unwrap();
        joined.push_str(part);
        match end.strip_prefix("goes on at offset ") {
            Some(next) => offset = next.trim_end_matches(']').parse().unwrap(),
            None => break,
        }
    }
    let whole = format!(
        "[turn 1, reply]\n{}\n[turn 1, results]\n{}\n[turn 2, reply]\nreply 2\n[turn 2, results]\nresult 2\n",
        "ñ".repeat(PAGE_BYTES),
        "b".repeat(PAGE_BYTES)
    );
    assert_eq!(joined, whole);
    assert_eq!(pages, 4);
    assert_eq!(
        refusal(history.call("read_archive", json!({"archive": 1, "offset": whole.len()}))),
        format!("Archive 1 is {} bytes long, so there is nothing at offset {}.", whole.len(), whole.len())
    );
}

#[test]
fn archiving_refuses_with_what_would_be_right() {
    let mut history = conversation(4);
    assert_eq!(
        refusal(history.declare("archive_thread", thread(2, 4))),
        "Only turns that are over can be archived, and this is turn 4. The turns that can be archived are 1 to 3."
    );
    assert_eq!(
        refusal(history.declare("archive_thread", thread(3, 2))),
        "`from` is the first turn and `to` the last, so 3 to 2 is empty. The turns that can be archived are 1 to 3."
    );
    assert!(
        refusal(history.declare("archive_thread", thread(0, 0))).starts_with("Nothing of turns 0 to 0"),
        "the prompt is pinned"
    );
    assert_eq!(
        refusal(history.declare("archive_thread", json!({"from": 1, "to": 2, "title": " "}))),
        "`title` is one line of 1 to 200 bytes that says what the turns were about."
    );
    assert_eq!(
        refusal(history.call("read_archive", json!({"archive": 1}))),
        "There is no archive 1: nothing was archived yet."
    );
    history.apply("archive_thread", thread(1, 1)).unwrap();
    assert_eq!(
        refusal(history.call("read_archive", json!({"archive": 2}))),
        "There is no archive 2. There are: 1 \"the search\" (turns 1 to 1)."
    );
    history.messages.broken.set(true);
    assert_eq!(
        history.apply("archive_thread", thread(2, 2)),
        Err(CallError::failed("the stub could not be made: no notes now"))
    );
}

#[test]
fn without_the_feature_both_calls_refuse_and_archives_stay() {
    let mut history = conversation(3);
    history.apply("archive_thread", thread(1, 1)).unwrap();
    history.live.transfer(r#"{"features": {"archive": false}}"#).unwrap();
    for (name, arguments) in [("archive_thread", thread(2, 2)), ("read_archive", json!({"archive": 1}))] {
        assert_eq!(
            refusal(history.declare(name, arguments)),
            format!("`{name}` is not available: the feature `archive` is off.")
        );
    }
    assert_eq!(history.prompt(), vec![]);
    history.live.transfer("{}").unwrap();
    history.call("read_archive", json!({"archive": 1})).unwrap();
}

#[test]
fn resetting_leaves_what_opening_makes() {
    let mut history = conversation(3);
    history.apply("archive_thread", thread(1, 1)).unwrap();
    history.live.reset();
    assert_eq!(history.bytes(), Holder::<Window>::open(json!({})).unwrap().bytes());
}
