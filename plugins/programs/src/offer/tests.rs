use super::*;
use gg_module_sdk::{
    Error,
    testing::{Holder, descriptor_faults},
};
use std::collections::BTreeSet;

/// A library that records, as gg opens it.
fn holder(params: Value) -> Holder<Library> {
    Holder::open(json!({"params": params, "features": {"record": true}})).unwrap()
}

fn refusal(answer: Outcome) -> String {
    match answer {
        Err(CallError::Refused(why)) => why,
        other => panic!("not refused: {other:?}"),
    }
}

fn record(library: &mut Holder<Library>, source: &str, outcome: &str) -> String {
    let recorded = library.call("record_program", json!({"source": source, "outcome": outcome})).unwrap();
    recorded.value["id"].as_str().unwrap().to_owned()
}

fn ids(library: &mut Holder<Library>) -> Vec<String> {
    let listed = library.call("list_programs", json!({"limit": 100})).unwrap().value;
    let id = |program: &Value| program["id"].as_str().unwrap().to_owned();
    listed["programs"].as_array().unwrap().iter().map(id).collect()
}

/// The copy that a fork makes: the same bytes, held by another agent.
fn fork(library: &Holder<Library>, agent: u64) -> Holder<Library> {
    let mut copy = Holder::<Library>::restore(&library.bytes()).unwrap();
    copy.context.agent = format!("a{agent}");
    copy.context.salt = agent.wrapping_mul(0x1234_5678_9abc_def1);
    copy
}

#[test]
fn the_descriptor_is_sound_and_recording_is_not_for_models() {
    assert_eq!(descriptor_faults::<Library>(), Vec::<String>::new());
    let mut library = Holder::<Library>::open(json!({})).unwrap();
    assert_eq!(
        refusal(library.call("record_program", json!({"source": "1", "outcome": "1"}))),
        "`record_program` is not available: the feature `record` is off."
    );
}

#[test]
fn programs_are_recorded_listed_and_read() {
    let mut library = holder(json!({}));
    assert_eq!(library.opening(), vec![]);
    assert_eq!(library.call("list_programs", json!({})).unwrap().value, json!({"programs": [], "more": 0}));
    library.context.turn = 3;
    let first = record(&mut library, "\nprint(1);\nreturn 2;", "2\nprinted: 1");
    let second = record(&mut library, "fail()", "TypeError");
    assert_eq!((first.len(), second.len()), (6, 6));
    assert_ne!(first, second);
    let of_first = json!({
        "id": first, "agent": "a1", "turn": 3, "bytes": 20, "source": "print(1); …", "outcome": "2 …",
    });
    let of_second = json!({
        "id": second, "agent": "a1", "turn": 3, "bytes": 6, "source": "fail()", "outcome": "TypeError",
    });
    assert_eq!(
        library.call("list_programs", json!({})).unwrap().value,
        json!({"programs": [of_second, of_first], "more": 0})
    );
    assert_eq!(
        library.call("list_programs", json!({"limit": 1})).unwrap().value,
        json!({"programs": [of_second], "more": 1})
    );
    assert_eq!(
        library.call("list_programs", json!({"before": second})).unwrap().value,
        json!({"programs": [of_first], "more": 0})
    );
    assert_eq!(
        library.call("read_program", json!({"id": first})).unwrap().value,
        json!({
            "id": first, "agent": "a1", "turn": 3, "bytes": 20, "source": "\nprint(1);\nreturn 2;",
            "outcome": "2\nprinted: 1",
        })
    );
    assert_eq!(
        library.opening(),
        vec![Note {
            title: "Program library".into(),
            body: format!(
                "2 programs are kept, the newest first:\n{second}: fail() → TypeError\n{first}: print(1); … → 2 …\n"
            ),
        }]
    );
}

#[test]
fn a_long_source_is_read_in_parts() {
    let mut library = holder(json!({}));
    let source = "ñ".repeat(READ_BYTES);
    let id = record(&mut library, &source, "");
    let (mut whole, mut at, mut parts) = (String::new(), json!(0), 0);
    while !at.is_null() {
        let part = library.call("read_program", json!({"id": id, "offset": at})).unwrap().value;
        whole.push_str(part["source"].as_str().unwrap());
        at = part["next"].clone();
        parts += 1;
    }
    assert_eq!((whole == source, parts), (true, 2));
    let why = refusal(library.call("read_program", json!({"id": id, "offset": source.len() + 1})));
    assert!(why.ends_with("`offset` may be 0 to 49152."), "{why}");
}

#[test]
fn the_oldest_go_first_and_are_said_to_be_gone() {
    let mut library = holder(json!({"maxEntries": 2}));
    let recorded: Vec<String> = (0..4).map(|n| record(&mut library, &format!("p{n}"), "")).collect();
    assert_eq!(ids(&mut library), [recorded[3].clone(), recorded[2].clone()]);
    assert_eq!(
        refusal(library.call("read_program", json!({"id": recorded[0]}))),
        format!(
            "The program \"{}\" is not kept any more: only the newest are, and there are 2.",
            recorded[0]
        )
    );
    assert_eq!(
        refusal(library.call("read_program", json!({"id": "zzzzzz"}))),
        format!("There is no program \"zzzzzz\". There are: {}, {}.", recorded[3], recorded[2])
    );
    let answer = library.call("record_program", json!({"source": "p4", "outcome": ""})).unwrap();
    assert_eq!(answer.value["dropped"], json!([recorded[2]]));

    let mut library = holder(json!({"maxBytes": 1024, "maxSourceBytes": 1024, "maxOutcomeBytes": 10}));
    let text = |len: usize| "x".repeat(len);
    let first = record(&mut library, &text(500), &text(10));
    let second = record(&mut library, &text(514), "");
    assert_eq!(ids(&mut library), [second.clone(), first]);
    let third = record(&mut library, &text(600), &text(11));
    assert_eq!(ids(&mut library), std::slice::from_ref(&third));
    assert_eq!(
        library.call("read_program", json!({"id": third})).unwrap().value["outcome"],
        format!("{}\n[1 bytes more were not kept]", text(10))
    );
    assert_eq!(
        refusal(library.call("record_program", json!({"source": text(1025), "outcome": ""}))),
        "The program is 1025 bytes long, and at most 1024 are kept."
    );
}

