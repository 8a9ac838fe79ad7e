//! One turn after another, until the agent ends. The order within a turn is the one ARCHITECTURE.md gives.

use super::{Agent, Stop};
use crate::{budget::agent_may_go_on, lineages::Ended};
use gg_core::{
    Ending, Event, Message, Origin, Turn, call::MAX_RESULT_BYTES, event::CompactionReason, window::Keep,
};
use gg_providers::Stop as ReplyStop;
use gg_store::{AgentStatus, InboxItem, InboxKind, StoreError};

/// Empty replies in a row that are answered with a nudge; the next one ends the agent.
const MAX_EMPTY_REPLIES: u32 = 2;

/// What an agent's work came to.
pub(crate) enum Lived {
    /// It has ended so, which is on record.
    Ended(Ended),
    /// It has become this one, which is on record.
    Became(Box<Agent>),
}

impl Agent {
    /// Lets the agent work until it ends or becomes another, and records how. Fails only if the record cannot be
    /// written.
    pub(crate) async fn live(mut self) -> Result<Lived, StoreError> {
        let ended = loop {
            match self.turn().await {
                Ok(None) => {}
                Ok(Some(next)) => return Ok(Lived::Became(next)),
                Err(Stop::Store(error)) => return Err(error),
                Err(Stop::End(ending)) => {
                    let declared = self.progress.declared.take();
                    if let Some(declared) = declared.filter(|_| !ending.is_own()) {
                        // The turn that late messages opened came to nothing: what was declared before it stands.
                        break self.ended(declared).await;
                    }
                    let Some(ending) = self.ask_before_end(ending).await? else { continue };
                    if !ending.is_own() || !self.has_something_to_read().await {
                        break self.ended(ending).await;
                    }
                    self.progress.declared = Some(ending);
                }
            }
        };
        self.event(Event::AgentEnded {
            ending: ended.ending.clone(),
            state: ended.state.clone(),
            turns: self.progress.turns,
            usage: self.progress.spend.usage,
            cost: self.progress.spend.cost,
            said: ended.said.clone(),
            unread: ended.unread,
        });
        self.let_go_of_links();
        match self.commit_as(AgentStatus::Ended(ended.ending.clone())).await {
            Ok(()) => Ok(Lived::Ended(ended)),
            Err(Stop::Store(error)) => Err(error),
            Err(Stop::End(other)) => Ok(Lived::Ended(Ended { ending: other, ..ended })),
        }
    }

    /// Whether there is a message to read before the agent ends, and a turn left to read it in. If there is
    /// neither, the inbox is closed: a message is read, or refused, or its sender is told that it was not read.
    async fn has_something_to_read(&mut self) -> bool {
        let mut inbox = self.inbox.lock().await;
        let is_unread = inbox.items.iter().any(|item| item.kind == InboxKind::Message);
        let goes_on = is_unread && self.turns() < self.me.profile.max_turns;
        inbox.closed = !goes_on;
        goes_on
    }

    /// What whoever waits for the agent is told.
    async fn ended(&mut self, ending: Ending) -> Ended {
        let said = std::mem::take(&mut self.said);
        let has_words = ending.text().is_none() && !said.is_empty();
        let unread = self.inbox.lock().await.close();
        Ended { ending, said: has_words.then_some(said), state: self.me.state(), unread }
    }

    /// Whether this is the first turn of an agent that goes on from another.
    pub(super) fn is_opening(&self, turn: Turn) -> bool {
        self.progress.opening == Some(turn)
    }

    fn next_turn(&self) -> Result<Turn, Stop> {
        if let Some(first) = self.progress.opening.filter(|first| *first > self.progress.last_turn) {
            return Ok(first);
        }
        let last = self.history.window().turn.max(self.progress.last_turn);
        match last.next() {
            turn if turn == last => {
                Err(self.fail(turn, "the history module counts more turns than there can be"))
            }
            turn => Ok(turn),
        }
    }

    /// The turns that `maxTurns` counts: those of this profile, also of earlier incarnations.
    fn turns(&self) -> u32 {
        self.progress.turns_of(&self.me.profile.id)
    }

