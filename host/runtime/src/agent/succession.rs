//! An agent becomes another: by its own decision, or by moving to another state of its machine.
//!
//! Everything that can fail is done first, beside the agent that is: the states that cross are restored in new instances
//! and handed over there, what is fresh is opened, the window is opened and measured. Then one commit makes the switch.
//! Until that commit nothing of the agent that was has changed, so there is nothing to take back.

use super::{
    Agent, Stop,
    held::{Held, Place},
    holding::{self, Fresh},
    lent::Lender,
    opening::Handoff,
    shared_module::SharedModule,
};
use crate::identity::Identity;
use gg_core::{
    AgentState, Ending, Event, Message, Origin, SuccessionKind, Turn,
    succession::{Arrives, Carry, Fate, Leaves, plan},
    turn::Succession,
    window::Keep,
};
use gg_modules::{History, Note, Phase};
use gg_store::{AgentStatus, MAX_STEP_BYTES, Step};
use std::{collections::BTreeSet, sync::Arc, time::Instant};

/// The most that an agent which becomes another, or is copied, holds, in bytes: half of what one step records.
const MAX_STATE_BYTES: usize = MAX_STEP_BYTES / 2;

/// Who an agent is to become, and how.
struct Next {
    kind: SuccessionKind,
    me: Identity,
    fates: Vec<Fate>,
    /// What it is told.
    said: Option<String>,
}

impl Next {
    /// How it comes by its module of a kind.
    fn arrives(&self, kind: &str) -> Option<Arrives> {
        self.fates.iter().find(|fate| fate.kind == kind)?.arrives
    }
}

/// An agent that is ready to take over, with what its taking over puts on record.
struct Prepared {
    agent: Agent,
    /// What it is to hold together with others.
    to_hold: Vec<Arc<SharedModule>>,
    /// Notes of what it came by, for its window.
    notes: Vec<Note>,
}

impl Agent {
    /// Becomes another agent, which is on record when this returns. Or does not: then nothing has changed, and the answer
    /// is what the agent is to be told.
    pub(super) async fn become_another(
        &mut self,
        turn: Turn,
        succession: Succession,
        notices: &[String],
    ) -> Result<Result<Box<Self>, String>, Stop> {
        let Some(next) = self.next(succession) else {
            return Ok(Err("It could not be done: there is nobody to become.".into()));
        };
        let (kind, profile) = (next.kind, next.me.profile.id.clone());
        match self.prepare(turn, &next, notices).await {
            Ok(prepared) => Ok(Ok(Box::new(self.switch(turn, next, prepared).await?))),
            Err(why) => {
                let error = why.clone();
                self.event(Event::SuccessionFailed {
                    turn,
                    kind,
                    profile: profile.clone(),
                    copy: None,
                    error,
                });
                Ok(Err(format!("You have not become {profile}, and nothing has changed: {why}")))
            }
        }
    }

    /// Who this agent is to become. Nothing if that is nobody, which its calls' schemas rule out.
    fn next(&self, succession: Succession) -> Option<Next> {
        let (kind, profile, standing, named, said) = match succession {
            Succession::Exec { agent, prompt } => {
                let (profile, standing) = self.shared.profiles.get(&agent)?.entry()?;
                (SuccessionKind::Exec, profile, standing, None, prompt)
            }
            Succession::Transition { to, note } => {
                let (standing, transfer) = self.me.standing.as_ref()?.after(&to)?;
                let profile = standing.state()?.profile.clone();
                (SuccessionKind::Fsm, profile, Some(standing), Some(transfer), note)
            }
        };
        let kinds = profile.held.iter().chain([&profile.history]).map(|held| held.kind.clone());
        let enabled: BTreeSet<String> = kinds.collect();
        let fates = plan(&self.held(), &enabled, named.map_or(Carry::All, Carry::Named));
        let me = Identity {
            id: self.shared.store.next_agent_id(),
            lineage: self.me.lineage.clone(),
            profile,
            parent: Some(self.me.id.clone()),
            depth: self.me.depth,
            standing,
        };
        Some(Next { kind, me, fates, said })
    }

