//! What is allowed and worth knowing.

use crate::{Catalogue, Configuration, Mark, Source, source::escape};
use serde::Serialize;
use std::{collections::BTreeSet, ops::Range};

/// Something that is as the operator may want it, or a slip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// What to know.
    pub message: String,
    /// The JSON pointer of the value it is about.
    pub pointer: String,
    /// The line of the marked place, counted from 1.
    pub line: usize,
    /// The column of the marked place, in characters, counted from 1.
    pub column: usize,
    /// How many characters are marked.
    pub length: usize,
    /// The agent it is about.
    pub profile: Option<String>,
    /// The marked place in bytes, for whoever shows the source.
    #[serde(skip)]
    pub range: Range<usize>,
}

/// What to tell about a configuration that passed the check, in the order of the text: calls that an allowlist
/// withholds, providers and components that nothing uses.
pub fn notes(source: &Source, catalogue: &Catalogue, configuration: &Configuration) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |pointer: String, mark: Mark, message: String| {
        let range = source.place(&pointer, mark);
        let (line, column, length) = source.line_column_length(&range);
        let (profile, _) = source.owner(&pointer);
        notes.push(Note { message, pointer, line, column, length, profile, range });
    };
    let mut providers = BTreeSet::new();
    let mut components = BTreeSet::new();
    for (at, profile) in configuration.agents.iter().enumerate() {
        if profile.is_machine() {
            continue;
        }
        let summarizer = profile.compaction().and_then(|params| params.summarizer);
        let models = profile.model.iter().cloned().chain(summarizer);
        providers.extend(models.map(|model| model.provider));
        let mut withheld = vec!["finish"];
        for capability in &profile.capabilities {
            let component = capability.component.as_ref();
            let kind = match component {
                Some(name) => catalogue.components.get(name).and_then(|kind| kind.as_ref().ok()),
                None => catalogue.kinds.get(&capability.id),
            };
            components.extend(component);
            let offered =
                kind.into_iter().flat_map(|kind| kind.offered(&capability.features, profile.reach()));
            withheld.extend(offered.map(|call| call.name.as_str()));
        }
        let reach = profile.reach();
        if reach.collects && !reach.spawns && !reach.forks {
            let message = "it enables \"subagents\" and its roster lists nobody with the scope \"subagent\": none of \
                           their calls is offered";
            add(format!("/agents/{at}"), Mark::Value, message.to_owned());
        }
        if let Some(allowed) = &profile.calls {
            withheld.retain(|name| !allowed.iter().any(|allowed| allowed == name));
            if !withheld.is_empty() {
                let message = format!("this allowlist withholds {}", withheld.join(", "));
                add(format!("/agents/{at}/calls"), Mark::Key, message);
            }
        }
    }
    for name in configuration.providers.keys().filter(|name| !providers.contains(*name)) {
        let message = format!("no agent uses the provider {name:?}");
        add(format!("/providers/{}", escape(name)), Mark::Key, message);
    }
    for name in configuration.components.keys().filter(|name| !components.contains(name)) {
        let message = format!("no enabled capability uses the component {name:?}");
        add(format!("/components/{}", escape(name)), Mark::Key, message);
    }
    notes.sort_by_key(|note| note.range.start);
    notes
}
