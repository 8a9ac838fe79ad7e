//! Rules about machines, and what a configuration with one becomes.

use super::{
    succession::{catalogue, pairs, refusals, refused, said, worker},
    *,
};
use crate::{FsmParams, State, Transition};

/// A machine `feature` whose two states run `explorer` and `builder`, which may go back.
fn document() -> Value {
    let mut document = base();
    document["agents"] = json!([
        {
            "id": "feature",
            "capabilities": [{ "id": "fsm", "enabled": true, "params": { "states": [
                {
                    "name": "explore",
                    "agentId": "explorer",
                    "transitions": [{
                        "to": "build",
                        "transfer": ["history", "tasks"],
                        "description": "when you know enough",
                    }],
                },
                { "name": "build", "agentId": "builder", "transitions": [{ "to": "explore" }, { "to": "build" }] },
            ] } }],
        },
        worker("explorer", json!([{ "id": "tasks", "enabled": true }])),
        worker("builder", json!([])),
    ]);
    document
}

const STATES: &str = "/agents/0/capabilities/0/params/states";

fn changed(pointer: &str, value: Value) -> Value {
    let mut document = document();
    put(&mut document, pointer, value);
    document
}

#[test]
fn each_rule_about_states_refuses_what_it_is_about_and_nothing_else() {
    use Code::*;
    assert_eq!(refused(&document()), []);
    let rows = [
        ("", Value::Null, MissingParam, "/agents/0/capabilities/0/params"),
        ("", json!("explore, build"), BadParam, ""),
        ("", json!([]), BadParam, ""),
        ("/1/name", json!(" "), UnknownState, "/0/transitions/0/to"),
        ("/1/agentId", json!("bilder"), UnknownAgent, "/1/agentId"),
        ("/1/agentId", json!("feature"), NestedMachine, "/1/agentId"),
        ("/0/transitions/-", json!({ "to": "biuld" }), UnknownState, "/0/transitions/1/to"),
        ("/0/transitions/0/to", json!("biuld"), UnknownState, "/0/transitions/0/to"),
        ("/0/transitions/-", json!({ "to": "build" }), DuplicateTransition, "/0/transitions/1/to"),
        ("/0/transitions/0/transfer/1", json!("taks"), UnknownModuleKind, "/0/transitions/0/transfer/1"),
        ("/0/transitions/0/transfer/1", json!("workspace"), UnknownModuleKind, "/0/transitions/0/transfer/1"),
        ("/0/transitions/0/transfer/1", json!("glossary"), TransferNotHeld, "/0/transitions/0/transfer/1"),
        ("/1/transitions/0/transfer", json!(["tasks"]), TransferNotHeld, "/1/transitions/0/transfer/0"),
        ("/0/transitions", Value::Null, UnreachableState, "/1/name"),
        ("/0/transitions/0/when", json!("later"), UnknownParam, "/0/transitions/0/when"),
        ("/0/transitions/0/to", Value::Null, MissingParam, "/0/transitions/0"),
        ("/0/name", json!("x".repeat(65)), BadParam, "/0/name"),
    ];
    for (at, value, code, pointer) in rows {
        let found = refused(&changed(&format!("{STATES}{at}"), value.clone()));
        let pointer = match pointer.starts_with("/agents") {
            true => pointer.to_owned(),
            false => format!("{STATES}{pointer}"),
        };
        assert!(found.contains(&(code, pointer)), "{value} at {at}: {found:?}");
        // To a state without a name no transition leads, nor past a transition that leads nowhere.
        let leads_on = at.ends_with("/name") || (at.ends_with("/to") && value.is_null());
        assert!(leads_on || found.len() == 1, "{value} at {at}: {found:?}");
    }
    let twice = json!({ "name": "build", "agentId": "explorer" });
    assert_eq!(
        refused(&changed(&format!("{STATES}/-"), twice)),
        [(DuplicateState, format!("{STATES}/2/name"))]
    );
}

#[test]
fn whatever_can_be_honoured_as_written_is_legal() {
    for (at, value) in [
        // The receiver turns it off, so it is dropped.
        ("/agents/2/capabilities/-", json!({ "id": "tasks", "enabled": false })),
        // A custom kind.
        (
            "/agents/1/capabilities/-",
            json!({ "id": "glossary", "enabled": true, "params": { "path": "terms.json" } }),
        ),
        ("/agents/0/capabilities/-", json!({ "id": "tasks", "enabled": false })),
        ("/agents/0/capabilities/-", json!({ "id": "history", "enabled": false })),
        ("/agents/0/roster", json!([])),
        ("/agents/0/hooks", json!([])),
        ("/agents/0/budget", json!({})),
        ("/agents/0/persistent", json!(false)),
        ("/agents/0/description", json!("builds a feature")),
        // Whoever moves is offered the call, and it cannot be withheld.
        ("/agents/1/calls", json!(["transition_state"])),
        ("/agents/1/calls", json!([])),
        ("/budget", json!({ "turns": 9 })),
    ] {
        assert_eq!(refused(&changed(at, value.clone())), [], "{value} at {at}");
    }
    let mut carried = changed(&format!("{STATES}/0/transitions/0/transfer"), json!(["glossary"]));
    put(
        &mut carried,
        "/agents/1/capabilities/-",
        json!({ "id": "glossary", "enabled": true, "params": { "path": "terms.json" } }),
    );
    assert_eq!(refused(&carried), []);
    // A hook about the move holds something, though the allowlist does not name the move.
    let mut held = changed(
        "/agents/1/hooks",
        json!([{ "on": "before_call", "calls": ["transition_state"], "command": ["./gate.sh", ""] }]),
    );
    put(&mut held, "/agents/1/calls", json!(["add_task"]));
    assert_eq!(refused(&held), []);
}

