use super::*;
use gg_module_sdk::{
    Error, Live,
    testing::{Holder, descriptor_faults},
};

fn holder(params: Value) -> Holder<Memories> {
    Holder::open(json!({"params": params})).unwrap()
}

fn refusal(answer: Outcome) -> String {
    match answer {
        Err(CallError::Refused(why)) => why,
        other => panic!("not refused: {other:?}"),
    }
}

fn save(memories: &mut Holder<Memories>, name: &str, text: &str) -> Outcome {
    memories.call("save_memory", json!({"name": name, "text": text}))
}

fn asked(memories: &mut Holder<Memories>, call: &str, arguments: Value) -> String {
    memories.call(call, arguments).unwrap().value.as_str().unwrap().to_owned()
}

#[test]
fn the_descriptor_is_sound() {
    assert_eq!(descriptor_faults::<Memories>(), Vec::<String>::new());
}

#[test]
fn memories_are_saved_replaced_found_listed_and_forgotten() {
    let mut memories = holder(json!({}));
    assert_eq!(asked(&mut memories, "list_memories", json!({})), "There are no memories yet.");
    assert_eq!(asked(&mut memories, "search_memories", json!({"query": "x"})), "There are no memories yet.");
    assert_eq!(
        memories
            .call(
                "save_memory",
                json!({"name": "deploy", "text": "Push to main.\nThen wait.", "tags": ["Release", "ci"]})
            )
            .unwrap(),
        Reply::text("The memory \"deploy\" is saved: 24 bytes.")
            .notify("a1 saved the memory \"deploy\": Push to main. …")
    );
    save(&mut memories, "build", "cargo xtask build").unwrap();
    memories.context.agent = "a2".into();
    memories.context.now_ms += 120_000;
    assert_eq!(
        save(&mut memories, "build", "make").unwrap(),
        Reply::text("The memory \"build\" is replaced: 4 bytes now. Before, a1 had saved: cargo xtask build")
            .notify("a2 replaced the memory \"build\": make")
    );
    assert_eq!(
        asked(&mut memories, "search_memories", json!({"query": "how to deploy a release"})),
        "1 memory fits:\n\n## deploy\n(24 bytes, tagged ci, release, saved by a1 2 min ago)\nPush to main.\n\
         Then wait.\n"
    );
    assert_eq!(
        asked(&mut memories, "search_memories", json!({"query": "ship"})),
        "No memory has any of these words. Try others, or list_memories: there are 2."
    );
    let listed = "2 memories, 48 bytes in all:\n\"build\" (4 bytes, saved by a2 just now): make\n\"deploy\" (24 \
                  bytes, tagged ci, release, saved by a1 2 min ago): Push to main. …\n";
    assert_eq!(asked(&mut memories, "list_memories", json!({})), listed);
    assert_eq!(
        asked(&mut memories, "list_memories", json!({"tag": "CI"})),
        "1 of 2 memories tagged \"ci\":\n\"deploy\" (24 bytes, tagged ci, release, saved by a1 2 min \
         ago): Push to main. …\n"
    );
    assert_eq!(memories.opening(), vec![Note { title: "Memories".into(), body: listed.into() }]);
    assert_eq!(
        memories.call("forget_memory", json!({"name": "build"})).unwrap(),
        Reply::text("The memory \"build\" is forgotten.").notify("a2 removed the memory \"build\"")
    );
    assert_eq!(
        refusal(memories.call("forget_memory", json!({"name": "build"}))),
        "There is no memory \"build\". There are: deploy."
    );
    memories.call("forget_memory", json!({"name": "deploy"})).unwrap();
    assert_eq!(
        refusal(memories.call("forget_memory", json!({"name": "deploy"}))),
        "There is no memory \"deploy\". There are none at all."
    );
    assert_eq!(memories.opening(), vec![]);
}

#[test]
fn a_search_gives_as_many_as_were_asked_for() {
    let mut memories = holder(json!({}));
    for n in 0..9 {
        save(&mut memories, &format!("note {n}"), "the same").unwrap();
    }
    let found = asked(&mut memories, "search_memories", json!({"query": "same"}));
    assert!(found.starts_with("9 memories fit; the first 5:\n"), "{found}");
    assert_eq!(found.matches("## note").count(), 5);
    let found = asked(&mut memories, "search_memories", json!({"query": "note", "limit": 9}));
    assert!(found.starts_with("9 memories fit:\n"), "{found}");
    assert_eq!(found.matches("## note").count(), 9);
}

#[test]
fn caps_hold_and_what_is_over_a_lowered_one_stays() {
    let text = |len: usize| "x".repeat(len);
    let mut memories = holder(json!({"maxMemories": 2, "maxMemoryBytes": 64, "maxBytes": 100}));
    assert_eq!(
        refusal(save(&mut memories, "a", &text(65))),
        "The text is 65 bytes long, and at most 64 are allowed. Say it in fewer words, or split it into several \
         memories."
    );
    save(&mut memories, "a", &text(64)).unwrap();
    assert_eq!(
        refusal(save(&mut memories, "b", &text(35))),
        "The memories would take 101 bytes, and at most 100 are allowed; they take 65 now. Shorten or forget \
         some first."
    );
    save(&mut memories, "b", &text(34)).unwrap();
    assert_eq!(
        refusal(save(&mut memories, "c", "x")),
        "There are 2 memories, and at most 2 are allowed. Forget one first (forget_memory), or save under a \
         name that exists, which replaces it."
    );
    let lower =
        json!({"params": {"maxMemories": 1, "maxMemoryBytes": 64, "maxBytes": 64, "scope": "shared"}});
    memories.live.transfer(&lower.to_string()).unwrap();
    memories.check_round_trip();
    assert!(asked(&mut memories, "search_memories", json!({"query": "a"})).contains(&text(64)));
    refusal(save(&mut memories, "b", &text(35)));
    save(&mut memories, "b", &text(34)).unwrap();
    save(&mut memories, "b", &text(2)).unwrap();
    refusal(save(&mut memories, "b", &text(3)));
}

