use super::*;
use futures_util::FutureExt;
use gg_core::Turn;
use gg_modules::{Access, Phase, Registry};
use gg_sandbox::{Sandbox, SandboxOptions};
use serde_json::json;

fn context(agent: &AgentId) -> Context {
    Context {
        agent: agent.clone(),
        turn: Turn(1),
        now_ms: 0,
        access: Access::ReadWrite,
        phase: Phase::Now,
        salt: 0,
    }
}

async fn save(link: &mut Link, name: &str) {
    let arguments = json!({ "name": name, "text": "x" });
    let context = context(&link.agent);
    link.call(&context, "save_memory", arguments.as_object().unwrap()).await.unwrap();
}

/// What the system prompt says there is.
async fn there_are(link: &mut Link) -> String {
    let context = context(&link.agent);
    let body = link.prompt(&context).await.unwrap().remove(0).body;
    body.rsplit(" There are").next().unwrap().to_owned()
}

#[tokio::test]
async fn what_one_changes_is_nobody_s_until_it_is_on_record_and_is_taken_back_if_it_never_is() {
    let registry = Registry::new(Sandbox::new(SandboxOptions::default()).unwrap()).unwrap();
    let component = registry.builtin("memories").unwrap();
    let module = Module::open(&component, &json!({})).await.unwrap();
    let (first, second) = (AgentId::nth(1), AgentId::nth(2));
    let shared = SharedModule::held_by(&first, ModuleId(7), module);
    let mut one = Link::new(shared.clone(), first.clone());
    let mut other = Link::new(shared.clone(), second.clone());

    save(&mut one, "a").await;
    save(&mut one, "b").await;
    assert_eq!(there_are(&mut one).await, ": a; b.", "it sees its own changes");
    assert!(there_are(&mut other).now_or_never().is_none(), "others wait for the record");
    let mut step = Step::new();
    let write = one.record(&mut step).unwrap();
    assert!(!step.is_empty());
    assert!(there_are(&mut other).now_or_never().is_none(), "also while it is being written");
    write.committed();
    assert_eq!(there_are(&mut other).await, ": a; b.");
    let told = "a1 saved the memory \"a\": x\na1 saved the memory \"b\": x".to_owned();
    assert_eq!(one.take_notices(), Some((vec![second.clone()], told)));
    assert_eq!((one.take_notices(), other.take_notices()), (None, None));

    // A step that could not be committed.
    save(&mut other, "c").await;
    drop(other.record(&mut step));
    assert_eq!(there_are(&mut one).await, ": a; b.");
    // An agent that ended before its step.
    save(&mut other, "d").await;
    drop(other);
    assert_eq!(there_are(&mut one).await, ": a; b.");
    save(&mut one, "e").await;
    assert_eq!(one.take_notices().unwrap().0, [], "who is gone is not told");
    one.record(&mut step).unwrap().committed();
    assert_eq!(there_are(&mut one).await, ": a; b; e.");

    let (_, content) = shared.digest().await.unwrap();
    assert!(content.module.is_live());
    drop(content);
    one.sleep();
    let (_, content) = shared.digest().await.unwrap();
    assert!(!content.module.is_live(), "the last to sleep lets the instance go");
}
