//! Call ids: the provider's own where it is usable, else one of gg's.

use gg_core::{CallId, Message, Turn};
use std::{collections::HashSet, sync::Arc};

/// The longest id that servers take back.
const LONGEST: usize = 64;

/// The ids that are taken in one window.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    taken: HashSet<CallId>,
}

impl CallIds {
    /// Those of the calls in `messages`.
    pub(crate) fn of(messages: &[Arc<Message>]) -> Self {
        let taken = messages.iter().flat_map(|message| message.calls()).map(|call| call.id.clone());
        Self { taken: taken.collect() }
    }

    /// The id of the call at `position` (from 1) of the reply in `turn`: `given` if servers would take it
    /// back and nothing has it yet, else one that only depends on the place, so that a replayed session sends
    /// the same bytes.
    pub(crate) fn assign(&mut self, given: Option<&str>, turn: Turn, position: usize) -> CallId {
        let given = given.filter(|id| is_usable(id)).map(CallId::new);
        let id = given.filter(|id| !self.taken.contains(id)).unwrap_or_else(|| self.own(turn, position));
        self.taken.insert(id.clone());
        id
    }

    /// Nine letters and digits, as long as turns and calls stay below 100,000 and 1,000: the strictest rule
    /// among servers, Mistral's, asks for exactly that.
    fn own(&self, turn: Turn, position: usize) -> CallId {
        let place = CallId::new(format!("c{:05}{position:03}", turn.0));
        let further = (2u64..).map(|n| CallId::new(format!("{place}x{n}")));
        let mut candidates = std::iter::once(place.clone()).chain(further);
        // Among endless candidates and a finite set one is always free.
        candidates.find(|id| !self.taken.contains(id)).unwrap_or(place)
    }
}

/// Whether every server takes this id back: some refuse any other character, or a longer one.
pub(crate) fn is_usable(id: &str) -> bool {
    (1..=LONGEST).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_core::{Arguments, Call, MessageId, Part};

    #[test]
    fn keeps_usable_ids_and_derives_the_others_from_their_place() {
        let call =
            |id: &str| Part::Call(Call { id: id.into(), name: "x".into(), arguments: Arguments::parse("") });
        let window = [Arc::new(Message::reply(MessageId(1), vec![call("call_0"), call("c00003002")]))];
        let mut ids = CallIds::of(&window);
        let mut assign = |given: Option<&str>, position| ids.assign(given, Turn(3), position).to_string();
        assert_eq!(assign(Some("call_1"), 1), "call_1");
        assert_eq!(assign(Some("call_0"), 2), "c00003002x2", "both are taken by the window");
        assert_eq!(assign(Some("call_1"), 3), "c00003003", "taken by the reply itself");
        assert_eq!(assign(None, 4), "c00003004");
        assert_eq!(assign(Some(""), 5), "c00003005");
        assert_eq!(assign(Some("a.b"), 6), "c00003006");
        assert_eq!(assign(Some(&"a".repeat(65)), 7), "c00003007");
        assert_eq!(assign(Some(&"a".repeat(64)), 8), "a".repeat(64));
    }
}
