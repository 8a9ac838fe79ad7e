//! The items of a response. That an item was added, grew and is done is said in events of their own, which
//! count for more than the list in the last event: some servers leave that empty, or half empty.

use crate::{
    error::ModelError,
    wire::reply::{MAX_CALLS, MAX_PARTS, RawCall, Trust, text_in},
};
use serde_json::{Map, Value};

/// One item, as far as it has come in.
#[derive(Debug, Default)]
pub(crate) struct Item {
    /// Its place in the response, as the server numbers it.
    index: Option<u64>,
    /// What the server last said of it as a whole.
    said: Map<String, Value>,
    /// Whether that was its last word.
    is_done: bool,
    /// The text in pieces.
    text: String,
    /// The refusal in pieces.
    refusal: String,
    /// The arguments in pieces.
    arguments: String,
    /// How many bytes of it are counted already.
    counted: usize,
}

/// What a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text,
    Refusal,
    Arguments,
    /// Shown, but kept only as part of the whole item: that alone can go back.
    Reasoning,
}

/// The items of one response, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Items {
    items: Vec<Item>,
}

/// An item that is done.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    /// How many bytes of it were not counted before.
    pub(crate) more: usize,
    /// Whether nothing of it came in pieces.
    pub(crate) is_news: bool,
    /// The item.
    pub(crate) item: &'a Item,
}

/// Where an event belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<&'a str>,
}

impl Items {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = Item> {
        self.items.into_iter()
    }

    /// An item began.
    pub(crate) fn begin(&mut self, index: Option<u64>, said: Map<String, Value>) -> Result<(), ModelError> {
        match self.of_id(name_of(&said)) {
            Some(at) => self.items[at].said = said,
            None => self.push(Item { index, said, ..Item::default() })?,
        }
        Ok(())
    }

    /// An item is done.
    pub(crate) fn end(
        &mut self,
        index: Option<u64>,
        said: Map<String, Value>,
    ) -> Result<Ended<'_>, ModelError> {
        let known = self.find(At { index, id: name_of(&said) }, kind_of(&said));
        let known = known.filter(|at| !self.items[*at].is_done);
        let at = known.unwrap_or(self.items.len());
        match self.items.get_mut(at) {
            Some(item) => item.said = said,
            None => self.push(Item { index, said, ..Item::default() })?,
        }
        let item = &mut self.items[at];
        item.is_done = true;
        let bytes: usize = item.said.values().map(text_in).sum();
        Ok(Ended { more: bytes.saturating_sub(item.counted), is_news: item.counted == 0, item })
    }

    /// A piece of an item.
    pub(crate) fn grow(&mut self, at: At<'_>, piece: Piece, text: &str) -> Result<(), ModelError> {
        let at = match self.find(at, Some(piece.kind())) {
            Some(at) => at,
            None => {
                self.push(Item { index: at.index, said: implied(piece, at.id), ..Item::default() })?;
                self.items.len() - 1
            }
        };
        let item = &mut self.items[at];
        item.counted = item.counted.saturating_add(text.len());
        match piece {
            Piece::Text => item.text.push_str(text),
            Piece::Refusal => item.refusal.push_str(text),
            Piece::Arguments => item.arguments.push_str(text),
            Piece::Reasoning => {}
        }
        Ok(())
    }

    /// The arguments of a call are whole.
    pub(crate) fn set_arguments(&mut self, at: At<'_>, arguments: String) {
        if let Some(at) = self.find(at, Some(Piece::Arguments.kind())) {
            self.items[at].arguments = arguments;
        }
    }

    /// The item that an event means: by both marks, else by its number, else by its id. An event whose marks
    /// say nothing means the latest item of its kind that is not done: some servers leave out the one mark and
    /// make up the other.
    fn find(&self, At { index, id }: At<'_>, kind: Option<&str>) -> Option<usize> {
        let all = &self.items;
        let both = |item: &Item| item.index == index && item.is_called(id);
        all.iter()
            .rposition(both)
            .or_else(|| all.iter().rposition(|item| index.is_some() && item.index == index))
            .or_else(|| self.of_id(id))
            .or_else(|| {
                let open = |item: &Item| index.is_none() && !item.is_done && item.kind() == kind;
                all.iter().rposition(open)
            })
    }

    fn of_id(&self, id: Option<&str>) -> Option<usize> {
        self.items.iter().rposition(|item| item.is_called(id))
    }

    fn push(&mut self, item: Item) -> Result<(), ModelError> {
        if self.items.len() == MAX_PARTS {
            return Err(ModelError::TooLarge { what: "parts", limit: MAX_PARTS });
        }
        let is_call = |item: &Item| item.kind() == Some("function_call");
        if is_call(&item) && self.items.iter().filter(|item| is_call(item)).count() == MAX_CALLS {
            return Err(ModelError::TooLarge { what: "calls", limit: MAX_CALLS });
        }
        self.items.push(item);
        Ok(())
    }
}