    /// Makes the next agent ready: it holds what it is to hold, and its window is open.
    async fn prepare(&self, turn: Turn, next: &Next, notices: &[String]) -> Result<Prepared, String> {
        self.can_be_recorded()?;
        let lender = Arc::new(Lender::new(self.shared.store.clone()));
        let history = self.next_history(turn, next, &lender).await?;
        let last_turn = match history.0.window().entries.is_empty() {
            true => Turn(0),
            false => history.0.window().turn.max(self.progress.last_turn),
        };
        let handles = (self.inbox.clone(), self.leash.clone());
        let mut agent =
            Self::new(self.shared.clone(), next.me.clone(), handles, self.prompt.clone(), history, lender);
        agent.unstated = true;
        agent.said.clone_from(&self.said);
        let (from, to) = (&self.me.profile.id, &next.me.profile.id);
        agent.progress = self.progress.of_successor(from, to, last_turn, self.since.elapsed());
        let mut prepared = Prepared { agent, to_hold: Vec::new(), notes: Vec::new() };
        for kind in &next.me.profile.held {
            let held = match (next.arrives(&kind.kind), self.modules.get(&kind.kind)) {
                (Some(Arrives::Transferred), Some(held)) => {
                    let handed = held.hand_over(&self.me.id, &next.me.id, kind).await;
                    let held = handed.map_err(|error| not_taken_over(&kind.kind, &error))?;
                    prepared.to_hold.extend(held.shared().cloned());
                    held
                }
                _ => {
                    let fresh =
                        holding::open(&self.shared, &next.me, kind, None).await.map_err(why_stopped)?;
                    let Fresh { held, note, to_hold } = fresh;
                    prepared.notes.extend(note);
                    prepared.to_hold.extend(to_hold);
                    held
                }
            };
            prepared.agent.modules.insert(kind.kind.clone(), held);
        }
        prepared.agent.may_take_a_turn()?;
        self.open_next_window(turn, next, &mut prepared, notices).await?;
        match prepared.agent.last_failure.take() {
            Some(why) => Err(why),
            None => Ok(prepared),
        }
    }

    async fn next_history(
        &self,
        turn: Turn,
        next: &Next,
        lender: &Arc<Lender>,
    ) -> Result<(History, Place), String> {
        let kind = &next.me.profile.history;
        if next.arrives(&kind.kind) != Some(Arrives::Transferred) {
            let history = holding::open_history(kind, lender).await.map_err(why_stopped)?;
            return Ok((history, Place::new(self.shared.store.next_module_id())));
        }
        let context = self.context_of(&next.me.id, turn, Phase::Now);
        let handed = self.history.hand_over(&kind.component, &kind.settings, lender.clone(), &context).await;
        let history = handed.map_err(|error| not_taken_over(&kind.kind, &error))?;
        Ok((history, Place::new(self.history_place.id)))
    }

    /// Opens the window of the next agent: an empty one as any new agent's; then what its modules have to say; last the
    /// note of what happened. One that can never fit is no window to go on with.
    async fn open_next_window(
        &self,
        turn: Turn,
        next: &Next,
        prepared: &mut Prepared,
        notices: &[String],
    ) -> Result<(), String> {
        let notes = std::mem::take(&mut prepared.notes);
        let agent = &mut prepared.agent;
        let starts_afresh = agent.history.window().entries.is_empty();
        if starts_afresh {
            agent.append_prompt().await.map_err(why_stopped)?;
        }
        let first = agent.first_turn();
        // Whoever goes on with the conversation knows what was put into what crossed with it.
        let is_told = |(kind, held): &(&String, &Held)| match next.arrives(kind) {
            Some(Arrives::Transferred) => starts_afresh,
            _ => held.shared().is_some(),
        };
        let kinds: Vec<String> = agent.modules.iter().filter(is_told).map(|(kind, _)| kind.clone()).collect();
        agent.open_window(first, notes, &kinds, Keep::Foldable).await.map_err(why_stopped)?;
        let profile = &next.me.profile.id;
        let of_profile = |held: &Held| held.shared().is_some_and(|module| module.is_of_profile(profile));
        let shared = agent.modules.iter().filter(|(_, held)| of_profile(held)).map(|(kind, _)| kind.clone());
        let handoff = Handoff {
            kind: next.kind,
            from: &self.me,
            turn,
            fates: &next.fates,
            shared: shared.collect(),
            notices,
            said: next.said.as_deref(),
        };
        let id = self.shared.store.next_message_id();
        let note = Message::user(id, Origin::Opening, handoff.note(&next.me));
        agent.append(first, vec![(note, Keep::Foldable)]).await.map_err(why_stopped)?;
        agent.can_fit_its_window().await
    }

    /// Whether a turn and a budget are left for an agent that goes on from another.
    fn may_take_a_turn(&self) -> Result<(), String> {
        let profile = &self.me.profile;
        let turns = self.progress.turns_of(&profile.id);
        let spend = self.progress.spend_of(&profile.id);
        let left = match turns >= profile.max_turns {
            true => Err(Ending::TurnLimit { limit: profile.max_turns }),
            false => crate::budget::agent_may_go_on(&profile.budget, turns, &spend),
        };
        left.map_err(|ending| {
            format!("{} has no turn left within this work: {}", profile.id, ending.sentence())
        })
    }

    /// Whether one step can hold everything that this agent has.
    pub(super) fn can_be_recorded(&self) -> Result<(), String> {
        let bytes =
            self.history.module().state().len() + self.modules.values().map(Held::bytes).sum::<usize>();
        if bytes > MAX_STATE_BYTES {
            return Err(format!(
                "what it holds has {bytes} bytes, and {MAX_STATE_BYTES} can be recorded at once; let some of it go first"
            ));
        }
        Ok(())
    }

