//! Memories that several agents hold, and memories that outlive their run, in whole runs.

use gg_core::{AgentId, Event, Origin};
use gg_runtime::AgentSnapshot;
use gg_store::{InboxKind, RunReader};
use gg_tests::{Played, Scenario, root};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn save(name: &str, text: &str) -> Value {
    call("save_memory", json!({ "name": name, "text": text }))
}

fn search(query: &str) -> Value {
    call("search_memories", json!({ "query": query }))
}

fn spawn(agent: &str) -> Value {
    call("spawn_subagent", json!({ "agent": agent, "prompt": "Go." }))
}

fn wait() -> Value {
    call("wait_for_subagents", json!({}))
}

fn finish() -> Value {
    call("finish", json!({ "outcome": "success", "text": "done" }))
}

/// An agent that keeps memories, if it is to, and may spawn all the others.
fn agent(id: &str, memories: Value, roster: &[&str]) -> Value {
    let mut capabilities = Vec::new();
    if !memories.is_null() {
        capabilities.push(json!({ "id": "memories", "enabled": true, "params": memories }));
    }
    if !roster.is_empty() {
        capabilities.push(json!({ "id": "subagents", "enabled": true, "params": { "maxDepth": 3 } }));
    }
    let entry = |id: &&str| json!({ "agentId": id, "scopes": ["subagent"] });
    json!({
        "id": id,
        "model": { "provider": "script", "name": "scripted", "contextWindow": 16000, "maxOutput": 500 },
        "prompt": "You are under test.",
        "maxTurns": 12,
        "roster": roster.iter().map(entry).collect::<Vec<_>>(),
        "capabilities": capabilities,
    })
}

/// A configuration in a folder of its own, with its script.
struct Setting {
    folder: TempDir,
    configuration: Value,
}

impl Setting {
    fn new(agents: Value, replies: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("script.json"), json!({ "replies": replies }).to_string()).unwrap();
        let configuration = json!({
            "maxParallel": 4,
            "providers": { "script": { "api": "scripted", "script": "script.json" } },
            "agents": agents,
        });
        Self { folder, configuration }
    }

    fn scenario(&self) -> Scenario {
        Scenario::of(self.folder.path(), &self.configuration.to_string(), "Go.")
    }

    async fn play(&self) -> Played {
        good(self.scenario().play().await)
    }
}

fn good(played: Played) -> Played {
    let bad = played
        .events
        .iter()
        .any(|recorded| matches!(&recorded.event, Event::AgentEnded { ending, .. } if !ending.is_good()));
    assert!(!bad && played.summary.ending.is_good(), "{}", played.story());
    played
}

/// The modules of the kind `memories` that are left when the run is over: profile, state and holders.
fn left(dir: &Path) -> Vec<(Option<String>, String, usize)> {
    let reader = RunReader::open(dir).unwrap();
    let all = reader.all_modules().unwrap().into_iter().filter(|(module, _)| module.kind == "memories");
    all.map(|(module, holders)| {
        let state =
            module.state.map_or_else(|| "-".into(), |state| String::from_utf8(state.to_vec()).unwrap());
        (module.profile.map(|profile| profile.to_string()), state, holders.len())
    })
    .collect()
}

#[tokio::test]
async fn isolated_memories_are_each_agent_s_own() {
    let setting = Setting::new(
        json!([agent("lead", json!({}), &["helper"]), agent("helper", json!({ "scope": "isolated" }), &[])]),
        json!([
            { "agent": "lead", "turn": 1, "calls": [save("plan", "of the lead"), spawn("helper"), wait()] },
            {
                "agent": "helper", "turn": 1,
                "expect": { "systemContains": "There are none yet." },
                "calls": [search("plan"), save("plan", "of the helper")],
            },
            {
                "agent": "helper", "turn": 2,
                "expect": { "results": {
                    "search_memories": "There are no memories yet.", "save_memory": "is saved",
                } },
                "text": "done",
            },
            { "agent": "lead", "turn": 2, "calls": [search("plan")] },
            {
                "agent": "lead", "turn": 3,
                "expect": { "results": { "search_memories": "of the lead" }, "notContains": "of the helper" },
                "text": "done",
            },
        ]),
    );
    let played = setting.play().await;
    for agent in ["a1", "a2"] {
        assert_eq!(played.told(agent, Origin::Notice), [""; 0]);
        assert_eq!(played.told(agent, Origin::Opening), [""; 0]);
    }
}

