//! One small component, run as if it were built in and as a stranger's: both have to behave the same.

#[path = "../../../sandbox/tests/support/guest.rs"]
mod guest;

use super::*;
use crate::context::Access;
use gg_core::id::{AgentId, Turn};
use gg_sandbox::{Limits, Sandbox, SandboxOptions, contract::MODULE_WIT};
use serde_json::json;
use std::time::Duration;

/// Where the component keeps its state: one number, which `bump` raises.
const STATE: u32 = 512;

/// Where results are written.
const RESULT: u32 = 600;

/// Lays out what the component says of itself. Each text is put once, and found by its place.
#[derive(Default)]
struct Data(Vec<u8>);

/// Where laid out data begins in memory.
const DATA: u32 = 1024;

impl Data {
    fn put(&mut self, bytes: &[u8]) -> [u32; 2] {
        while !self.0.len().is_multiple_of(8) {
            self.0.push(0);
        }
        let at = DATA + self.0.len() as u32;
        self.0.extend_from_slice(bytes);
        [at, bytes.len() as u32]
    }

    fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)[0]
    }

    fn wat(&self) -> String {
        let bytes: String = self.0.iter().map(|byte| format!("\\{byte:02x}")).collect();
        format!("(data (i32.const {DATA}) \"{bytes}\")")
    }
}

/// What goes wrong, and in which export, once `arm` was called.
#[derive(Clone, Copy)]
struct Misdeed {
    at: &'static str,
    instructions: &'static str,
}

const LOOP: &str = "(loop $ever (br $ever))";
const DEEP: &str = "(call $deep)";
const GROW: &str =
    "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) unreachable";
const TABLE: &str = "(drop (table.grow $table (ref.null func) (i32.const 20000))) unreachable";
const TRAP: &str = "unreachable";
const WILD: &str = "(return (i32.const -16))";

