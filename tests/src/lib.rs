//! What the tests beside this share: running a scenario folder with everything real but the model.
//!
//! A scenario is a folder under `tests/scenarios/`: `gg.jsonc`, the scripts it names, an optional `prompt.txt`,
//! and an optional `workspace/` that the run works on a copy of.

pub mod meter;
pub mod steps;
pub mod team;

use gg_core::{CallStatus, Ending, Event, Live, Recorded};
use gg_runtime::{Launch, Observer, RunHandle, RunSummary, launch};
use gg_sandbox::{Limits, Sandbox, SandboxOptions};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use tempfile::TempDir;

/// The folder of this package, as the test runner says it: two clones may share a target folder, so where a
/// test was compiled says nothing.
pub fn package() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    package.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from)
}

/// The project's root.
pub fn root() -> PathBuf {
    package().join("..")
}

/// One registry for a whole test binary, because compiling the built-in components is the slow part.
pub fn registry() -> Arc<gg_modules::Registry> {
    static REGISTRY: OnceLock<Arc<gg_modules::Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| registry_with(Limits::default())).clone()
}

/// A registry whose components run under these limits.
pub fn registry_with(limits: Limits) -> Arc<gg_modules::Registry> {
    // Kept between processes: a test runner may give each test one of its own.
    let cache_dir = root().join("bin/compiled");
    fs::create_dir_all(&cache_dir).unwrap();
    let cache_dir = Some(cache_dir.canonicalize().unwrap());
    let sandbox = Sandbox::new(SandboxOptions { cache_dir, limits, ..SandboxOptions::default() }).unwrap();
    Arc::new(gg_modules::Registry::new(sandbox).unwrap())
}

/// A scenario made ready to run, in folders of its own.
pub struct Scenario {
    /// What would be passed to [`gg_runtime::start`].
    pub launch: Launch,
    /// The copy of its workspace.
    pub workspace: PathBuf,
    _folder: TempDir,
    _base: Option<TempDir>,
}

/// A scenario that has ended.
pub struct Played {
    /// How it ended.
    pub summary: RunSummary,
    /// Everything that was recorded, in order.
    pub events: Vec<Arc<Recorded>>,
    /// The run's directory.
    pub dir: PathBuf,
    /// The copy of its workspace, as the run left it.
    pub workspace: PathBuf,
    _folder: TempDir,
}

impl Scenario {
    /// The scenario in `tests/scenarios/<name>`.
    pub fn named(name: &str) -> Self {
        Self::at(&package().join("scenarios").join(name))
    }

    /// The scenario in a folder.
    pub fn at(folder: &Path) -> Self {
        let file = folder.join("gg.jsonc");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let prompt = fs::read_to_string(folder.join("prompt.txt")).unwrap_or_else(|_| "Go.".to_owned());
        Self::of(folder, &text, prompt.trim())
    }

    /// A configuration given as text, with paths relative to `base`.
    pub fn of(base: &Path, text: &str, prompt: &str) -> Self {
        Self::of_with(base, text, prompt, &registry())
    }

    /// The same, with components of this registry.
    pub fn of_with(base: &Path, text: &str, prompt: &str, registry: &Arc<gg_modules::Registry>) -> Self {
        let source = gg_config::Source::parse("gg.jsonc", text).unwrap_or_else(|all| panic!("{all:#?}"));
        let gathered = launch::gather(&source, base, registry);
        let configuration =
            gg_config::check(&source, &gathered.catalogue).unwrap_or_else(|all| panic!("{all:#?}"));
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        copy(&base.join("workspace"), &workspace);
        let launch = Launch {
            configuration,
            components: gathered.components,
            base: base.to_owned(),
            workspace: workspace.clone(),
            runs_dir: folder.path().join("runs"),
            prompt: prompt.to_owned(),
            record: None,
            observer: None,
        };
        Self { launch, workspace, _folder: folder, _base: None }
    }

    /// Agents whose models' replies are given here. The provider is called `script`.
    pub fn scripted(configuration: &Value, replies: &Value) -> Self {
        Self::scripted_with(configuration, replies, &registry())
    }