    /// One turn. The answer is whom the agent has become, if it has.
    async fn turn(&mut self) -> Result<Option<Box<Self>>, Stop> {
        self.check_cancelled()?;
        let profile = self.me.profile.clone();
        if self.turns() >= profile.max_turns {
            return Err(Stop::End(Ending::TurnLimit { limit: profile.max_turns }));
        }
        let spend = self.progress.spend_of(&profile.id);
        agent_may_go_on(&profile.budget, self.turns(), &spend).map_err(Stop::End)?;
        self.shared.budget.take_turn().map_err(Stop::End)?;
        let turn = self.next_turn()?;
        self.progress.last_turn = turn;
        self.progress.turns += 1;
        self.lender.turn(turn);
        self.shared.rollup.add(&self.me.profile.id, &self.me.profile.model.name, |sums| sums.turns += 1);
        self.state_window().await?;
        self.event(Event::TurnStarted { turn });
        self.drain_inbox(turn).await?;
        // Committed before the model is asked, so that whoever watches sees the turn while it thinks.
        self.commit().await?;
        // In boxes, so that an agent that waits for others is not as large as one that asks a model.
        Box::pin(self.fit_window(turn)).await?;
        let reply = Box::pin(self.ask(turn)).await?;

        let id = self.shared.store.next_message_id();
        let message = Message::reply(id, reply.parts);
        let calls: Vec<_> = message.calls().cloned().collect();
        let text = message.text();
        if !text.trim().is_empty() {
            self.said = gg_core::text::cut_saying_so(text.clone(), MAX_RESULT_BYTES);
        }
        if calls.is_empty() {
            Box::pin(self.reply_without_calls(turn, message, text, &reply.stop)).await?;
            return Ok(None);
        }
        self.progress.empty_replies = 0;
        self.progress.unfinished_text.clear();
        // The whole reply is durable before any of it is acted on. It enters the window with its results,
        // so that no window ever holds a call without one.
        self.progress.open_reply = Some(id);
        let entry = gg_core::Entry::of(&message, turn, gg_core::tokens::of_message(&message), Keep::Foldable);
        let lent = self.record_message(message, entry);
        self.commit().await?;

        self.forks.clear();
        let (results, declarations) = self.run_calls(turn, &calls).await?;
        let results = Message::results(self.shared.store.next_message_id(), results);
        let entry = gg_core::Entry::of(&results, turn, gg_core::tokens::of_message(&results), Keep::Foldable);
        let answered = self.record_message(results, entry);
        self.append_lent(turn, vec![lent, answered]).await?;
        self.progress.open_reply = None;
        self.step.declarations(self.me.id.clone(), turn, declarations.clone());
        self.commit().await?;
        Box::pin(self.settle(turn, &calls, declarations)).await
    }

    /// A reply without calls ends the agent by its text, unless it is no answer at all.
    async fn reply_without_calls(
        &mut self,
        turn: Turn,
        message: Message,
        text: String,
        stop: &ReplyStop,
    ) -> Result<(), Stop> {
        let cut_off = *stop == ReplyStop::Length;
        if let ReplyStop::Refused | ReplyStop::Other(_) = stop {
            let why = match stop {
                ReplyStop::Other(why) => gg_core::text::glance(why, 200),
                _ => "the server or the model declined to go on".to_owned(),
            };
            if !text.trim().is_empty() {
                self.append(turn, vec![(message, Keep::Foldable)]).await?;
            }
            return Err(self.fail(turn, format_args!("the reply was broken off: {why}")));
        }
        if text.trim().is_empty() {
            self.progress.empty_replies += 1;
            if self.progress.empty_replies > MAX_EMPTY_REPLIES {
                let why = if cut_off {
                    "the model's replies were cut off before they said anything; raise maxOutput"
                } else {
                    "the model keeps giving empty replies"
                };
                return Err(self.fail(turn, why));
            }
            let nudge = if cut_off {
                "Your reply was cut off at the output limit before it said anything. Answer more briefly."
            } else {
                "Your reply was empty. Make a call, or answer with a text."
            };
            self.notice(turn, nudge).await?;
            return self.commit().await;
        }
        self.progress.empty_replies = 0;
        self.append(turn, vec![(message, Keep::Foldable)]).await?;
        if cut_off {
            self.progress.unfinished_text.push_str(&text);
            self.notice(
                turn,
                "Your reply was cut off at the output limit. Go on from where it stops, or make a call.",
            )
            .await?;
            return self.commit().await;
        }
        let text = std::mem::take(&mut self.progress.unfinished_text) + &text;
        self.commit().await?;
        Err(Stop::End(Ending::Text { text }))
    }

