//! Spawning, waiting and writing to others. What is said is in `capability/subagents.rs`.

use super::{Agent, Stop};
use crate::{
    capability::{
        fork,
        subagents::{self, Send, Spawn, Wait},
    },
    life::Born,
    lineages::{self, Child},
    slots::Door,
};
use gg_core::{AgentId, AgentState, Call, CallResult, CallStatus, Event, Turn};
use gg_store::{InboxItem, InboxKind};
use std::{collections::BTreeSet, time::Duration};
use tokio::sync::oneshot;

/// How many bytes of results an answer may have for each token of its reader's window: about a third of it, at some
/// three bytes a token, so that results do not fill the window that they are read in.
const ANSWER_BYTES_PER_TOKEN: usize = 1;

/// What became of a call: the model reads the text either way.
enum Answer {
    Value(serde_json::Value),
    Refused(String),
    /// It was well-formed, and a limit of the run leaves no room for it.
    Limit(String),
}

/// What ended a wait.
enum Woken {
    End,
    Deadline,
    Stop,
}

impl Agent {
    /// Carries out one of the calls of `subagents`.
    pub(super) async fn delegate(&mut self, call: &Call) -> Result<CallResult, Stop> {
        let answer = match call.name.as_str() {
            subagents::SPAWN => match subagents::arguments(call) {
                Ok(spawn) => self.spawn_child(spawn),
                Err(error) => Answer::Refused(error),
            },
            subagents::SEND => match subagents::arguments(call) {
                Ok(send) => self.send(send).await,
                Err(error) => Answer::Refused(error),
            },
            _ => match subagents::arguments(call) {
                Ok(wait) => self.wait(wait).await?,
                Err(error) => Answer::Refused(error),
            },
        };
        Ok(match answer {
            Answer::Value(value) => CallResult::value(call, &value),
            Answer::Refused(why) => CallResult::new(call, CallStatus::Refused, why),
            Answer::Limit(why) => CallResult::new(call, CallStatus::Failed, why),
        })
    }

    /// The child comes to be with the step that holds this call's result: both are on record, or neither.
    fn spawn_child(&mut self, spawn: Spawn) -> Answer {
        if let Err(why) = subagents::check_text("prompt", &spawn.prompt) {
            return Answer::Refused(why);
        }
        let shared = self.shared.clone();
        let target = shared.profiles.get(&gg_core::ProfileId::new(&spawn.agent));
        let Some((target, (profile, _))) = target.and_then(|target| Some((target, target.entry()?))) else {
            return Answer::Refused("there is no such agent".into());
        };
        if let Err(why) = self.can_lend_to(&profile) {
            return Answer::Refused(format!("{} cannot be spawned by you: {why}", target.id()));
        }
        if let Err(why) = self.take_room_for_a_child() {
            return Answer::Limit(why);
        }
        let born = Born::record(&shared, &mut self.step, target, Some(&self.me), spawn.prompt);
        let Some(mut entered) = born else { return Answer::Refused("there is no such agent".into()) };
        self.lend_to(&mut entered.born);
        let value = subagents::spawned(&entered.born.me.id, target.id());
        self.on_commit.born.push(entered);
        Answer::Value(value)
    }

    /// Whether there is room for one more below this agent, in the tree and in the budgets. It is taken.
    pub(super) fn take_room_for_a_child(&mut self) -> Result<(), String> {
        if self.me.depth >= self.shared.max_depth {
            return Err(format!(
                "limit: you are at depth {}, and maxDepth is {}: there is no room below you. Do the work yourself",
                self.me.depth, self.shared.max_depth
            ));
        }
        let mine = self.progress.spawned_of(&self.me.profile.id);
        if let Some(most) = self.me.profile.budget.agents.filter(|most| mine >= *most) {
            return Err(format!(
                "limit: you have spawned as many agents as you may: budget.agents of your profile is {most}. Do the work \
                 yourself"
            ));
        }
        self.shared.budget.take_agent().map_err(|most| {
            format!(
                "limit: the run has had {most} agents, and budget.agents allows no more. Do the work yourself"
            )
        })?;
        self.progress.spawned += 1;
        Ok(())
    }

    /// The message is delivered with the step that holds this call's result. Until then its receiver cannot end.
    async fn send(&mut self, send: Send) -> Answer {
        if let Err(why) = subagents::check_text("message", &send.message) {
            return Answer::Refused(why);
        }
        let id = AgentId::new(&send.id);
        if self.forks.contains(&id) {
            return Answer::Refused(fork::not_yet(&id));
        }
        let child = match self.shared.lineages.child(&self.me.lineage, &id) {
            Ok(child) => child,
            Err(why) => return Answer::Refused(subagents::no_message_to(&send.id, why)),
        };
        let Some((id, inbox)) = self.shared.lineages.inbox(&id) else {
            return Answer::Refused(ended(&child));
        };
        let inbox = inbox.lock_owned().await;
        if inbox.closed {
            return Answer::Refused(ended(&child));
        }
        let n = self.shared.store.next_inbox_number();
        let kind = InboxKind::Message;
        let item = InboxItem { n, kind, from: Some(self.me.id.clone()), text: send.message };
        self.step.inbox_push(id, item.clone());
        self.on_commit.sent.push((inbox, item));
        Answer::Value(serde_json::json!("sent: it reads this before its next turn"))
    }

