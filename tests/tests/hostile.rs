//! Components that misbehave in every export, in every way: each is stopped at a limit that has a name, or its
//! answer is refused, and its module goes on from the state it had.
//!
//! The components are `plugins/hostile` and `plugins/hostile-history`, which say how they are told to misbehave.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

use gg_core::{
    id::{AgentId, CallId, MessageId, Turn},
    message::Role,
    window::Entry,
};
use gg_modules::{
    Access, CallError, Component, Context, History, Hook, LentMessage, LoadError, Messages, Module,
    ModuleError, ModuleErrorKind, Phase, Registry, Summary,
};
use gg_sandbox::{Limit, Limits, Sandbox, SandboxOptions};
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// What the text in the component's bytes begins with that `describe` is controlled by.
const PATCH: &[u8] = b"hostile-describe=";

/// Long enough for an honest hook on a busy machine, short enough to wait for in each test of an endless loop.
const SHORT_DEADLINE: Duration = Duration::from_millis(700);

/// A sandbox of its own limits, with both guests loaded.
struct Guests {
    registry: Registry,
    module: Arc<Component>,
    history: Arc<Component>,
}

impl Guests {
    fn with_limits(limits: Limits) -> Self {
        // Shared by all tests, each of which may be a process of its own.
        let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
        let sandbox = Sandbox::new(SandboxOptions { limits, cache_dir, compiler: None }).unwrap();
        let registry = Registry::new(sandbox).unwrap();
        let load = |name: &str| registry.load_bytes(name, &guest(name, ""), None).unwrap();
        let (module, history) = (load("hostile"), load("hostile-history"));
        Self { registry, module, history }
    }

    fn component(&self, world: World) -> &Arc<Component> {
        match world {
            World::Module => &self.module,
            World::History => &self.history,
        }
    }

    /// Loads a component whose `describe` misbehaves.
    fn load_misdescribed(&self, world: World, how: &str) -> Result<Arc<Component>, LoadError> {
        self.registry.load_bytes(world.guest(), &guest(world.guest(), how), None)
    }
}

fn guests() -> &'static Guests {
    static GUESTS: OnceLock<Guests> = OnceLock::new();
    GUESTS.get_or_init(|| Guests::with_limits(Limits::default()))
}

fn hasty_guests() -> Guests {
    Guests::with_limits(Limits {
        hook_deadline: SHORT_DEADLINE,
        call_deadline: SHORT_DEADLINE,
        ..Limits::default()
    })
}

