//! Rules about `exec` and `fork`.

use super::*;
use crate::{ExecParams, ForkParams, FsmParams, HOST_KINDS, SubagentsParams};

/// What exists, with everything about successions.
pub(super) fn catalogue() -> Catalogue {
    let mut catalogue = super::catalogue();
    let mut subagents =
        kind("subagents", SubagentsParams::schema(), &["spawn_subagent", "wait_for_subagents"]);
    subagents.features =
        vec![Feature { name: "messaging".into(), description: "Offers it.".into(), enabled: true }];
    subagents.calls.push(call("send_message", Some("messaging")));
    let host = [
        subagents,
        kind("exec", ExecParams::schema(), &["exec"]),
        kind("fork", ForkParams::schema(), &["fork"]),
        kind("fsm", FsmParams::schema(), &[]),
    ];
    catalogue.kinds.extend(host.into_iter().map(|kind| (kind.kind.clone(), kind)));
    for (id, kind) in &mut catalogue.kinds {
        kind.state_format = (!HOST_KINDS.contains(&id.as_str())).then(|| format!("{id}/1"));
    }
    for (name, id, format) in [
        ("other-tasks", "tasks", "other/1"),
        ("same-tasks", "tasks", "tasks/1"),
        ("other-history", "history", "other/1"),
    ] {
        let kind = Kind { state_format: Some(format.into()), ..kind(id, json!({}), &[]) };
        catalogue.components.insert(name.into(), Ok(kind));
    }
    catalogue.components.insert("mover".into(), Ok(kind("mover", json!({}), &["transition_state"])));
    catalogue
}

/// An agent that takes turns.
pub(super) fn worker(id: &str, capabilities: Value) -> Value {
    json!({
        "id": id,
        "model": { "provider": "script", "name": "s", "contextWindow": 4096, "maxOutput": 256 },
        "prompt": "You work.",
        "capabilities": capabilities,
    })
}

pub(super) fn refusals(document: &Value) -> Vec<Refusal> {
    let text = serde_json::to_string_pretty(document).unwrap();
    check(&Source::parse("test", &text).unwrap(), &catalogue()).err().unwrap_or_default()
}

pub(super) fn refused(document: &Value) -> Vec<(Code, String)> {
    refusals(document).into_iter().map(|refusal| (refusal.code, refusal.pointer)).collect()
}

pub(super) fn said(document: &Value) -> Vec<(String, String)> {
    refusals(document).into_iter().map(|refusal| (refusal.message, refusal.help)).collect()
}

pub(super) fn pairs(code: Code, pointers: &[&str]) -> Vec<(Code, String)> {
    pointers.iter().map(|pointer| (code, (*pointer).to_owned())).collect()
}

fn on(id: &str) -> Value {
    json!({ "id": id, "enabled": true })
}