#[test]
fn a_machine_says_nothing_that_only_an_agent_with_turns_could_heed() {
    let document = document();
    let budget = json!({ "cost": 1 });
    let hook = json!({ "on": "before_reply", "command": ["./notes.txt"], "calls": ["add_tusk"] });
    for (key, value) in [
        ("model", json!({ "provider": "nowhere", "maxOutput": 0 })),
        ("prompt", json!("")),
        ("execution", json!("code")),
        ("calls", json!([])),
        ("maxTurns", json!(0)),
        ("loopDetection", json!({ "repeats": 3 })),
        ("hooks", json!([hook])),
        ("budget", budget.clone()),
        ("roster", json!([{ "agentId": "nobody", "scopes": [] }])),
        ("persistent", json!(true)),
    ] {
        let at = format!("/agents/0/{key}");
        let found = refused(&changed(&at, value.clone()));
        assert_eq!(found, [(Code::MachineWorkerConfig, at)], "{value}");
    }
    let at = "/agents/0/capabilities/1/id".to_owned();
    for id in ["subagents", "exec", "tasks", "history", "tusks"] {
        let capability = json!({ "id": id, "enabled": true, "params": { "maxDepth": "deep" } });
        let found = refused(&changed("/agents/0/capabilities/-", capability));
        assert_eq!(found, [(Code::MachineWorkerConfig, at.clone())], "{id}");
    }
    let mut everything = document;
    put(&mut everything, "/agents/0/model", json!({}));
    put(&mut everything, "/agents/0/budget", budget);
    put(&mut everything, "/agents/0/capabilities/-", json!({ "id": "tasks", "enabled": true }));
    assert_eq!(
        refused(&everything),
        pairs(
            Code::MachineWorkerConfig,
            &["/agents/0/budget", "/agents/0/capabilities/1/id", "/agents/0/model"]
        )
    );
}

#[test]
fn only_a_machine_lacks_model_and_prompt() {
    let off = changed("/agents/0/capabilities/0/enabled", json!(false));
    assert_eq!(refused(&off), pairs(Code::MissingValue, &["/agents/0", "/agents/0"]));
    assert_eq!(
        said(&off),
        [
            ("\"model\" is missing", "add \"model\": The model that its agents ask. Only a machine has none."),
            (
                "\"prompt\" is missing",
                "add \"prompt\": The system prompt: who the agent is and how it works. Only a machine has none."
            ),
        ]
        .map(|(message, help)| (message.to_owned(), help.to_owned()))
    );
}

#[test]
fn the_move_is_offered_to_those_who_stand_in_a_state_with_transitions() {
    let at = || "/agents/2/calls/0".to_owned();
    let hook = json!([{ "on": "before_call", "calls": ["transition_state"], "command": ["./gate.sh", ""] }]);
    let mut document = changed(&format!("{STATES}/1/transitions"), json!([]));
    put(&mut document, "/agents/2/calls", json!(["transition_state"]));
    assert_eq!(refused(&document), [(Code::UnknownCall, at())]);
    put(&mut document, "/agents/2/hooks", hook);
    let by_hook = (Code::HookCall, "/agents/2/hooks/0/calls/0".to_owned());
    assert_eq!(refused(&document), [(Code::UnknownCall, at()), by_hook]);

    let mut clash = changed("/components/mover", json!({ "path": "mover.wasm" }));
    put(&mut clash, "/agents/2/capabilities/-", json!({ "id": "mover", "enabled": true }));
    assert_eq!(refused(&clash), [(Code::CallConflict, "/agents/2/capabilities/0/id".into())]);
}