    pub(super) fn check_cancelled(&self) -> Result<(), Stop> {
        match self.leash.pulled() {
            Some(ending) => Err(Stop::End(ending)),
            None => Ok(()),
        }
    }

    /// Puts what arrived since the last turn into the window. It counts as read with the next commit.
    async fn drain_inbox(&mut self, turn: Turn) -> Result<(), Stop> {
        let inbox = self.inbox.clone();
        let mut inbox = inbox.lock().await;
        let Some(last) = inbox.items.back().map(|item| item.n) else {
            return Ok(());
        };
        // What was told of memories that the agent before this one held says nothing to one that holds none.
        let holds_with_others = self.modules.values().any(|held| held.shared().is_some());
        let is_for_it = |item: &&InboxItem| item.kind == InboxKind::Message || holds_with_others;
        let items: Vec<&InboxItem> = inbox.items.iter().filter(is_for_it).collect();
        // Notices that come together are one message: a busy holder makes many.
        let together = items.chunk_by(|one, next| one.kind == next.kind && one.kind == InboxKind::Notice);
        let messages = together
            .map(|items| {
                let (origin, text) = read(items);
                let id = self.shared.store.next_message_id();
                (Message::user(id, origin, text), Keep::Foldable)
            })
            .collect();
        self.append(turn, messages).await?;
        self.step.inbox_drain(self.me.lineage.clone(), last);
        inbox.items.clear();
        Ok(())
    }

    /// Tells the agent something in its window.
    pub(super) async fn notice(&mut self, turn: Turn, text: impl Into<String>) -> Result<(), Stop> {
        let message = Message::user(self.shared.store.next_message_id(), Origin::Notice, text);
        self.append(turn, vec![(message, Keep::Foldable)]).await
    }

    /// Compacts a window that is over its threshold; one that cannot fit at all ends the agent.
    async fn fit_window(&mut self, turn: Turn) -> Result<(), Stop> {
        let room = self.room(turn).await;
        let tokens = self.window_tokens();
        let threshold = self.me.profile.compaction.as_ref().map(|(params, _)| params.threshold);
        let is_over = threshold.is_some_and(|threshold| room.is_over(tokens, threshold));
        if !is_over {
            self.progress.compact_again_over = 0;
        }
        // One that does not fit is tried whatever failed before: the agent cannot go on otherwise.
        if is_over && (tokens > self.progress.compact_again_over || room.is_over(tokens, 1.0)) {
            match self.compact(turn, CompactionReason::Threshold).await {
                Ok(()) => {}
                Err(super::compaction::CompactError::Stop(stop)) => return Err(stop),
                Err(super::compaction::CompactError::Not(why)) if room.is_over(tokens, 1.0) => {
                    return Err(self.fail(turn, why));
                }
                Err(super::compaction::CompactError::Not(_)) => {}
            }
        }
        let room = self.room(turn).await;
        let tokens = self.window_tokens();
        if room.is_over(tokens, 1.0) {
            let how = if self.me.profile.compaction.is_some() {
                "compaction could not make it smaller; use a model with a larger contextWindow"
            } else {
                "enable the capability `compaction`, or use a model with a larger contextWindow"
            };
            return Err(self.fail(
                turn,
                format_args!(
                    "the window is full: about {tokens} tokens of messages, and {} fit beside the prompt and \
                     the reply; {how}",
                    room.for_messages()
                ),
            ));
        }
        Ok(())
    }
}

/// What an agent reads of a message, or of notices that came together.
fn read(items: &[&InboxItem]) -> (Origin, String) {
    match items {
        [InboxItem { kind: InboxKind::Message, from, text, .. }] => {
            let text = match from {
                Some(agent) => format!("Message from {agent}:\n{text}"),
                None => text.clone(),
            };
            (Origin::Inbox, text)
        }
        _ => {
            let lines = items.iter().flat_map(|item| item.text.lines()).map(|line| format!("\n- {line}"));
            let lines: String = lines.collect();
            (Origin::Notice, format!("Others changed what you hold together:{lines}"))
        }
    }
}
