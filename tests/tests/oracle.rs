//! What a succession does to each module, in real runs, against a table that was written by hand.

use gg_core::{Event, Origin};
use gg_store::RunReader;
use gg_tests::{
    Played, Scenario, fates, package, profile, root,
    team::{call, exec, fork, good, machine, step_to, wait},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

/// What is put into a module, to be found again.
const MARK: &str = "heirloom";

/// What the next agent is told.
const TOLD: &str = "Over to you.";

/// A row of the table.
#[derive(Debug)]
struct Row {
    kind: String,
    module: String,
    scope: Option<String>,
    held: bool,
    enabled: bool,
    carried: bool,
    leaves: String,
    arrives: String,
    contents: String,
    note: String,
    holders: String,
    sentence: String,
}

fn rows(kind: &str) -> Vec<Row> {
    let text = fs::read_to_string(package().join("oracle/successions.txt")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [kind, module, held, enabled, carried, leaves, arrives, contents, note, holders, sentence] =
            cells[..]
        else {
            panic!("eleven cells: {line}")
        };
        let (module, scope) = module.split_once(' ').unwrap_or((module, ""));
        Row {
            kind: kind.into(),
            module: module.into(),
            scope: (!scope.is_empty()).then(|| scope.into()),
            held: held == "yes",
            enabled: enabled == "yes",
            carried: carried == "yes",
            leaves: leaves.into(),
            arrives: arrives.into(),
            contents: contents.into(),
            note: note.into(),
            holders: holders.into(),
            sentence: sentence.into(),
        }
    });
    let rows: Vec<Row> = rows.filter(|row| row.kind == kind).collect();
    assert!(!rows.is_empty());
    rows
}

impl Row {
    fn capability(&self) -> Value {
        let mut capability = json!({ "id": self.module, "enabled": true });
        match (self.module.as_str(), &self.scope) {
            ("programs", _) => capability["features"] = json!({ "record": true }),
            ("hostile", _) => capability["component"] = json!("guest"),
            (_, Some(scope)) => capability["params"] = json!({ "scope": scope }),
            _ => {}
        }
        capability
    }

    /// Puts the mark into the module.
    fn put(&self) -> Value {
        match self.module.as_str() {
            "tasks" => call("add_task", json!({ "title": MARK })),
            "notebook" => call("write_page", json!({ "page": "p", "text": MARK })),
            "memories" => call("save_memory", json!({ "name": "m", "text": MARK })),
            "hostile" => call("keep", json!({ "what": MARK })),
            "programs" => call("record_program", json!({ "source": MARK, "outcome": "" })),
            _ => call("no_such_call", json!({ "say": MARK })),
        }
    }

    /// Reads what is in the module.
    fn read(&self) -> (&'static str, Value) {
        match self.module.as_str() {
            "tasks" => ("list_tasks", json!({})),
            "notebook" => ("read_page", json!({ "page": "p" })),
            "memories" => ("search_memories", json!({ "query": MARK })),
            "programs" => ("list_programs", json!({})),
            "hostile" => ("look", json!({})),
            _ => ("no_such_call", json!({})),
        }
    }