    /// Waits without a slot and without an instance of any module, then answers with the results there are.
    async fn wait(&mut self, wait: Wait) -> Result<Answer, Stop> {
        let children = match self.named(&wait) {
            Ok(children) => children,
            Err(why) => return Ok(Answer::Refused(why)),
        };
        let ids: Vec<AgentId> = children.iter().map(|child| child.id.clone()).collect();
        let open: Vec<AgentId> =
            children.iter().filter(|child| child.ended.is_none()).map(|child| child.id.clone()).collect();
        let mut was_cut_short = false;
        if !wait.enough().is_met(open.len(), ids.len()) {
            was_cut_short = wait.timeout() == Some(Duration::ZERO)
                || match self.block(&ids, open, &wait).await? {
                    Woken::End => false,
                    Woken::Deadline => true,
                    // It ends with this turn, and reads this no more; the record does.
                    Woken::Stop => {
                        return Ok(Answer::Refused("the agent was stopped while it waited".into()));
                    }
                };
        }
        let children: Vec<Child> =
            ids.iter().filter_map(|id| self.shared.lineages.child(&self.me.lineage, id).ok()).collect();
        // Whoever ended while the slot was waited for counts.
        let open = children.iter().filter(|child| child.ended.is_none()).count();
        let timed_out = was_cut_short && !wait.enough().is_met(open, ids.len());
        let window = usize::try_from(self.me.profile.model.context_window).unwrap_or(usize::MAX);
        let (answer, given) =
            subagents::results(&children, timed_out, window.saturating_mul(ANSWER_BYTES_PER_TOKEN));
        self.shared.lineages.collected(&given);
        Ok(Answer::Value(answer))
    }

    /// Gives the slot up until enough of `ids` have ended, and then queues for it.
    async fn block(&mut self, ids: &[AgentId], open: Vec<AgentId>, wait: &Wait) -> Result<Woken, Stop> {
        self.event(Event::AgentState { state: AgentState::Blocked, on: open });
        self.commit().await?;
        self.hibernate();
        let me = self.me.lineage.clone();
        self.shared.slots.block(&me);
        let (woken, door) = match self.shared.lineages.wait(&me, ids, wait.enough()) {
            lineages::Wait::Over => (Woken::End, self.shared.slots.wake(&me)),
            lineages::Wait::Told(told) => match self.until_told(told, wait.timeout()).await {
                Some(woken) => woken,
                None => return Ok(Woken::Stop),
            },
        };
        tokio::select! {
            biased;
            _ = self.leash.wait() => return Ok(Woken::Stop),
            () = door.opened() => {}
        }
        self.event(Event::AgentState { state: AgentState::Running, on: Vec::new() });
        Ok(woken)
    }

    /// Waits to be told, or for the deadline. Nothing if the agent is stopped.
    async fn until_told(
        &self,
        mut told: oneshot::Receiver<Door>,
        timeout: Option<Duration>,
    ) -> Option<(Woken, Door)> {
        let deadline = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.leash.wait() => return None,
            door = &mut told => return door.ok().map(|door| (Woken::End, door)),
            () = deadline => {}
        }
        let me = &self.me.lineage;
        if self.shared.lineages.wait_no_longer(me) {
            return Some((Woken::Deadline, self.shared.slots.wake(me)));
        }
        told.await.ok().map(|door| (Woken::End, door))
    }

    /// The children that a wait is for.
    fn named(&self, wait: &Wait) -> Result<Vec<Child>, String> {
        let Some(ids) = &wait.ids else {
            let children = self.shared.lineages.uncollected(&self.me.lineage);
            if let ([], [copy, ..]) = (&children[..], &self.forks[..]) {
                return Err(fork::not_yet(copy));
            }
            if children.is_empty() {
                return Err("there is no subagent whose result you have not been given".into());
            }
            return Ok(children);
        };
        let mut children: Vec<Child> = Vec::with_capacity(ids.len());
        let mut seen = BTreeSet::new();
        for id in ids {
            let agent = AgentId::new(id);
            if self.forks.contains(&agent) {
                return Err(fork::not_yet(&agent));
            }
            let child = self.shared.lineages.child(&self.me.lineage, &agent);
            let child = child.map_err(|why| subagents::no_result_of(id, why))?;
            if seen.insert(child.id.clone()) {
                children.push(child);
            }
        }
        Ok(children)
    }

    /// After a compaction the window may no longer say who is at work.
    pub(super) async fn remind_of_children(&mut self, turn: Turn) -> Result<(), Stop> {
        let children = self.shared.lineages.uncollected(&self.me.lineage);
        if children.is_empty() {
            return Ok(());
        }
        let mut text = String::from("Your subagents whose results you have not been given:");
        for child in &children {
            let state = if child.ended.is_some() { "has ended" } else { "still running" };
            text.push_str(&format!("\n- {} ({}): {state}", child.id, child.profile));
        }
        self.notice(turn, text).await
    }

    /// Lets the instances of all modules go; their states stay.
    pub(super) fn hibernate(&mut self) {
        self.history.hibernate();
        for held in self.modules.values_mut() {
            held.hibernate();
        }
        self.system = None;
    }
}

fn ended(child: &Child) -> String {
    let ended = child.ended.as_ref();
    let how = ended.map_or_else(|| "is about to end".to_owned(), |ended| ended.ending.sentence());
    format!("{} no longer reads messages: it {how}", child.id)
}
