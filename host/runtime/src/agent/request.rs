//! Asking the model: the request, its stream, and what it used.

use super::{Agent, Stop};
use crate::telemetry::Spend;
use gg_core::{
    AgentId, Event, Live, Message, Purpose, Turn, Usage, compaction::Room, digest::sha256_hex,
    event::CompactionReason, tokens,
};
use gg_providers::{Delta, Deltas, ModelError, Reply, Request};
use gg_store::RunStore;

impl Agent {
    /// The window's size, as the model's server would count it.
    pub(super) fn window_tokens(&self) -> u64 {
        self.progress.calibration.apply(self.history.window().tokens())
    }

    /// The room that the model leaves for messages, beside the prompt and the calls of this turn.
    pub(super) async fn room(&mut self, turn: Turn) -> Room {
        let system = self.system_prompt(turn).await;
        let fixed = tokens::of_bytes(system.len()) + self.me.profile.offered_tokens;
        Room {
            context_window: u64::from(self.me.profile.model.context_window),
            max_output: u64::from(self.me.profile.model.max_output),
            fixed: self.progress.calibration.apply(fixed),
        }
    }

    /// Asks for the turn's reply. A request that the server finds too long is made once more, after a
    /// compaction. Nothing of a reply that is not whole is ever seen here.
    pub(super) async fn ask(&mut self, turn: Turn) -> Result<Reply, Stop> {
        match self.ask_once(turn).await? {
            Ok(reply) => Ok(reply),
            Err(error @ ModelError::ContextTooLong { .. }) if self.me.profile.compaction.is_some() => {
                match self.compact(turn, CompactionReason::TooLong).await {
                    Ok(()) => {}
                    Err(super::compaction::CompactError::Stop(stop)) => return Err(stop),
                    Err(super::compaction::CompactError::Not(why)) => {
                        return Err(self.fail(
                            turn,
                            format_args!("{error}; and the window could not be made shorter: {why}"),
                        ));
                    }
                }
                self.ask_once(turn).await?.map_err(|error| self.model_failed(turn, &error))
            }
            Err(error) => Err(self.model_failed(turn, &error)),
        }
    }

    fn model_failed(&self, turn: Turn, error: &ModelError) -> Stop {
        self.fail(turn, format_args!("{error}. {}", error.hint()))
    }

    async fn ask_once(&mut self, turn: Turn) -> Result<Result<Reply, ModelError>, Stop> {
        let system = self.system_prompt(turn).await;
        let entries = &self.history.window().entries;
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        let messages = self.shared.store.messages(&ids).await?;
        let raw =
            tokens::of_bytes(system.len()) + self.me.profile.offered_tokens + self.history.window().tokens();
        let request = Request {
            agent: self.me.id.clone(),
            profile: self.me.profile.id.clone(),
            turn,
            purpose: Purpose::Turn,
            system,
            messages,
            calls: self.me.profile.offered().clone(),
            max_output: self.me.profile.model.max_output,
            parameters: self.me.profile.model.parameters.clone(),
            model: self.me.profile.model.name.clone(),
        };
        let shown = Shown { agent: self.me.id.clone(), store: self.shared.store.clone() };
        let reply = tokio::select! {
            biased;
            ending = self.leash.wait() => return Err(Stop::End(ending)),
            reply = self.me.profile.model.client.complete(&request, &shown) => reply,
        };
        let attempts = match &reply {
            Ok(reply) => reply.attempts,
            Err(error) => error.attempts(),
        };
        self.event(Event::Request {
            turn,
            purpose: Purpose::Turn,
            model: request.model.clone(),
            system_sha256: sha256_hex(request.system.as_bytes()),
            messages: request.messages.iter().map(|message| message.id).collect(),
            calls: request.calls.iter().map(|call| call.name.clone()).collect(),
            attempts,
        });
        if let Ok(reply) = &reply {
            self.account(turn, Purpose::Turn, raw, reply);
        }
        Ok(reply)
    }

    /// Counts what a request used, and learns from it how large requests really are.
    pub(super) fn account(&mut self, turn: Turn, purpose: Purpose, raw: u64, reply: &Reply) {
        let written = Message::reply(gg_core::MessageId(0), reply.parts.clone());
        let estimate = Usage {
            input: self.progress.calibration.apply(raw),
            output: u64::from(tokens::of_message(&written)),
            ..Usage::default()
        };
        let usage = reply.usage.unwrap_or(estimate);
        let binding = match (&self.me.profile.compaction, purpose) {
            (Some((_, summarizer)), Purpose::Summary) => summarizer,
            _ => &self.me.profile.model,
        };
        if purpose == Purpose::Turn
            && let Some(reported) = reply.usage
        {
            self.progress.calibration.learn(raw, reported.input);
        }
        let prices = binding.prices;
        let event = self.progress.spend.request(turn, purpose, usage, reply.usage.is_none(), prices.as_ref());
        let cost = match &event {
            Event::Usage { cost, .. } => *cost,
            _ => None,
        };
        self.shared.rollup.add(&self.me.profile.id, &self.me.profile.model.name, |sums| {
            sums.requests += 1;
            sums.usage += usage;
            if let Some(gg_core::Cost(more)) = cost {
                sums.cost = Some(gg_core::Cost(sums.cost.unwrap_or_default().0 + more));
            }
        });
        self.shared.budget.spent(&Spend { usage, cost });
        self.event(event);
    }
}

/// Shows a reply to subscribers while it is written.
struct Shown {
    agent: AgentId,
    store: RunStore,
}

impl Deltas for Shown {
    fn delta(&self, delta: Delta<'_>) {
        let agent = self.agent.clone();
        match delta {
            Delta::Text(text) => self.store.show(Live::Text { agent, text: text.to_owned() }),
            Delta::Reasoning(_) => {}
            Delta::Retrying { error, wait } => self.store.show(Live::Retrying {
                agent,
                error: error.to_owned(),
                wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }
}