impl Piece {
    /// The kind of the items that have such pieces.
    fn kind(self) -> &'static str {
        match self {
            Self::Text | Self::Refusal => "message",
            Self::Arguments => "function_call",
            Self::Reasoning => "reasoning",
        }
    }
}

/// An item whose piece comes before anything was said of it.
fn implied(piece: Piece, id: Option<&str>) -> Map<String, Value> {
    let id = id.map(|id| ("id".to_owned(), id.into()));
    id.into_iter().chain([("type".to_owned(), piece.kind().into())]).collect()
}

/// The name under which events speak of an item: some servers know calls by their own ids alone.
fn name_of(said: &Map<String, Value>) -> Option<&str> {
    let field = |name: &str| said.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    field("id").or_else(|| field("call_id"))
}

fn kind_of(said: &Map<String, Value>) -> Option<&str> {
    said.get("type").and_then(Value::as_str)
}

impl Item {
    fn field(&self, name: &str) -> Option<&str> {
        self.said.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    fn is_called(&self, name: Option<&str>) -> bool {
        name.is_some() && [self.field("id"), self.field("call_id")].contains(&name)
    }

    /// Its `type`.
    pub(crate) fn kind(&self) -> Option<&str> {
        kind_of(&self.said)
    }

    /// Which part of an answer its text is, where the server distinguishes.
    pub(crate) fn phase(&self) -> Option<&str> {
        self.field("phase")
    }

    /// Its text: the server's last word, or the pieces where that says nothing.
    pub(crate) fn text(&self) -> String {
        self.content("output_text", "text", &self.text)
    }

    /// Why the model declines.
    pub(crate) fn refusal(&self) -> String {
        self.content("refusal", "refusal", &self.refusal)
    }

    fn content(&self, kind: &str, field: &str, pieces: &str) -> String {
        let list = self.said.get("content").and_then(Value::as_array);
        let of_kind =
            list.into_iter().flatten().filter(|part| part.get("type").and_then(Value::as_str) == Some(kind));
        let text: String = of_kind.filter_map(|part| part.get(field)?.as_str()).collect();
        if text.is_empty() { pieces.to_owned() } else { text }
    }

    /// What it thought, in words, where there are any.
    pub(crate) fn thought(&self) -> String {
        let texts = |name: &str| {
            let list = self.said.get(name).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        };
        let summary = texts("summary");
        if summary.is_empty() { texts("content") } else { summary }
    }

    /// The item as it goes back, if it can: what the server kept to itself and did not encrypt, it would look
    /// for in its store, where nothing is.
    pub(crate) fn into_reasoning(self) -> Option<Value> {
        let has_content =
            self.said.get("content").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        let is_whole = self.is_done && (has_content || self.field("encrypted_content").is_some());
        is_whole.then_some(Value::Object(self.said))
    }

    /// The call. One that is not marked as complete may be cut, however it reads; one that began, and of which
    /// nothing more was ever heard, cannot be run as a call without arguments.
    pub(crate) fn into_call(self) -> RawCall {
        let arguments = match self.said.get("arguments") {
            Some(Value::String(text)) if self.is_done && !text.is_empty() => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => self.arguments.clone(),
        };
        let is_complete = self.field("status").is_none_or(|status| status == "completed");
        let trust = match self.is_done {
            true if is_complete => Trust::AsItReads,
            false if arguments.is_empty() => Trust::Never,
            _ => Trust::UnlessStopped,
        };
        RawCall {
            id: self.field("call_id").or(self.field("id")).map(str::to_owned),
            name: self.field("name").unwrap_or_default().to_owned(),
            arguments,
            trust,
        }
    }
}