#[tokio::test]
async fn shared_memories_are_one_for_all_agents_of_a_profile_to_the_run_s_end() {
    let setting = Setting::new(
        json!([
            agent("lead", json!({ "scope": "shared" }), &["worker"]),
            agent("worker", json!({ "scope": "shared" }), &[]),
        ]),
        json!([
            { "agent": "lead", "turn": 1, "calls": [save("mine", "the lead's"), spawn("worker"), wait()] },
            { "agent": "a2", "turn": 1, "expect": { "systemContains": "none yet" }, "calls": [save("ours", "the first's")] },
            { "agent": "a2", "turn": 2, "text": "done" },
            { "agent": "lead", "turn": 2, "calls": [spawn("worker"), wait()] },
            // The first worker has ended, and what it saved is still there.
            {
                "agent": "a3", "turn": 1,
                "expect": { "systemContains": "There are: ours.", "contains": "1 memory, 15 bytes in all" },
                "calls": [search("ours mine")],
            },
            {
                "agent": "a3", "turn": 2,
                "expect": { "results": { "search_memories": "1 memory fits" }, "contains": "the first's" },
                "text": "done",
            },
            { "agent": "lead", "turn": 3, "expect": { "systemContains": "There are: mine." }, "text": "done" },
        ]),
    );
    let played = setting.play().await;
    let left = left(&played.dir);
    let of = |profile: &str| left.iter().find(|(owner, ..)| owner.as_deref() == Some(profile)).unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(of("worker").1.contains("the first's") && !of("worker").1.contains("the lead's"), "{left:?}");
    assert_eq!((of("worker").2, of("lead").2), (0, 0), "whoever ended has let go");
}

#[tokio::test]
async fn inherited_memories_are_the_spawner_s_and_both_are_told_of_changes() {
    let setting = Setting::new(
        json!([
            agent("lead", json!({}), &["heir"]),
            agent("heir", json!({ "scope": "inherited" }), &["heir"]),
        ]),
        json!([
            { "agent": "a1", "turn": 1, "calls": [save("plan", "first look, then leap"), spawn("heir"), wait()] },
            {
                "agent": "a2", "turn": 1,
                "expect": { "systemContains": "There are: plan.", "contains": "first look, then leap" },
                "calls": [save("found", "the leap is long"), spawn("heir"), wait()],
            },
            // Whom an heir spawns inherits the same.
            {
                "agent": "a3", "turn": 1,
                "expect": { "systemContains": "There are: found; plan." },
                "calls": [call("forget_memory", json!({ "name": "plan" }))],
            },
            { "agent": "a3", "turn": 2, "text": "done" },
            {
                "agent": "a2", "turn": 2,
                "expect": { "systemContains": "There are: found.", "lastContains": "a3 removed the memory" },
                "text": "done",
            },
            { "agent": "a1", "turn": 2, "calls": [search("leap")] },
            { "agent": "a1", "turn": 3, "expect": { "results": { "search_memories": "the leap is long" } }, "text": "done" },
        ]),
    );
    let holders: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let seen = holders.clone();
    let scenario = setting.scenario().observed(Arc::new(move |snapshot: &AgentSnapshot| {
        let reader = RunReader::open(&snapshot.dir).unwrap();
        for (module, holders) in reader.all_modules().unwrap() {
            let holders: Vec<String> = holders.iter().map(ToString::to_string).collect();
            let mut seen = seen.lock().unwrap();
            if module.kind == "memories" && seen.last() != Some(&holders) {
                seen.push(holders);
            }
        }
    }));
    let played = good(scenario.play().await);
    assert_eq!(
        played.told("a1", Origin::Notice),
        ["Others changed what you hold together:\n- a2 saved the memory \"found\": the leap is long\n- a3 \
          removed the memory \"plan\""]
    );
    assert_eq!(
        played.told("a2", Origin::Notice),
        ["Others changed what you hold together:\n- a3 removed the memory \"plan\""]
    );
    assert_eq!(played.told("a3", Origin::Notice), [""; 0]);
    let opening = played.told("a2", Origin::Opening);
    assert_eq!(
        opening,
        [
            "Memories\n1 memory, 25 bytes in all:\n\"plan\" (21 bytes, saved by a1 just now): first look, then \
          leap\n"
        ]
    );
    let all = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        *holders.lock().unwrap(),
        [all(&["a1"]), all(&["a1", "a2"]), all(&["a1", "a2", "a3"]), all(&["a1", "a2"]), all(&["a1"])]
    );
    assert_eq!(left(&played.dir), [], "the state goes with its last holder");
}

