//! The calls of a turn: checked, run in order (read-only neighbours side by side), each with one result.

use super::{
    Agent, Stop,
    held::{Held, HeldError},
};
use crate::{
    capability::{exec, finish, fork, fsm, subagents},
    leash::Leash,
    profile::{ReadyProfile, Route, Tool},
};
use futures_util::future::{BoxFuture, join_all};
use gg_core::{
    Arguments, Call, CallResult, CallStatus, Effect, Event, HookPoint, Turn, text,
    turn::{Declaration, steps},
};
use gg_modules::{CallError, CallReply, Context, History, ModuleError, Phase};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc, time::Instant};

/// How much of a model's own malformed arguments is shown back to it.
const MAX_ECHO_BYTES: usize = 400;

/// How many faults of a call's arguments are named at once.
const MAX_FAULTS: usize = 5;

/// What is to be done with a call.
pub(super) enum Plan {
    /// It is refused as it stands.
    Refuse(String),
    /// It is only noted.
    Declare(Declaration, String),
    /// The agent's module or workspace runs it.
    Run { route: Route, effect: Effect },
}

/// A call that ran.
struct Ran {
    at: usize,
    result: CallResult,
    elapsed_ms: u64,
    failure: Option<ModuleError>,
    /// What it declared when it ran.
    declared: Option<Declaration>,
}

impl Agent {
    /// Runs a turn's calls. Every call has a result when this returns, also after a cancellation. The caller commits
    /// what the last step came to.
    pub(super) async fn run_calls(
        &mut self,
        turn: Turn,
        calls: &[Call],
    ) -> Result<(Vec<CallResult>, Vec<Declaration>), Stop> {
        let mut plans: Vec<Plan> = calls.iter().map(|call| self.plan(call)).collect();
        let quiet: Vec<bool> = plans
            .iter()
            .zip(calls)
            .map(|(plan, call)| match plan {
                // It may wait for hours, without a slot; or what it answers is decided when it runs.
                Plan::Run { route: Route::Subagents | Route::Fork, .. } => false,
                Plan::Run { effect, .. } => *effect == Effect::ReadOnly,
                // Whether it stands decides about those after it.
                Plan::Declare(..) => !self.me.profile.hooks.has(HookPoint::BeforeCall, Some(&call.name)),
                Plan::Refuse(_) => true,
            })
            .collect();
        let mut declarations = Vec::new();
        let mut results: Vec<Option<CallResult>> = vec![None; calls.len()];
        for step in steps(&quiet) {
            for at in step.clone() {
                self.announce(turn, &calls[at]);
            }
            let cancelled = self.leash.pulled();
            let ran = match cancelled {
                Some(_) => step.clone().map(|at| cancelled_before(at, &calls[at])).collect(),
                None => {
                    refuse_what_was_declared(&declarations, &mut plans[step.clone()]);
                    self.ask_before_calls(turn, step.clone(), calls, &mut plans).await?;
                    self.run_step(turn, step.clone(), calls, &plans).await?
                }
            };
            for ran in ran {
                if let Some(failure) = &ran.failure
                    && let Plan::Run { route: Route::Module(kind), .. } = &plans[ran.at]
                {
                    self.module_failed(turn, kind, failure);
                }
                if let Plan::Declare(declaration, _) = &plans[ran.at]
                    && ran.result.status == CallStatus::Noted
                {
                    declarations.push(declaration.clone());
                }
                declarations.extend(ran.declared);
                if let Plan::Run { route: Route::Module(kind), effect: Effect::Deferred } = &plans[ran.at]
                    && ran.result.status == CallStatus::Noted
                {
                    declarations
                        .push(Declaration::Module { kind: kind.clone(), call: calls[ran.at].clone() });
                }
                self.event(Event::CallResult {
                    turn,
                    call: ran.result.call.clone(),
                    name: ran.result.name.clone(),
                    status: ran.result.status,
                    elapsed_ms: ran.elapsed_ms,
                    bytes: ran.result.content.len() as u64,
                });
                self.step.call_result(self.me.id.clone(), turn, ran.at as u32, ran.result.clone());
                results[ran.at] = Some(ran.result);
            }
            let is_last = step.end == calls.len();
            if is_last && self.hooked(HookPoint::AfterCall, step.clone(), calls, &plans).is_empty() {
                // What the last step came to is committed with the turn's results, which follow at once.
                break;
            }
            self.commit().await?;
            self.ask_after_calls(turn, step, calls, &plans, &mut results).await?;
        }
        let results = results
            .into_iter()
            .zip(calls)
            .map(|(result, call)| result.unwrap_or_else(|| lost(call)))
            .collect();
        Ok((results, declarations))
    }

