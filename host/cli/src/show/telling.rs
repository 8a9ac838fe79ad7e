//! What agents did, event by event: a line for each step, or all that was said.

use crate::{
    progress::{
        item::{Item, What},
        passage::Passage,
        view::View,
    },
    styled::Line,
    transcript::Transcript,
};
use gg_core::{AgentId, Ending, Event, Live, Recorded};
use std::{sync::Arc, time::Duration};

/// How much is told of what agents did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing.
    Nothing,
    /// A line for each step.
    Turns,
    /// Every message, whole.
    Whole,
}

/// See the module's own text.
pub(super) struct Telling<'a> {
    told: Told,
    only: Option<&'a AgentId>,
    /// Lines say whose they are.
    is_named: bool,
    columns: usize,
    view: View,
    transcript: Transcript,
    ending: Option<Ending>,
}

impl<'a> Telling<'a> {
    /// Tells of a run that is known, or of one of its agents.
    pub(super) fn new(run: &View, told: Told, only: Option<&'a AgentId>, columns: usize) -> Self {
        Self {
            told,
            only,
            is_named: only.is_none() && run.tree().len() > 1,
            columns,
            view: View::new(run.plan().clone()),
            transcript: Transcript::new(only),
            ending: None,
        }
    }

    /// The lines for the next event. Every event of the run has to come by.
    pub(super) fn observe(&mut self, event: Recorded) -> Vec<Line> {
        if let (true, Event::AgentEnded { ending, .. }) = (self.is_only(&event), &event.event) {
            self.ending = Some(ending.clone());
        }
        match self.told {
            Told::Nothing => Vec::new(),
            Told::Turns => self.turns(event),
            Told::Whole => self.transcript.observe(&event),
        }
    }

    /// The lines that are left, and how the one agent ended, if there is one that ended.
    pub(super) fn finish(mut self) -> (Vec<Line>, Option<Ending>) {
        (self.transcript.finish(), self.ending)
    }

    fn is_only(&self, event: &Recorded) -> bool {
        self.only.is_some() && self.only == event.agent.as_ref()
    }

    fn turns(&mut self, event: Recorded) -> Vec<Line> {
        let is_wanted = self.only.is_none() || self.is_only(&event);
        let agent = event.agent.clone().filter(|_| self.is_named);
        let begins = self.begins(&event);
        let items = self.view.observe(&Live::Event(Arc::new(event)), Duration::ZERO);
        if !is_wanted {
            return Vec::new();
        }
        let steps = items.into_iter().map(|item| item.what).filter(|what| match what {
            What::Started { .. } => false,
            // It stands below, by itself.
            What::Ended { .. } => self.only.is_none(),
            _ => true,
        });
        let item = |what: What| Item { agent: agent.clone().filter(|_| what.is_of_agent()), what };
        begins.into_iter().chain(steps).flat_map(|what| item(what).lines(self.columns)).collect()
    }

    /// The first line of an agent that takes another's place and stands alone: the line that says so is the other's.
    fn begins(&self, event: &Recorded) -> Option<What> {
        let (true, Event::AgentSpawned { profile, model, parent: Some(from), depth }) =
            (self.is_only(event), &event.event)
        else {
            return None;
        };
        let (profile, model, from) = (profile.to_string(), model.clone(), from.clone());
        let goes_on = self.view.tree().find(&from).is_some_and(|row| self.view.tree().goes_on(row, *depth));
        goes_on.then_some(What::Passage(Passage::Continues { profile, model, from }))
    }
}

#[cfg(test)]
mod tests;
