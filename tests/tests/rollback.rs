//! A succession is all or nothing: whichever hook fails before the switch, in whichever way, the agent that was is byte
//! for byte what it was, reads why, and goes on.

use gg_core::{AgentId, Event, MessageId, Origin};
use gg_sandbox::Limits;
use gg_store::RunReader;
use gg_tests::{
    Played, Scenario, profile, registry_with, root,
    team::{call, enabled, exec, fork, good, machine, step_to, wait},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

/// The ways in which a hook fails: it refuses, it traps, it is late.
const WAYS: [&str; 3] = ["error", "trap", "loop"];

/// One hook that fails.
#[derive(Clone, Copy, Debug)]
struct Case {
    guest: &'static str,
    /// The hook.
    at: &'static str,
    /// Whether it is the state that crosses which makes it fail, or the settings of the profile that goes on.
    by_state: bool,
    /// Whether the agent that is to become another holds the guest at all.
    held: bool,
}

const fn case(guest: &'static str, at: &'static str, by_state: bool, held: bool) -> Case {
    Case { guest, at, by_state, held }
}

/// What an agent holds on record: of each kind the module's id and its state.
type Held = BTreeMap<String, (u64, Vec<u8>)>;

fn held(dir: &Path, agent: &AgentId) -> Held {
    let modules = RunReader::open(dir).unwrap().modules(agent).unwrap();
    let of = |module: gg_store::ModuleRecord| (module.kind, (module.id.0, module.state.unwrap().to_vec()));
    modules.into_iter().map(of).collect()
}

/// An agent as it stood after one of its steps: its window, and what it held.
type Stood = (Vec<MessageId>, Held);

/// Plays it. The second part is how `a1` stood after each of its steps.
async fn play(configuration: &Value, replies: &Value) -> (Played, Vec<Stood>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script.json"), json!({ "replies": replies }).to_string()).unwrap();
    let late = Duration::from_millis(150);
    let limits = Limits { hook_deadline: late, call_deadline: late, ..Limits::default() };
    let seen = Arc::new(Mutex::new(Vec::new()));
    let steps = seen.clone();
    let text = configuration.to_string();
    let scenario = Scenario::of_with(folder.path(), &text, "Go.", &registry_with(limits));
    let played = scenario
        .observed(Arc::new(move |snapshot| {
            if snapshot.agent == AgentId::nth(1) {
                let stood = (snapshot.window.clone(), held(&snapshot.dir, &snapshot.agent));
                steps.lock().unwrap().push(stood);
            }
        }))
        .play()
        .await;
    let steps = seen.lock().unwrap().clone();
    (played, steps)
}

fn configuration(guest: &str, agents: &Value) -> Value {
    json!({
        "maxParallel": 1,
        "providers": { "script": { "api": "scripted", "script": "script.json" } },
        "components": { "guest": { "path": root().join(format!("bin/guests/{guest}.wasm")) } },
        "agents": agents,
    })
}

fn guest(guest: &str, params: Value) -> Value {
    let kind = if guest == "hostile" { "hostile" } else { "history" };
    json!({ "id": kind, "component": "guest", "enabled": true, "params": params })
}

/// The steps before and after the failure: the one in which the results of the declaring turn came into the window, and
/// the one that tells of the failure. Between them nothing but the notice may have changed.
fn check_unchanged(case: &str, played: &Played, steps: &[Stood], notices: &[MessageId]) {
    let told = |window: &Vec<MessageId>| notices.iter().any(|notice| window.contains(notice));
    let after = steps.iter().position(|(window, _)| told(window));
    let after = after.unwrap_or_else(|| panic!("{case}: no notice came\n{}", played.story()));
    let ((window, before), (window_after, after)) = (&steps[after - 1], &steps[after]);
    assert_eq!(&window_after[..window.len()], &window[..], "{case}\n{}", played.story());
    assert_eq!(window_after.len(), window.len() + 1, "{case}");
    let but_history = |held: &Held| -> Held {
        held.iter()
            .filter(|(kind, _)| *kind != "history")
            .map(|(kind, held)| (kind.clone(), held.clone()))
            .collect()
    };
    assert_eq!(but_history(before), but_history(after), "{case}\n{}", played.story());
    assert_eq!(before["history"].0, after["history"].0, "{case}: it is another history");
}

fn failures(played: &Played) -> Vec<(String, String)> {
    let failed = played.events.iter().filter_map(|recorded| match &recorded.event {
        Event::SuccessionFailed { kind, error, .. } => Some((kind.to_string(), error.clone())),
        _ => None,
    });
    failed.collect()
}

fn notices(played: &Played) -> Vec<MessageId> {
    let of_a1 = played.events.iter().filter(|recorded| recorded.agent == Some(AgentId::nth(1)));
    let notices = of_a1.filter_map(|recorded| match &recorded.event {
        Event::Message { message, .. } if message.origin == Origin::Notice => Some(message.id),
        _ => None,
    });
    notices.collect()
}

/// The agents of a case, and how the first of them asks for the succession.
fn setting(case: Case, kind: &str, armed: &Value) -> (Value, Value) {
    let mut own = enabled(&[("tasks", json!({}))]);
    let mut next = enabled(&[("tasks", json!({})), ("notebook", json!({}))]);
    let params = if case.by_state { json!({}) } else { armed.clone() };
    if case.held {
        own.as_array_mut().unwrap().push(guest(case.guest, json!({})));
    }
    next.as_array_mut().unwrap().push(guest(case.guest, params));
    let second = profile("second", json!({ "capabilities": next }));
    if kind == "exec" {
        own.as_array_mut().unwrap().push(json!({ "id": "exec", "enabled": true }));
        let roster = json!([{ "agentId": "second", "scopes": ["subagent"] }]);
        return (
            json!([profile("first", json!({ "roster": roster, "capabilities": own })), second]),
            exec("second", ""),
        );
    }
    let carried: &[&str] = if case.held && case.guest == "hostile" {
        &["history", "tasks", "hostile"]
    } else {
        &["history", "tasks"]
    };
    let process = machine("process", &[("one", "first", &[("two", carried)]), ("two", "second", &[])]);
    (json!([process, profile("first", json!({ "capabilities": own })), second]), step_to("two", ""))
}

#[tokio::test]
async fn whichever_hook_fails_nobody_has_become_another() {
    let cases = [
        case("hostile", "restore", true, true),
        case("hostile", "transfer", false, true),
        case("hostile", "clone", false, true),
        case("hostile", "prompt", false, true),
        case("hostile", "open", false, false),
        case("hostile", "prompt", false, false),
        case("hostile-history", "restore", true, true),
        case("hostile-history", "transfer", false, true),
        case("hostile-history", "clone", false, true),
        case("hostile-history", "entries", false, true),
        case("hostile-history", "append", false, true),
        case("hostile-history", "prompt", false, true),
    ];
    for case in cases {
        for (kind, way) in ["exec", "fsm"].into_iter().flat_map(|kind| WAYS.map(|way| (kind, way))) {
            let armed = json!({ "at": case.at, "how": way });
            let (agents, succession) = setting(case, kind, &armed);
            let mut opening = vec![call("add_task", json!({ "title": "stay" }))];
            if case.by_state {
                opening.push(call("arm", armed));
            }
            opening.push(succession);
            let told = "You have not become second, and nothing has changed";
            let replies = json!([
                { "agent": "a1", "calls": opening },
                { "agent": "a1", "expect": { "lastContains": told }, "calls": [call("list_tasks", json!({}))] },
                { "agent": "a1", "expect": { "results": { "list_tasks": "stay" } }, "text": "as before" },
            ]);
            let (played, steps) = play(&configuration(case.guest, &agents), &replies).await;
            let name = format!("{case:?} {kind} {way}");
            assert!(played.summary.ending.is_good(), "{name}\n{}", played.story());
            let [(failed, error)] = &failures(&played)[..] else { panic!("{name}\n{}", played.story()) };
            let what = if case.guest == "hostile" { "hostile" } else { "history" };
            assert!(failed == kind && error.contains(what), "{name}: {error}");
            check_unchanged(&name, &played, &steps, &notices(&played));
            assert_eq!(played.spawned().len(), 1, "{name}");
        }
    }
}

/// What a module says of its contents to a new holder is asked before the switch too: where the conversation does not
/// cross.
#[tokio::test]
async fn a_module_that_cannot_open_a_window_stops_the_move() {
    for way in WAYS {
        let replies = json!([
            { "agent": "a1", "calls": [step_to("two", "")] },
            { "agent": "a1", "expect": { "lastContains": "You have not become second" }, "text": "as before" },
        ]);
        let process =
            machine("process", &[("one", "first", &[("two", &["hostile"])]), ("two", "second", &[])]);
        let with = |params: Value| json!({ "capabilities": [guest("hostile", params)] });
        let armed = json!({ "at": "opening", "how": way });
        let agents = json!([process, profile("first", with(json!({}))), profile("second", with(armed))]);
        let (played, steps) = play(&configuration("hostile", &agents), &replies).await;
        assert!(played.summary.ending.is_good(), "{way}\n{}", played.story());
        assert_eq!(failures(&played).len(), 1, "{way}\n{}", played.story());
        check_unchanged(way, &played, &steps, &notices(&played));
    }
}

/// A copy that cannot be made keeps its id, and its failure is its result; the agent that asked for it goes on.
#[tokio::test]
async fn whichever_hook_fails_there_is_no_copy() {
    let cases =
        [("hostile", "restore"), ("hostile-history", "restore"), ("hostile-history", "append-elsewhere")];
    for (kind, at) in cases {
        for way in WAYS {
            let arm = call("arm", json!({ "at": at, "how": way }));
            let disarm = call("arm", json!({ "at": "none", "how": "error" }));
            let replies = json!([
                { "agent": "a1", "calls": [call("add_task", json!({ "title": "stay" })), arm, fork("Go on.")] },
                { "agent": "a1", "expect": { "lastContains": "The copy a2 could not be made" }, "calls": [disarm, wait()] },
                { "agent": "a1", "expect": { "contains": "the copy could not be made" },
                  "calls": [call("list_tasks", json!({})), good("as before")] },
            ]);
            let mut own = enabled(&[
                ("tasks", json!({})),
                ("fork", json!({})),
                ("subagents", json!({ "maxDepth": 1 })),
            ]);
            own.as_array_mut().unwrap().push(guest(kind, json!({})));
            let agents = json!([profile("first", json!({ "capabilities": own }))]);
            let (played, steps) = play(&configuration(kind, &agents), &replies).await;
            let name = format!("{kind} {at} {way}");
            assert!(played.summary.ending.is_good(), "{name}\n{}", played.story());
            assert_eq!(failures(&played).len(), 1, "{name}");
            check_unchanged(&name, &played, &steps, &notices(&played));
            let (_, result) = &played.results("a1", "wait_for_subagents")[0];
            assert!(
                result.contains("\"how\":\"failed\"") && result.contains("\"id\":\"a2\""),
                "{name}: {result}"
            );
            assert_eq!(played.spawned().len(), 1, "{name}: a copy that never was is not told of as one");
        }
    }
}

/// What is dropped is told so only after the switch: a module that cannot let go stops nobody, and is gone all the same.
#[tokio::test]
async fn a_reset_that_fails_is_recorded_and_the_state_is_gone() {
    for way in WAYS {
        let replies = json!([
            { "agent": "a1", "calls": [call("arm", json!({ "at": "reset", "how": way })), exec("second", "")] },
            { "agent": "a2", "text": "done" },
        ]);
        let roster = json!([{ "agentId": "second", "scopes": ["subagent"] }]);
        let mut own = enabled(&[("exec", json!({}))]);
        own.as_array_mut().unwrap().push(guest("hostile", json!({})));
        let agents = json!([
            profile("first", json!({ "roster": roster, "capabilities": own })),
            profile("second", json!({})),
        ]);
        let (played, _) = play(&configuration("hostile", &agents), &replies).await;
        assert!(played.summary.ending.is_good(), "{way}\n{}", played.story());
        let recorded = played.events.iter().any(|recorded| {
            matches!(&recorded.event, Event::ModuleFailed { module, hook, .. }
                if module == "hostile" && hook == "reset" && recorded.agent == Some(AgentId::nth(2)))
        });
        assert!(recorded, "{way}\n{}", played.story());
        let left = RunReader::open(&played.dir).unwrap().all_modules().unwrap();
        assert!(left.iter().all(|(module, _)| module.kind != "hostile"), "{way}: {left:?}");
    }
}