    /// Whether the window can be made to fit before the first turn.
    async fn can_fit_its_window(&mut self) -> Result<(), String> {
        let first = self.first_turn();
        let room = self.room(first).await;
        let entries = &self.history.window().entries;
        let stays = entries.iter().filter(|entry| entry.pinned || entry.turn == first);
        let stays = self.progress.calibration.apply(stays.map(|entry| u64::from(entry.tokens)).sum());
        let tokens = self.window_tokens();
        let (name, fits) = (&self.me.profile.id, room.for_messages());
        if room.is_over(tokens, 1.0) && self.me.profile.compaction.is_none() {
            return Err(format!(
                "the window has about {tokens} tokens, {fits} fit into that of {name}, and it does not enable the \
                 capability `compaction`. Make the window smaller first, or do the work yourself"
            ));
        }
        if room.is_over(stays, 1.0) {
            return Err(format!(
                "what may not be left out of the window has about {stays} tokens, and {fits} fit into that of {name}. \
                 Say less, or do the work yourself"
            ));
        }
        Ok(())
    }

    /// The turn that an agent which goes on from another takes first.
    fn first_turn(&self) -> Turn {
        self.progress.opening.unwrap_or(Turn(1))
    }

    /// Makes the switch, in one step of the next agent, and lets go of what is dropped.
    async fn switch(&mut self, turn: Turn, next: Next, prepared: Prepared) -> Result<Self, Stop> {
        let Prepared { mut agent, to_hold, .. } = prepared;
        // What was failed and recorded while it was made ready belongs behind its coming to be.
        let made_ready = std::mem::replace(&mut agent.step, Step::new());
        self.event(Event::AgentTransition {
            turn,
            kind: next.kind,
            to: next.me.id.clone(),
            profile: next.me.profile.id.clone(),
            modules: next.fates.clone(),
            spent: Some(self.progress.spent()),
        });
        agent.step = std::mem::replace(&mut self.step, Step::new());
        agent.event(next.me.spawned());
        let from = self.me.standing.as_ref().filter(|_| next.kind == SuccessionKind::Fsm);
        if let Some(state) = next.me.fsm_state(from.map(|standing| standing.name())) {
            agent.event(state);
        }
        agent.event(match self.queues_as(&next.me) {
            true => Event::AgentState { state: AgentState::Queued, on: Vec::new() },
            false => super::running(),
        });
        agent.step.append(made_ready);
        agent.step.agent(self.me.record(AgentStatus::Became(next.me.id.clone()), self.progress.as_json()?));
        for module in to_hold {
            module.hold(&next.me.id, &mut agent.step);
        }
        agent.step.let_go(self.me.id.clone(), self.history_place.id);
        for held in self.modules.values() {
            held.let_go(&self.me.id, &mut agent.step);
        }
        agent.commit().await?;
        self.shared.lineages.became(&next.me);
        let profile = &next.me.profile;
        self.shared.rollup.add(&profile.id, &profile.model.name, |sums| sums.agents += 1);
        self.reset_what_is_dropped(turn, &next.fates, &mut agent).await;
        Ok(agent)
    }

    /// Tells the modules that nobody holds any more to let everything go. They are off the record already.
    async fn reset_what_is_dropped(&mut self, turn: Turn, fates: &[Fate], next: &mut Self) {
        for fate in fates.iter().filter(|fate| fate.leaves == Some(Leaves::Dropped)) {
            let done = match self.modules.remove(&fate.kind) {
                Some(held) => held.reset().await,
                None => {
                    let context = self.context(turn, Phase::Now);
                    self.history.reset(&context).await
                }
            };
            if let Err(error) = done {
                next.module_failed(turn, &fate.kind, &error);
            }
        }
    }

    /// Waits for a slot, if the agent that this one goes on from had to give up its own: it did not run under this one's
    /// key. An agent that is stopped meanwhile ends at its next turn.
    pub(crate) async fn queue_for_key(&mut self) {
        let key = self.me.profile.key.clone();
        let Some(door) = self.shared.slots.change_key(&self.me.lineage, key) else { return };
        self.hibernate();
        tokio::select! {
            biased;
            _ = self.leash.wait() => {}
            () = door.opened() => self.event(super::running()),
        }
        self.since = Instant::now();
    }

    /// Whether this agent gives its slot up to become the one that is `next`, because that one needs another key.
    fn queues_as(&self, next: &Identity) -> bool {
        next.profile.key.is_some() && next.profile.key != self.me.profile.key
    }
}

/// Why a module could not be taken over.
fn not_taken_over(kind: &str, error: &impl std::fmt::Display) -> String {
    format!("the module {kind:?} could not be handed over: {error}")
}

/// Why the next agent could not be made ready.
fn why_stopped(stop: Stop) -> String {
    match stop {
        Stop::End(Ending::Failed { error, .. }) => error,
        Stop::End(ending) => ending.sentence(),
        Stop::Store(error) => error.to_string(),
    }
}
