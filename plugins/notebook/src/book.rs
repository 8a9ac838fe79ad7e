//! The pages, and the rules of changing them.

use gg_module_sdk::CallError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest name of a page, in bytes: names are told in prompts and lists.
pub(crate) const MAX_NAME_BYTES: usize = 120;

/// What a configuration may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Params {
    /// The most pages.
    pub max_pages: usize,
    /// The longest page, in bytes.
    pub max_page_bytes: usize,
    /// All pages together, in bytes.
    pub max_bytes: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self { max_pages: 100, max_page_bytes: 64 * 1024, max_bytes: 512 * 1024 }
    }
}

/// The notebook: pages by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Notebook {
    pages: BTreeMap<String, String>,
}

impl Notebook {
    /// All pages, by name.
    pub fn pages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pages.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// How many pages there are.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// All texts together, in bytes.
    pub fn bytes(&self) -> usize {
        self.pages.values().map(String::len).sum()
    }

    /// A page's text.
    ///
    /// # Errors
    /// Names the pages that exist, if this one does not.
    pub fn get(&self, name: &str) -> Result<&str, CallError> {
        self.pages.get(name).map(String::as_str).ok_or_else(|| self.unknown(name))
    }

    /// Makes a page, or replaces its text.
    ///
    /// # Errors
    /// If the name is no name for a page, or a cap would be passed.
    pub fn write(&mut self, name: &str, text: String, params: &Params) -> Result<(), CallError> {
        self.check_room(name, text.len(), params)?;
        self.pages.insert(name.to_owned(), text);
        Ok(())
    }

    /// Adds to a page's end, on a line of its own; makes the page if there is none. Gives its new length.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn append(&mut self, name: &str, text: &str, params: &Params) -> Result<usize, CallError> {
        let before = self.pages.get(name).map_or("", String::as_str);
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        self.check_room(name, before.len() + gap.len() + text.len(), params)?;
        let page = self.pages.entry(name.to_owned()).or_default();
        page.push_str(gap);
        page.push_str(text);
        Ok(page.len())
    }

    /// Takes a page out, and gives its text.
    ///
    /// # Errors
    /// If there is no such page.
    pub fn delete(&mut self, name: &str) -> Result<String, CallError> {
        self.pages.remove(name).ok_or_else(|| self.unknown(name))
    }

    /// Whether the page may become `len` bytes long. What is over a lowered cap may stay or shrink.
    fn check_room(&self, name: &str, len: usize, params: &Params) -> Result<(), CallError> {
        let before = self.pages.get(name).map(String::len);
        if before.is_none() {
            check_name(name)?;
            if self.pages.len() >= params.max_pages {
                return Err(CallError::refused(format!(
                    "The notebook holds {} pages, and at most {} are allowed. Delete one first (delete_page), \
                     or add to an existing page: {}.",
                    self.pages.len(),
                    params.max_pages,
                    self.names()
                )));
            }
        }
        let before = before.unwrap_or(0);
        if len > params.max_page_bytes && len > before {
            return Err(CallError::refused(format!(
                "The page would be {len} bytes long, and at most {} are allowed. Split it into several pages.",
                params.max_page_bytes
            )));
        }
        let (now, then) = (self.bytes(), self.bytes() - before + len);
        if then > params.max_bytes && then > now {
            return Err(CallError::refused(format!(
                "The notebook would hold {then} bytes, and at most {} are allowed; it holds {now} now. Shorten \
                 or delete pages first.",
                params.max_bytes
            )));
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> CallError {
        let name = gg_module_sdk::cut(name, MAX_NAME_BYTES);
        CallError::refused(match self.is_empty() {
            true => format!("There is no page \"{name}\". The notebook is empty."),
            false => format!("There is no page \"{name}\". There are: {}.", self.names()),
        })
    }

    /// The first names, for a refusal.
    fn names(&self) -> String {
        /// Enough to find a mistyped name, and little enough to read.
        const NAMED: usize = 30;
        let names: Vec<&str> = self.pages.keys().take(NAMED).map(String::as_str).collect();
        let more = if self.pages.len() > NAMED { " and more (list_pages)" } else { "" };
        format!("{}{more}", names.join(", "))
    }
}

fn check_name(name: &str) -> Result<(), CallError> {
    if name.trim().is_empty() || name.trim() != name || name.chars().any(char::is_control) {
        return Err(CallError::refused(
            "A page's name is one line of text without spaces at its ends, such as \"findings\".",
        ));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(CallError::refused(format!(
            "The page's name is {} bytes long, and at most {MAX_NAME_BYTES} are allowed.",
            name.len()
        )));
    }
    Ok(())
}
