//! Compacting the window: the history says what to fold, a model summarises it, the history folds it.

use super::{Agent, Stop};
use crate::capability::compact::{Asker, summarise};
use gg_core::{
    Entry, Event, Live, Message, Origin, Purpose, Turn, digest::sha256_hex, event::CompactionReason, tokens,
    window::Keep,
};
use gg_modules::{Phase, Summary};
use std::{collections::BTreeMap, sync::Arc};

/// After a compaction that failed, the window has to grow by this part of its room before its threshold starts
/// another: whatever broke is likely still broken, and each attempt may cost as much as a turn.
const GROWTH_DIVISOR: u64 = 10;

/// Why a window was not compacted.
pub(super) enum CompactError {
    /// The agent cannot go on.
    Stop(Stop),
    /// It can, as before: this is why nothing changed.
    Not(String),
}

impl<T: Into<Stop>> From<T> for CompactError {
    fn from(stop: T) -> Self {
        Self::Stop(stop.into())
    }
}

impl Agent {
    /// Compacts the window and makes that durable; or changes nothing, and makes durable why and what it cost.
    pub(super) async fn compact(&mut self, turn: Turn, reason: CompactionReason) -> Result<(), CompactError> {
        let done = self.try_compact(turn, reason).await;
        match &done {
            Ok(()) => self.progress.compact_again_over = 0,
            Err(CompactError::Not(error)) => {
                let room = self.room(turn).await.for_messages();
                self.progress.compact_again_over = self.window_tokens().saturating_add(room / GROWTH_DIVISOR);
                self.event(Event::CompactionFailed { turn, reason, error: error.clone() });
                self.commit().await?;
            }
            Err(CompactError::Stop(_)) => {}
        }
        done
    }

    async fn try_compact(&mut self, turn: Turn, reason: CompactionReason) -> Result<(), CompactError> {
        let Some((params, summarizer)) = self.me.profile.compaction.clone() else {
            return Err(CompactError::Not("the capability `compaction` is not enabled".into()));
        };
        let before_tokens = self.window_tokens();
        let room = self.room(turn).await;
        // What was asked for, or is too long by the server's own count, is folded whatever its size here.
        let target = match reason {
            CompactionReason::Threshold => room.target(params.threshold),
            CompactionReason::Asked => 0,
            CompactionReason::TooLong => room.target(params.threshold).min(before_tokens / 2),
        };
        let budget = self.progress.calibration.invert(target);
        let context = self.context(turn, Phase::Now);
        // Recent turns are only given up where the request could not be made otherwise.
        let limit = match reason {
            CompactionReason::TooLong => target,
            _ => room.for_messages(),
        };
        let mut segments = Vec::new();
        // What it is told at the start of its own turns has to be read once.
        let least = u32::from(self.is_opening(turn));
        for keep_turns in [params.keep_turns.max(least), params.keep_turns.clamp(least, 1), least] {
            segments = match self.history.fold(&context, budget, keep_turns).await {
                Ok(segments) => segments,
                Err(error) => {
                    self.module_failed(turn, "history", &error);
                    return Err(CompactError::Not(format!("the history module failed: {error}")));
                }
            };
            let folded: u64 = segments.iter().map(|segment| segment.tokens).sum();
            if before_tokens.saturating_sub(self.progress.calibration.apply(folded)) <= limit {
                break;
            }
        }
        if segments.is_empty() {
            return Err(CompactError::Not("there is nothing in the window that could be folded".into()));
        }

        self.shared.store.show(Live::Compacting { agent: self.me.id.clone(), reason });
        let mut texts = Vec::with_capacity(segments.len());
        for segment in segments {
            let entries = self.entries_between(segment.first, segment.last);
            let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
            let messages = self.shared.store.messages(&ids).await?;
            let text = self.summary_of(turn, &summarizer, &messages).await?;
            let first = self.first_turn_of(turn, &entries, &messages).await?;
            texts.push((segment, entries, first, text));
        }
        // The stream states no summary before there are all of them: one alone would never enter the window.
        let mut summaries = Vec::with_capacity(texts.len());
        let mut recorded = Vec::with_capacity(texts.len());
        let mut folded = 0;
        let mut firsts = BTreeMap::new();
        for (segment, entries, first, text) in texts {
            folded += entries.len() as u64;
            let last = entries.last().map_or(turn, |entry| entry.turn);
            let text = format!("Summary of turns {first} to {last}, which it replaces:\n{text}");
            let message = Message::user(self.shared.store.next_message_id(), Origin::Summary, text);
            let entry = Entry::of(&message, last, tokens::of_message(&message), Keep::Foldable);
            summaries.push(message.id);
            firsts.insert(message.id, first);
            let message = self.record_message(message, entry);
            recorded.push(Summary { first: segment.first, last: segment.last, message });
        }
        if let Err(error) = self.history.folded(&context, recorded).await {
            self.module_failed(turn, "history", &error);
            return Err(CompactError::Not(format!("the history module failed: {error}")));
        }
        // Of the summaries before, only those that still stand.
        let window = self.history.window();
        firsts.extend(
            window
                .entries
                .iter()
                .filter_map(|entry| Some((entry.id, *self.progress.summarised_from.get(&entry.id)?))),
        );
        self.progress.summarised_from = firsts;
        let after_tokens = self.window_tokens();
        self.event(Event::Compaction { turn, reason, before_tokens, after_tokens, folded, summaries });
        self.remind_of_children(turn).await?;
        self.commit().await?;
        Ok(())
    }