    /// The same, with components of this registry.
    pub fn scripted_with(
        configuration: &Value,
        replies: &Value,
        registry: &Arc<gg_modules::Registry>,
    ) -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("script.json"), json!({ "replies": replies }).to_string()).unwrap();
        let mut configuration = configuration.clone();
        configuration["providers"]["script"] = json!({ "api": "scripted", "script": "script.json" });
        let text = serde_json::to_string_pretty(&configuration).unwrap();
        Self::of_with(base.path(), &text, "Go.", registry).in_folder(base)
    }

    fn in_folder(mut self, base: TempDir) -> Self {
        self._base = Some(base);
        self
    }

    /// Has each durable step looked at.
    #[must_use]
    pub fn observed(mut self, observer: Observer) -> Self {
        self.launch.observer = Some(observer);
        self
    }

    /// Runs it to its end.
    pub async fn play(self) -> Played {
        self.play_with(|_| {}).await
    }

    /// Runs it to its end; `started` may do something to the run first.
    pub async fn play_with(self, started: impl FnOnce(&RunHandle)) -> Played {
        let handle = gg_runtime::start(self.launch).await.unwrap();
        let dir = handle.dir().to_owned();
        started(&handle);
        let summary = handle.join().await.unwrap();
        let events = recorded(&dir);
        Played { summary, events, dir, workspace: self.workspace, _folder: self._folder }
    }
}

/// A profile of an agent that is scripted, with `more` put over the least that one needs.
pub fn profile(id: &str, more: Value) -> Value {
    let mut profile = json!({
        "id": id,
        "model": { "provider": "script", "name": "scripted", "contextWindow": 16000, "maxOutput": 500 },
        "prompt": format!("You are {id}."),
        "capabilities": [],
    });
    let (Value::Object(least), Value::Object(more)) = (&mut profile, more) else { panic!("not an object") };
    least.extend(more);
    profile
}

/// Everything that a run's database holds, in order.
pub fn recorded(dir: &Path) -> Vec<Arc<Recorded>> {
    let reader = gg_store::RunReader::open(dir).unwrap();
    reader.events_from(gg_core::Seq(1)).map(|event| Arc::new(event.unwrap())).collect()
}

/// Copies a folder with all that is in it. One that is not there counts as empty.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

impl Played {
    /// The story of the run, a line each: what a reader of the record would tell.
    pub fn story(&self) -> String {
        let mut story = String::new();
        for recorded in &self.events {
            if let Some(line) = line(&recorded.event) {
                let agent = recorded.agent.as_ref().map_or("-", |agent| agent.as_str());
                story.push_str(&format!("{agent} {line}\n"));
            }
        }
        story
    }

    /// How each agent ended, by its id.
    pub fn endings(&self) -> BTreeMap<String, Ending> {
        let ended = self.events.iter().filter_map(|recorded| match &recorded.event {
            Event::AgentEnded { ending, .. } => Some((recorded.agent.clone()?.to_string(), ending.clone())),
            _ => None,
        });
        ended.collect()
    }

    /// The results of an agent's calls of this name, in order: how each came out, and what the model reads.
    pub fn results(&self, agent: &str, call: &str) -> Vec<(CallStatus, String)> {
        let messages = self.events.iter().filter_map(|recorded| match &recorded.event {
            Event::Message { message, .. } if recorded.agent.as_ref()?.as_str() == agent => Some(message),
            _ => None,
        });
        let results = messages.flat_map(|message| message.call_results());
        let mine = results.filter(|result| result.name == call);
        mine.map(|result| (result.status, result.content.clone())).collect()
    }

    /// The texts of this origin in an agent's stream.
    pub fn told(&self, agent: &str, origin: gg_core::Origin) -> Vec<String> {
        let of_agent = self
            .events
            .iter()
            .filter(|recorded| recorded.agent.as_ref().is_some_and(|its| its.as_str() == agent));
        let texts = of_agent.filter_map(|recorded| match &recorded.event {
            Event::Message { message, .. } if message.origin == origin => Some(message.transcript()),
            _ => None,
        });
        texts.collect()
    }

    /// The names of the calls that each of an agent's requests offered.
    pub fn offered(&self, agent: &str) -> Vec<Vec<String>> {
        let requests = self.events.iter().filter_map(|recorded| match &recorded.event {
            Event::Request { calls, .. } if recorded.agent.as_ref()?.as_str() == agent => Some(calls.clone()),
            _ => None,
        });
        requests.collect()
    }

    /// Of each agent, in the order of their coming to be: its id, its profile, its parent and its depth.
    pub fn spawned(&self) -> Vec<(String, String, String, u32)> {
        let spawned = self.events.iter().filter_map(|recorded| match &recorded.event {
            Event::AgentSpawned { profile, parent, depth, .. } => {
                let parent = parent.as_ref().map_or("-", |parent| parent.as_str());
                Some((recorded.agent.as_ref()?.to_string(), profile.to_string(), parent.to_owned(), *depth))
            }
            _ => None,
        });
        spawned.collect()
    }

