use super::*;
use gg_core::{Arguments, Outcome};
use serde_json::json;
use std::future::pending;

fn hook(on: HookPoint, command: &[&str]) -> gg_config::Hook {
    gg_config::Hook {
        on,
        calls: None,
        command: command.iter().map(|part| (*part).to_owned()).collect(),
        timeout_ms: 60_000,
    }
}

fn ready(hooks: &[gg_config::Hook]) -> Hooks {
    Hooks::new(hooks, Path::new("/"), Path::new("/")).unwrap()
}

/// Asks hooks that are scripts for `sh`.
async fn ask(on: HookPoint, scripts: &[&str], timeout_ms: u64) -> Vec<(HookOutcome, Option<String>)> {
    let hooks: Vec<_> = scripts
        .iter()
        .map(|script| gg_config::Hook { timeout_ms, ..hook(on, &["sh", "-c", script]) })
        .collect();
    let call = call_of("write_file");
    let question = Question {
        hook: on,
        run: &"r1".into(),
        agent: &AgentId::nth(1),
        profile: &"lead".into(),
        turn: Turn(3),
        call: (on != HookPoint::BeforeEnd).then_some(&call),
        result: None,
        ending: None,
    };
    let answers = ready(&hooks).ask(question, pending).await;
    answers.into_iter().map(|answer| (answer.outcome, answer.says)).collect()
}