    /// The first turn that entries next to each other stand for. Those of summaries and stubs tell when they were made,
    /// or where they end.
    async fn first_turn_of(
        &self,
        turn: Turn,
        entries: &[Entry],
        messages: &[Arc<Message>],
    ) -> Result<Turn, CompactError> {
        let begins =
            |entry: &Entry| self.progress.summarised_from.get(&entry.id).copied().unwrap_or(entry.turn);
        let first = entries.iter().map(begins).min().unwrap_or(turn);
        let is_stub = |message: &Arc<Message>| message.origin == Origin::Stub;
        if !messages.first().is_some_and(is_stub) {
            return Ok(first);
        }
        // A stub at the front stands for what came after the last thing before it that is none.
        let window = &self.history.window().entries;
        let at = entries.first().and_then(|entry| window.iter().position(|other| other.id == entry.id));
        let before = window.get(..at.unwrap_or_default()).unwrap_or_default();
        let ids: Vec<_> = before.iter().map(|entry| entry.id).collect();
        let before_it = self.shared.store.messages(&ids).await?;
        let last = before.iter().zip(&before_it).rfind(|(_, message)| !is_stub(message));
        Ok(first.min(last.map_or(Turn(0), |(entry, _)| entry.turn).next()))
    }

    fn entries_between(&self, first: gg_core::MessageId, last: gg_core::MessageId) -> Vec<Entry> {
        let entries = &self.history.window().entries;
        let start = entries.iter().position(|entry| entry.id == first).unwrap_or(entries.len());
        let end = entries.iter().position(|entry| entry.id == last).map_or(start, |at| at + 1);
        entries.get(start..end).unwrap_or_default().to_vec()
    }

    async fn summary_of(
        &mut self,
        turn: Turn,
        summarizer: &crate::profile::ModelBinding,
        messages: &[Arc<Message>],
    ) -> Result<String, CompactError> {
        let asker = Asker { agent: self.me.id.clone(), profile: self.me.profile.id.clone(), turn };
        let mut requests = Vec::new();
        let calibration = self.progress.calibration;
        let summarised = tokio::select! {
            biased;
            ending = self.leash.wait() => Err(Stop::End(ending).into()),
            summarised = summarise(&asker, summarizer, &calibration, messages, &mut requests) => {
                summarised.map_err(|error| CompactError::Not(error.to_string()))
            }
        };
        // Whatever came of it, what was answered was paid for.
        for request in &requests {
            self.event(Event::Request {
                turn,
                purpose: Purpose::Summary,
                model: summarizer.name.clone(),
                system_sha256: sha256_hex(request.system.as_bytes()),
                messages: messages.iter().map(|message| message.id).collect(),
                calls: Vec::new(),
                attempts: request.attempts,
            });
            if let Some(reply) = &request.reply {
                self.account(turn, Purpose::Summary, request.raw_estimate, reply);
            }
        }
        summarised
    }
}