#[tokio::test]
async fn a_reader_finds_what_its_spawner_keeps_and_may_not_change_it() {
    let setting = Setting::new(
        json!([agent("lead", json!({}), &["reader"]), agent("reader", json!({ "scope": "read-only" }), &[])]),
        json!([
            { "agent": "lead", "turn": 1, "calls": [save("plan", "first look"), spawn("reader"), wait()] },
            {
                "agent": "reader", "turn": 1,
                "expect": { "systemContains": "You can read memories that others keep" },
                "calls": [search("look"), save("plan", "leap")],
            },
            {
                "agent": "reader", "turn": 2,
                "expect": { "results": {
                    "search_memories": "first look", "save_memory": "You may only read this",
                } },
                "text": "done",
            },
            { "agent": "lead", "turn": 2, "calls": [search("plan")] },
            { "agent": "lead", "turn": 3, "expect": { "results": { "search_memories": "first look" } }, "text": "done" },
        ]),
    );
    let played = setting.play().await;
    assert_eq!(played.told("a1", Origin::Notice), [""; 0]);
}

#[tokio::test]
async fn without_a_spawner_s_memories_an_heir_starts_fresh_and_a_reader_is_told_that_there_are_none() {
    let own = |scope: &str| json!({ "scope": scope });
    for (lead, heir) in [(own("inherited"), Value::Null), (Value::Null, own("inherited"))] {
        let is_child = lead.is_null();
        let roster: &[&str] = if is_child { &["heir"] } else { &[] };
        let who = if is_child { "heir" } else { "lead" };
        let mut replies = vec![
            json!({ "agent": who, "turn": 1, "calls": [save("plan", "mine")] }),
            json!({ "agent": who, "turn": 2, "expect": { "results": { "save_memory": "is saved" } }, "text": "done" }),
        ];
        if is_child {
            replies.push(json!({ "agent": "lead", "turn": 1, "calls": [spawn("heir"), wait()] }));
            replies.push(json!({ "agent": "lead", "turn": 2, "text": "done" }));
        }
        let setting = Setting::new(
            json!([agent("lead", lead, roster), agent("heir", heir, &[])]),
            Value::Array(replies),
        );
        setting.play().await;
    }

    let setting = Setting::new(
        json!([agent("lead", own("read-only"), &[])]),
        json!([
            { "turn": 1, "calls": [save("plan", "mine")] },
            { "turn": 2, "expect": { "results": { "save_memory": "You may only read this" } }, "text": "done" },
        ]),
    );
    let played = setting.play().await;
    let note = played.told("a1", Origin::Opening);
    assert_eq!(note.len(), 1);
    assert!(
        note[0].starts_with("Memories\nYou may only read what the agent that spawned you lends you"),
        "{note:?}"
    );
}

#[tokio::test]
async fn an_unread_notice_does_not_keep_its_reader_at_work() {
    let setting = Setting::new(
        json!([agent("lead", json!({}), &["heir"]), agent("heir", json!({ "scope": "inherited" }), &[])]),
        json!([
            { "agent": "lead", "turn": 1, "calls": [spawn("heir"), wait(), finish()] },
            { "agent": "heir", "turn": 1, "calls": [save("late", "word")] },
            { "agent": "heir", "turn": 2, "text": "done" },
        ]),
    );
    let played = setting.play().await;
    let reader = RunReader::open(&played.dir).unwrap();
    let unread = reader.inbox(&AgentId::nth(1)).unwrap();
    assert_eq!(unread.len(), 1);
    assert_eq!((unread[0].kind, unread[0].from.clone()), (InboxKind::Notice, Some(AgentId::nth(2))));
    assert_eq!(unread[0].text, "a2 saved the memory \"late\": word");
}

#[tokio::test]
async fn who_was_away_for_long_is_told_that_there_was_more() {
    let saves: Vec<Value> = (0..40).map(|n| save(&format!("note {n}"), "x")).collect();
    let setting = Setting::new(
        json!([agent("lead", json!({}), &["heir"]), agent("heir", json!({ "scope": "inherited" }), &[])]),
        json!([
            { "agent": "lead", "turn": 1, "calls": [spawn("heir"), wait()] },
            { "agent": "heir", "turn": 1, "calls": saves },
            { "agent": "heir", "turn": 2, "text": "done" },
            { "agent": "lead", "turn": 2, "expect": { "systemContains": "note 39" }, "text": "done" },
        ]),
    );
    let played = setting.play().await;
    let notices = played.told("a1", Origin::Notice);
    assert_eq!(notices.len(), 1);
    let lines: Vec<&str> = notices[0].lines().skip(1).collect();
    assert_eq!(lines.len(), 33);
    assert_eq!(lines[31], "- a2 saved the memory \"note 31\": x");
    assert_eq!(lines[32], "- There were more changes after this. Look at what there is now.");
}