/// The bytes of a guest, with `describe` told to misbehave in the way `how`.
fn guest(name: &str, how: &str) -> Vec<u8> {
    let path = gg_tests::root().join(format!("bin/guests/{name}.wasm"));
    let mut bytes = fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo xtask build` makes the guests", path.display());
    });
    let at = bytes.windows(PATCH.len()).position(|window| window == PATCH).unwrap() + PATCH.len();
    bytes[at..at + how.len()].copy_from_slice(how.as_bytes());
    bytes
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum World {
    Module,
    History,
}

impl World {
    fn guest(self) -> &'static str {
        match self {
            Self::Module => "hostile",
            Self::History => "hostile-history",
        }
    }

    fn hooks(self) -> &'static [Hook] {
        match self {
            Self::Module => &Hook::ALL[..9],
            Self::History => &Hook::ALL,
        }
    }
}

/// What a history is lent: every message says the same, and notes get ids of their own.
struct Run(AtomicU64);

impl Messages for Run {
    fn text(&self, _: MessageId, max_bytes: usize) -> Result<String, String> {
        Ok(gg_core::text::cut("a message's text", max_bytes).to_owned())
    }

    fn note(&self, _: String) -> Result<Entry, String> {
        Ok(entry(1000 + self.0.fetch_add(1, Ordering::Relaxed), 1, Role::User, 0))
    }
}

fn run() -> Arc<dyn Messages> {
    Arc::new(Run(AtomicU64::new(0)))
}

fn entry(id: u64, turn: u32, role: Role, calls: u16) -> Entry {
    Entry { id: MessageId(id), turn: Turn(turn), tokens: 10, calls, pinned: false, role }
}

fn context() -> Context {
    Context {
        agent: AgentId::nth(1),
        turn: Turn(2),
        now_ms: 1_700_000_000_000,
        access: Access::ReadWrite,
        phase: Phase::Now,
        salt: 7,
    }
}

/// A prompt, a call with its result, and a reply.
fn conversation() -> Vec<LentMessage> {
    let call = || vec![CallId::new("c1")];
    vec![
        LentMessage::plain(entry(1, 0, Role::User, 0)),
        LentMessage { entry: entry(2, 1, Role::Assistant, 1), calls: call(), answers: Vec::new() },
        LentMessage { entry: entry(3, 1, Role::Results, 0), calls: Vec::new(), answers: call() },
        LentMessage::plain(entry(4, 2, Role::Assistant, 0)),
    ]
}

/// A module of either world.
#[derive(Debug)]
enum Subject {
    Module(Module),
    History(History),
}

impl Subject {
    async fn open(component: &Arc<Component>, settings: &Value) -> Result<Self, ModuleError> {
        if !component.is_history() {
            return Module::open(component, settings).await.map(Self::Module);
        }
        let mut history = History::open(component, settings, run()).await?;
        history.append(&context(), conversation()).await?;
        Ok(Self::History(history))
    }

    fn module(&self) -> &Module {
        match self {
            Self::Module(module) => module,
            Self::History(history) => history.module(),
        }
    }

    async fn call(&mut self, name: &str, arguments: &Value) -> Result<(), ModuleError> {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        self.call_with(name, arguments).await
    }

    async fn call_with(&mut self, name: &str, arguments: &Map<String, Value>) -> Result<(), ModuleError> {
        let answer = match self {
            Self::Module(module) => module.call(&context(), name, arguments).await,
            Self::History(history) => history.call(&context(), name, arguments).await,
        };
        match answer {
            Ok(_) => Ok(()),
            Err(CallError::Failed(error)) => Err(error),
            Err(CallError::Refused(why)) => panic!("refused: {why}"),
        }
    }

    async fn arm(&mut self, at: &str, how: &str) -> Result<(), ModuleError> {
        self.call("arm", &json!({ "at": at, "how": how })).await
    }

    fn history(&mut self) -> &mut History {
        match self {
            Self::History(history) => history,
            Self::Module(_) => panic!("it is no history"),
        }
    }

    /// Has it misbehave in an export that it is armed for.
    async fn provoke(&mut self, hook: Hook) -> Result<(), ModuleError> {
        let context = context();
        match (hook, self) {
            (Hook::Restore, subject) => {
                match subject {
                    Self::Module(module) => module.hibernate(),
                    Self::History(history) => history.hibernate(),
                }
                Box::pin(subject.call("look", &json!({}))).await
            }
            (Hook::Transfer, Self::Module(module)) => module.transfer(&json!({})).await,
            (Hook::Transfer, Self::History(history)) => history.transfer(&context, &json!({})).await,
            (Hook::Reset, Self::Module(module)) => module.reset().await,
            (Hook::Reset, Self::History(history)) => history.reset(&context).await,
            (Hook::Call, subject) => subject.call("look", &json!({})).await,
            (Hook::Prompt, Self::Module(module)) => module.prompt(&context).await.map(drop),
            (Hook::Prompt, Self::History(history)) => history.prompt(&context).await.map(drop),
            (Hook::Opening, Self::Module(module)) => module.opening(&context).await.map(drop),
            (Hook::Opening, Self::History(history)) => history.opening(&context).await.map(drop),
            (Hook::Append, subject) => {
                let message = LentMessage::plain(entry(5, 2, Role::User, 0));
                subject.history().append(&context, vec![message]).await
            }
            (Hook::Fold, subject) => subject.history().fold(&context, 0, 0).await.map(drop),
            (Hook::Folded, subject) => {
                let message = LentMessage::plain(entry(6, 2, Role::User, 0));
                let summary = Summary { first: MessageId(4), last: MessageId(4), message };
                subject.history().folded(&context, vec![summary]).await
            }
            (Hook::Describe | Hook::Open | Hook::Clone | Hook::Entries, _) => panic!("these strike at once"),
        }
    }

    /// What it holds: the digest of its state, and its window.
    fn holds(&self) -> (String, Vec<Entry>) {
        let window = match self {
            Self::Module(_) => Vec::new(),
            Self::History(history) => history.window().entries.clone(),
        };
        (self.module().digest(), window)
    }
}

/// The whole life of one module that misbehaves once; gives what its error was.
async fn misbehave(guests: &Guests, world: World, hook: Hook, how: &str) -> ModuleError {
    let component = guests.component(world);
    if hook == Hook::Open {
        let settings = json!({ "params": { "at": "open", "how": how } });
        let error = Subject::open(component, &settings).await.unwrap_err();
        Subject::open(component, &json!({})).await.unwrap();
        return error;
    }
    let mut subject = Subject::open(component, &json!({})).await.unwrap();
    let before = subject.holds();
    let armed = subject.arm(hook.name(), how).await;
    if let Err(error) = armed {
        // `clone` and `entries` are asked right after every change, and so the change did not happen.
        assert!(matches!(hook, Hook::Clone | Hook::Entries), "arming {hook} failed: {error}");
        assert_eq!(subject.holds(), before, "{hook} {how}");
        subject.call("look", &json!({})).await.unwrap();
        return error;
    }
    let before = subject.holds();
    let error = subject.provoke(hook).await.unwrap_err();
    assert_eq!(subject.holds(), before, "{hook} {how}");
    match hook {
        // Its very state is what it fails at, so going on takes an older one.
        Hook::Restore => {}
        Hook::Call => {
            subject.arm("none", "error").await.unwrap();
            subject.call("look", &json!({})).await.unwrap();
        }
        _ => {
            subject.call("look", &json!({})).await.unwrap();
            assert_eq!(subject.holds(), before, "{hook} {how}");
        }
    }
    error
}

/// Checks one way of misbehaving in every export but `describe`.
async fn every_hook(guests: &Guests, how: &str, limit: Limit) {
    for world in [World::Module, World::History] {
        for hook in world.hooks() {
            if *hook == Hook::Describe {
                continue;
            }
            let error = misbehave(guests, world, *hook, how).await;
            assert_eq!(error.hook, *hook, "{world:?} {hook} {how}: {error}");
            assert_eq!(error.kind.limit(), Some(limit), "{world:?} {hook} {how}: {error}");
            assert!(error.to_string().contains(limit.name()), "{error}");
        }
    }
}

/// Checks the same in `describe`.
fn describe(guests: &Guests, how: &str, limit: Limit) {
    for world in [World::Module, World::History] {
        match guests.load_misdescribed(world, how) {
            Err(LoadError::Describe(error)) => {
                assert_eq!(error.hook, Hook::Describe);
                assert_eq!(error.kind.limit(), Some(limit), "{world:?} {how}: {error}");
            }
            other => panic!("{world:?} {how}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_endless_loop_ends_at_the_deadline() {
    let guests = hasty_guests();
    every_hook(&guests, "loop", Limit::Deadline).await;
    describe(&guests, "loop", Limit::Deadline);
}

#[tokio::test]
async fn growing_memory_ends_at_its_limit() {
    every_hook(guests(), "grow", Limit::Memory).await;
    describe(guests(), "grow", Limit::Memory);
}

#[tokio::test]
async fn endless_recursion_ends_at_the_stack() {
    every_hook(guests(), "stack", Limit::Stack).await;
    describe(guests(), "stack", Limit::Stack);
}

#[tokio::test]
async fn a_trap_is_a_trap() {
    every_hook(guests(), "trap", Limit::Trap).await;
    describe(guests(), "trap", Limit::Trap);
}

#[tokio::test]
async fn a_result_of_a_gibibyte_is_never_copied() {
    every_hook(guests(), "huge", Limit::ResultSize).await;
    describe(guests(), "huge", Limit::ResultSize);
}

/// Whether an error says that the answer itself was no good.
fn is_answer(error: &ModuleError) -> bool {
    matches!(error.kind, ModuleErrorKind::Answer(_))
}

#[tokio::test]
async fn answers_that_cannot_be_read_are_refused() {
    for world in [World::Module, World::History] {
        for hook in world.hooks() {
            // `bad-utf8` in `clone` is a state like any other; only `restore` can tell.
            let hows: &[&str] = match hook {
                // A guest made from Rust reads such a list itself, and traps.
                Hook::Describe | Hook::Entries | Hook::Fold => &[],
                Hook::Clone => &["wild"],
                Hook::Call => &["wild", "bad-utf8", "bad-json"],
                _ => &["wild", "bad-utf8"],
            };
            for how in hows {
                let error = misbehave(guests(), world, *hook, how).await;
                assert_eq!(error.hook, *hook, "{world:?} {hook} {how}: {error}");
                assert!(is_answer(&error), "{world:?} {hook} {how}: {error}");
            }
        }
        for how in ["wild", "bad-utf8"] {
            let loaded = guests().load_misdescribed(world, how);
            assert!(matches!(&loaded, Err(LoadError::Describe(error)) if is_answer(error)), "{loaded:?}");
        }
        let loaded = guests().load_misdescribed(world, "bad-json");
        assert!(matches!(&loaded, Err(LoadError::Descriptor(_))), "{loaded:?}");
    }
}

#[tokio::test]
async fn a_kind_that_does_not_go_with_its_world_is_refused() {
    let error = guests().load_misdescribed(World::History, "unstable").unwrap_err();
    assert!(error.to_string().contains("its kind is `another`"), "{error}");
}

#[tokio::test]
async fn a_module_s_own_errors_are_not_faults() {
    for world in [World::Module, World::History] {
        for hook in world.hooks() {
            if matches!(hook, Hook::Describe | Hook::Prompt | Hook::Opening | Hook::Entries | Hook::Fold) {
                continue;
            }
            let error = misbehave(guests(), world, *hook, "error").await;
            let said = ModuleErrorKind::Other("misbehaving as asked".into());
            assert_eq!((error.hook, error.kind), (*hook, said), "{world:?}");
        }
    }
}

#[tokio::test]
async fn windows_that_break_the_contract_are_rolled_back() {
    for (how, says) in [
        ("not-lent", "which it was never lent"),
        ("unpaired", "their results do not follow it"),
        ("facts", "it changed the facts of message 1"),
        ("twice", "it names message 4 twice"),
        ("kept", "it says it kept 4294967295 entries of"),
        ("turn-back", "its turn counter went back"),
        ("backwards", "their calls do not stand before it"),
    ] {
        let error = misbehave(guests(), World::History, Hook::Entries, how).await;
        assert_eq!(error.hook, Hook::Entries, "{how}");
        assert!(is_answer(&error) && error.to_string().contains(says), "{how}: {error}");
    }
}

#[tokio::test]
async fn segments_that_break_the_contract_are_refused() {
    for (how, says) in [
        ("not-lent", "is not in its window"),
        ("unpaired", "parts calls from their results"),
        ("facts", "tokens, and it says"),
        ("twice", "is not in order, or meets another"),
        ("backwards", "is not in order, or meets another"),
    ] {
        let error = misbehave(guests(), World::History, Hook::Fold, how).await;
        assert_eq!(error.hook, Hook::Fold, "{how}");
        assert!(is_answer(&error) && error.to_string().contains(says), "{how}: {error}");
    }
}

#[tokio::test]
async fn calls_of_the_host_are_counted() {
    // The default deadline could come first on a slow machine.
    let patient = Guests::with_limits(Limits {
        hook_deadline: Duration::from_secs(60),
        host_calls: 200,
        ..Limits::default()
    });
    for how in ["flood-notes", "flood-texts"] {
        for hook in [Hook::Append, Hook::Prompt, Hook::Entries, Hook::Clone, Hook::Reset] {
            let error = misbehave(&patient, World::History, hook, how).await;
            assert_eq!(error.hook, hook, "{how}: {error}");
            assert_eq!(error.kind.limit(), Some(Limit::HostCalls), "{hook} {how}: {error}");
        }
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_restored_is_left_for_an_older_one() {
    let component = guests().component(World::Module);
    let mut module = Module::open(component, &json!({})).await.unwrap();
    let older = module.state().clone();
    let Value::Object(arm) = json!({ "at": "restore", "how": "trap" }) else { panic!() };
    module.call(&context(), "arm", &arm).await.unwrap();
    module.hibernate();
    let error = module.prompt(&context()).await.unwrap_err();
    assert_eq!((error.hook, error.kind.limit()), (Hook::Restore, Some(Limit::Trap)));
    module.restore_to(older);
    assert_eq!(module.prompt(&context()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_dropped_call_leaves_the_state_it_found() {
    let component = guests().component(World::History);
    let mut subject = Subject::open(component, &json!({})).await.unwrap();
    let before = subject.holds();
    let strike = json!({ "how": "loop" });
    {
        let mut call = Box::pin(subject.call("strike", &strike));
        // Polled once, it runs on another thread; then its caller loses interest.
        std::future::poll_fn(|context| {
            assert!(call.as_mut().poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    }
    assert!(!subject.module().is_live());
    assert_eq!(subject.holds(), before);
    subject.call("look", &json!({})).await.unwrap();
    assert_eq!(subject.holds(), before);
}