fn subagents() -> Value {
    json!({ "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } })
}

/// One agent with these capabilities and further keys, and a `second` that it may list.
fn document(capabilities: Value, further: Value) -> Value {
    let mut document = base();
    let mut lead = worker("lead", capabilities);
    for (key, value) in further.as_object().unwrap() {
        lead[key] = value.clone();
    }
    document["agents"] = json!([lead, worker("second", json!([]))]);
    document
}

fn roster(scope: &str) -> Value {
    json!([{ "agentId": "second", "scopes": [scope] }])
}

const FIRST: &str = "/agents/0/capabilities/0/id";

#[test]
fn an_exec_needs_somebody_to_become() {
    let exec = || json!([on("exec")]);
    let of = |roster: Value| refused(&document(exec(), json!({ "roster": roster, "calls": ["exec"] })));
    assert_eq!(of(roster("subagent")), []);
    assert_eq!(of(json!([])), pairs(Code::ExecWithoutRoster, &[FIRST]));
    assert_eq!(of(roster("implementer")), pairs(Code::ExecWithoutRoster, &[FIRST]));
    // A scope that is none may have been meant to be the one that is missing.
    assert_eq!(of(roster("subagnt")), pairs(Code::UnknownValue, &["/agents/0/roster/0/scopes/0"]));
    assert_eq!(refused(&document(json!([{ "id": "exec", "enabled": false }]), json!({}))), []);
    for (message, help) in said(&document(exec(), json!({}))) {
        assert!(!format!("{message} {help}").contains("fork"), "{message} {help}");
    }
}

#[test]
fn a_fork_needs_somebody_who_collects_the_copy() {
    let fork = || json!([on("fork")]);
    assert_eq!(refused(&document(fork(), json!({}))), pairs(Code::ForkWithoutSubagents, &[FIRST]));
    for (message, help) in said(&document(fork(), json!({}))) {
        assert!(!format!("{message} {help}").contains("exec"), "{message} {help}");
    }
    // What the missing capability would offer is not refused as well; what it would not offer is.
    let calls = json!({ "calls": ["fork", "wait_for_subagents", "send_message", "spawn_subagent"] });
    assert_eq!(
        refused(&document(fork(), calls)),
        [(Code::UnknownCall, "/agents/0/calls/3".into()), (Code::ForkWithoutSubagents, FIRST.into())]
    );
    let slip = json!([on("fork"), { "id": "subagnts", "enabled": true, "params": { "maxDepth": 1 } }]);
    assert_eq!(
        refused(&document(slip, json!({}))),
        pairs(Code::UnknownCapability, &["/agents/0/capabilities/1/id"])
    );
    assert_eq!(refused(&document(json!([on("fork"), subagents()]), json!({}))), []);
    assert_eq!(refused(&document(json!([{ "id": "fork", "enabled": false }]), json!({}))), []);
}

#[test]
fn an_allowlist_with_fork_grants_the_wait_too() {
    let of = |calls: Value| refused(&document(json!([on("fork"), subagents()]), json!({ "calls": calls })));
    assert_eq!(of(json!(["finish", "fork"])), pairs(Code::ForkUncollectable, &["/agents/0/calls/1"]));
    assert_eq!(of(json!(["fork", "wait_for_subagents"])), []);
    assert_eq!(of(json!(["wait_for_subagents"])), []);
    assert_eq!(of(json!([])), []);
}

#[test]
fn each_call_is_offered_where_it_can_lead_somewhere() {
    let offered = |capabilities: Value, roster: Value| -> Vec<String> {
        let names = ["spawn_subagent", "wait_for_subagents", "send_message", "exec", "fork"];
        let document = document(capabilities, json!({ "roster": roster, "calls": names }));
        let refused: Vec<String> = refused(&document).into_iter().map(|(_, pointer)| pointer).collect();
        let is_offered = |at: &usize| !refused.contains(&format!("/agents/0/calls/{at}"));
        (0..names.len()).filter(is_offered).map(|at| names[at].to_owned()).collect()
    };
    assert_eq!(offered(json!([subagents()]), json!([])), Vec::<String>::new());
    let spawning = ["spawn_subagent", "wait_for_subagents", "send_message"];
    assert_eq!(offered(json!([subagents()]), roster("subagent")), spawning);
    let forking = ["wait_for_subagents", "send_message", "fork"];
    assert_eq!(offered(json!([subagents(), on("fork")]), json!([])), forking);
    assert_eq!(offered(json!([on("exec")]), roster("subagent")), ["exec"]);
}

#[test]
fn inside_a_machine_there_is_no_exec() {
    let mut document = document(json!([on("exec")]), json!({ "roster": roster("subagent") }));
    let states = json!([{ "name": "only", "agentId": "lead" }]);
    let machine = json!({ "id": "fsm", "enabled": true, "params": { "states": states } });
    put(&mut document, "/agents/-", json!({ "id": "process", "capabilities": [machine] }));
    assert_eq!(refused(&document), pairs(Code::ExecInState, &[FIRST]));
    put(&mut document, "/agents/2/capabilities/0/params/states/0/agentId", json!("second"));
    assert_eq!(refused(&document), []);
    // A machine is entered by exec like any other agent is become.
    put(&mut document, "/agents/0/roster/0/agentId", json!("process"));
    assert_eq!(refused(&document), []);
}

#[test]
fn whoever_is_become_can_read_what_moves_there() {
    let at = "/agents/0/roster/0/agentId";
    let mut document = document(json!([on("exec"), on("tasks")]), json!({ "roster": roster("subagent") }));
    put(&mut document, "/components/other-tasks", json!({ "path": "tasks.wasm" }));
    put(&mut document, "/components/other-history", json!({ "path": "history.wasm" }));
    let theirs = |id: &str| json!({ "id": id, "enabled": true, "component": format!("other-{id}") });
    put(&mut document, "/agents/1/capabilities", json!([theirs("history"), theirs("tasks")]));
    assert_eq!(refused(&document), pairs(Code::StateFormatMismatch, &[at, at]));
    // The same where the roster names a machine that begins with that agent.
    let states = json!([{ "name": "only", "agentId": "second" }]);
    let machine = json!({ "id": "fsm", "enabled": true, "params": { "states": states } });
    put(&mut document, "/agents/-", json!({ "id": "process", "capabilities": [machine] }));
    put(&mut document, at, json!("process"));
    assert_eq!(refused(&document), pairs(Code::StateFormatMismatch, &[at, at]));
    // Whoever is only spawned begins with modules of its own.
    put(&mut document, "/agents/0/capabilities/0", subagents());
    assert_eq!(refused(&document), []);
}

#[test]
fn notes_tell_of_calls_withheld_and_of_delegation_that_leads_nowhere() {
    let told = |capabilities: Value, further: Value| -> Vec<(String, String)> {
        let mut document = document(capabilities, further);
        put(&mut document, "/components", Value::Null);
        put(&mut document, "/providers/local", Value::Null);
        let source = Source::parse("test", &document.to_string()).unwrap();
        let configuration = check(&source, &catalogue()).unwrap();
        let notes = notes(&source, &catalogue(), &configuration).into_iter();
        notes.map(|note| (note.pointer, note.message)).collect()
    };
    assert_eq!(told(json!([on("fork"), subagents()]), json!({})), []);
    assert_eq!(
        told(json!([subagents()]), json!({})),
        [(
            "/agents/0".to_owned(),
            "it enables \"subagents\" and its roster lists nobody with the scope \"subagent\": none of their calls is \
             offered"
                .to_owned()
        )]
    );
    let withheld = json!({ "calls": ["wait_for_subagents"], "roster": roster("subagent") });
    assert_eq!(
        told(json!([on("exec"), on("fork"), subagents()]), withheld),
        [(
            "/agents/0/calls".to_owned(),
            "this allowlist withholds finish, archive_thread, exec, fork, spawn_subagent, send_message"
                .to_owned()
        )]
    );
}
