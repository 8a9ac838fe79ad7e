//! The system prompt's slot: rendered for this very agent, before each request, and never in the window.

use super::Agent;
use crate::capability::{compact, finish, shell, subagents};
use gg_core::{Event, Turn};
use gg_modules::Phase;

/// Bytes that all modules' sections may take for each token of the context window: about a third of it, at
/// some three bytes a token.
const MODULES_SHARE_BYTES: usize = 1;

impl Agent {
    /// The profile's prompt, then what each module tells unasked, then how this agent works and ends.
    ///
    /// A module that fails here costs its section; the record says so.
    pub(super) async fn system_prompt(&mut self, turn: Turn) -> String {
        if let Some((rendered, prompt)) = &self.system
            && *rendered == turn
        {
            return prompt.clone();
        }
        let prompt = self.render_system_prompt(turn).await;
        self.system = Some((turn, prompt.clone()));
        prompt
    }

    async fn render_system_prompt(&mut self, turn: Turn) -> String {
        let context = self.context(turn, Phase::Now);
        let mut sections = Vec::new();
        let mut failed = Vec::new();
        match self.history.prompt(&context).await {
            Ok(more) => sections.extend(more),
            Err(error) => failed.push(("history".to_owned(), error)),
        }
        for (kind, held) in &mut self.modules {
            match held.prompt(&context).await {
                Ok(more) => sections.extend(more),
                Err(error) => failed.push((kind.clone(), error)),
            }
        }
        for (kind, error) in failed {
            self.module_failed(turn, &kind, &error);
        }
        let mut prompt = self.me.profile.prompt.trim_end().to_owned();
        let mut room = self.me.profile.model.context_window as usize * MODULES_SHARE_BYTES;
        for section in sections {
            let text = format!("\n\n## {}\n{}", section.title, section.body.trim_end());
            // A module must not fill the window of its own agent before a word is said.
            match room.checked_sub(text.len()) {
                Some(left) => {
                    room = left;
                    prompt.push_str(&text);
                }
                None => self.event(Event::ModuleFailed {
                    turn,
                    module: gg_core::text::glance(&section.title, 64),
                    hook: "prompt".into(),
                    error: format!(
                        "its {} bytes do not fit beside the other modules' prompts and were left out",
                        text.len()
                    ),
                }),
            }
        }
        let how = self.how_it_works();
        if !how.is_empty() {
            prompt.push_str("\n\n## How you work\n");
            prompt.push_str(&how);
        }
        prompt
    }

    fn how_it_works(&self) -> String {
        let mut lines = Vec::new();
        if self.me.profile.workspace.is_some() {
            lines
                .push("Paths are relative to the root of your workspace; nothing outside it can be reached.");
        }
        if self.me.profile.tool(shell::CALL).is_some() {
            lines.push(
                "Commands run in the root of your workspace, each in a shell of its own: a `cd` or a variable \
                 lasts for one `run_command`, and so does what it starts in the background.",
            );
        }
        if self.me.profile.tool(subagents::WAIT).is_some() {
            lines.push(
                "Your subagents work in the same workspace as you: give them briefs that do not overlap, and \
                 collect their results before you end.",
            );
        }
        if self.me.profile.tool(compact::CALL).is_some() {
            lines.push("When this conversation grows long, `compact` summarises its older part.");
        }
        if self.me.profile.tool(finish::CALL).is_some() {
            lines.push(
                "When the work is done, or cannot be done, call `finish`. A reply without any call ends \
                 your work too, and its text is your answer.",
            );
        }
        lines.join("\n")
    }
}