/// Workers that all save at once, each under names of its own.
fn crowd(workers: u32, each: u32, first: u32, memories: Value) -> Setting {
    let mut replies = vec![];
    let mut spawns: Vec<Value> = (0..workers).map(|_| spawn("worker")).collect();
    spawns.push(wait());
    replies.push(json!({ "agent": "lead", "turn": 1, "calls": spawns }));
    replies.push(json!({ "agent": "lead", "turn": 2, "text": "done" }));
    for worker in 0..workers {
        for turn in 1..=each {
            let name = format!("w{}-{turn}", first + worker);
            replies.push(json!({
                "agent": format!("a{}", worker + 2), "turn": turn, "calls": [save(&name, "kept")],
            }));
        }
        replies.push(json!({ "agent": format!("a{}", worker + 2), "turn": each + 1, "text": "done" }));
    }
    Setting::new(
        json!([agent("lead", Value::Null, &["worker"]), agent("worker", memories, &[])]),
        Value::Array(replies),
    )
}

fn names(workers: std::ops::Range<u32>, each: u32) -> BTreeSet<String> {
    workers.flat_map(|worker| (1..=each).map(move |turn| format!("w{worker}-{turn}"))).collect()
}

/// The names of the memories in a state.
fn names_in(state: &[u8]) -> BTreeSet<String> {
    let body = state.splitn(2, |byte| *byte == b'\n').nth(1).unwrap();
    serde_json::from_slice::<Value>(body).unwrap().as_object().unwrap().keys().cloned().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_lose_nothing() {
    let played = crowd(4, 8, 0, json!({ "scope": "shared" })).play().await;
    let left = left(&played.dir);
    assert_eq!(left.len(), 1);
    assert_eq!(names_in(left[0].1.as_bytes()), names(0..4, 8));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_runs_at_once_lose_nothing_of_what_persists() {
    let kept = json!({ "scope": "shared", "persist": true });
    let folder = tempfile::tempdir().unwrap();
    let (workspace, runs) = (folder.path().join("workspace"), folder.path().join("runs"));
    fs::create_dir(&workspace).unwrap();
    let in_one_place = |setting: &Setting| {
        let mut scenario = setting.scenario();
        scenario.launch.workspace = workspace.clone();
        scenario.launch.runs_dir = runs.clone();
        scenario
    };
    let (one, other) = (crowd(2, 8, 0, kept.clone()), crowd(2, 8, 2, kept.clone()));
    let (one, other) = tokio::join!(in_one_place(&one).play(), in_one_place(&other).play());
    let (one, other) = (good(one), good(other));
    for played in [&one, &other] {
        let left = left(&played.dir);
        assert_eq!(left, [(Some("worker".into()), "-".into(), 0)], "the state is the project's alone");
        for agent in ["a2", "a3"] {
            let notices = played.told(agent, Origin::Notice).concat();
            // The other run's agents have the same ids, but other names of memories.
            let own = if std::ptr::eq(played, &one) { ["w0", "w1"] } else { ["w2", "w3"] };
            let foreign = notices.lines().skip(1).find(|line| {
                line.contains("memory \"w") && !own.iter().any(|own| line.contains(&format!("\"{own}-")))
            });
            assert_eq!(foreign, None, "notices are for holders in the same run");
        }
    }

    let next = Setting::new(
        json!([agent("worker", kept.clone(), &[]), agent("other", kept, &[])]),
        json!([
            { "turn": 1, "expect": { "systemContains": ["w0-1", "w1-8", "w2-1", "w3-8"] }, "calls": [call("list_memories", json!({}))] },
            { "turn": 2, "expect": { "results": { "list_memories": "32 memories" } }, "text": "done" },
        ]),
    );
    let played = good(in_one_place(&next).play().await);
    let intents =
        |dir: &Path| RunReader::open(dir).unwrap().calls(&AgentId::nth(2), gg_core::Turn(1)).unwrap();
    assert!(intents(&one.dir)[0].intent.is_some(), "what acts outside the run is announced first");
    assert_eq!(played.told("a1", Origin::Opening).len(), 1);
}

#[tokio::test]
async fn a_project_s_memories_that_cannot_be_used_are_refused_before_anything_starts() {
    let setting = crowd(1, 1, 0, json!({ "scope": "shared", "persist": true }));
    let scenario = setting.scenario();
    fs::create_dir_all(&scenario.launch.runs_dir).unwrap();
    fs::write(scenario.launch.runs_dir.join("projects"), "a file in the way").unwrap();
    let runs_dir = scenario.launch.runs_dir.clone();
    let error = gg_runtime::start(scenario.launch).await.err().unwrap().to_string();
    assert!(error.starts_with("the memories that persist cannot be used: "), "{error}");
    assert_eq!(gg_store::list_runs(&runs_dir, 9).unwrap().len(), 0);
}

/// The guest `hostile` as a component of the kind `memories`.
fn hostile_memories(folder: &Path) -> String {
    let mut bytes = fs::read(root().join("bin/guests/hostile.wasm")).unwrap();
    let mark = b"hostile-kind=";
    let at = bytes.windows(mark.len()).position(|window| window == mark).unwrap() + mark.len();
    bytes[at..at + 16].copy_from_slice(b"memories        ");
    fs::write(folder.join("hostile.wasm"), bytes).unwrap();
    "hostile.wasm".into()
}

#[tokio::test]
async fn shared_memories_that_break_cost_only_the_call() {
    for how in ["trap", "bad-json", "huge"] {
        let mut setting = Setting::new(
            json!([
                agent("lead", json!({}), &["worker"]),
                agent("worker", json!({ "scope": "shared" }), &[])
            ]),
            json!([
                { "agent": "lead", "turn": 1, "calls": [spawn("worker"), spawn("worker"), wait()] },
                { "agent": "a2", "turn": 1, "calls": [call("arm", json!({ "at": "prompt", "how": "trap" })), call("strike", json!({ "how": how }))] },
                { "agent": "a2", "turn": 2, "calls": [call("look", json!({}))] },
                { "agent": "a2", "turn": 3, "expect": { "results": { "look": "as you wish" } }, "text": "done" },
                { "agent": "a3", "turn": 1, "calls": [call("strike", json!({ "how": how })), call("look", json!({}))] },
                { "agent": "a3", "turn": 2, "expect": { "results": { "look": "as you wish" } }, "text": "done" },
                { "agent": "lead", "turn": 2, "text": "done" },
            ]),
        );
        let path = hostile_memories(setting.folder.path());
        setting.configuration["components"] = json!({ "hostile": { "path": path } });
        setting.configuration["agents"][1]["capabilities"][0]["component"] = json!("hostile");
        let played = setting.play().await;
        let failed = played.events.iter().filter(
            |recorded| matches!(&recorded.event, Event::ModuleFailed { module, .. } if module == "memories"),
        );
        assert!(failed.count() >= 2, "{how}:\n{}", played.story());
        let left = left(&played.dir);
        let of_worker = left.iter().find(|(profile, ..)| profile.as_deref() == Some("worker")).unwrap();
        assert!(of_worker.1.contains("prompt"), "the last sound state stands: {of_worker:?}");
    }
}

#[tokio::test]
async fn memories_of_another_component_are_not_inherited() {
    let mut setting = Setting::new(
        json!([agent("lead", json!({}), &["heir"]), agent("heir", json!({ "scope": "inherited" }), &[])]),
        json!([
            { "turn": 1, "calls": [spawn("heir")] },
            {
                "turn": 2,
                "expect": { "results": { "spawn_subagent": "heir cannot be spawned by you: its \"memories\"" } },
                "text": "done",
            },
        ]),
    );
    let path = hostile_memories(setting.folder.path());
    setting.configuration["components"] = json!({ "hostile": { "path": path } });
    setting.configuration["agents"][1]["capabilities"][0]["component"] = json!("hostile");
    let played = setting.play().await;
    assert_eq!(played.events.iter().filter(|event| event.event.name() == "agent_spawned").count(), 1);
}

#[tokio::test]
async fn an_heir_that_never_runs_lets_go_too() {
    let mut setting = Setting::new(
        json!([agent("lead", json!({}), &["heir"]), agent("heir", json!({ "scope": "inherited" }), &[])]),
        json!([{ "turn": 1, "calls": [save("plan", "x"), spawn("heir")] }]),
    );
    // One slot, which the lead has: the heir waits for its own until the run is stopped.
    setting.configuration["maxParallel"] = json!(1);
    setting.configuration["agents"][0]["maxTurns"] = json!(1);
    setting.configuration["budget"] = json!({ "turns": 1 });
    let played = setting.scenario().play().await;
    let ended = played.events.iter().filter(|event| event.event.name() == "agent_ended").count();
    assert_eq!(ended, 2, "{}", played.story());
    assert_eq!(left(&played.dir), [], "{}", played.story());
}