#[test]
fn a_successor_keeps_its_own_retention_and_id_length() {
    let mut library = holder(json!({}));
    let before: Vec<String> = (0..5).map(|n| record(&mut library, &format!("p{n}"), "")).collect();
    let mut successor = fork(&library, 2);
    let settings = json!({"params": {"maxEntries": 2, "idLength": 9}, "features": {"record": true}});
    successor.live.transfer(&settings.to_string()).unwrap();
    successor.check_round_trip();
    assert_eq!(ids(&mut successor).len(), 5, "what was kept stays until something is added");
    let id = record(&mut successor, "p5", "");
    assert_eq!(id.len(), 9);
    assert_eq!(ids(&mut successor), [id, before[4].clone()]);
    let why = refusal(successor.call("read_program", json!({"id": before[0]})));
    assert!(why.contains("is not kept any more"), "{why}");
}

#[test]
fn no_two_copies_ever_issue_the_same_id() {
    // With ids of three characters, chance alone would repeat one in the first few hundred.
    let mut first = holder(json!({"idLength": 3, "maxEntries": 3}));
    let mut issued: Vec<String> = (0..10).map(|n| record(&mut first, &format!("{n}"), "")).collect();
    let mut copies = vec![first];
    for agent in 2..=40 {
        // Each copy is made of another one, and all go on issuing.
        let from = (agent as usize * 7) % copies.len();
        let mut copy = fork(&copies[from], agent);
        assert_eq!(ids(&mut copy), ids(&mut copies[from]), "a copy has what was kept before the fork");
        copies.push(copy);
        for copy in &mut copies {
            issued.push(record(copy, "more", ""));
        }
    }
    let distinct: BTreeSet<&String> = issued.iter().collect();
    assert_eq!(distinct.len(), issued.len());
    assert_eq!(issued.len(), 10 + (2..=40).sum::<usize>());
    assert!(issued.iter().all(|id| id.len() == 3), "none had to be longer");
}

#[test]
fn an_id_that_a_made_up_state_holds_is_passed_over() {
    let mut library = holder(json!({}));
    let taken = record(&mut library, "first", "");
    let bytes = String::from_utf8(library.bytes()).unwrap();
    let (header, _) = bytes.split_once('\n').unwrap();
    let entry = json!({"id": taken, "source": "x", "outcome": "", "agent": "a9", "turn": 1});
    let state = format!("{header}\n{}", json!({"entries": [entry], "issued": []}));
    let mut library = Holder::<Library>::restore(state.as_bytes()).unwrap();
    let next = record(&mut library, "second", "");
    assert_ne!(next, taken);
    assert_eq!(ids(&mut library), [next, taken]);
}

#[test]
fn a_reader_may_look_and_not_touch() {
    let mut library = holder(json!({}));
    let id = record(&mut library, "p", "");
    library.context.access = "read-only".into();
    refusal(library.call("record_program", json!({"source": "q", "outcome": ""})));
    library.call("read_program", json!({"id": id})).unwrap();
}

#[test]
fn states_are_canonical_and_a_reset_lets_all_go() {
    let mut one = holder(json!({}));
    let mut other = holder(json!({}));
    for library in [&mut one, &mut other] {
        record(library, "p", "o");
        record(library, "q", "o");
    }
    assert_eq!(one.bytes(), other.bytes());
    assert_eq!(Holder::<Library>::restore(&one.bytes()).unwrap().bytes(), one.bytes());
    one.live.reset();
    assert_eq!(one.bytes(), holder(json!({})).bytes());

    let bytes = other.bytes();
    for wrong in [
        b"".to_vec(),
        bytes[..bytes.len() - 1].to_vec(),
        String::from_utf8(bytes.clone()).unwrap().replace("gg.programs/1", "gg.programs/2").into_bytes(),
        String::from_utf8(bytes).unwrap().replace("\"holder\"", "\"owner\"").into_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&wrong).into_owned();
        match Holder::<Library>::restore(&wrong) {
            Err(Error::State(_)) => {}
            Err(other) => panic!("{shown}: {other:?}"),
            Ok(_) => panic!("accepted: {shown}"),
        }
    }
}

#[test]
fn the_opening_is_bounded() {
    let mut library = Library::default();
    let params = Params { max_entries: 1000, ..Params::default() };
    for _ in 0..200 {
        let ran = Ran { source: "ñ".repeat(200), outcome: &"ö".repeat(200), agent: "a1", turn: 1, salt: 1 };
        library.record(ran, &params).unwrap();
    }
    let opening = opening(&library);
    assert!(opening.len() <= OPENING_BYTES + 40, "{}", opening.len());
    assert!(opening.ends_with("[list_programs shows the rest]\n"), "{opening}");
}