/// A component of the kind `counter`. Its calls: `bump` (acting), `peek` (read-only), `arm` (read-only: it
/// changes nothing but the instance, so that an instance made afterwards is good again), `no` (acting,
/// refuses after changing the state), `words` (acting, answers what is not JSON).
fn counter(misdeed: Option<Misdeed>) -> Vec<u8> {
    let mut data = Data::default();
    let object = data.put(br#"{"type":"object"}"#);
    let about = data.put(b"For tests.");
    let mut specs = Vec::new();
    let calls = [
        ("bump", "acting"),
        ("peek", "read-only"),
        ("arm", "read-only"),
        ("no", "acting"),
        ("words", "acting"),
    ];
    for (name, effect) in calls {
        let texts = [data.put(name.as_bytes()), about, object, data.put(effect.as_bytes())];
        specs.extend(texts.concat());
        // No feature: an option's case, and room for its text.
        specs.extend([0, 0, 0]);
    }
    let count = calls.len() as u32;
    let specs = data.words(&specs);
    let texts = [data.put(b"counter"), data.put(b"Counter")];
    let mut descriptor = texts.concat();
    descriptor.extend([specs, count]);
    descriptor.extend(object);
    descriptor.extend([0, 0]);
    descriptor.extend(data.put(b"test.counter/1"));
    let descriptor = data.words(&descriptor);
    let value = data.put(b"\"done\"");
    let [words, words_len] = data.put(b"done");
    let [no, no_len] = data.put(b"not today");
    let title = data.put(b"Counter");
    let sections = data.words(&[title, about].concat());
    let sections = data.words(&[sections, 1]);
    let nothing = data.words(&[0, 0]);

    let items = format!(
        "{} {}
        (table $table 1 funcref)
        (global $armed (mut i32) (i32.const 0))
        (func $deep (call $deep) (call $deep))
        (func $ok (result i32) (i32.store (i32.const {RESULT}) (i32.const 0)) (i32.const {RESULT}))
        (func $reply (param $case i32) (param $kind i32) (param $at i32) (param $len i32) (result i32)
            ;; result<reply, call-error>: a reply's text and notices, or an error's kind and text
            (i32.store (i32.const {RESULT}) (local.get $case))
            (if (local.get $case)
                (then
                    (i32.store offset=4 (i32.const {RESULT}) (local.get $kind))
                    (i32.store offset=8 (i32.const {RESULT}) (local.get $at))
                    (i32.store offset=12 (i32.const {RESULT}) (local.get $len)))
                (else
                    (i32.store offset=4 (i32.const {RESULT}) (local.get $at))
                    (i32.store offset=8 (i32.const {RESULT}) (local.get $len))
                    (i32.store offset=12 (i32.const {RESULT}) (i32.const 0))
                    (i32.store offset=16 (i32.const {RESULT}) (i32.const 0))))
            (i32.const {RESULT}))
        (func $bump (i32.store (i32.const {STATE}) (i32.add (i32.load (i32.const {STATE})) (i32.const 1))))",
        guest::BARE,
        data.wat(),
    );
    let [value, value_len] = value;
    let clone = format!(
        "(i32.store (i32.const {RESULT}) (i32.const 0))
        (i32.store offset=4 (i32.const {RESULT}) (i32.const {STATE}))
        (i32.store offset=8 (i32.const {RESULT}) (i32.const 4))
        (i32.const {RESULT})"
    );
    let restore = format!("(i32.store (i32.const {STATE}) (i32.load (local.get 0))) (call $ok)");
    // A call's name is its tenth parameter, after the context's nine.
    let call = format!(
        "(local $first i32)
        (local.set $first (i32.load8_u (local.get 9)))
        (if (i32.eq (local.get $first) (i32.const {bump})) (then (call $bump)))
        (if (i32.eq (local.get $first) (i32.const {arm})) (then (global.set $armed (i32.const 1))))
        (if (i32.eq (local.get $first) (i32.const {refuse})) (then
            (call $bump)
            (return (call $reply (i32.const 1) (i32.const 0) (i32.const {no}) (i32.const {no_len})))))
        (if (i32.eq (local.get $first) (i32.const {bare})) (then
            (call $bump)
            (return (call $reply (i32.const 0) (i32.const 0) (i32.const {words}) (i32.const {words_len})))))
        (call $reply (i32.const 0) (i32.const 0) (i32.const {value}) (i32.const {value_len}))",
        bump = u32::from(b'b'),
        arm = u32::from(b'a'),
        refuse = u32::from(b'n'),
        bare = u32::from(b'w'),
    );
    guest::component(MODULE_WIT, "module", &items, |_, function| {
        let good = match function {
            "describe" => format!("(i32.const {descriptor})"),
            "clone" => clone.clone(),
            "restore" => restore.clone(),
            "open" | "transfer" | "reset" => {
                format!("(i32.store (i32.const {STATE}) (i32.const 0)) (call $ok)")
            }
            "call" => call.clone(),
            "prompt" => format!("(i32.const {sections})"),
            "opening" => format!("(i32.const {nothing})"),
            _ => return None,
        };
        let Some(misdeed) = misdeed.filter(|misdeed| misdeed.at == function) else {
            return Some(good);
        };
        // Locals have to come first.
        let (locals, rest) = match good.split_once("(local $first i32)") {
            Some((_, rest)) => ("(local $first i32)", rest.to_owned()),
            None => ("", good),
        };
        Some(format!("{locals} (if (global.get $armed) (then {})) {rest}", misdeed.instructions))
    })
}

fn sandbox(limits: Limits) -> Arc<Sandbox> {
    Sandbox::new(SandboxOptions { limits, ..SandboxOptions::default() }).unwrap()
}

fn load(trust: Trust, misdeed: Option<Misdeed>) -> Arc<Component> {
    let hasty = Duration::from_millis(500);
    let limits = Limits { hook_deadline: hasty, call_deadline: hasty, ..Limits::default() };
    Component::load(&sandbox(limits), "counter", &counter(misdeed), trust).unwrap()
}

const BOTH: [Trust; 2] = [Trust::BuiltIn, Trust::Stranger];

fn context() -> Context {
    Context {
        agent: AgentId::nth(1),
        turn: Turn(1),
        now_ms: 1,
        access: Access::ReadWrite,
        phase: Phase::Now,
        salt: 1,
    }
}

async fn call(module: &mut Module, name: &str) -> Result<CallReply, CallError> {
    module.call(&context(), name, &Map::new()).await
}

fn number(module: &Module) -> u32 {
    u32::from_le_bytes(module.state().as_ref().try_into().unwrap())
}

#[tokio::test]
async fn the_state_is_the_bytes_after_each_change() {
    for trust in BOTH {
        let component = load(trust, None);
        let mut module = Module::open(&component, &json!({})).await.unwrap();
        assert_eq!(number(&module), 0);
        let reply = call(&mut module, "bump").await.unwrap();
        assert_eq!(reply, CallReply { value: json!("done"), notices: vec![] });
        assert_eq!(number(&module), 1);
        let kept = module.state().clone();
        call(&mut module, "peek").await.unwrap();
        assert!(Arc::ptr_eq(&kept, module.state()));

        module.hibernate();
        assert!(!module.is_live());
        call(&mut module, "bump").await.unwrap();
        assert_eq!(number(&module), 2);
        assert!(module.is_live());

        module.restore_to(kept.clone());
        call(&mut module, "bump").await.unwrap();
        assert_eq!(number(&module), 2);

        let mut copy = Module::restore(&component, kept).await.unwrap();
        call(&mut copy, "bump").await.unwrap();
        assert_eq!((number(&copy), copy.digest()), (2, module.digest()));

        module.reset().await.unwrap();
        assert_eq!(number(&module), 0);
        let section = Section { title: "Counter".into(), body: "For tests.".into() };
        assert_eq!(module.prompt(&context()).await.unwrap(), [section]);
        assert_eq!(module.opening(&context()).await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_refused_call_changes_nothing_whatever_the_module_did() {
    for trust in BOTH {
        let mut module = Module::open(&load(trust, None), &json!({})).await.unwrap();
        assert_eq!(call(&mut module, "no").await, Err(CallError::Refused("not today".into())));
        assert_eq!(number(&module), 0);
        call(&mut module, "bump").await.unwrap();
        assert_eq!(number(&module), 1);
    }
}

#[tokio::test]
async fn a_reply_that_is_no_json_changes_nothing() {
    for trust in BOTH {
        let mut module = Module::open(&load(trust, None), &json!({})).await.unwrap();
        let error = call(&mut module, "words").await.unwrap_err();
        assert!(error.to_string().contains("its reply is not JSON"), "{error}");
        assert_eq!(number(&module), 0);
        call(&mut module, "bump").await.unwrap();
        assert_eq!(number(&module), 1);
    }
}

#[tokio::test]
async fn a_call_that_is_not_there_or_does_not_fit_is_refused() {
    let mut module = Module::open(&load(Trust::BuiltIn, None), &json!({})).await.unwrap();
    let answer = call(&mut module, "jump").await;
    assert_eq!(answer, Err(CallError::Refused("the module `counter` has no call `jump`".into())));
}

#[tokio::test]
async fn each_limit_stops_each_kind_of_component() {
    for (instructions, limit) in [
        (LOOP, Some(Limit::Deadline)),
        (DEEP, Some(Limit::Stack)),
        (GROW, Some(Limit::Memory)),
        (TABLE, Some(Limit::Table)),
        (TRAP, Some(Limit::Trap)),
        (WILD, None),
    ] {
        for at in ["clone", "reset", "prompt"] {
            for trust in BOTH {
                let component = load(trust, Some(Misdeed { at, instructions }));
                let mut module = Module::open(&component, &json!({})).await.unwrap();
                call(&mut module, "bump").await.unwrap();
                call(&mut module, "arm").await.unwrap();
                let error = match at {
                    "clone" => match call(&mut module, "bump").await.unwrap_err() {
                        CallError::Failed(error) => error,
                        CallError::Refused(why) => panic!("{why}"),
                    },
                    "reset" => module.reset().await.unwrap_err(),
                    _ => module.prompt(&context()).await.unwrap_err(),
                };
                assert_eq!(error.hook.name(), at);
                assert_eq!(error.kind.limit(), limit, "{at} {trust:?}: {error}");
                assert_eq!(number(&module), 1, "{at} {trust:?}");
                call(&mut module, "bump").await.unwrap();
                assert_eq!(number(&module), 2, "{at} {trust:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_state_that_is_too_large_is_named() {
    let sandbox = sandbox(Limits { state_bytes: 3, ..Limits::default() });
    let component = Component::load(&sandbox, "counter", &counter(None), Trust::BuiltIn).unwrap();
    let error = Module::open(&component, &json!({})).await.unwrap_err();
    assert_eq!((error.hook, error.kind.limit()), (Hook::Clone, Some(Limit::StateSize)));
}

#[tokio::test]
async fn a_counter_makes_no_history() {
    struct Nothing;
    impl Messages for Nothing {
        fn text(&self, _: gg_core::MessageId, _: usize) -> Result<String, String> {
            Err("nothing".into())
        }
        fn note(&self, _: String) -> Result<gg_core::Entry, String> {
            Err("nothing".into())
        }
    }
    let component = load(Trust::BuiltIn, None);
    let error = crate::History::open(&component, &json!({}), Arc::new(Nothing)).await.unwrap_err();
    assert!(error.to_string().contains("it has no window"), "{error}");
}
