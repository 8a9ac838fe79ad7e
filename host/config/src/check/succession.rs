//! Rules about `exec` and `fork`: that there is somebody to become, somebody who collects a copy, and that what is
//! carried along can be read by whoever gets it.

use super::{At, Check, capabilities::HISTORY, cast::Held};
use crate::{
    Code, Kind, Mark,
    catalogue::{EXEC, FORK, SUBAGENTS},
};
use gg_core::text;
use std::collections::BTreeSet;

/// The call that collects a copy.
const WAIT: &str = "wait_for_subagents";

impl<'a> Check<'a> {
    /// The rules about an agent that takes turns.
    pub(super) fn succession(&mut self, agent: &At<'a>) {
        if let Some(exec) = agent.enabled(EXEC) {
            self.exec(agent, &format!("{}/id", exec.pointer));
            self.exec_formats(agent);
        }
        if let Some(fork) = agent.enabled(FORK) {
            self.fork(agent, &format!("{}/id", fork.pointer));
        }
    }

    fn exec(&mut self, agent: &At<'a>, at: &str) {
        if !self.reach(agent).spawns && !has_unknown_scope(agent) {
            let message = "\"exec\" makes an agent into one that its roster lists with the scope \"subagent\", and this \
                           roster lists none: there is nothing to become";
            let help = "list in \"roster\", with that scope, whom it may become; or turn \"exec\" off";
            self.refuse(Code::ExecWithoutRoster, at, Mark::Value, message.into(), help.into());
        }
        let Some(places) = self.cast.places(agent) else { return };
        let machines: Vec<String> =
            places.machines.iter().map(|id| format!("{:?}", text::glance(id, 80))).collect();
        let message = format!(
            "this agent works in a state of {}, and only the machine says what comes next: \"exec\" would never be \
             offered",
            text::glance(&machines.join(", "), 200)
        );
        let help = "turn \"exec\" off and give that state its transitions, or run another agent there";
        self.refuse(Code::ExecInState, at, Mark::Value, message, help.into());
    }

    fn fork(&mut self, agent: &At<'a>, at: &str) {
        if agent.enabled(SUBAGENTS).is_none() && !self.may_mean(agent, SUBAGENTS) {
            let message = "nobody could wait for a copy that \"fork\" makes or write to it: the calls for that are \
                           those of \"subagents\", which this agent does not enable";
            let help = "enable \"subagents\" as well, with its \"maxDepth\"; or turn \"fork\" off";
            return self.refuse(Code::ForkWithoutSubagents, at, Mark::Value, message.into(), help.into());
        }
        let granted = agent.items("calls");
        if let Some(fork) = granted.iter().find(|call| call.value == FORK)
            && !granted.iter().any(|call| call.value == WAIT)
        {
            let message = format!(
                "this allowlist grants {FORK:?} and withholds {WAIT:?}: nobody could collect the copies"
            );
            let help = format!("add {WAIT:?} to it, or take {FORK:?} out");
            self.refuse(Code::ForkUncollectable, &fork.pointer, Mark::Value, message, help);
        }
    }

    /// Whatever both hold moves across, so each must be able to read it.
    fn exec_formats(&mut self, agent: &At<'a>) {
        let kinds = self.kinds_held(agent);
        for entry in agent.items("roster").iter().filter(|entry| is_spawnable(entry)) {
            let Some((id, pointer)) = entry.text("agentId") else { continue };
            let Some(successor) = self.cast.entry(id).cloned() else { continue };
            for kind in kinds.iter().copied() {
                if let Some((ours, theirs)) = self.formats_differ(agent, &successor, kind) {
                    let message = format!(
                        "becoming this agent moves {kind:?} to a component that keeps it as {theirs:?} and cannot read \
                         {ours:?}"
                    );
                    let help = format!(
                        "use one component of {kind:?} in both agents, or take this one out of the roster"
                    );
                    self.refuse(Code::StateFormatMismatch, &pointer, Mark::Value, message, help);
                }
            }
        }
    }

    /// The two formats of a kind of module that both agents hold, if they differ.
    pub(super) fn formats_differ(
        &self,
        from: &At<'a>,
        to: &At<'a>,
        kind: &str,
    ) -> Option<(&'a str, &'a str)> {
        let (Held::As(from), Held::As(to)) = (self.held(from, kind), self.held(to, kind)) else {
            return None;
        };
        let format = |kind: &'a Kind| kind.state_format.as_deref();
        let (from, to) = (format(from)?, format(to)?);
        (from != to).then_some((from, to))
    }

    fn kinds_held(&self, agent: &At<'a>) -> BTreeSet<&'a str> {
        let kinds = self.module_kinds().known;
        let listed = agent.items("capabilities").into_iter().filter_map(|capability| {
            let (id, _) = capability.text("id").filter(|_| capability.is_on())?;
            Some(id)
        });
        listed.chain([HISTORY]).filter(|id| kinds.contains(id)).collect()
    }
}

/// Of a roster's entry: whether it may be spawned, and become.
pub(super) fn is_spawnable(entry: &At<'_>) -> bool {
    entry.items("scopes").iter().any(|scope| scope.value == "subagent")
}

/// Whether a roster has a scope that is none, and may have been meant to be the one that is missing.
fn has_unknown_scope(agent: &At<'_>) -> bool {
    let scopes = agent.items("roster").into_iter().flat_map(|entry| entry.items("scopes"));
    let known = ["subagent", "implementer", "reviewer"];
    scopes.into_iter().any(|scope| scope.value.as_str().is_none_or(|scope| !known.contains(&scope)))
}
