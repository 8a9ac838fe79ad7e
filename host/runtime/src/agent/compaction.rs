//! Compacting the window: the history says what to fold, a model summarises it, the history folds it.

use super::{Agent, Stop};
use crate::capability::compact::{Asker, SummaryError, summarise};
use gg_core::{
    Entry, Event, Live, Message, Origin, Purpose, Turn, digest::sha256_hex, event::CompactionReason, tokens,
    window::Keep,
};
use gg_modules::{Phase, Summary};

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
    /// Compacts the window and makes that durable; or changes nothing.
    pub(super) async fn compact(&mut self, turn: Turn, reason: CompactionReason) -> Result<(), CompactError> {
        let Some((params, summarizer)) = self.profile.compaction.clone() else {
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
        for keep_turns in [params.keep_turns, params.keep_turns.min(1), 0] {
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

        self.shared.store.show(Live::Compacting { agent: self.id.clone(), reason });
        let mut summaries = Vec::with_capacity(segments.len());
        let mut recorded = Vec::with_capacity(segments.len());
        let mut folded = 0;
        for segment in segments {
            let entries = self.entries_between(segment.first, segment.last);
            folded += entries.len() as u64;
            let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
            let messages = self.shared.store.messages(&ids).await?;
            let text = self.summary_of(turn, &summarizer, &messages).await?;
            let (first, last) = match (entries.first(), entries.last()) {
                (Some(first), Some(last)) => (first.turn, last.turn),
                _ => (turn, turn),
            };
            let text = format!("Summary of turns {first} to {last}, which it replaces:\n{text}");
            let message = Message::user(self.shared.store.next_message_id(), Origin::Summary, text);
            let entry = Entry::of(&message, last, tokens::of_message(&message), Keep::Foldable);
            summaries.push(message.id);
            let message = self.record_message(message, entry);
            recorded.push(Summary { first: segment.first, last: segment.last, message });
        }
        if let Err(error) = self.history.folded(&context, recorded).await {
            self.module_failed(turn, "history", &error);
            self.commit().await?;
            return Err(CompactError::Not(format!("the history module failed: {error}")));
        }
        let after_tokens = self.window_tokens();
        self.event(Event::Compaction { turn, reason, before_tokens, after_tokens, folded, summaries });
        self.remind_of_children(turn).await?;
        self.commit().await?;
        Ok(())
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
        messages: &[std::sync::Arc<Message>],
    ) -> Result<String, CompactError> {
        let asker = Asker { agent: self.id.clone(), profile: self.profile.id.clone(), turn };
        let summarised = tokio::select! {
            biased;
            ending = self.leash.wait() => return Err(Stop::End(ending).into()),
            summarised = summarise(&asker, summarizer, &self.progress.calibration, messages) => summarised,
        };
        let summarised = match summarised {
            Ok(summarised) => summarised,
            Err(error @ (SummaryError::NoRoom { .. } | SummaryError::Empty | SummaryError::Model(_))) => {
                return Err(CompactError::Not(error.to_string()));
            }
        };
        for request in &summarised.requests {
            self.event(Event::Request {
                turn,
                purpose: Purpose::Summary,
                model: summarizer.name.clone(),
                system_sha256: sha256_hex(request.system.as_bytes()),
                messages: messages.iter().map(|message| message.id).collect(),
                calls: Vec::new(),
                attempts: request.reply.attempts,
            });
            self.account(turn, Purpose::Summary, request.raw_estimate, &request.reply);
        }
        Ok(summarised.text)
    }
}