#[test]
fn a_module_passes_only_between_components_that_share_its_format() {
    let transfer = || format!("{STATES}/0/transitions/0/transfer/1");
    let mut document = changed("/components/other-tasks", json!({ "path": "tasks.wasm" }));
    let theirs = json!({ "id": "tasks", "enabled": true, "component": "other-tasks" });
    put(&mut document, "/agents/2/capabilities/-", theirs);
    assert_eq!(refused(&document), [(Code::StateFormatMismatch, transfer())]);
    put(&mut document, "/agents/1/capabilities/0/component", json!("other-tasks"));
    assert_eq!(refused(&document), []);
    put(&mut document, "/agents/1/capabilities/0/component", json!("same-tasks"));
    put(&mut document, "/agents/2/capabilities/0/component", Value::Null);
    put(&mut document, "/components/same-tasks", json!({ "path": "tasks.wasm" }));
    assert_eq!(refused(&document), []);
    // What is not carried need not be read.
    put(&mut document, "/agents/2/capabilities/0/component", json!("other-tasks"));
    put(&mut document, &format!("{STATES}/0/transitions/0/transfer"), json!(["history"]));
    assert_eq!(refused(&document), []);
}

#[test]
fn what_an_unusable_component_leaves_open_is_not_refused_too() {
    let mut document = changed("/components/misfit", json!({ "path": "misfit.wasm" }));
    let misfit = (Code::ComponentMisfit, "/components/misfit/path".to_owned());
    put(&mut document, &format!("{STATES}/0/transitions/0/transfer/1"), json!("misfit"));
    assert_eq!(refused(&document), std::slice::from_ref(&misfit));
    put(&mut document, &format!("{STATES}/0/transitions/0/transfer/1"), json!("tasks"));
    put(&mut document, "/agents/1/capabilities/0/component", json!("misfit"));
    assert_eq!(refused(&document), [misfit]);
    let slip = changed("/agents/1/capabilities/0/id", json!("taks"));
    assert_eq!(refused(&slip), [(Code::UnknownCapability, "/agents/1/capabilities/0/id".into())]);
}

#[test]
fn a_machine_becomes_its_states_and_nothing_of_a_worker() {
    let catalogue = catalogue();
    let source = Source::parse("test", &document().to_string()).unwrap();
    let configuration = check(&source, &catalogue).unwrap();
    let machine = &configuration.agents[0];
    let carried = Transition {
        to: "build".into(),
        transfer: vec!["history".into(), "tasks".into()],
        description: Some("when you know enough".into()),
    };
    let plain = |to: &str| Transition { to: to.into(), transfer: Vec::new(), description: None };
    let states = vec![
        State { name: "explore".into(), agent_id: "explorer".into(), transitions: vec![carried] },
        State {
            name: "build".into(),
            agent_id: "builder".into(),
            transitions: vec![plain("explore"), plain("build")],
        },
    ];
    assert_eq!(machine.fsm(), Some(FsmParams { states }));
    assert_eq!((machine.is_machine(), machine.model.as_ref(), machine.prompt.as_str()), (true, None, ""));
    let ids = |id: &str| configuration.entry(&id.into()).map(|profile| profile.id.as_str());
    assert_eq!(["feature", "builder", "nobody"].map(ids), [Some("explorer"), Some("builder"), None]);

    let written = serde_json::to_value(&configuration).unwrap();
    let keys: Vec<&str> = written["agents"][0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["capabilities", "id", "name"]);
    let again = check(&Source::parse("again", &written.to_string()).unwrap(), &catalogue).unwrap();
    assert_eq!(again, configuration);
    assert_eq!(serde_json::from_value::<Configuration>(written).unwrap(), configuration);
    let notes: Vec<String> =
        notes(&source, &catalogue, &configuration).into_iter().map(|note| note.message).collect();
    let unused =
        ["no enabled capability uses the component \"glossary\"", "no agent uses the provider \"local\""];
    assert_eq!(notes, unused);
}

#[test]
fn the_editors_schema_knows_what_a_machine_has() {
    let schema = ValueSchema::new(&schema(&catalogue().kinds)).unwrap();
    let faults = |document: &Value| schema.check(document).len();
    assert_eq!(faults(&document()), 0);
    for (at, value, expected) in [
        ("/agents/1/prompt", Value::Null, 1),
        ("/agents/1/model", Value::Null, 1),
        ("/agents/0/capabilities/0/enabled", json!(false), 2),
        ("/agents/0/prompt", json!("You march."), 1),
        ("/agents/0/roster", json!([]), 0),
        ("/agents/0/persistent", json!(true), 1),
        ("/agents/0/capabilities/-", json!({ "id": "tasks", "enabled": true }), 1),
        ("/agents/0/capabilities/-", json!({ "id": "tasks", "enabled": false }), 0),
        ("/agents/0/capabilities/0/params/states/0/to", json!("build"), 1),
    ] {
        assert_eq!(faults(&changed(at, value.clone())), expected, "{value} at {at}");
    }
}

proptest! {
    #[test]
    fn one_strange_value_anywhere_in_a_machine_never_panics_nor_passes_unread(
        value in any_json(),
        at in 0usize..80,
    ) {
        let mut document = document();
        let mut pointers = Vec::new();
        collect(&document, String::new(), &mut pointers);
        let pointer = &pointers[at % pointers.len()];
        *document.pointer_mut(pointer).unwrap() = value;
        for refusal in refusals(&document) {
            prop_assert!(refusal.help != crate::check::FLAW_HELP, "{refusal:?}");
        }
    }
}
