//! The end of a turn: what was declared is applied, once every result is recorded.

use super::{Agent, Stop, compaction::CompactError};
use gg_core::{
    Call, Ending, Event, Turn,
    event::CompactionReason,
    loop_detection::Verdict,
    text,
    turn::{Declaration, settle},
};
use gg_modules::CallError;

impl Agent {
    /// Applies a turn's declarations in the order that `gg_core::turn::settle` gives, then looks for a loop. The answer
    /// is whom the agent has become, if it has.
    pub(super) async fn settle(
        &mut self,
        turn: Turn,
        calls: &[Call],
        declarations: Vec<Declaration>,
    ) -> Result<Option<Box<Self>>, Stop> {
        let settlement = settle(declarations);
        let mut notices = Vec::new();
        for (kind, call) in &settlement.module_calls {
            match self.apply(turn, kind, call).await {
                Ok(()) => {}
                Err(CallError::Refused(why)) => {
                    notices.push(format!("{} was not applied: {why}", call.name));
                }
                Err(CallError::Failed(error)) => {
                    notices.push(format!("{} was not applied, and nothing was changed: {error}", call.name));
                    self.module_failed(turn, kind, &error);
                }
            }
        }
        if !settlement.module_calls.is_empty() {
            // What was noted is in the record before anything else reads the window.
            self.commit().await?;
        }
        if settlement.compact {
            match self.compact(turn, CompactionReason::Asked).await {
                Ok(()) => {}
                Err(CompactError::Stop(stop)) => return Err(stop),
                Err(CompactError::Not(why)) => notices.push(format!("compact was not done: {why}")),
            }
        }
        if !settlement.forks.is_empty() || settlement.succession.is_some() {
            // Whatever a module holds is on record before it is copied or handed over.
            self.commit().await?;
        }
        if !settlement.forks.is_empty() {
            notices.extend(Box::pin(self.fork_all(turn, settlement.forks)).await?);
        }
        if let Some(ending) = settlement.ending {
            if settlement.gave_up_succession {
                notices.push("The succession that you asked for was given up for the ending.".into());
            }
            // Should the ending be refused, the agent goes on and reads them.
            for notice in notices {
                self.notice(turn, notice).await?;
            }
            self.commit_rest().await?;
            return Err(Stop::End(ending));
        }
        self.check_cancelled()?;
        if let Some(succession) = settlement.succession {
            match Box::pin(self.become_another(turn, succession, &notices)).await? {
                Ok(next) => return Ok(Some(next)),
                Err(why) => notices.push(why),
            }
        }
        let verdict = self.progress.loop_detector.turn(calls, self.me.profile.loop_repeats);
        match verdict {
            Verdict::Go => {}
            Verdict::Nudge { repeats } => {
                notices.push(format!(
                    "You have now made the same calls with the same arguments {repeats} times in a row. Their \
                     results will not change. Do something else, or end your work. If you repeat them once \
                     more, your work is ended."
                ));
                self.event(Event::LoopNudge { turn, repeats });
            }
            Verdict::End { repeats } => {
                self.commit().await?;
                return Err(Stop::End(Ending::Loop { repeats, call: named(calls) }));
            }
        }
        for notice in notices {
            self.notice(turn, notice).await?;
        }
        self.commit_rest().await?;
        Ok(None)
    }
}

/// The calls of a turn in a few words.
fn named(calls: &[Call]) -> String {
    let whole: Vec<String> =
        calls.iter().map(|call| format!("{} {}", call.name, call.arguments.to_wire())).collect();
    text::glance(&whole.join(", "), 120)
}