#[test]
fn names_and_tags_are_short_trimmed_lines() {
    let mut memories = holder(json!({}));
    for name in ["", " ", " a", "a\nb", &"n".repeat(MAX_NAME_BYTES + 1)] {
        refusal(save(&mut memories, name, "x"));
    }
    for tags in [json!([" "]), json!(["a\tb"]), json!(["t".repeat(41)]), json!([1, 2, 3, 4, 5, 6, 7, 8, 9])] {
        let tags = match tags.as_array() {
            Some(many) if many.len() > 1 => json!(many.iter().map(Value::to_string).collect::<Vec<_>>()),
            _ => tags,
        };
        refusal(memories.call("save_memory", json!({"name": "a", "text": "x", "tags": tags})));
    }
    assert_eq!(
        refusal(save(&mut memories, "a", " \n")),
        "A memory needs a text. To remove one, use forget_memory with its name."
    );
    assert_eq!(asked(&mut memories, "list_memories", json!({})), "There are no memories yet.");
}

#[test]
fn a_reader_may_look_and_not_touch() {
    let mut memories = holder(json!({}));
    save(&mut memories, "a", "x").unwrap();
    let writer = memories.prompt()[0].body.clone();
    memories.context.access = "read-only".into();
    for (call, arguments) in [
        ("save_memory", json!({"name": "b", "text": "y"})),
        ("save_memory", json!({"name": "a", "text": "y"})),
        ("forget_memory", json!({"name": "a"})),
    ] {
        let why = refusal(memories.call(call, arguments));
        assert!(why.starts_with(&format!("You may only read this: `{call}` would change it.")), "{why}");
    }
    assert!(asked(&mut memories, "search_memories", json!({"query": "a"})).contains("\nx\n"));
    let reader = memories.prompt()[0].body.clone();
    assert!(writer.contains("save_memory") && !reader.contains("save_memory"), "{reader}");
    assert!(reader.ends_with(" There are: a."), "{reader}");
}

#[test]
fn the_prompt_names_what_there_is() {
    let mut memories = holder(json!({}));
    assert!(memories.prompt()[0].body.ends_with(" There are none yet."));
    save(&mut memories, "deploy", "x").unwrap();
    save(&mut memories, "build", "x").unwrap();
    assert!(memories.prompt()[0].body.ends_with(" There are: build; deploy."));
}

#[test]
fn only_shared_memories_persist() {
    for (scope, persist, fits) in [
        ("shared", true, true),
        ("shared", false, true),
        ("isolated", true, false),
        ("inherited", true, false),
        ("read-only", true, false),
        ("read-only", false, true),
    ] {
        let settings = json!({"params": {"scope": scope, "persist": persist}});
        let opened = Live::<Memories>::open(&settings.to_string());
        match opened {
            Ok(_) => assert!(fits, "{settings}"),
            Err(Error::Settings(why)) => assert!(!fits && why == PERSIST_IS_SHARED, "{settings}: {why}"),
            Err(other) => panic!("{settings}: {other:?}"),
        }
    }
    assert!(matches!(
        Holder::<Memories>::open(json!({"params": {"persist": true}})),
        Err(Error::Settings(_))
    ));
    let mut memories = holder(json!({"scope": "inherited"}));
    save(&mut memories, "a", "x").unwrap();
    let before = memories.bytes();
    assert!(memories.live.transfer(r#"{"params": {"persist": true}}"#).is_err());
    assert_eq!(memories.bytes(), before, "a transfer that is refused changes nothing");
}

#[test]
fn equal_states_give_equal_bytes_however_they_came_about() {
    let mut one = holder(json!({}));
    save(&mut one, "a", "first").unwrap();
    save(&mut one, "b", "second").unwrap();
    let mut other = holder(json!({}));
    save(&mut other, "b", "to be replaced").unwrap();
    save(&mut other, "c", "to be forgotten").unwrap();
    save(&mut other, "a", "first").unwrap();
    other.call("forget_memory", json!({"name": "c"})).unwrap();
    save(&mut other, "b", "second").unwrap();
    assert_eq!(one.bytes(), other.bytes());

    let mut copy = Holder::<Memories>::restore(&one.bytes()).unwrap();
    assert_eq!(copy.bytes(), one.bytes());
    save(&mut copy, "d", "of the copy alone").unwrap();
    assert_eq!(one.bytes(), other.bytes(), "what a copy does is its own");

    copy.live.reset();
    let empty = holder(json!({}));
    assert_eq!(copy.bytes(), empty.bytes());
}

#[test]
fn restoring_refuses_what_is_not_of_this_format() {
    let mut memories = holder(json!({}));
    save(&mut memories, "a", "x").unwrap();
    let bytes = memories.bytes();
    for wrong in [
        b"".to_vec(),
        b"\n".to_vec(),
        bytes[..bytes.len() - 1].to_vec(),
        [&bytes[..], b"x"].concat(),
        String::from_utf8(bytes.clone()).unwrap().replace("gg.memories/1", "gg.memories/2").into_bytes(),
        String::from_utf8(bytes).unwrap().replace("savedMs", "saved").into_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&wrong).into_owned();
        match Holder::<Memories>::restore(&wrong) {
            Err(Error::State(_)) => {}
            Err(other) => panic!("{shown}: {other:?}"),
            Ok(_) => panic!("accepted: {shown}"),
        }
    }
}