    fn announce(&mut self, turn: Turn, call: &Call) {
        let effect = self.me.profile.tool(&call.name).map(|tool| tool.spec.effect);
        self.event(Event::Call {
            turn,
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            effect,
        });
    }

    /// Checks a call against what was offered.
    fn plan(&self, call: &Call) -> Plan {
        let Some(tool) = self.me.profile.tool(&call.name) else {
            return Plan::Refuse(self.not_offered(&call.name));
        };
        let arguments = match &call.arguments {
            Arguments::Json(arguments) => Value::Object(arguments.clone()),
            Arguments::Malformed(raw) => {
                return Plan::Refuse(format!(
                    "the arguments are not a JSON object: {}",
                    text::cut(raw, MAX_ECHO_BYTES)
                ));
            }
        };
        if let Some(faults) = faults(tool, &arguments) {
            return Plan::Refuse(faults);
        }
        match tool.route {
            Route::Finish => match finish::ending(call) {
                Ok(ending) => {
                    Plan::Declare(Declaration::End { ending }, "noted: your work ends with this turn".into())
                }
                Err(why) => Plan::Refuse(why),
            },
            Route::Compact => {
                Plan::Declare(Declaration::Compact, "noted: done at the end of this turn".into())
            }
            Route::Exec => succession(exec::declaration(call)),
            Route::Transition => succession(fsm::declaration(call)),
            Route::Workspace | Route::Shell | Route::Subagents | Route::Fork | Route::Module(_) => {
                Plan::Run { route: tool.route.clone(), effect: tool.spec.effect }
            }
        }
    }

    /// Gives the copy that a call asks for its id. It is made at the turn's end.
    fn declare_fork(&mut self, call: &Call) -> (CallResult, Option<Declaration>) {
        let prompt = match fork::prompt(call) {
            Ok(prompt) => prompt,
            Err(why) => return (CallResult::new(call, CallStatus::Refused, why), None),
        };
        if let Err(why) = self.take_room_for_a_child() {
            return (CallResult::new(call, CallStatus::Failed, why), None);
        }
        let id = self.shared.store.next_agent_id();
        self.forks.push(id.clone());
        let mut result = CallResult::value(call, &subagents::spawned(&id, &self.me.profile.id));
        result.status = CallStatus::Noted;
        (result, Some(Declaration::Fork { id, prompt }))
    }

    fn not_offered(&self, name: &str) -> String {
        let name = text::glance(name, 64);
        let offered: Vec<&str> = self.me.profile.offered().iter().map(|call| call.name.as_str()).collect();
        let nearest = match self.me.profile.nearest(&name) {
            Some(nearest) => format!(" Did you mean {nearest:?}?"),
            None => String::new(),
        };
        format!("there is no call {name:?}.{nearest} You may call: {}", offered.join(", "))
    }

