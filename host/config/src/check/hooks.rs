//! Rules about hooks: that each has something to hold, and a program to hold it with.

use super::{
    At, Check,
    capabilities::Enabled,
    machines::{TRANSITION, WHO_MOVES},
};
use crate::{Code, Mark};
use gg_core::{HookPoint, text};

/// The longest reason for which a program cannot run that is repeated, in characters.
const REASON_CHARS: usize = 200;

impl<'a> Check<'a> {
    pub(super) fn hooks(&mut self, agent: &At<'a>, enabled: &Enabled<'a>) {
        for hook in agent.items("hooks") {
            if let Some(calls) = hook.get("calls")
                && hook.text("on").is_some_and(|(on, _)| on == HookPoint::BeforeEnd.as_str())
            {
                let message = "an ending is no call".into();
                let help = "remove \"calls\": before_end is asked about every ending".into();
                self.refuse(Code::HookCall, &calls.pointer, Mark::Key, message, help);
            } else {
                self.hook_calls(agent, &hook, enabled);
            }
            self.hook_command(&hook);
        }
    }

    /// A hook for a call that is never made holds nothing, which is worse than no hook.
    fn hook_calls(&mut self, agent: &At<'a>, hook: &At<'a>, enabled: &Enabled<'a>) {
        for call in hook.items("calls") {
            let Some(name) = call.value.as_str() else { continue };
            let shown = text::glance(name, 80);
            if enabled.calls.contains_key(name) {
                let allowed = agent.get("calls").and_then(|list| list.value.as_array());
                let withheld = allowed.filter(|_| name != TRANSITION);
                if withheld.is_some_and(|list| !list.iter().any(|allowed| allowed == name)) {
                    let message = format!("the allowlist of this agent withholds the call {shown:?}");
                    let help = "remove it here, or add it to the agent's \"calls\"".into();
                    self.refuse(Code::HookCall, &call.pointer, Mark::Value, message, help);
                }
                continue;
            }
            let source = self.who_offers(name);
            // What was not recognised may have been meant to offer it.
            if enabled.may_offer_anything || (source.is_some() && enabled.has_unknown) {
                continue;
            }
            let message = format!("nothing this agent enables offers the call {shown:?}");
            match source {
                Some(kind) => {
                    let help = format!("remove it here, or enable the capability {kind:?}, which offers it");
                    self.refuse(Code::HookCall, &call.pointer, Mark::Value, message, help);
                }
                None if name == TRANSITION => {
                    let help = format!("remove it here: {WHO_MOVES}");
                    self.refuse(Code::HookCall, &call.pointer, Mark::Value, message, help);
                }
                None => {
                    let known = enabled.calls.keys().copied();
                    self.refuse_unknown(Code::HookCall, &call.pointer, Mark::Value, message, name, known);
                }
            }
        }
    }

    fn hook_command(&mut self, hook: &At<'a>) {
        let command = hook.items("command");
        if let Some(part) =
            command.iter().find(|part| part.value.as_str().is_some_and(|part| part.contains('\0')))
        {
            let message = "a NUL character stands in a command".into();
            let help = "remove it: no program can be passed one".into();
            return self.refuse(Code::HookCommand, &part.pointer, Mark::Value, message, help);
        }
        let Some((program, at)) = command.first().and_then(|at| Some((at.value.as_str()?, at))) else {
            return;
        };
        if program.trim().is_empty() {
            let message = "the command names no program".into();
            let help = "its first entry is the program: \"command\": [\"./gate.sh\"]".into();
            return self.refuse(Code::HookCommand, &at.pointer, Mark::Value, message, help);
        }
        let why = match self.catalogue.programs.get(program) {
            Some(Ok(())) => return,
            Some(Err(why)) => text::glance(why, REASON_CHARS),
            None => "it was not looked for".into(),
        };
        let message = format!("the program {:?} cannot be run: {why}", text::glance(program, 80));
        let help = if program.contains('/') {
            "paths are relative to the folder of the configuration; make a script executable with chmod +x"
        } else {
            "a name without a slash is looked up in PATH; a program beside the configuration is \"./NAME\""
        };
        self.refuse(Code::HookCommand, &at.pointer, Mark::Value, message, help.into());
    }
}