    /// The texts of the messages that entered the agent's window, with their origins.
    pub fn messages(&self) -> Vec<(gg_core::Origin, String)> {
        self.events
            .iter()
            .filter_map(|recorded| match &recorded.event {
                Event::Message { message, .. } => Some((message.origin, message.transcript())),
                _ => None,
            })
            .collect()
    }
}

fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted { root, prompt, .. } => format!("run of {root}: {prompt}"),
        Event::AgentSpawned { profile, depth, .. } => format!("spawned as {profile} at depth {depth}"),
        Event::AgentState { state, on } => {
            let on: Vec<&str> = on.iter().map(gg_core::AgentId::as_str).collect();
            let state = serde_json::to_value(state).unwrap();
            format!("is {} {}", state.as_str().unwrap(), on.join(" ")).trim_end().to_owned()
        }
        Event::TurnStarted { turn } => format!("turn {turn}"),
        Event::Message { message, .. } => {
            let text = gg_core::text::cut_saying_so(message.transcript(), 400);
            format!("  {:?} {}: {}", message.origin, message.id, text.replace('\n', "\n      "))
        }
        Event::Request { purpose, messages, calls, attempts, .. } => {
            let ids: Vec<u64> = messages.iter().map(|id| id.0).collect();
            format!(
                "  request for a {purpose:?} with {ids:?}, {} calls offered, {attempts} sent",
                calls.len()
            )
        }
        Event::Usage { usage, cost, estimated, .. } => {
            let cost = cost.map_or_else(|| "-".to_owned(), |cost| format!("{:.6}", cost.0));
            format!("  used {} + {}, cost {cost}, estimated {estimated}", usage.input, usage.output)
        }
        Event::Call { name, arguments, effect, .. } => {
            format!("  calls {name} {} ({effect:?})", arguments.to_wire())
        }
        Event::CallResult { name, status, .. } => format!("  {name}: {status:?}"),
        Event::Hook { on, name, command, outcome, .. } => {
            let about = name.as_deref().unwrap_or("the ending");
            format!("  {command} {on} of {about}: {outcome:?}")
        }
        Event::Compaction { reason, folded, summaries, .. } => {
            format!("  compacted ({reason:?}): {folded} messages into {}", summaries.len())
        }
        Event::CompactionFailed { reason, error, .. } => format!("  not compacted ({reason:?}): {error}"),
        Event::ModuleFailed { module, hook, error, .. } => format!("  {module} failed in {hook}: {error}"),
        Event::LoopNudge { repeats, .. } => format!("  nudged after {repeats} repeats"),
        Event::AgentTransition { kind, to, profile, modules, .. } => {
            format!("{kind} to {to}, {profile}: {}", fates(modules).join(", "))
        }
        Event::SuccessionFailed { kind, profile, error, .. } => format!("no {kind} to {profile}: {error}"),
        Event::FsmState { machine, state, profile, from } => {
            let from = from.as_ref().map_or_else(String::new, |from| format!(", from {from}"));
            format!("is in {machine} at {state}, run by {profile}{from}")
        }
        Event::AgentEnded { ending, state, turns, .. } => {
            let state = state.as_ref().map_or_else(String::new, |state| format!(" in {state}"));
            format!("ended after {turns} turns{state}: {}", ending.sentence())
        }
        Event::RunEnded { ending, profiles, .. } => {
            let profiles: Vec<String> = profiles
                .iter()
                .map(|sums| format!("{} {} turns {} requests", sums.profile, sums.turns, sums.requests))
                .collect();
            format!("run ended: {} [{}]", ending.sentence(), profiles.join(", "))
        }
    })
}

/// What a succession did to each module: `tasks moved transferred`, `notebook - initialized`.
pub fn fates(modules: &[gg_core::succession::Fate]) -> Vec<String> {
    let word = |value: Value| value.as_str().unwrap_or("-").to_owned();
    let line = |fate: &gg_core::succession::Fate| {
        let (leaves, arrives) = (json!(fate.leaves), json!(fate.arrives));
        format!("{} {} {}", fate.kind, word(leaves), word(arrives))
    };
    modules.iter().map(line).collect()
}

/// Collects what a subscriber of a run was shown.
pub async fn watch(mut subscription: gg_store::Subscription) -> Vec<Live> {
    let mut seen = Vec::new();
    while let Some(live) = subscription.recv().await {
        seen.push(live);
    }
    seen
}
