//! Where hooks hold an agent: before and after its calls, and before it ends.

use super::{Agent, Stop, calls::Plan};
use crate::{
    hooks::{Answer, Question},
    leash::Leash,
    profile::ReadyProfile,
    run::Shared,
};
use futures_util::{StreamExt, stream};
use gg_core::{AgentId, Call, CallResult, Ending, Event, HookPoint, Turn};
use gg_store::StoreError;
use std::{ops::Range, sync::Arc};

/// For how many of an agent's calls hooks run side by side: a model may make hundreds in one reply, and every
/// hook is a process.
const MAX_SIDE_BY_SIDE: usize = 8;

impl Agent {
    /// Asks about the calls of a step that would run or be noted. Those that a hook refuses are refused then.
    pub(super) async fn ask_before_calls(
        &mut self,
        turn: Turn,
        step: Range<usize>,
        calls: &[Call],
        plans: &mut [Plan],
    ) -> Result<(), Stop> {
        let about = self.hooked(HookPoint::BeforeCall, step, calls, plans);
        if about.is_empty() {
            return Ok(());
        }
        // A slow hook is seen while it runs, and that of a call which never ran leaves no intent.
        self.commit().await?;
        let about = about.into_iter().map(|at| (at, calls[at].clone(), None)).collect();
        for (at, answers) in self.ask_of_calls(turn, HookPoint::BeforeCall, about).await {
            if let Some(why) = answers.last().and_then(|answer| answer.says.clone()) {
                plans[at] = Plan::Refuse(why);
            }
        }
        Ok(())
    }

    /// Asks about the calls of a step that ran or were noted, and adds what the hooks say to their results.
    /// The results are durable before: what a hook does cannot cost them.
    pub(super) async fn ask_after_calls(
        &mut self,
        turn: Turn,
        step: Range<usize>,
        calls: &[Call],
        plans: &[Plan],
        results: &mut [Option<CallResult>],
    ) -> Result<(), Stop> {
        let about = self.hooked(HookPoint::AfterCall, step, calls, plans);
        if about.is_empty() || self.leash.pulled().is_some() {
            return Ok(());
        }
        let about = about.into_iter().map(|at| (at, calls[at].clone(), results[at].clone())).collect();
        for (at, answers) in self.ask_of_calls(turn, HookPoint::AfterCall, about).await {
            let remarks: Vec<String> = answers.into_iter().filter_map(|answer| answer.says).collect();
            if let Some(result) = &mut results[at]
                && !remarks.is_empty()
            {
                result.add_remark(&remarks.join("\n"));
            }
        }
        self.commit().await
    }

    /// Asks about an ending that the agent declared itself. `None`: it is refused, the agent has been told why,
    /// and goes on while it has turns left. No hook is asked about other endings, which cannot be helped.
    pub(super) async fn ask_before_end(&mut self, ending: Ending) -> Result<Option<Ending>, StoreError> {
        let is_declared = matches!(ending, Ending::Text { .. } | Ending::Finished { .. });
        let is_hooked = self.me.profile.hooks.has(HookPoint::BeforeEnd, None);
        if !is_declared || !is_hooked || self.leash.pulled().is_some() {
            return Ok(Some(ending));
        }
        let turn = self.progress.last_turn;
        let asker = self.asker(turn);
        let answers = asker.ask(HookPoint::BeforeEnd, None, None, Some(&ending)).await;
        self.record_answers(turn, HookPoint::BeforeEnd, None, &answers);
        let Some(why) = answers.last().and_then(|answer| answer.says.as_deref()) else {
            return Ok(Some(ending));
        };
        match self.tell_not_ended(turn, why).await {
            Ok(()) => Ok(None),
            Err(Stop::End(other)) => Ok(Some(other)),
            Err(Stop::Store(error)) => Err(error),
        }
    }

    async fn tell_not_ended(&mut self, turn: Turn, why: &str) -> Result<(), Stop> {
        let notice = format!("Your work has not ended: {why}\nSee to that first, then end it again.");
        self.notice(turn, notice).await?;
        self.commit().await
    }

    /// The calls of a step that are not refused yet and that hooks are asked about.
    pub(super) fn hooked(
        &self,
        on: HookPoint,
        step: Range<usize>,
        calls: &[Call],
        plans: &[Plan],
    ) -> Vec<usize> {
        step.filter(|at| !matches!(plans[*at], Plan::Refuse(_)))
            .filter(|at| self.me.profile.hooks.has(on, Some(&calls[*at].name)))
            .collect()
    }

    /// Asks about calls, some side by side, and records the answers in the order of the calls.
    async fn ask_of_calls(
        &mut self,
        turn: Turn,
        on: HookPoint,
        about: Vec<(usize, Call, Option<CallResult>)>,
    ) -> Vec<(usize, Vec<Answer>)> {
        let asker = Arc::new(self.asker(turn));
        let questions = about.into_iter().map(|(at, call, result)| {
            let asker = asker.clone();
            async move {
                let answers = asker.ask(on, Some(&call), result.as_ref(), None).await;
                (at, call, answers)
            }
        });
        let asked: Vec<_> = stream::iter(questions).buffered(MAX_SIDE_BY_SIDE).collect().await;
        let mut answered = Vec::with_capacity(asked.len());
        for (at, call, answers) in asked {
            self.record_answers(turn, on, Some(&call), &answers);
            answered.push((at, answers));
        }
        answered
    }

    fn asker(&self, turn: Turn) -> Asker {
        Asker {
            profile: self.me.profile.clone(),
            shared: self.shared.clone(),
            leash: self.leash.clone(),
            agent: self.me.id.clone(),
            turn,
        }
    }

    fn record_answers(&mut self, turn: Turn, on: HookPoint, call: Option<&Call>, answers: &[Answer]) {
        for answer in answers {
            self.event(Event::Hook {
                turn,
                on,
                call: call.map(|call| call.id.clone()),
                name: call.map(|call| call.name.clone()),
                command: answer.command.clone(),
                outcome: answer.outcome,
                elapsed_ms: answer.elapsed_ms,
            });
        }
    }
}

/// Who asks an agent's hooks: what all their questions share.
struct Asker {
    profile: Arc<ReadyProfile>,
    shared: Arc<Shared>,
    leash: Leash,
    agent: AgentId,
    turn: Turn,
}

impl Asker {
    async fn ask(
        &self,
        hook: HookPoint,
        call: Option<&Call>,
        result: Option<&CallResult>,
        ending: Option<&Ending>,
    ) -> Vec<Answer> {
        let question = Question {
            hook,
            run: self.shared.store.run_id(),
            agent: &self.agent,
            profile: &self.profile.id,
            turn: self.turn,
            call,
            result,
            ending,
        };
        self.profile.hooks.ask(question, || async { drop(self.leash.wait().await) }).await
    }
}