    /// Runs the calls of one step: one call, or read-only ones side by side.
    async fn run_step(
        &mut self,
        turn: Turn,
        step: std::ops::Range<usize>,
        calls: &[Call],
        plans: &[Plan],
    ) -> Result<Vec<Ran>, Stop> {
        if let [Plan::Run { route: Route::Subagents, .. }] = &plans[step.clone()] {
            let started = Instant::now();
            let result = self.delegate(&calls[step.start]).await?;
            return Ok(vec![Ran { elapsed_ms: elapsed_ms(started), ..at_once(step.start, result) }]);
        }
        if let [Plan::Run { route: Route::Fork, .. }] = &plans[step.clone()] {
            let (result, declared) = self.declare_fork(&calls[step.start]);
            return Ok(vec![Ran { declared, ..at_once(step.start, result) }]);
        }
        let mut ran = Vec::new();
        let mut by_module: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut outside = Vec::new();
        let mut at_first_of_step = true;
        for at in step {
            let call = &calls[at];
            match &plans[at] {
                Plan::Refuse(why) => ran.push(at_once(at, CallResult::new(call, CallStatus::Refused, why))),
                Plan::Declare(_, noted) => {
                    ran.push(at_once(at, CallResult::new(call, CallStatus::Noted, noted)));
                }
                Plan::Run { route: Route::Module(kind), effect } => {
                    by_module.entry(kind.as_str()).or_default().push(at);
                    if *effect == Effect::Acting && self.modules.get(kind).is_some_and(Held::acts_outside) {
                        self.step.call_intent(self.me.id.clone(), turn, at as u32, call.clone(), *effect);
                        self.commit().await?;
                    }
                }
                Plan::Run { effect, .. } => {
                    outside.push(at);
                    // A slow call is seen while it runs, not only once it is over.
                    let mut commit = at_first_of_step;
                    at_first_of_step = false;
                    if *effect == Effect::Acting {
                        // What acts on the world is announced in the record first, so that a crash in the
                        // middle leaves an intent without a result, and nothing is silently done twice.
                        self.step.call_intent(self.me.id.clone(), turn, at as u32, call.clone(), *effect);
                        commit = true;
                    }
                    if commit {
                        self.commit().await?;
                    }
                }
            }
        }
        let now = self.context(turn, Phase::Now);
        let declare = self.context(turn, Phase::Declare);
        let context = |at: &usize| match plans[*at] {
            Plan::Run { effect: Effect::Deferred, .. } => &declare,
            _ => &now,
        };
        let mut work: Vec<BoxFuture<'_, Vec<Ran>>> = Vec::new();
        if let Some(mine) = by_module.remove("history") {
            work.push(Box::pin(run_on(Holder::History(&mut self.history), mine, calls, context)));
        }
        for (kind, held) in &mut self.modules {
            if let Some(mine) = by_module.remove(kind.as_str()) {
                work.push(Box::pin(run_on(Holder::Held(held), mine, calls, context)));
            }
        }
        for at in outside {
            let work_of_one = run_outside(self.me.profile.clone(), calls[at].clone(), self.leash.clone());
            work.push(Box::pin(async move {
                let started = Instant::now();
                let result = work_of_one.await;
                vec![Ran { elapsed_ms: elapsed_ms(started), ..at_once(at, result) }]
            }));
        }
        ran.extend(join_all(work).await.into_iter().flatten());
        ran.sort_by_key(|ran| ran.at);
        Ok(ran)
    }

    /// Applies a module's deferred call at the turn's end.
    pub(super) async fn apply(&mut self, turn: Turn, kind: &str, call: &Call) -> Result<(), CallError> {
        let context = self.context(turn, Phase::Apply);
        let arguments = object(&call.arguments);
        let notes = self.lender.notes();
        let answer = match kind {
            "history" => self.history.call(&context, &call.name, arguments).await,
            kind => match self.modules.get_mut(kind) {
                Some(held) => match held.call(&context, &call.name, arguments).await {
                    Ok(reply) => Ok(reply),
                    Err(HeldError::Call(error)) => Err(error),
                    Err(error) => Err(CallError::Refused(error.to_string())),
                },
                None => Err(CallError::Refused(format!("there is no module {kind:?} any more"))),
            },
        };
        if answer.is_err() {
            self.lender.drop_notes_after(notes);
        }
        answer.map(|_| ())
    }
}