    /// The configuration and the script of a run in which this happens.
    fn setting(&self) -> (Value, Value) {
        let mut own = Vec::new();
        let mut next = Vec::new();
        if self.held && self.module != "history" {
            own.push(self.capability());
        }
        if self.enabled && self.module != "history" {
            next.push(self.capability());
        }
        let (read, arguments) = self.read();
        let mut opening = if self.held { vec![self.put()] } else { vec![] };
        let mut replies = vec![
            json!({ "agent": "a2", "expect": { "lastContains": TOLD }, "calls": [call(read, arguments)] }),
            json!({ "agent": "a2", "calls": [good("done")] }),
        ];
        let first = |capabilities: Vec<Value>| profile("first", json!({ "capabilities": capabilities }));
        let second = |capabilities: Vec<Value>| profile("second", json!({ "capabilities": capabilities }));
        let agents = match self.kind.as_str() {
            "exec" => {
                opening.push(exec("second", TOLD));
                own.push(json!({ "id": "exec", "enabled": true }));
                let mut first = first(own);
                first["roster"] = json!([{ "agentId": "second", "scopes": ["subagent"] }]);
                json!([first, second(next)])
            }
            "fsm" => {
                opening.push(step_to("two", TOLD));
                let transfer: &[&str] = if self.carried { &[&self.module] } else { &[] };
                let process =
                    machine("machine", &[("one", "first", &[("two", transfer)]), ("two", "second", &[])]);
                json!([process, first(own), second(next)])
            }
            _ => {
                opening.push(fork(TOLD));
                replies.extend([
                    json!({ "agent": "a1", "calls": [wait()] }),
                    json!({ "agent": "a1", "text": "done" }),
                ]);
                own.push(json!({ "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } }));
                own.push(json!({ "id": "fork", "enabled": true }));
                json!([first(own)])
            }
        };
        replies.insert(0, json!({ "agent": "a1", "calls": opening }));
        (agents, json!(replies))
    }

    /// Runs it. The second part is who ever held modules of the kind at once, once the other agent held something.
    async fn play(&self) -> (Played, BTreeSet<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (agents, replies) = self.setting();
        fs::write(folder.path().join("script.json"), json!({ "replies": replies }).to_string()).unwrap();
        let mut configuration = json!({
            "maxParallel": 2,
            "providers": { "script": { "api": "scripted", "script": "script.json" } },
            "agents": agents,
        });
        if self.module == "hostile" {
            configuration["components"] =
                json!({ "guest": { "path": root().join("bin/guests/hostile.wasm") } });
        }
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (kind, holders) = (self.module.clone(), seen.clone());
        let scenario = Scenario::of(folder.path(), &configuration.to_string(), "Go.");
        let played = scenario
            .observed(Arc::new(move |snapshot| {
                if snapshot.agent.as_str() == "a2" {
                    holders.lock().unwrap().insert(holders_of(&snapshot.dir, &kind));
                }
            }))
            .play()
            .await;
        assert!(played.summary.ending.is_good(), "{self:?}:\n{}", played.story());
        let seen = seen.lock().unwrap().clone();
        (played, seen)
    }

    async fn check(&self) {
        let (played, holders) = self.play().await;
        let story = || format!("{self:?}\n{}", played.story());
        let modules = played.events.iter().find_map(|recorded| match &recorded.event {
            Event::AgentTransition { modules, .. } => Some(fates(modules)),
            _ => None,
        });
        let expected = format!("{} {} {}", self.module, self.leaves, self.arrives);
        assert!(modules.unwrap().contains(&expected), "{}", story());
        assert!(holders.contains(&self.holders), "{holders:?}: {}", story());
        let opening = played.told("a2", Origin::Opening).pop().unwrap();
        let title = match self.module.as_str() {
            "programs" => "- program library: ".to_owned(),
            kind => format!("- {kind}: "),
        };
        let line = opening.lines().find(|line| line.to_lowercase().starts_with(&title));
        assert!(line.is_some_and(|line| line.contains(&self.note)), "{line:?} in {opening}\n{}", story());
        let (read, _) = self.read();
        let found = played.results("a2", read).pop().unwrap().1;
        let offers = played.offered("a2").iter().any(|calls| calls.iter().any(|call| call == read));
        match (self.module.as_str(), self.contents.as_str()) {
            // Its contents are what it was asked before.
            ("history", contents) => {
                let knows = played.told("a2", Origin::Reply).iter().any(|reply| reply.contains(MARK));
                assert_eq!(knows, contents == "kept", "{}", story());
                let prompt = played.told("a2", Origin::Prompt);
                assert_eq!(prompt, ["Go."], "{}", story());
            }
            (_, "none") => assert!(!offers && found.contains("there is no call"), "{}", story()),
            (_, contents) => {
                assert!(offers, "{}", story());
                assert_eq!(found.contains(MARK), contents == "kept", "{found}: {}", story());
            }
        }
    }
}

/// Who holds the modules of a kind on record: `a1 a2`, or `a1=a2` where both hold the same.
fn holders_of(dir: &Path, kind: &str) -> String {
    let modules = RunReader::open(dir).unwrap().all_modules().unwrap();
    // Those of a profile stay to the run's end, whoever holds them.
    let of_kind = modules.into_iter().filter(|(module, holders)| module.kind == kind && !holders.is_empty());
    let holders = of_kind.map(|(_, holders)| {
        let ids: Vec<&str> = holders.iter().map(|holder| holder.as_str()).collect();
        ids.join("=")
    });
    let all = holders.collect::<Vec<String>>().join(" ");
    if all.is_empty() { "-".into() } else { all }
}

async fn check_all(kind: &str) {
    for row in rows(kind) {
        row.check().await;
    }
}

#[tokio::test]
async fn what_becoming_another_does_to_each_module() {
    check_all("exec").await;
}

#[tokio::test]
async fn what_moving_to_another_state_does_to_each_module() {
    check_all("fsm").await;
}

#[tokio::test]
async fn what_being_copied_does_to_each_module() {
    check_all("fork").await;
}

#[test]
fn every_row_names_a_sentence_and_every_kind_of_module_is_there() {
    let all: Vec<Row> = ["exec", "fsm", "fork"].into_iter().flat_map(rows).collect();
    for kind in ["exec", "fsm", "fork"] {
        let modules: BTreeSet<&str> =
            all.iter().filter(|row| row.kind == kind).map(|row| row.module.as_str()).collect();
        let wanted = ["history", "hostile", "memories", "notebook", "programs", "tasks"];
        assert!(modules.iter().copied().eq(wanted), "{kind}: {modules:?}");
    }
    for row in all {
        let (document, number) = row.sentence.split_once('-').unwrap();
        let table = fs::read_to_string(package().join(format!("sentences/{document}.txt"))).unwrap();
        assert!(table.contains(&format!("{document}-{number} | ")), "{row:?}");
    }
}