fn call_of(name: &str) -> Call {
    Call { id: "c1".into(), name: name.into(), arguments: Arguments::parse(r#"{"path":"a"}"#) }
}

fn refused(says: &str) -> (HookOutcome, Option<String>) {
    (HookOutcome::Refused, Some(says.into()))
}

fn failed(says: &str) -> (HookOutcome, Option<String>) {
    (HookOutcome::Failed, Some(says.into()))
}

fn late(says: &str) -> (HookOutcome, Option<String>) {
    (HookOutcome::Late, Some(says.into()))
}

const PASSED: (HookOutcome, Option<String>) = (HookOutcome::Passed, None);

#[tokio::test]
async fn before_a_call_everything_but_an_exit_with_0_refuses() {
    for on in [HookPoint::BeforeCall, HookPoint::BeforeEnd] {
        let rows = [
            ("echo fine", PASSED),
            ("echo not this one >&2; exit 1", refused("the hook sh refused it: not this one")),
            ("exit 7", refused("the hook sh refused it with exit code 7")),
            ("kill -9 $$", failed("the hook sh was ended by the signal 9, which counts as a refusal")),
        ];
        for (script, expected) in rows {
            assert_eq!(ask(on, &[script], 60_000).await, [expected], "{script}");
        }
        let was_late = "the hook sh was not done after 300 ms and was stopped, which counts as a refusal; it \
                        said: hold on";
        assert_eq!(ask(on, &["echo hold on; sleep 60"], 300).await, [late(was_late)]);
    }
}

#[tokio::test]
async fn the_first_refusal_is_the_last_hook_asked() {
    let answers = ask(HookPoint::BeforeCall, &["exit 0", "exit 1", "exit 2"], 60_000).await;
    assert_eq!(answers, [PASSED, refused("the hook sh refused it with exit code 1")]);
}

#[tokio::test]
async fn after_a_call_every_hook_is_asked_and_what_it_says_is_told() {
    let scripts = ["exit 0", "echo two lines; echo here", "echo no; exit 1", "exit 2", "kill -9 $$"];
    let answers = ask(HookPoint::AfterCall, &scripts, 60_000).await;
    assert_eq!(
        answers,
        [
            PASSED,
            (HookOutcome::Passed, Some("the hook sh said: two lines\nhere".into())),
            failed("the hook sh failed with exit code 1; it said: no"),
            failed("the hook sh failed with exit code 2"),
            failed("the hook sh was ended by the signal 9"),
        ]
    );
    let answers = ask(HookPoint::AfterCall, &["sleep 60"], 300).await;
    assert_eq!(answers, [late("the hook sh was not done after 300 ms and was stopped")]);
}

#[tokio::test]
async fn what_a_hook_says_is_bounded() {
    let [(_, Some(says))] = &ask(HookPoint::BeforeCall, &["yes | head -c 100000; exit 1"], 60_000).await[..]
    else {
        panic!("it did not refuse");
    };
    assert!(says.len() <= MAX_SAID_BYTES + 64 && says.contains("of 100000 bytes"), "{says}");
}

#[tokio::test]
async fn a_run_that_is_cancelled_ends_the_asking() {
    let question = Question {
        hook: HookPoint::BeforeCall,
        run: &"r1".into(),
        agent: &AgentId::nth(1),
        profile: &"lead".into(),
        turn: Turn(3),
        call: None,
        result: None,
        ending: None,
    };
    let hooks = ready(&[hook(HookPoint::BeforeCall, &["sleep", "60"])]);
    let answers = hooks.ask(question, || std::future::ready(())).await;
    let says = "the hook sleep was stopped with the agent, which counts as a refusal";
    let said: Vec<_> = answers.into_iter().map(|answer| (answer.outcome, answer.says)).collect();
    assert_eq!(said, [failed(says)]);
}

#[test]
fn a_hook_is_asked_where_and_about_what_it_says() {
    let some = gg_config::Hook {
        calls: Some(vec!["write_file".into(), "edit_file".into()]),
        ..hook(HookPoint::BeforeCall, &["sh"])
    };
    let hooks = ready(&[some, hook(HookPoint::AfterCall, &["sh"])]);
    assert!(hooks.has(HookPoint::BeforeCall, Some("edit_file")));
    assert!(!hooks.has(HookPoint::BeforeCall, Some("read_file")));
    assert!(hooks.has(HookPoint::AfterCall, Some("read_file")));
    assert!(!hooks.has(HookPoint::BeforeEnd, None));
}

#[test]
fn a_question_has_these_keys() {
    let (run, agent, profile) = ("r1".into(), AgentId::nth(1), "lead".into());
    let call = call_of("write_file");
    let result = CallResult::new(&call, CallStatus::Refused, "no");
    let ending = Ending::Finished { outcome: Outcome::Success, text: "done".into(), data: None };
    let before = Question {
        hook: HookPoint::BeforeCall,
        run: &run,
        agent: &agent,
        profile: &profile,
        turn: Turn(3),
        call: Some(&call),
        result: None,
        ending: None,
    };
    let asked = |question: Question<'_>| serde_json::to_value(question).unwrap();
    let who = |hook: &str| json!({ "hook": hook, "run": "r1", "agent": agent, "profile": "lead", "turn": 3 });
    let with = |mut who: Value, key: &str, value: Value| {
        who[key] = value;
        who
    };
    let call_keys = json!({ "name": "write_file", "arguments": { "path": "a" } });
    assert_eq!(asked(before), with(who("before_call"), "call", call_keys.clone()));
    let after = Question { hook: HookPoint::AfterCall, result: Some(&result), ..before };
    let keys = json!({ "status": "refused", "content": "refused: no" });
    assert_eq!(asked(after), with(with(who("after_call"), "call", call_keys), "result", keys));
    let end = Question { hook: HookPoint::BeforeEnd, call: None, ending: Some(&ending), ..before };
    let keys = json!({ "how": "finished", "outcome": "success", "text": "done" });
    assert_eq!(asked(end), with(who("before_end"), "ending", keys));
}

#[test]
fn programs_are_found_beside_the_configuration_or_in_path() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("notes"), "text").unwrap();
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("gate")).unwrap();
    let find = |name: &str| find_program(folder.path(), name);
    assert_eq!(find("./gate"), Ok(folder.path().join("gate")));
    assert_eq!(find("/bin/sh"), Ok("/bin/sh".into()));
    assert_eq!(find("./notes"), Err("it is not executable".into()));
    assert_eq!(find("./sub"), Err("it is not a file".into()));
    assert_eq!(find("./none"), Err("No such file or directory (os error 2)".into()));
    assert_eq!(find("gate"), Err("no folder of PATH has it".into()));
    assert!(find("sh").is_ok_and(|path| path.is_absolute() && path.ends_with("sh")));
    let missing = Hooks::new(&[hook(HookPoint::BeforeCall, &["./none"])], folder.path(), folder.path());
    assert_eq!(missing.err(), Some("./none".into()));
}