/// A module, of either shape.
enum Holder<'a> {
    History(&'a mut History),
    Held(&'a mut Held),
}

impl Holder<'_> {
    async fn call(
        &mut self,
        context: &Context,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallReply, HeldError> {
        match self {
            Self::History(history) => Ok(history.call(context, name, arguments).await?),
            Self::Held(held) => held.call(context, name, arguments).await,
        }
    }
}

fn succession(declaration: Result<Declaration, String>) -> Plan {
    match declaration {
        Ok(declaration) => Plan::Declare(
            declaration,
            "noted: it takes effect at the end of this turn, unless this turn ends your work".into(),
        ),
        Err(why) => Plan::Refuse(why),
    }
}

/// A turn has one ending and makes one succession: a second would take the place of the first without the model's
/// seeing that.
fn refuse_what_was_declared(declared: &[Declaration], plans: &mut [Plan]) {
    let mut ends = declared.iter().any(|declared| matches!(declared, Declaration::End { .. }));
    let mut changes = declared.iter().any(Declaration::is_succession);
    for plan in plans {
        let Plan::Declare(declaration, _) = &*plan else { continue };
        if matches!(declaration, Declaration::End { .. }) && std::mem::replace(&mut ends, true) {
            *plan = Plan::Refuse("this turn has already asked for an ending; only the first counts".into());
        } else if declaration.is_succession() && std::mem::replace(&mut changes, true) {
            let why = "this turn has already asked for a succession, and makes only one: the first stands";
            *plan = Plan::Refuse(why.into());
        }
    }
}

/// Runs one module's calls one after another.
async fn run_on<'a>(
    mut holder: Holder<'_>,
    mine: Vec<usize>,
    calls: &[Call],
    context: impl Fn(&usize) -> &'a Context,
) -> Vec<Ran> {
    let mut ran = Vec::with_capacity(mine.len());
    for at in mine {
        let call = &calls[at];
        let context = context(&at);
        let started = Instant::now();
        let answer = holder.call(context, &call.name, object(&call.arguments)).await;
        let (result, failure) = match answer {
            Ok(reply) if context.phase == Phase::Declare => {
                let mut result = CallResult::value(call, &reply.value);
                result.status = CallStatus::Noted;
                (result, None)
            }
            Ok(reply) => (CallResult::value(call, &reply.value), None),
            Err(HeldError::Call(CallError::Refused(why))) => {
                (CallResult::new(call, CallStatus::Refused, why), None)
            }
            Err(error) => {
                let why = format!("{error}. Nothing was changed");
                let failure = match error {
                    HeldError::Call(CallError::Failed(error)) => Some(error),
                    _ => None,
                };
                (CallResult::new(call, CallStatus::Failed, why), failure)
            }
        };
        ran.push(Ran { elapsed_ms: elapsed_ms(started), failure, ..at_once(at, result) });
    }
    ran
}

/// Runs a call that acts beyond the agent's own modules.
async fn run_outside(profile: Arc<ReadyProfile>, call: Call, leash: Leash) -> CallResult {
    let lost = lost(&call);
    let route = profile.tool(&call.name).map(|tool| &tool.route);
    match (route, &profile.workspace, &profile.shell) {
        (Some(Route::Shell), _, Some(shell)) => shell.run(&call, async { drop(leash.wait().await) }).await,
        (Some(Route::Workspace), Some(workspace), _) => {
            let workspace = workspace.clone();
            let work = tokio::task::spawn_blocking(move || workspace.run(&call, leash.flag()));
            work.await.unwrap_or(lost)
        }
        _ => lost,
    }
}

/// What is wrong with a call's arguments, by the schema that was offered.
fn faults(tool: &Tool, arguments: &Value) -> Option<String> {
    let faults = tool.arguments.check(arguments);
    if faults.is_empty() {
        return None;
    }
    let said: Vec<String> = faults.iter().take(MAX_FAULTS).map(ToString::to_string).collect();
    Some(format!("the arguments do not fit {}: {}", tool.spec.name, said.join("; ")))
}

fn object(arguments: &Arguments) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match arguments {
        Arguments::Json(arguments) => arguments,
        Arguments::Malformed(_) => &NONE,
    }
}

fn at_once(at: usize, result: CallResult) -> Ran {
    Ran { at, result, elapsed_ms: 0, failure: None, declared: None }
}

fn cancelled_before(at: usize, call: &Call) -> Ran {
    at_once(at, CallResult::new(call, CallStatus::Refused, "the agent was cancelled before this call ran"))
}

fn lost(call: &Call) -> CallResult {
    CallResult::new(
        call,
        CallStatus::Unknown,
        "gg lost track of this call; look at its effect before you repeat it",
    )
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
